//! Fresh offers: nobody is paid for waiting.
//!
//! Truthfulness is a promise about one round. While unsold data keeps, asking too much costs little: what is not sold now is
//! sold later, in a larger pile at the same cost of a sale. So under `offers = "fresh"` what an awarded round was shown and did
//! not buy is *retired*: it stays in its member's own model and is never offered again. Nor may data be hidden and brought as
//! fresh later. The coordinator cannot see which samples are new, only how many, so it bounds their number:
//!
//! > burst + factor * rate * (time since the last awarded round opened)
//!
//! The rate is the member's own: what it offered in the last `window` awarded rounds, over the time that these cover, from
//! the opening before its first offer among them. A round it did not offer in counts as one without data, and the time
//! since the last awarded round runs for all alike, so staying away earns nothing. Who offered in none of these rounds has
//! the burst.
//!
//! The mean keeps the rate from climbing by the factor round after round: a member that offers as much as it may in every
//! round raises it by about half in a whole window (`the_rate_does_not_ratchet_up`).
//!
//! Until two rounds are awarded nobody has a rate, and `samples` of the terms is the only bound. What can be hidden from the
//! first sale is what was collected before it, once.
//!
//! What it cannot do: see whether a member retires. One that keeps what it did not sell, and fills its bound up with that, looks
//! like one that collects more. docs/mechanisms.md says what that earns.
//!
//! Everything here follows from recorded rounds in whole numbers: whoever replays a journal gets the same bounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::open::OpenRound;
use super::{CapacitySetting, Conduct, RoundId, Standing, TermsError, Time};
use crate::auction::ClientId;

/// What members offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Offers {
    /// Everything that is not sold yet, as in the paper (the default).
    #[default]
    All,
    /// What no awarded round was shown before, and no more than was collected since the last one.
    Fresh,
}

impl Offers {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(super) fn is_all(&self) -> bool {
        *self == Offers::All
    }
}

/// How many samples fresh offers may have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct FreshSetting {
    /// By how much more than at its rate a member may offer, `1..=10` in steps of a thousandth; default 1.25.
    pub factor: f64,
    /// Awarded rounds that the rate is taken over, `2..=1000`; default 8.
    pub window: u64,
    /// Samples on top of that, at least 2 d, or `auto`, the default: 2 d.
    pub burst: CapacitySetting,
}

impl Default for FreshSetting {
    fn default() -> FreshSetting {
        FreshSetting { factor: 1.25, window: 8, burst: CapacitySetting::default() }
    }
}

/// The same, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fresh {
    thousandths: u64,
    window: usize,
    burst: u64,
    block: u64,
}

/// An awarded round, and when it opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AwardedRound {
    pub round: RoundId,
    pub opened: Time,
}

/// What a member offered in an awarded round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    pub round: RoundId,
    pub samples: u64,
}

impl Fresh {
    /// For contexts of that dimension, and so many samples in one offer.
    pub(super) fn new(setting: &FreshSetting, dimension: usize, samples: u64) -> Result<Fresh, TermsError> {
        let FreshSetting { factor, window, burst } = setting;
        if !(1.0..=10.0).contains(factor) {
            return Err(TermsError::FreshFactor(*factor));
        }
        if !(2..=1000).contains(window) {
            return Err(TermsError::FreshWindow(*window));
        }
        let least = 2 * dimension as u64;
        let burst = match burst {
            CapacitySetting::Samples(burst) => *burst,
            CapacitySetting::Rule(rule) if rule == "auto" => least,
            CapacitySetting::Rule(rule) => return Err(TermsError::FreshBurstRule(rule.clone())),
        };
        if !(least..=MAX_BURST).contains(&burst) {
            return Err(TermsError::FreshBurst { burst, least });
        }
        let block = (burst / 2).min(samples);
        Ok(Fresh { thousandths: (factor * 1000.0).round() as u64, window: *window as usize, burst, block })
    }

    /// As it is written down.
    pub(super) fn setting(&self) -> FreshSetting {
        let burst = CapacitySetting::Samples(self.burst);
        FreshSetting { factor: self.thousandths as f64 / 1000.0, window: self.window as u64, burst }
    }

    /// Most samples of a block of data: members cannot split sums, and offer whole blocks.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// Most samples so long after the last awarded round opened.
    fn most(&self, Rate { samples, span_ms }: Rate, elapsed_ms: u64) -> u64 {
        let at_its_rate = u128::from(samples) * u128::from(elapsed_ms) * u128::from(self.thousandths);
        let more = at_its_rate / (1000 * u128::from(span_ms.max(1)));
        u64::try_from(more).unwrap_or(u64::MAX).saturating_add(self.burst)
    }
}

/// Largest burst: what one offer may have at most.
const MAX_BURST: u64 = 1_000_000_000;

/// What a member offered in the awarded rounds of the window, and how long it took to collect.
#[derive(Debug, Clone, Copy, Default)]
struct Rate {
    samples: u64,
    span_ms: u64,
}

impl Rate {
    fn of(offered: &[Offered], awarded: &[AwardedRound]) -> Rate {
        let (Some(first), Some(last)) = (offered.first(), awarded.last()) else { return Rate::default() };
        let before = awarded.iter().rev().find(|awarded| awarded.round < first.round);
        let span_ms = before.map_or(0, |before| last.opened.0.saturating_sub(before.opened.0));
        Rate { samples: offered.iter().map(|offered| offered.samples).sum(), span_ms }
    }
}

/// How many samples each member may offer to a round, until the next one is awarded.
#[derive(Debug, Clone)]
pub struct Bounds {
    fresh: Fresh,
    /// When the last awarded round opened; none before there were two.
    last: Option<Time>,
    /// Of those that have one.
    rates: BTreeMap<ClientId, Rate>,
    /// Whatever the rate, no more than this.
    most: u64,
}

impl Bounds {
    /// Most samples in an offer of this member to a round that opens then.
    pub fn most(&self, member: &ClientId, opened: Time) -> u64 {
        let Some(last) = self.last else { return self.most };
        let rate = self.rates.get(member).copied().unwrap_or_default();
        self.fresh.most(rate, opened.0.saturating_sub(last.0)).min(self.most)
    }
}

impl Standing {
    /// How many samples these members may offer, and nobody more than so many.
    pub(super) fn bounds<'a>(
        &'a self,
        fresh: &Fresh,
        members: impl IntoIterator<Item = (&'a ClientId, &'a Conduct)>,
        most: u64,
    ) -> Bounds {
        let last = self.awarded.get(1..).and_then(|later| later.last()).map(|last| last.opened);
        let with_rate = members.into_iter().filter(|(_, conduct)| !conduct.offered.is_empty());
        let rate =
            |(member, conduct): (&ClientId, &Conduct)| (member.clone(), Rate::of(&conduct.offered, &self.awarded));
        Bounds { fresh: *fresh, last, rates: with_rate.map(rate).collect(), most }
    }

    /// Remembers who answered a round that was awarded, and what it offered.
    pub(super) fn remember(&mut self, fresh: &Fresh, open: &OpenRound) {
        self.awarded.push(AwardedRound { round: open.round, opened: open.opened });
        let surplus = self.awarded.len().saturating_sub(fresh.window + 1);
        self.awarded.drain(..surplus);
        let first = self.awarded[0].round;
        for client in open.answered() {
            let conduct = self.conduct_of(client);
            conduct.awarded = Some(open.round);
            if let Some(taken) = open.offers.get(client) {
                conduct.offered.push(Offered { round: open.round, samples: taken.samples });
            }
        }
        // The time in which the data of the first round was collected is not known.
        let forget = |conduct: &mut Conduct| conduct.offered.retain(|offered| offered.round > first);
        self.members.values_mut().chain(self.former.values_mut()).for_each(forget);
    }

    /// What is remembered about somebody who is or was a member.
    pub(super) fn conduct_of(&mut self, client: &ClientId) -> &mut Conduct {
        match self.members.get_mut(client) {
            Some(conduct) => conduct,
            None => self.former.entry(client.clone()).or_default(),
        }
    }
}
