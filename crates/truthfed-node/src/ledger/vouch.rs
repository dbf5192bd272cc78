//! What the coordinator vouches for in the journal, as the bytes that are signed or hashed.

use serde::{Deserialize, Serialize};
use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;

use crate::digest::{Digest, PublicKey, Signature};
use crate::signature::is_signed_by;

/// Schema of the signature under the hash of a round's offers.
pub const SEAL_SCHEMA: &str = "truthfed.seal/1";
/// Schema of the signature under the end of the journal.
pub const CHECKPOINT_SCHEMA: &str = "truthfed.checkpoint/1";

/// The bytes that seal the offers of a round.
pub fn sealed_bytes(federation: Digest, round: RoundId, offers: Digest) -> Vec<u8> {
    format!("{federation} {round} {offers}").into_bytes()
}

/// The bytes that vouch for the journal up to an entry.
pub fn checkpoint_bytes(federation: Digest, entry: u64, head: Digest) -> Vec<u8> {
    format!("{federation} {entry} {head}").into_bytes()
}

/// The coordinator's word for everything up to an entry, kept beside the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    pub entry: u64,
    /// Its hash.
    pub head: Digest,
    /// The coordinator's, over both.
    pub signature: Signature,
}

impl Checkpoint {
    /// Whether the coordinator of a federation signed it.
    pub fn is_signed_by(&self, key: &PublicKey, federation: Digest) -> bool {
        let content = checkpoint_bytes(federation, self.entry, self.head);
        is_signed_by(key, CHECKPOINT_SCHEMA, &content, &self.signature)
    }
}

/// The hash of statistics: of their number of samples and the big-endian bits of every entry.
pub fn aggregate_digest(statistics: &Statistics) -> Digest {
    let bits =
        |entries: &[f64]| -> Vec<u8> { entries.iter().flat_map(|entry| entry.to_bits().to_be_bytes()).collect() };
    let (gram, moment) = (bits(statistics.gram().lower()), bits(statistics.moment()));
    Digest::of_parts([statistics.samples().to_be_bytes().as_slice(), &gram, &moment])
}
