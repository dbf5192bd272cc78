//! Heads, keys and proofs of a journal: what is found right is true of the one journal whose heads were signed.

use std::sync::LazyLock;

use truthfed_node::digest::{Digest, Hex};
use truthfed_node::log::{Grown, NoteKey, Proof, Proven, SignedHead, Whole, merkle};
use truthfed_node::reading::read_json;

use crate::federation::{FEDERATION, signer};
use crate::journal::HONEST;
use crate::text::{json, text};

/// The journal whose heads are signed.
static WHOLE: LazyLock<Whole> =
    LazyLock::new(|| Whole::read(&mut HONEST.clone()).expect("an honest journal is chained"));
static KEY: LazyLock<NoteKey> = LazyLock::new(|| NoteKey::of_log(FEDERATION.id, signer(0).public()));

/// A proof as JSON; or a head, or a key, as text; or the numbers and hashes of a proof about a tree of any size.
pub fn proof(bytes: &[u8]) -> bool {
    check_tree(bytes);
    if let Some(text) = text(bytes) {
        if let Ok(key) = text.parse::<NoteKey>() {
            assert_eq!(key.to_string(), text);
        }
        if let Ok(head) = SignedHead::read(text) {
            assert_eq!(head.to_string(), text, "a head has one form");
            return is_ours(&head);
        }
    }
    let Ok(proof) = read_json::<Proof>(bytes) else { return false };
    let Ok(head) = proof.check(&KEY) else { return false };
    assert!(is_ours(&head));
    for Proven { number, entry, .. } in &proof.entries {
        assert!((1..=head.size()).contains(number), "beyond the head");
        assert_eq!(entry.get(), HONEST.rows[*number as usize - 1].body, "an entry that is not there");
    }
    if let Some(Grown { from, root, .. }) = &proof.grown {
        assert!(*from <= head.size());
        assert_eq!((*from, *root), WHOLE.top(*from), "another beginning");
    }
    true
}

/// Whether the key signed it, and then it is of the journal.
fn is_ours(head: &SignedHead) -> bool {
    let is_signed = head.is_signed_by(&KEY);
    assert!(!is_signed || head.size() <= WHOLE.size() && WHOLE.top(head.size()) == head.top());
    is_signed
}

/// Of any sizes and any hashes, at most what somebody really computed is right.
fn check_tree(bytes: &[u8]) {
    let Some((numbers, hashes)) = bytes.split_at_checked(16) else { return };
    let number = |at: usize| u64::from_be_bytes(*numbers[at..].first_chunk().expect("two numbers"));
    let (first, second) = (number(0), number(8));
    let mut hashes = hashes.as_chunks().0.iter().map(|hash| Hex(*hash));
    let (Some(one), Some(other)) = (hashes.next(), hashes.next()) else { return };
    let path: Vec<Digest> = hashes.collect();
    let is_in = merkle::is_included(one, first, second, &path, other);
    assert!(!is_in || first < second && (!path.is_empty() || one == other));
    let goes_on = merkle::is_consistent((first, one), (second, other), &path);
    assert!(!goes_on || first <= second && (first != second || one == other));
}

/// A proof of an entry and of how the journal began, and its head.
pub(crate) fn honest(entry: u64, from: u64, size: u64) -> (String, String) {
    let head = SignedHead::sign(&signer(0), FEDERATION.id, WHOLE.top(size));
    let (mut tree, row) = (WHOLE.tree(size), HONEST.rows[entry as usize - 1].clone());
    let Ok(proven) = Proven::of(HONEST.rows[entry as usize - 2].hash, row, &mut tree);
    let Ok(grown) = Grown::of(from, &mut tree);
    let (entries, grown) = (vec![proven.expect("it is in the tree")], Some(grown.expect("it is smaller")));
    (json(&Proof { entries, grown, ..Proof::of(&head) }), head.to_string())
}
