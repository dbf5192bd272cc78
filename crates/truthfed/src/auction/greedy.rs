//! `greedy`: buy the best value until the target is met (the paper's Algorithm 3).
//!
//! Monotone: a client that lowers its ask is bought at its old turn or earlier, and the walk before that turn is
//! unchanged. So the critical value exists, and has a closed form: run without the client; at each step it could have
//! replaced the pick by asking at most `ask * own gain / pick's gain`; the largest of these is what it is paid. Steps
//! before its own turn offer less than it asked, so the run without it starts from there.

use rayon::prelude::*;

use super::catalog::{Claims, Entry};
use super::meter::{Metered, within_limit};
use super::outcome::{Priced, tally};
use super::path::Path;
use super::ratio::highest_ask_to_beat;
use super::{Coverage, Evaluations, Information, Mechanism, Outcome, PaymentRule, Refusal, Round, Seat};
use crate::Amount;

/// Best value first until the target is met, critical payments.
#[derive(Debug, Clone, Copy, Default)]
pub struct Greedy;

pub(super) const ENTRY: Entry = Entry {
    name: "greedy",
    summary: "the paper's Algorithm 3: best value first, critical payments",
    target: "c",
    parameters: &[],
    claims: |_| Claims::TRUTHFUL,
    build: |_| Box::new(Greedy),
};

impl Mechanism for Greedy {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        run(round, self.name(), round.coverage())
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        select(round, round.coverage())
    }
}

pub(super) fn run(round: &Round, name: &str, target: Coverage) -> Result<Outcome, Refusal> {
    within_limit(round, |round| {
        let required = round.required(target);
        let path = covering_path(round, required)?;
        let priced = (0..path.len()).into_par_iter().map(|turn| price(round, &path, turn, required));
        let (paid, price) = tally(priced.collect::<Result<_, _>>()?);
        let evaluations = Evaluations { select: path.evaluations, price };
        Ok(Outcome::new(round, name, PaymentRule::Critical, target, paid, evaluations))
    })
}

pub(super) fn select(round: &Round, target: Coverage) -> Result<Vec<Seat>, Refusal> {
    let path = covering_path(round, round.required(target))?;
    let mut winners: Vec<Seat> = path.picks().map(|pick| pick.ratio.seat).collect();
    winners.sort();
    Ok(winners)
}

fn covering_path(round: &Round, required: Information) -> Metered<Path<'static>> {
    let path = Path::new(round, required)?;
    assert!(path.level >= required, "bug: everyone together misses a target relative to everyone");
    Ok(path)
}

/// The client bought at `turn` with its critical value, and the log determinants it took.
fn price(round: &Round, path: &Path<'_>, turn: usize, required: Information) -> Metered<Priced> {
    let own = path.pick(turn).ratio;
    // Nobody else can meet the target: no need to walk to the end to find out.
    if round.is_essential(own.seat, required) {
        return Ok(((own.seat, round.reserve()), 1));
    }
    let reserve = i128::from(round.reserve().micros());
    let mut walk = path.resume(round, turn, Some(own.seat));
    let mut best = i128::from(own.ask.micros());
    let (mut gain, mut exact) = (own.gain, true);
    while walk.level < required && best < reserve {
        // Essential but for rounding.
        let Some(pick) = walk.choose()? else {
            best = reserve;
            break;
        };
        let bound = if exact { gain } else { gain + round.noise() };
        if highest_ask_to_beat(&pick.ratio, own.seat, bound) > best {
            if !exact {
                gain = walk.gain_of(own.seat)?;
            }
            best = best.max(highest_ask_to_beat(&pick.ratio, own.seat, gain));
        }
        exact = false;
        walk.take(&pick);
    }
    Ok(((own.seat, Amount::saturating(best.min(reserve))), walk.kernel.evaluations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{check_payments, naive_greedy, one_dimensional, random_rounds};

    #[test]
    fn winner_is_paid_the_first_losing_ask_scaled_by_its_gain() {
        let round = one_dimensional(0.6, &[("a", "3", 1.0), ("b", "5", 1.0), ("c", "9", 1.0)]);
        check_payments(&Greedy, &round, &[("a", "9"), ("b", "9")]);
    }

    #[test]
    fn lazy_equals_naive_evaluation_exactly() {
        for (seed, round) in random_rounds(1000) {
            let required = round.required(round.coverage());
            let path = Path::new(&round, required).unwrap();
            let lazy: Vec<_> = path.picks().map(|pick| (pick.ratio.seat, pick.ratio.gain)).collect();
            assert_eq!(lazy, naive_greedy(&round, required, i128::MAX), "seed {seed}");
        }
    }
}
