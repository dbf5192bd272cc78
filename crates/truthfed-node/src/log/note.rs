//! Heads of a log as signed notes, in the text that the witnesses of public transparency logs read and sign (C2SP: signed-note,
//! tlog-checkpoint, tlog-cosignature).
//!
//! ```text
//! truthfed/<federation>              the origin: which log
//! 265                                how many entries
//! <the root's 32 bytes in base64>
//!
//! — truthfed/<federation> <base64 of 4 bytes that name the key, and the signature>
//! — witness.example <base64 of 4 bytes, 8 bytes of the time, and the signature>
//! ```
//!
//! What is read is written back byte for byte. Lines of keys that nobody asks about are kept and say nothing.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::merkle::Top;
use crate::digest::{Digest, Hex, PublicKey, Signature};
use crate::signature::{Signer, Verifier};

/// More than a head with the signatures of all witnesses that anybody names.
const MAX_NOTE: usize = 16 << 10;
/// Before the signature of a witness, and its time.
const COSIGNATURE: &str = "cosignature/v1";

/// Why a text is not a signed head. Whoever gave it: it is another file, or not whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a signed head: {0}")]
pub struct NoteError(&'static str);

/// A head of a log, with all signatures it came with.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedHead {
    origin: String,
    size: u64,
    root: Digest,
    /// What is signed: all lines up to the blank one.
    text: String,
    signatures: Vec<Line>,
}

/// A signature as it stands under a head.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Line {
    name: String,
    /// Which key of that name, and what it signed with.
    bytes: Vec<u8>,
}

/// What a key signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The note, as the log itself does.
    Log,
    /// The note and the time at which it was seen, as witnesses do.
    Witness,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Kind::Log => 1,
            Kind::Witness => 4,
        }
    }
}

/// A key that signs heads. Its text is the one that witnesses are given: name, hash and key, with `+` between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    name: String,
    kind: Kind,
    key: PublicKey,
}

/// A text is not a key of a log or a witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a key of a log or a witness: expected NAME+HASH+KEY, as `truthfed ledger prove` prints it")]
pub struct NoteKeyError;

impl NoteKey {
    /// The coordinator's, for heads of its federation's journal.
    pub fn of_log(federation: Digest, key: PublicKey) -> NoteKey {
        NoteKey { name: super::origin(federation), kind: Kind::Log, key }
    }

    /// None if it cannot be a name.
    pub fn of_witness(name: &str, key: PublicKey) -> Option<NoteKey> {
        is_name(name).then(|| NoteKey { name: name.to_owned(), kind: Kind::Witness, key })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    fn hash(&self) -> [u8; 4] {
        let Hex(hash) = Digest::of(&[self.name.as_bytes(), b"\n", &[self.kind.byte()], &self.key.0].concat());
        *hash.first_chunk().expect("a hash has 32 bytes")
    }
}

impl fmt::Display for NoteKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = BASE64_STANDARD.encode([&[self.kind.byte()], &self.key.0[..]].concat());
        write!(f, "{}+{:08x}+{key}", self.name, u32::from_be_bytes(self.hash()))
    }
}

impl FromStr for NoteKey {
    type Err = NoteKeyError;

    fn from_str(text: &str) -> Result<NoteKey, NoteKeyError> {
        let read = || {
            let (name, rest) = text.split_once('+')?;
            let (_, key) = rest.split_once('+')?;
            let bytes = BASE64_STANDARD.decode(key).ok()?;
            let (kind, key) = bytes.split_first()?;
            let kind = [Kind::Log, Kind::Witness].into_iter().find(|known| known.byte() == *kind)?;
            let key = Hex(key.try_into().ok()?);
            Verifier::new(&key)?;
            is_name(name).then(|| NoteKey { name: name.to_owned(), kind, key })
        };
        read().filter(|key| key.to_string() == text).ok_or(NoteKeyError)
    }
}

/// Whether it can stand in a signature line.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+')
}

impl SignedHead {
    /// The head of a federation's journal, signed by its coordinator.
    pub fn sign(signer: &Signer, federation: Digest, (size, root): Top) -> SignedHead {
        let origin = super::origin(federation);
        let text = format!("{origin}\n{size}\n{}\n", BASE64_STANDARD.encode(root.0));
        let mut head = SignedHead { origin, size, root, text, signatures: Vec::new() };
        let key = NoteKey::of_log(federation, signer.public());
        // The first line stands where the schema of our other signatures does.
        let Hex(signature) = signer.sign(&head.origin, head.below_origin());
        head.add(&key, &signature);
        head
    }

    /// Adds the signature of a witness that saw it at this time, in seconds since 1970, and gives its line.
    pub fn cosign(&mut self, signer: &Signer, key: &NoteKey, seconds: u64) -> String {
        let Hex(signature) = signer.sign(COSIGNATURE, &self.seen_at(seconds));
        self.add(key, &[&seconds.to_be_bytes()[..], &signature].concat());
        self.signatures[self.signatures.len() - 1].to_string()
    }

    fn add(&mut self, key: &NoteKey, signature: &[u8]) {
        let bytes = [&key.hash()[..], signature].concat();
        self.signatures.push(Line { name: key.name.clone(), bytes });
    }

    /// Reads a head, strictly. Whether anybody signed it is another question.
    pub fn read(text: &str) -> Result<SignedHead, NoteError> {
        if text.len() > MAX_NOTE {
            return Err(NoteError("it is too long"));
        }
        if text.contains(|c: char| c < ' ' && c != '\n') {
            return Err(NoteError("it has control characters"));
        }
        let (text, signatures) = text.rsplit_once("\n\n").ok_or(NoteError("no blank line stands before signatures"))?;
        let text = format!("{text}\n");
        let mut lines = text.split_terminator('\n');
        let origin = lines.next().filter(|origin| !origin.is_empty()).ok_or(NoteError("its first line is empty"))?;
        let size = lines.next().and_then(read_size).ok_or(NoteError("its second line is no number of entries"))?;
        let root = lines.next().and_then(read_root).ok_or(NoteError("its third line is no root"))?;
        if lines.any(str::is_empty) {
            return Err(NoteError("a line before the signatures is empty"));
        }
        let signatures = signatures.strip_suffix('\n').ok_or(NoteError("its last line does not end"))?;
        let signatures = signatures.split('\n').map(Line::read).collect::<Option<Vec<Line>>>();
        let signatures = signatures.ok_or(NoteError("a line below the blank one is no signature"))?;
        Ok(SignedHead { origin: origin.to_owned(), size, root, signatures, text })
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How many entries.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn top(&self) -> Top {
        (self.size, self.root)
    }

    /// Whether the holder of the key signed it: of a log's key, its own head; of a witness's, at any time.
    pub fn is_signed_by(&self, key: &NoteKey) -> bool {
        let Some(verifier) = Verifier::new(&key.key) else { return false };
        let named = self.signatures.iter().filter(|line| line.name == key.name);
        let mut signatures = named.filter_map(|line| line.bytes.strip_prefix(&key.hash()[..]));
        match key.kind {
            Kind::Log => {
                self.origin == key.name
                    && signatures.any(|bytes| {
                        read_signature(bytes)
                            .is_some_and(|signature| verifier.is_signed(&self.origin, self.below_origin(), &signature))
                    })
            }
            Kind::Witness => signatures.any(|bytes| {
                let Some((seconds, bytes)) = bytes.split_first_chunk() else { return false };
                let seen = self.seen_at(u64::from_be_bytes(*seconds));
                read_signature(bytes).is_some_and(|signature| verifier.is_signed(COSIGNATURE, &seen, &signature))
            }),
        }
    }

    /// All of the signed text but its first line.
    fn below_origin(&self) -> &[u8] {
        &self.text.as_bytes()[self.origin.len() + 1..]
    }

    /// What a witness signs, but its first line.
    fn seen_at(&self, seconds: u64) -> Vec<u8> {
        format!("time {seconds}\n{}", self.text).into_bytes()
    }
}

fn read_size(text: &str) -> Option<u64> {
    let size: u64 = text.parse().ok()?;
    (size.to_string() == text).then_some(size)
}

fn read_root(text: &str) -> Option<Digest> {
    Some(Hex(BASE64_STANDARD.decode(text).ok()?.try_into().ok()?))
}

fn read_signature(bytes: &[u8]) -> Option<Signature> {
    Some(Hex(bytes.try_into().ok()?))
}

impl Line {
    fn read(text: &str) -> Option<Line> {
        let (name, bytes) = text.strip_prefix("— ")?.split_once(' ')?;
        let bytes = BASE64_STANDARD.decode(bytes).ok()?;
        (is_name(name) && bytes.len() > 4).then(|| Line { name: name.to_owned(), bytes })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "— {} {}", self.name, BASE64_STANDARD.encode(&self.bytes))
    }
}

/// The note, as it was read or signed.
impl fmt::Display for SignedHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        self.signatures.iter().try_for_each(|line| line.fmt(f))
    }
}

impl fmt::Debug for SignedHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::merkle::empty_root;
    use super::*;
    use crate::testing::Federation;

    const FEDERATION: Digest = Hex([7; 32]);

    fn head(size: u64) -> SignedHead {
        SignedHead::sign(&Federation::key(1), FEDERATION, (size, empty_root()))
    }

    /// The example of C2SP signed-note, and its key.
    const EXAMPLE_KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

    #[test]
    fn the_key_of_the_specifications_example_is_read_and_written() {
        let key: NoteKey = EXAMPLE_KEY.parse().unwrap();
        assert_eq!((key.name(), key.kind(), key.to_string().as_str()), ("PeterNeumann", Kind::Log, EXAMPLE_KEY));
        for wrong in ["", "PeterNeumann", "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"] {
            assert_eq!(wrong.parse::<NoteKey>(), Err(NoteKeyError), "{wrong}");
        }
    }

    #[test]
    fn the_signature_of_the_specifications_example_holds() {
        // Its text is no head: only the signature is compared.
        let text =
            "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
        let line = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=";
        let (line, key) = (Line::read(line).unwrap(), EXAMPLE_KEY.parse::<NoteKey>().unwrap());
        let bytes = line.bytes.strip_prefix(&key.hash()[..]).unwrap();
        let (first, rest) = text.split_once('\n').unwrap();
        let signature = read_signature(bytes).unwrap();
        assert!(Verifier::new(&key.key).unwrap().is_signed(first, rest.as_bytes(), &signature));
    }

    #[test]
    fn a_head_is_read_as_it_was_written_and_signed_by_its_coordinator_alone() {
        let signed = head(265);
        let text = signed.to_string();
        let lines: Vec<&str> = text.lines().collect();
        let origin = format!("truthfed/{FEDERATION}");
        assert_eq!(lines[..4], [&origin, "265", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", ""]);
        assert!(lines[4].starts_with(&format!("— {origin} ")) && lines.len() == 5);
        let read = SignedHead::read(&text).unwrap();
        assert_eq!((read.top(), read.to_string()), ((265, empty_root()), text));
        assert!(read.is_signed_by(&NoteKey::of_log(FEDERATION, Federation::key(1).public())));
        assert!(!read.is_signed_by(&NoteKey::of_log(FEDERATION, Federation::key(2).public())));
        assert!(!read.is_signed_by(&NoteKey::of_log(Hex([8; 32]), Federation::key(1).public())));
    }

    #[test]
    fn a_witness_signs_beside_the_log_and_its_signature_holds_for_that_head_alone() {
        let signer = Federation::key(9);
        let key = NoteKey::of_witness("witness.example", signer.public()).unwrap();
        let log = NoteKey::of_log(FEDERATION, Federation::key(1).public());
        let (mut signed, other) = (head(3), head(4));
        signed.cosign(&signer, &key, 1_700_000_000);
        let read = SignedHead::read(&signed.to_string()).unwrap();
        assert!(read.is_signed_by(&key) && read.is_signed_by(&log));
        assert!(!other.is_signed_by(&key));
        let moved = other.to_string() + read.to_string().lines().last().unwrap() + "\n";
        let moved = SignedHead::read(&moved).unwrap();
        assert!(moved.is_signed_by(&log) && !moved.is_signed_by(&key));
        // The log's own key is no witness, and a witness no log.
        assert!(!read.is_signed_by(&NoteKey { kind: Kind::Log, ..key.clone() }));
        assert_eq!(key.to_string().parse(), Ok(key));
    }

    #[test]
    fn no_text_that_was_altered_in_any_byte_is_signed_and_none_has_two_forms() {
        let (text, key) = (head(12).to_string(), NoteKey::of_log(FEDERATION, Federation::key(1).public()));
        for place in 0..text.len() {
            for flip in [1, 0x20, 0x80] {
                let mut altered = text.clone().into_bytes();
                altered[place] ^= flip;
                let Ok(altered) = String::from_utf8(altered) else { continue };
                if let Ok(read) = SignedHead::read(&altered) {
                    assert_eq!(read.to_string(), altered);
                    assert!(!read.is_signed_by(&key), "byte {place}: {altered}");
                }
            }
        }
        for (from, to) in [
            ("\n12\n", "\n012\n"),
            ("\n12\n", "\n+12\n"),
            ("\n12\n", "\n\n"),
            ("=\n\n", "\n\n"),
            ("\n\n", "\n"),
            ("— ", "- "),
            ("\n12\n", "\n12\r\n"),
        ] {
            let altered = text.replacen(from, to, 1);
            assert!(altered != text && SignedHead::read(&altered).is_err(), "{altered}");
        }
        assert!(SignedHead::read(text.trim_end()).is_err());
        assert!(SignedHead::read(&(text.clone() + "\n")).is_err());
    }
}
