//! How hard an audit tries.
//!
//! Limits are counts, and for large rounds or dear mechanisms log determinants, as the mechanism reports them: never
//! time, so that an audit is the same on every machine.

use super::{coalition, profile};
use crate::auction::Outcome;

/// Asks that are tried however expensive the mechanism is: the seven that every client has, and five turning points.
const FEWEST_ASKS: usize = 12;
/// Joint lies of a group that are paid however expensive the mechanism is: the two that lift a price, and two more.
const FEWEST_RUNS: usize = 4;

/// Rounds of at most so many clients are small: all six pairs, with all 64 combinations of their lies.
const SMALL_ROUND: usize = 4;
/// Groups tried on a small round: its pairs, and larger ones.
const SMALL_GROUPS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// About the most asks tried for each client; of more that are worth it, some are drawn.
    pub asks: usize,
    /// Most lies of a client at which its payment is computed too.
    pub runs: usize,
    /// Groups tried: all pairs, if they are no more, and random groups. At least all pairs of up to 4 clients.
    pub groups: usize,
    /// Whether a pair tries every combination of lies, and answers to them; in rounds of up to 4 clients it always does.
    pub every_combination: bool,
    /// Most joint lies of a group at which the payments are computed.
    pub group_runs: usize,
    /// Log determinants to spend on each client, and as many on groups: where the mechanism needs more, fewer asks
    /// are tried, fewer payments computed, and fewer groups.
    pub log_dets: u64,
}

impl Effort {
    /// For thousands of small rounds: about a millisecond for each mechanism and round of ten clients.
    pub const QUICK: Effort =
        Effort { asks: 30, runs: 2, groups: 2, every_combination: false, group_runs: 16, log_dets: 200_000 };

    /// For a few rounds: for small ones all asks at which something can turn, and all pairs of ten clients.
    pub const THOROUGH: Effort =
        Effort { asks: 1000, runs: 8, groups: 48, every_combination: true, group_runs: 1600, log_dets: 300_000 };

    pub(super) fn on(self, clients: usize) -> Effort {
        match clients <= SMALL_ROUND {
            true => Effort { groups: self.groups.max(SMALL_GROUPS), every_combination: true, ..self },
            false => self,
        }
    }

    /// The limits for the client number `place` of some.
    pub(super) fn for_client(&self, honest: &Outcome, place: usize, clients: usize) -> profile::Limits {
        let select = honest.evaluations().select.max(1);
        let asks = usize::try_from(self.log_dets / select).unwrap_or(usize::MAX).clamp(FEWEST_ASKS, self.asks);
        // Where not every client can be paid anew, every second or third is.
        let runs = self.runs_within(honest, clients);
        let share = |place: usize| (place as u128 * runs as u128 / clients as u128) as usize;
        profile::Limits { asks, runs: (share(place + 1) - share(place)).min(self.runs) }
    }

    pub(super) fn for_group(&self, honest: &Outcome, clients: usize) -> coalition::Limits {
        let runs = self.runs_within(honest, clients) / self.groups.max(1);
        coalition::Limits { is_exhaustive: self.every_combination, runs: runs.clamp(FEWEST_RUNS, self.group_runs) }
    }

    pub(super) fn groups_within(&self, honest: &Outcome, clients: usize) -> usize {
        (self.runs_within(honest, clients) / FEWEST_RUNS).clamp(1, self.groups)
    }

    /// How many runs of the mechanism the log determinants for all clients of a round allow.
    fn runs_within(&self, honest: &Outcome, clients: usize) -> usize {
        let run = honest.evaluations().select + honest.evaluations().price;
        let allowed = self.log_dets.saturating_mul(clients as u64) / run.max(1);
        usize::try_from(allowed).unwrap_or(usize::MAX)
    }
}
