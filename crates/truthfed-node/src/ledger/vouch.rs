//! What the coordinator vouches for in the journal, as the bytes that are signed or hashed.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Standing, Time};
use truthfed::statistics::Statistics;

use crate::digest::{Digest, Nonce, PublicKey, Signature};
use crate::engine::MemberInfo;
use crate::journal::Head;
use crate::ledger::Reason;
use crate::schema;
use crate::signature::{Signer, is_signed_by};

/// Schema of the signature under the hash of a round's offers.
const SEAL_SCHEMA: &str = "truthfed.seal/1";
/// Schema of the signature under the end of the journal.
const CHECKPOINT_SCHEMA: &str = "truthfed.checkpoint/1";

/// The offers of a round when it was sealed, as the coordinator signs them.
#[derive(Clone, Copy)]
pub(crate) struct Seal {
    pub(crate) federation: Digest,
    pub(crate) round: RoundId,
    /// Their hash.
    pub(crate) offers: Digest,
    pub(crate) at: Time,
}

impl Seal {
    pub(crate) fn sign(&self, signer: &Signer) -> Signature {
        signer.sign(SEAL_SCHEMA, self.content().as_bytes())
    }

    pub(super) fn is_signed_by(&self, key: &PublicKey, signature: &Signature) -> bool {
        is_signed_by(key, SEAL_SCHEMA, self.content().as_bytes(), signature)
    }

    fn content(&self) -> String {
        let Seal { federation, round, offers, at: Time(ms) } = self;
        format!("{federation} {round} {offers} {ms}")
    }
}

/// The coordinator's word for everything up to an entry, in the journal and kept beside the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Number of the last entry it covers; in the journal, the one before it.
    pub entry: u64,
    /// The hash of that entry.
    pub head: Digest,
    /// The hash of the standing, where a round ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Digest>,
    /// The coordinator's, over all of it.
    pub signature: Signature,
}

impl Checkpoint {
    pub(crate) fn sign(signer: &Signer, federation: Digest, head: Head, standing: Option<Digest>) -> Checkpoint {
        let signature = signer.sign(CHECKPOINT_SCHEMA, content(federation, head, standing).as_bytes());
        Checkpoint { entry: head.number, head: head.hash, standing, signature }
    }

    pub fn is_signed_by(&self, key: &PublicKey, federation: Digest) -> bool {
        let content = content(federation, self.covered(), self.standing);
        is_signed_by(key, CHECKPOINT_SCHEMA, content.as_bytes(), &self.signature)
    }

    /// The end of the journal that it vouches for.
    pub(crate) fn covered(&self) -> Head {
        Head { number: self.entry, hash: self.head }
    }
}

fn content(federation: Digest, Head { number, hash }: Head, standing: Option<Digest>) -> String {
    match standing {
        Some(standing) => format!("{federation} {number} {hash} {standing}"),
        None => format!("{federation} {number} {hash}"),
    }
}

/// All that a coordinator needs to go on after a round ended, as it is kept in the store.
///
/// The checkpoint after the round has the hash of its JSON. We could instead compare what is kept with the journal when
/// a coordinator starts, but only the shared statistics have a hash there: the conduct of members follows from all
/// rounds. One hash covers everything, costs one signature at the start, and the verifier recomputes it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StandingBody {
    pub(crate) standing: Standing,
    /// When the round ended: the next one keeps its distance.
    pub(crate) ended: Time,
    /// Present and past.
    pub(crate) members: BTreeMap<ClientId, MemberInfo>,
    pub(crate) postings: u64,
    /// The offers whose payments wait, by member and round: what receipts about them are made of.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) waiting: BTreeMap<ClientId, BTreeMap<RoundId, Waiting>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) paused: Option<Pause>,
}

/// The operator lets no round open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// Why.
    #[schemars(with = "schema::Reason")]
    pub reason: Reason,
    /// Since when.
    #[schemars(with = "schema::Millis")]
    pub since_ms: Time,
}

/// An offer that was delivered for and is not paid yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Waiting {
    /// Of its round.
    pub(crate) nonce: Nonce,
    /// Its hash.
    pub(crate) offer: Digest,
}

impl StandingBody {
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).expect("a standing is JSON")
    }
}

/// The hash of statistics: of their number of samples and the big-endian bits of every entry.
pub fn aggregate_digest(statistics: &Statistics) -> Digest {
    let bits =
        |entries: &[f64]| -> Vec<u8> { entries.iter().flat_map(|entry| entry.to_bits().to_be_bytes()).collect() };
    let (gram, moment) = (bits(statistics.gram().lower()), bits(statistics.moment()));
    Digest::of_parts([statistics.samples().to_be_bytes().as_slice(), &gram, &moment])
}
