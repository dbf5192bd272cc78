//! The journal as a transparency log: a Merkle tree over its entries, whose signed head says all of it in a few lines.
//!
//! A member need not see the journal to know that there is one for everybody: whoever signs two heads of which neither is how the other
//! began has shown two histories. The hash chain proves the same to those who read it all; the tree, to those who may not.
//!
//! - [`merkle`]: the tree of RFC 6962, its proofs and their checks; [`Kept`]: its nodes in a file.
//! - [`SignedHead`]: a head in the form of public transparency logs (C2SP tlog-checkpoint), which standard witnesses sign, too.
//! - [`Witness`]: signs heads that go on from each other, beside the coordinator.
//! - [`Proof`]: what a coordinator or `truthfed ledger prove` gives, and anybody checks.
//!
//! A leaf is the hash of its entry's number and body with a *salt*: a hash of the chain's hash before the entry. The chain has
//! signatures of the coordinator that it shows to auditors only, so that members cannot compute salts, nor search for an entry that
//! gives a leaf they see in a proof. A salt proves its own entry and tells nothing about the next one.
//!
//! Not here: serving heads ([`crate::coordinator`]), keeping them ([`crate::agent`]).

mod kept;
pub mod merkle;
mod note;
mod proof;
mod witness;

pub use self::kept::Kept;
pub use self::note::{Kind, NoteError, NoteKey, NoteKeyError, SignedHead};
pub use self::proof::{Grown, PROOF_SCHEMA, Proof, ProofError, Proven, Whole};
pub use self::witness::{Witness, WitnessError};
use crate::digest::Digest;
use crate::journal::Row;

/// Schema of the hash that is an entry's salt.
const SALT_SCHEMA: &str = "truthfed.leaf/1";

/// The name of a federation's log, and of the coordinator's key in it.
pub fn origin(federation: Digest) -> String {
    format!("truthfed/{federation}")
}

/// The salt of the entry after one of that hash.
pub fn salt(before: Digest) -> Digest {
    Digest::of_parts([SALT_SCHEMA.as_bytes(), &before.0])
}

/// The hash of an entry's leaf.
pub fn leaf(salt: Digest, number: u64, body: &str) -> Digest {
    let content = Digest::of_parts([&salt.0[..], &number.to_be_bytes(), body.as_bytes()]);
    merkle::leaf_hash(&content.0)
}

/// The same of a row after one of that hash.
pub fn leaf_of(before: Digest, row: &Row) -> Digest {
    leaf(salt(before), row.number, &row.body)
}
