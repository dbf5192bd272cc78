//! The search for a best response: factors for stages of a run, improved one at a time.
//!
//! Beside the strategies that somebody thought of. It begins with the truth and tries, stage by stage, every factor of a list, while
//! all others stay, and keeps the best. What it finds was chosen under the seeds that it saw and is
//! measured under others.

use super::Strategy;
use crate::role::Pricing;

/// Factors of the true cost; the last asks more than any reserve, and sells nothing.
const FACTORS: [f64; 8] = [0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0, f64::INFINITY];

/// Schedules that are tried, the same number in every search.
pub(super) const TRIED: u64 = (Pricing::STAGES.len() * FACTORS.len()) as u64;

/// The best schedule by that measure, of all that were tried.
pub(super) fn ascend(utilities: impl Fn(&[Strategy]) -> Vec<f64>) -> Strategy {
    let mut best = [1.0; Pricing::STAGES.len()];
    for stage in 0..Pricing::STAGES.len() {
        let tried = FACTORS.map(|factor| Strategy::Schedule(with(best, stage, factor)));
        let utilities = utilities(&tried);
        // The one that there is wins a tie.
        let now = FACTORS.iter().position(|factor| *factor == best[stage]).expect("all factors are from the list");
        let top =
            (0..FACTORS.len()).max_by(|&a, &b| utilities[a].total_cmp(&utilities[b]).then((a == now).cmp(&(b == now))));
        best = with(best, stage, FACTORS[top.expect("there are factors")]);
    }
    Strategy::Schedule(best)
}

fn with(mut factors: [f64; Pricing::STAGES.len()], stage: usize, factor: f64) -> [f64; Pricing::STAGES.len()] {
    factors[stage] = factor;
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_finds_the_best_factor_of_each_stage_and_keeps_the_truth_among_equals() {
        let wanted = [2.0, 1.0, 0.5, f64::INFINITY, 1.0, 4.0];
        let utility = |strategy: &Strategy| match strategy {
            // The last stage does not matter.
            Strategy::Schedule(factors) => (0..5).filter(|&at| factors[at] == wanted[at]).count() as f64,
            _ => unreachable!("only schedules are tried"),
        };
        let tried = std::cell::Cell::new(0);
        let found = ascend(|strategies| {
            tried.set(tried.get() + strategies.len() as u64);
            strategies.iter().map(utility).collect()
        });
        assert_eq!(found, Strategy::Schedule([2.0, 1.0, 0.5, f64::INFINITY, 1.0, 1.0]));
        assert_eq!(tried.get(), TRIED);
    }
}
