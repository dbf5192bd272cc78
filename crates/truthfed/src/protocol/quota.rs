//! A quota: nobody is paid for waiting.
//!
//! Truthfulness is a promise about one round. While unsold data keeps and any amount of it may be offered, asking too much costs
//! little: what is not sold now is sold later, in a larger pile at the same cost of a sale. So terms can say how much a member
//! may offer: so many samples in so much time, counted from the opening of one awarded round to that of the next. What is not
//! used of it is lost, whoever stays away, declines, hides data or asks too much. A member that always has as much as it may
//! offer meets the same choice in every round whatever it did before, and in one round the truth is best.
//!
//! The coordinator sees numbers of samples, and needs no more: which of them are new, nobody has to say. Where the quota is what a
//! member collects, there is nothing to gain by keeping data back. Where it is more, docs/mechanisms.md says what that earns.
//!
//! A sample is due at each multiple of the time for one, counted from the epoch, so that rounds that follow each other closely
//! lose nothing to rounding. Until a round is awarded only `samples` of the terms bounds an offer.
//!
//! Everything here follows from recorded rounds in whole numbers: whoever replays a journal gets the same bounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{TermsError, Time};
use crate::auction::ClientId;

/// How much members may offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Quota {
    /// So many samples, up to 10^9: what a member collects. With 0, the default, everything that is not sold.
    pub samples: u64,
    /// In so much time, `1..=10^12`; default an hour.
    pub per_ms: u64,
    /// Members that collect more or less than that, and how many samples in the same time.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, u64>"))]
    pub members: BTreeMap<ClientId, u64>,
}

const MAX_SAMPLES: u64 = 1_000_000_000;
const MAX_PER_MS: u64 = 1_000_000_000_000;

impl Default for Quota {
    fn default() -> Quota {
        Quota { samples: 0, per_ms: 3_600_000, members: BTreeMap::new() }
    }
}

impl Quota {
    /// Whether there is no bound.
    pub(super) fn is_none(&self) -> bool {
        self.samples == 0
    }

    /// Whether it need not be written down.
    pub(super) fn is_default(&self) -> bool {
        *self == Quota::default()
    }

    pub(super) fn check(&self) -> Result<(), TermsError> {
        let check = |what: String, value: u64, most: u64| {
            if (1..=most).contains(&value) { Ok(()) } else { Err(TermsError::Quota { what, value, most }) }
        };
        if !self.is_none() || !self.members.is_empty() {
            check("samples".to_owned(), self.samples, MAX_SAMPLES)?;
        }
        check("per_ms".to_owned(), self.per_ms, MAX_PER_MS)?;
        self.members.iter().try_for_each(|(member, samples)| check(format!("members.{member}"), *samples, MAX_SAMPLES))
    }

    /// How many samples of a member fall due from one time to another.
    pub(super) fn since(&self, last: Time, member: &ClientId, opened: Time) -> u64 {
        self.due(member, opened).saturating_sub(self.due(member, last))
    }

    /// How many samples of a member are due up to that time.
    fn due(&self, member: &ClientId, time: Time) -> u64 {
        let samples = *self.members.get(member).unwrap_or(&self.samples);
        u64::try_from(u128::from(samples) * u128::from(time.0) / u128::from(self.per_ms)).unwrap_or(u64::MAX)
    }
}

/// How many samples each member may offer to a round, until the next one is awarded.
#[derive(Debug, Clone)]
pub struct Bounds {
    pub(super) quota: Quota,
    /// When the last awarded round opened.
    pub(super) last: Option<Time>,
    /// Whatever the quota, no more than this.
    pub(super) most: u64,
}

impl Bounds {
    /// Most samples in an offer of this member to a round that opens then.
    pub fn most(&self, member: &ClientId, opened: Time) -> u64 {
        self.last.map_or(self.most, |last| self.quota.since(last, member, opened).min(self.most))
    }
}
