//! I17: a member's share of the work is bounded. A round opens at its distance from the last, with an offer that is worth it;
//! whoever is excluded takes no part, nor does anyone whose data is held or not yet beside others'; nobody has more than two entries in a round.

use std::collections::{BTreeMap, BTreeSet};

use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Time};
use truthfed_node::wire::OfferContent;

use super::Observer;
use crate::chaos::{Sums, Verdict, breach, check};

/// Share of a worth that rounding may account for.
const ROUNDING: f64 = 1e-6;

/// Who did what lately, by the observer's own count.
#[derive(Default)]
pub(crate) struct Shares {
    /// When the last round ended.
    ended: Option<Time>,
    /// Rounds that members won and did not deliver in, since they were excluded last.
    defaults: BTreeMap<ClientId, Vec<u64>>,
    /// The last round from which each is excluded.
    excluded: BTreeMap<ClientId, u64>,
    /// Who takes no part in the open round.
    pub(super) barred: BTreeSet<ClientId>,
    /// Who opened a round with an offer that is still to come.
    opener: Option<ClientId>,
    /// What each said in the open round.
    entries: BTreeMap<ClientId, u64>,
}

impl Observer {
    /// Who may take no part in a round; nobody, if that would be everybody.
    fn excluded_from(&self, round: u64) -> BTreeSet<ClientId> {
        let is_excluded = |name: &&ClientId| {
            self.shares.excluded.get(*name).is_some_and(|last| round <= *last) || self.samples.is_suspended(name)
        };
        let members = self.members.iter().filter(|(_, known)| !known.is_revoked).map(|(name, _)| name);
        let excluded: BTreeSet<ClientId> = members.filter(is_excluded).cloned().collect();
        if excluded.len() == self.member_count() { BTreeSet::new() } else { excluded }
    }

    /// Whether nothing keeps a member from opening the next round with so many samples, if they are worth it.
    pub(crate) fn may_open(&self, member: &ClientId, samples: u64) -> bool {
        samples <= self.room() && !self.is_spent() && !self.excluded_from(self.closed.0 + 1).contains(member)
    }

    /// How many samples can still be settled.
    pub(crate) fn room(&self) -> u64 {
        self.agreement.capacity().saturating_sub(self.samples.taken() as u64)
    }

    pub(super) fn check_opened(&mut self, round: RoundId, by: &ClientId, at: Time) -> Verdict {
        let gap_ms = self.agreement.raw().gap_ms;
        let is_apart = self.shares.ended.is_none_or(|ended| at.0 >= ended.0 + gap_ms);
        check(is_apart, "I17", || format!("round {round} opens less than {gap_ms} ms after the last one ended"))?;
        self.shares.barred = self.excluded_from(round.0);
        self.shares.opener = Some(by.clone());
        self.shares.entries.clear();
        Ok(())
    }

    /// An entry in a round in which somebody speaks.
    pub(super) fn check_share(&mut self, round: RoundId, member: &ClientId) -> Verdict {
        let is_barred = self.shares.barred.contains(member);
        check(!is_barred, "I17", || format!("{member} takes part in round {round}, from which it is excluded"))?;
        let entries = self.shares.entries.entry(member.clone()).or_default();
        *entries += 1;
        check(*entries <= 2, "I17", || format!("{member} has {entries} entries in round {round}"))
    }

    /// The offer that opens a round comes first, and is worth it.
    pub(super) fn check_opener(&mut self, round: RoundId, spoken: Option<(&ClientId, &OfferContent)>) -> Verdict {
        let Some(opener) = self.shares.opener.take() else { return Ok(()) };
        let Some((_, content)) = spoken.filter(|(member, _)| **member == opener) else {
            return breach("I17", format!("round {round} opens without the offer of {opener}"));
        };
        let (lambda, trigger) = (self.agreement.bandit().lambda(), self.agreement.trigger());
        let settled = self.samples.settled_now();
        let mut all = Sums::zero(self.agreement.dimension());
        all.add(settled, 1);
        let nats = log_det(&all.lower(), lambda, content.gram.lower()) - log_det(&all.lower(), lambda, &[]);
        let worth = content.samples as f64 * nats;
        let is_worth_it = worth > trigger.threshold - ROUNDING * (1.0 + worth.abs());
        check(is_worth_it, "I17", || format!("round {round} opens for {worth} of {opener}"))
    }

    pub(super) fn count_end(&mut self, round: RoundId, defaulted: &[ClientId], at: Time) {
        let strikes = self.agreement.raw().strikes;
        self.shares.ended = Some(at);
        for member in defaulted.iter().filter(|_| strikes.rounds > 0) {
            let defaults = self.shares.defaults.entry(member.clone()).or_default();
            defaults.push(round.0);
            defaults.retain(|earlier| *earlier + strikes.within > round.0);
            if defaults.len() as u64 >= strikes.defaults {
                defaults.clear();
                self.shares.excluded.insert(member.clone(), round.0 + strikes.rounds);
            }
        }
    }
}

/// The logarithm of the determinant of a sum of packed matrices and a multiple of the identity, by elimination.
fn log_det(first: &[f64], lambda: f64, second: &[f64]) -> f64 {
    let packed: Vec<f64> = first.iter().enumerate().map(|(i, x)| x + second.get(i).copied().unwrap_or(0.0)).collect();
    let dimension = (1..).find(|d| d * (d + 1) / 2 == packed.len()).expect("it is a triangle");
    let entry = |i: usize, j: usize| packed[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
    let mut rows: Vec<Vec<f64>> = (0..dimension)
        .map(|i| (0..dimension).map(|j| entry(i, j) + if i == j { lambda } else { 0.0 }).collect())
        .collect();
    let mut nats = 0.0;
    for column in 0..dimension {
        let (above, below) = rows.split_at_mut(column + 1);
        let pivot = &above[column];
        nats += pivot[column].ln();
        for row in below {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).for_each(|(x, y)| *x -= factor * y);
        }
    }
    nats
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_determinant_is_what_a_hand_computes() {
        let nats = log_det(&[2.0, 1.0, 1.5], 0.5, &[1.0, 0.0, 0.0]);
        assert!((nats - (3.5_f64 * 2.0 - 1.0).ln()).abs() < 1e-12, "{nats}");
    }
}
