//! What the coordinator vouches for in the journal, as the bytes that are signed or hashed.

use serde::{Deserialize, Serialize};
use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;

use crate::digest::{Digest, PublicKey, Signature};
use crate::journal::Head;
use crate::signature::{Signer, is_signed_by};

/// Schema of the signature under the hash of a round's offers.
const SEAL_SCHEMA: &str = "truthfed.seal/1";
/// Schema of the signature under the end of the journal.
const CHECKPOINT_SCHEMA: &str = "truthfed.checkpoint/1";

/// The coordinator's signature under the hash of a round's offers.
pub(crate) fn sign_offers(signer: &Signer, federation: Digest, round: RoundId, offers: Digest) -> Signature {
    signer.sign(SEAL_SCHEMA, format!("{federation} {round} {offers}").as_bytes())
}

pub(super) fn are_signed_by(
    key: &PublicKey,
    federation: Digest,
    round: RoundId,
    offers: Digest,
    signature: &Signature,
) -> bool {
    is_signed_by(key, SEAL_SCHEMA, format!("{federation} {round} {offers}").as_bytes(), signature)
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
    pub(crate) fn sign(signer: &Signer, federation: Digest, Head { number, hash }: Head) -> Checkpoint {
        let signature = signer.sign(CHECKPOINT_SCHEMA, format!("{federation} {number} {hash}").as_bytes());
        Checkpoint { entry: number, head: hash, signature }
    }

    pub fn is_signed_by(&self, key: &PublicKey, federation: Digest) -> bool {
        let content = format!("{federation} {} {}", self.entry, self.head);
        is_signed_by(key, CHECKPOINT_SCHEMA, content.as_bytes(), &self.signature)
    }
}

/// The hash of statistics: of their number of samples and the big-endian bits of every entry.
pub fn aggregate_digest(statistics: &Statistics) -> Digest {
    let bits =
        |entries: &[f64]| -> Vec<u8> { entries.iter().flat_map(|entry| entry.to_bits().to_be_bytes()).collect() };
    let (gram, moment) = (bits(statistics.gram().lower()), bits(statistics.moment()));
    Digest::of_parts([statistics.samples().to_be_bytes().as_slice(), &gram, &moment])
}
