//! `clock`: a descending clock auction, the default.
//!
//! All clients start active, each at a price of the reserve. Again and again, the worst value among those
//! the target can do without is turned away, and the prices of the others fall to what they could
//! have asked and still be better value. A client the target cannot do without is frozen: it has won, and
//! its price no longer falls. When all that are left are frozen, they win at their prices.
//!
//! This is a deferred-acceptance auction: staying in until the price falls below one's cost is a dominant strategy that
//! one can see without knowing the others, and no group of clients can lie so that each of them gains.
//!
//! The price is exactly the critical value: as long as a client is not the one turned away, its ask does not change who
//! is, so its largest surviving ask is the least of what the steps before its freezing allow.

mod prices;
mod rejection;

use rayon::prelude::*;

use self::rejection::History;
use super::catalog::{Claim, Claims, Entry};
use super::meter::{Metered, within_limit};
use super::outcome::tally;
use super::{Evaluations, Mechanism, Outcome, PaymentRule, Refusal, Round, Seat};

#[derive(Debug, Clone, Copy, Default)]
pub struct Clock;

pub(super) const ENTRY: Entry = Entry {
    name: "clock",
    summary: "descending clock: the worst value leaves, prices fall (default)",
    target: "c",
    parameters: &[],
    claims: |_| Claims { collusion_proof: Claim::Yes, ..Claims::TRUTHFUL },
    build: |_| Box::new(Clock),
};

impl Mechanism for Clock {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        within_limit(round, |round| {
            let history = History::new(round, round.required(round.coverage()))?;
            let priced = history.winners().into_par_iter().map(|seat| prices::price(round, &history, seat));
            let (paid, price) = tally(priced.collect::<Result<_, _>>()?);
            let evaluations = Evaluations { select: history.evaluations, price };
            Ok(Outcome::new(round, self.name(), PaymentRule::Critical, round.coverage(), paid, evaluations))
        })
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        Ok(select(round)?.0)
    }
}

/// The winners, and the log determinants it took.
pub(super) fn select(round: &Round) -> Metered<(Vec<Seat>, u64)> {
    let history = History::new(round, round.required(round.coverage()))?;
    Ok((history.winners(), history.evaluations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Amount;
    use crate::auction::Information;
    use crate::auction::ratio::{Ratio, highest_ask_to_beat};
    use crate::auction::testing::{check_payments, one_dimensional, random_rounds};
    use crate::generate::federation;

    /// The auction as described: everyone evaluated at every step, prices lowered one by one.
    fn plain_loop(round: &Round) -> Vec<(Seat, Amount)> {
        let required = round.required(round.coverage());
        let mut kernel = round.kernel();
        let mut tree = round.tree().clone();
        let mut prices = vec![i128::from(round.reserve().micros()); round.admitted()];
        let mut active: Vec<Seat> = round.seats().collect();
        let mut frozen = vec![false; round.admitted()];
        loop {
            let level = kernel.level(&tree.root).unwrap();
            let mut clients: Vec<Ratio> = Vec::new();
            for &seat in active.iter() {
                let without = kernel.level_without(&tree.root, round.gram(seat)).unwrap();
                frozen[seat.0] |= without < required;
                if !frozen[seat.0] {
                    clients.push(Ratio { seat, gain: level - without, ask: round.ask(seat) });
                }
            }
            let Some(&worst) = clients.iter().reduce(|worst, next| if worst.beats(next) { next } else { worst }) else {
                return active.into_iter().map(|seat| (seat, Amount::saturating(prices[seat.0]))).collect();
            };
            for Ratio { seat, gain, .. } in clients {
                if seat != worst.seat {
                    prices[seat.0] = prices[seat.0].min(highest_ask_to_beat(&worst, seat, gain));
                }
            }
            active.retain(|&seat| seat != worst.seat);
            tree.remove(worst.seat, round.grams());
        }
    }

    #[test]
    fn lazy_clock_equals_the_plain_loop() {
        let large = |seed: u64| (seed, federation(100 + 10 * seed as usize, 1 + seed as usize % 7, seed));
        for (seed, round) in random_rounds(4000).chain((0..20).map(large)) {
            let outcome = Clock.run(&round).unwrap();
            let lazy: Vec<_> = outcome.winners().iter().map(|winner| (winner.seat, winner.payment)).collect();
            assert_eq!(lazy, plain_loop(&round), "seed {seed}");
        }
    }

    #[test]
    fn the_last_to_leave_sets_the_price_of_equals() {
        let round = one_dimensional(0.6, &[("a", "3", 1.0), ("b", "5", 1.0), ("c", "9", 1.0)]);
        check_payments(&Clock, &round, &[("a", "9"), ("b", "9")]);
        // Of equal asks the larger id is turned away.
        let round = one_dimensional(0.6, &[("a", "4", 1.0), ("b", "4", 1.0), ("c", "4", 1.0)]);
        check_payments(&Clock, &round, &[("a", "4"), ("b", "4")]);
    }

    #[test]
    fn losses_grow_and_scores_fall_along_the_rejections() {
        for (seed, round) in random_rounds(300) {
            let history = History::new(&round, round.required(round.coverage())).unwrap();
            let noise = round.noise();
            for seat in history.winners() {
                let losses: Vec<Information> = (0..history.rejected.len())
                    .map(|step| history.loss(&mut round.kernel(), step, round.gram(seat)).unwrap())
                    .collect();
                assert!(losses.windows(2).all(|pair| pair[0] <= pair[1] + noise), "seed {seed}");
            }
        }
    }
}
