//! Proofs about a journal that need no journal: that it has an entry, and that it is how a larger one began.

use std::convert::Infallible;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::merkle::{MAX_PROOF, RangeError, Top, Tree, append, is_consistent, is_included};
use super::note::{NoteError, NoteKey, SignedHead};
use super::{leaf, leaf_of, salt};
use crate::digest::Digest;
use crate::journal::{Head, Row};
use crate::store::{Store, StoreError};

pub const PROOF_SCHEMA: &str = "truthfed.proof/1";
/// Rows read at once.
const CHUNK: usize = 512;

/// A signed head, and what is proved under it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// [`PROOF_SCHEMA`].
    #[schemars(description = "The schema and its version.", extend("const" = PROOF_SCHEMA))]
    pub schema: String,
    /// The head, as a signed note.
    pub head: String,
    /// Entries that the journal has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Proven>,
    /// How the journal began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown: Option<Grown>,
}

/// An entry, with a proof that the journal has it at that place.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proven {
    /// Its number.
    pub number: u64,
    /// Its salt.
    pub salt: Digest,
    /// What it says, as the very bytes that are hashed.
    #[schemars(with = "serde_json::Value")]
    pub entry: Box<RawValue>,
    /// The hashes beside the way from its leaf to the root.
    pub path: Vec<Digest>,
}

/// A smaller tree, with a proof that it is how the head's began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grown {
    /// How many entries it had.
    pub from: u64,
    /// Its root.
    pub root: Digest,
    /// The hashes that lead from it to the head's.
    pub path: Vec<Digest>,
}

/// Why a proof proves nothing. Whoever gave it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    #[error(transparent)]
    Head(#[from] NoteError),
    #[error("schema: is `{0}`, this program reads `{PROOF_SCHEMA}`")]
    Schema(String),
    /// Somebody else's head, or one that was altered.
    #[error("the head of {size} entries is not signed by {key}")]
    Unsigned { size: u64, key: String },
    /// The entry, its number or its proof was altered, or it is of another journal.
    #[error("entry {number} is not what the head of {size} entries has there")]
    NotIncluded { number: u64, size: u64 },
    /// The head is of another journal than that root, or the proof was altered.
    #[error("the journal of {from} entries with root {root} is not how that of {to} entries began")]
    NotGrown { from: u64, root: Digest, to: u64 },
}

impl Proof {
    /// A head, under which nothing is proved yet.
    pub fn of(head: &SignedHead) -> Proof {
        Proof { schema: PROOF_SCHEMA.to_owned(), head: head.to_string(), entries: Vec::new(), grown: None }
    }

    /// Its head, once everything in it was found right. Fails when the key did not sign it, or anything does not follow.
    pub fn check(&self, key: &NoteKey) -> Result<SignedHead, ProofError> {
        if self.schema != PROOF_SCHEMA {
            return Err(ProofError::Schema(self.schema.clone()));
        }
        let head = SignedHead::read(&self.head)?;
        let (size, root) = head.top();
        if !head.is_signed_by(key) {
            return Err(ProofError::Unsigned { size, key: key.to_string() });
        }
        for Proven { number, salt, entry, path } in &self.entries {
            let leaf = leaf(*salt, *number, entry.get());
            let place = number.checked_sub(1).filter(|_| path.len() <= MAX_PROOF);
            if !place.is_some_and(|place| is_included(leaf, place, size, path, root)) {
                return Err(ProofError::NotIncluded { number: *number, size });
            }
        }
        match &self.grown {
            Some(grown) if !grown.leads_to(head.top()) => {
                Err(ProofError::NotGrown { from: grown.from, root: grown.root, to: size })
            }
            _ => Ok(head),
        }
    }
}

impl Grown {
    /// What leads from the tree of the first entries to a tree. Fails when that has fewer.
    pub fn of<E>(
        from: u64,
        tree: &mut Tree<impl FnMut(u64) -> Result<Digest, E>>,
    ) -> Result<Result<Grown, RangeError>, E> {
        let to = tree.size;
        if from == 0 || from > to {
            return Ok(Err(RangeError::NotSmaller { from, to }));
        }
        let path = tree.consistency(from)?;
        tree.size = from;
        let root = tree.root();
        tree.size = to;
        Ok(Ok(Grown { from, root: root?, path }))
    }

    /// Whether it leads from the one head to the other.
    pub fn leads(&self, from: Top, to: Top) -> bool {
        from == (self.from, self.root) && self.leads_to(to)
    }

    fn leads_to(&self, head: Top) -> bool {
        self.path.len() <= MAX_PROOF && is_consistent((self.from, self.root), head, &self.path)
    }
}

impl Proven {
    /// A row after one of that hash, in a tree. Fails when the tree ends before it.
    pub fn of<E>(
        before: Digest,
        row: Row,
        tree: &mut Tree<impl FnMut(u64) -> Result<Digest, E>>,
    ) -> Result<Result<Proven, RangeError>, E> {
        let (number, size) = (row.number, tree.size);
        let Some(place) = number.checked_sub(1).filter(|place| *place < size) else {
            return Ok(Err(RangeError::NoSuchLeaf { entry: number, size }));
        };
        let entry = RawValue::from_string(row.body).expect("our own entries are JSON");
        Ok(Ok(Proven { number, salt: salt(before), entry, path: tree.inclusion(place)? }))
    }
}

/// The tree over a whole journal, for whoever has it all.
pub struct Whole {
    nodes: Vec<Digest>,
    size: u64,
}

impl Whole {
    /// Reads a journal to its end. Fails when the store does not answer, or a row is not chained to the one before.
    pub fn read(store: &mut dyn Store) -> Result<Whole, StoreError> {
        let (mut whole, mut end) = (Whole { nodes: Vec::new(), size: 0 }, Head::START);
        loop {
            let rows = store.rows(end.number, CHUNK)?;
            if rows.is_empty() {
                return Ok(whole);
            }
            for row in rows {
                whole.push(leaf_of(end.hash, &row));
                end.pass(&row)?;
            }
        }
    }

    fn push(&mut self, leaf: Digest) {
        let node = |place: u64| Ok::<Digest, Infallible>(self.nodes[place as usize]);
        let Ok(complete) = append(self.size, leaf, node);
        self.nodes.extend(complete);
        self.size += 1;
    }

    /// How many entries it has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The tree of the first entries.
    pub fn tree(&self, size: u64) -> Tree<impl FnMut(u64) -> Result<Digest, Infallible>> {
        assert!(size <= self.size, "the caller checks ranges");
        Tree { size, node: |place| Ok(self.nodes[place as usize]) }
    }

    /// How many entries, and the root.
    pub fn top(&self, size: u64) -> Top {
        let Ok(root) = self.tree(size).root();
        (size, root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Hex;
    use crate::store::Store;
    use crate::testing::{Memory, Played};

    /// A journal, its tree, the signed head at a size, and the key.
    struct Signed {
        store: Memory,
        whole: Whole,
        played: Played,
    }

    impl Signed {
        fn new() -> Signed {
            let mut played = Played::new(&["a", "b", "c"]);
            played.full_round();
            let mut store = played.history.last().unwrap().clone();
            let whole = Whole::read(&mut store).unwrap();
            Signed { store, whole, played }
        }

        fn head(&self, size: u64) -> SignedHead {
            let federation = &self.played.federation;
            SignedHead::sign(&federation.setup().signer, federation.id, self.whole.top(size))
        }

        fn key(&self) -> NoteKey {
            NoteKey::of_log(self.played.federation.id, self.played.federation.setup().signer.public())
        }

        fn proof(&self, number: u64, from: u64, size: u64) -> Proof {
            let mut tree = self.whole.tree(size);
            let row = self.store.rows[number as usize - 1].clone();
            let before = number.checked_sub(2).map_or(Head::START.hash, |before| self.store.rows[before as usize].hash);
            let Ok(entry) = Proven::of(before, row, &mut tree);
            let Ok(grown) = Grown::of(from, &mut tree);
            Proof { entries: vec![entry.unwrap()], grown: Some(grown.unwrap()), ..Proof::of(&self.head(size)) }
        }
    }

    #[test]
    fn every_entry_of_a_journal_is_proved_under_every_later_head_and_under_no_other() {
        let signed = Signed::new();
        let (end, key) = (signed.whole.size(), signed.key());
        assert_eq!(end, signed.store.clone().head().unwrap().number);
        for size in 1..=end {
            for number in 1..=size {
                let proof = signed.proof(number, number, size);
                assert_eq!(proof.check(&key).unwrap().size(), size);
                let under_another = Proof { head: signed.head(size % end + 1).to_string(), ..proof };
                assert!(under_another.check(&key).is_err());
            }
        }
        let mut tree = signed.whole.tree(3);
        let Ok(refused) = Proven::of(Hex([0; 32]), signed.store.rows[3].clone(), &mut tree);
        assert_eq!(refused.err(), Some(RangeError::NoSuchLeaf { entry: 4, size: 3 }));
        for from in [0, 4] {
            let Ok(refused) = Grown::of(from, &mut tree);
            assert_eq!(refused, Err(RangeError::NotSmaller { from, to: 3 }));
        }
    }

    #[test]
    fn whatever_is_altered_in_a_proof_is_found() {
        let signed = Signed::new();
        let (honest, key) = (signed.proof(4, 3, 9), signed.key());
        let text = serde_json::to_string(&honest).unwrap();
        honest.check(&key).unwrap();
        for place in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[place] ^= 1;
            if let Ok(altered) = serde_json::from_slice::<Proof>(&altered) {
                assert!(altered.check(&key).is_err(), "byte {place} of {text}");
            }
        }
        let other = NoteKey::of_log(signed.played.federation.id, Hex([9; 32]));
        assert!(matches!(honest.check(&other), Err(ProofError::Unsigned { size: 9, .. })));
        let long = Grown { path: vec![Hex([0; 32]); MAX_PROOF + 1], ..honest.grown.clone().unwrap() };
        let long = Proof { grown: Some(long), ..honest };
        assert!(matches!(long.check(&key), Err(ProofError::NotGrown { from: 3, to: 9, .. })));
    }

    #[test]
    fn the_salt_of_an_entry_tells_that_of_no_other() {
        let signed = Signed::new();
        // Whoever knows an entry with its salt knows its leaf; that of the next needs the hash of the chain, which no salt gives.
        let before = signed.store.rows[4].hash;
        let shown = [salt(before), leaf_of(before, &signed.store.rows[5])];
        for hash in [shown[0], shown[1], Digest::of(&shown[0].0), salt(shown[0]), salt(shown[1])] {
            assert_ne!(
                leaf(hash, 7, &signed.store.rows[6].body),
                leaf_of(signed.store.rows[5].hash, &signed.store.rows[6])
            );
        }
    }
}
