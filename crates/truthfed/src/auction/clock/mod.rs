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
//!
//! Where the prices of the target are above the round's purse, the clock goes on without a target: [`purse`].

mod growth;
mod prices;
mod purse;
mod queue;
mod rejection;
mod shrinkage;
mod steps;

use rayon::prelude::*;

use self::rejection::History;
pub use self::steps::{Active, ClockStep};
use super::catalog::{Claim, Claims, Entry};
use super::meter::{Metered, within_limit_and_purse};
use super::outcome::tally;
use super::ratio::Ratio;
use super::{Evaluations, Information, Mechanism, Outcome, PaymentRule, Refusal, Round, Seat};
use crate::Amount;

#[derive(Debug, Clone, Copy, Default)]
pub struct Clock;

pub(super) const ENTRY: Entry = Entry {
    name: "clock",
    summary: "descending clock: the worst value leaves, prices fall (default)",
    target: "c",
    parameters: &[],
    claims: |_| Claims { collusion_proof: Claim::Yes, within_purse: Claim::Yes, ..Claims::TRUTHFUL },
    build: |_| Box::new(Clock),
};

impl Mechanism for Clock {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        within_limit_and_purse(round, |round| {
            let Bought { paid, essential, evaluations, bound, .. } = buy(round)?;
            let rule = PaymentRule::Critical;
            let outcome = Outcome::known(round, self.name(), rule, round.coverage(), paid, &essential, evaluations);
            Ok(if bound { outcome.bound_by_purse() } else { outcome })
        })
    }

    /// Without a purse nothing has to be priced.
    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        match round.purse() {
            None => Ok(select(round)?.0),
            Some(_) => Ok(buy(round)?.paid.into_iter().map(|(seat, _)| seat).collect()),
        }
    }

    /// As long as a winner is not the worst value, its ask changes nothing: it is compared with the one rejected, step by step.
    fn wins(&self, round: &Round, asks: &[(Seat, Amount)]) -> Result<Vec<bool>, Refusal> {
        let history = History::new(round, round.required(round.coverage()))?;
        let leaves = history.leaves();
        let of_one_client: Vec<&[(Seat, Amount)]> = asks.chunk_by(|a, b| a.0 == b.0).collect();
        let wins = of_one_client.into_par_iter().map(|asks| match round.purse() {
            None if leaves[asks[0].0.0] == usize::MAX => Ok(history.stays(round, asks)?),
            _ => {
                let select = |&(seat, ask): &(Seat, Amount)| self.select(&round.with_seat_ask(seat, ask));
                asks.iter().map(|ask| Ok(select(ask)?.contains(&ask.0))).collect()
            }
        });
        Ok(wins.collect::<Result<Vec<Vec<bool>>, Refusal>>()?.concat())
    }
}

/// A client that the clock turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejection {
    pub seat: Seat,
    pub ask: Amount,
    /// What was lost without it, of those that were still active.
    pub loss: Information,
}

impl Clock {
    /// Who was turned away, in order. Fails as [`Mechanism::run`].
    pub fn rejections(&self, round: &Round) -> Result<Vec<Rejection>, Refusal> {
        let rejection = |ratio: Ratio| Rejection { seat: ratio.seat, ask: ratio.ask, loss: ratio.gain };
        let bought = within_limit_and_purse(round, |round| Ok(buy(round)?))?;
        Ok(bought.rejected.into_iter().map(rejection).collect())
    }
}

struct Bought {
    paid: Vec<(Seat, Amount)>,
    rejected: Vec<Ratio>,
    /// Those without whom the target is missed, by seat.
    essential: Vec<Seat>,
    evaluations: Evaluations,
    /// Whether the purse did not reach for the target.
    bound: bool,
}

fn buy(round: &Round) -> Metered<Bought> {
    let mut history = History::new(round, round.required(round.coverage()))?;
    let (mut paid, mut price) = tally(prices::prices(round, &history, &history.winners())?);
    let total: i128 = paid.iter().map(|(_, price)| i128::from(price.micros())).sum();
    let purse = round.purse().filter(|purse| i128::from(purse.micros()) < total);
    if let Some(purse) = purse {
        let purchase = purse::buy(round, &mut history, purse, &paid)?;
        (paid, price) = (purchase.paid, price + purchase.evaluations);
    }
    let evaluations = Evaluations { select: history.evaluations, price };
    Ok(Bought { paid, rejected: history.rejected, essential: history.essential, evaluations, bound: purse.is_some() })
}

/// The winners, and the log determinants it took.
pub(super) fn select(round: &Round) -> Metered<(Vec<Seat>, u64)> {
    let history = History::new(round, round.required(round.coverage()))?;
    Ok((history.winners(), history.evaluations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{check_payments, odd_rounds, one_dimensional, random_rounds};
    use crate::generate::{federation, varied_within};
    use crate::statistics::Gram;

    /// The auction as described: what the last of its steps says.
    fn plain_loop(round: &Round) -> Vec<(Seat, Amount)> {
        let steps = Clock.steps(round).unwrap();
        steps.last().unwrap().active.iter().map(|client| (client.seat, client.price)).collect()
    }

    #[test]
    fn along_the_steps_prices_only_fall_and_those_turned_away_are_the_rejections() {
        for (seed, round) in random_rounds(200) {
            let steps = Clock.steps(&round).unwrap();
            let at_the_reserve = |client: &Active| client.price == round.reserve();
            assert!(steps[0].active.len() == round.admitted() && steps[0].active.iter().all(at_the_reserve));
            let rejected: Vec<Seat> = steps.iter().filter_map(|step| step.rejected).collect();
            let known: Vec<Seat> = Clock.rejections(&round).unwrap().iter().map(|it| it.seat).collect();
            assert_eq!(rejected, known, "seed {seed}");
            for pair in steps.windows(2) {
                for client in &pair[1].active {
                    let before = pair[0].active.iter().find(|it| it.seat == client.seat).unwrap();
                    assert!(client.price <= before.price && client.price >= round.ask(client.seat), "seed {seed}");
                    assert!(!before.frozen || (client.frozen && client.price == before.price), "seed {seed}");
                }
            }
            assert!(steps.last().unwrap().active.iter().all(|client| client.frozen), "seed {seed}");
        }
    }

    #[test]
    fn winners_and_rejections_are_all_clients_and_each_rejection_was_the_worst_value_of_its_step() {
        for (seed, round) in random_rounds(200) {
            let (won, rejections) = (Clock.select(&round).unwrap(), Clock.rejections(&round).unwrap());
            let mut active: Vec<Seat> = round.seats().collect();
            for Rejection { seat, ask, loss } in &rejections {
                let without: Vec<Seat> = active.iter().copied().filter(|other| other != seat).collect();
                let near = (round.level(&active) - round.level(&without)).to_nats() - loss.to_nats();
                assert!(near.abs() < 1e-9 && *ask == round.ask(*seat), "seed {seed}");
                active = without;
            }
            assert_eq!(active, won, "seed {seed}");
        }
    }

    #[test]
    fn lazy_clock_equals_the_plain_loop() {
        let large = |seed: u64| (seed, federation(100 + 10 * seed as usize, 1 + seed as usize % 7, seed));
        for (seed, round) in random_rounds(4000).chain(odd_rounds(400)).chain((0..20).map(large)) {
            check_plain_loop(seed, &round);
        }
    }

    fn check_plain_loop(seed: u64, round: &Round) {
        let outcome = Clock.run(round).unwrap();
        let lazy: Vec<_> = outcome.winners().iter().map(|winner| (winner.seat, winner.payment)).collect();
        assert_eq!(lazy, plain_loop(round), "seed {seed}");
        let essential: Vec<_> = outcome.winners().iter().filter(|winner| winner.essential).collect();
        let required = round.required(round.coverage());
        assert!(essential.iter().all(|winner| round.is_essential(winner.seat, required)), "seed {seed}");
    }

    /// Whoever has no data loses nothing, and has an infinite score at every step: bounds say nothing about who is next.
    #[test]
    fn a_plateau_of_infinite_bounds_comes_to_an_end() {
        for seed in 0..60 {
            let mut spec = varied_within(seed, (13, 90), (1, 6)).spec();
            let empty = Gram::zeros(spec.base.dimension()).unwrap();
            for (i, offer) in spec.offers.iter_mut().enumerate() {
                if i as u64 % 5 < seed % 6 {
                    offer.gram = empty.clone();
                }
            }
            check_plain_loop(seed, &Round::new(spec).unwrap());
        }
    }

    /// Purses of these shares of what the target costs.
    fn purses(round: &Round) -> impl Iterator<Item = Round> + use<> {
        let cost = Clock.run(round).unwrap().payments().micros();
        let round = round.clone();
        [1000, 999, 500, 100, 10, 1].into_iter().map(move |share| {
            let purse = Amount::saturating(cost * share / 1000);
            round.with_purse(Some(purse))
        })
    }

    #[test]
    fn lazy_clock_equals_the_plain_loop_within_a_purse() {
        let large = |seed: u64| (seed, federation(100 + 10 * seed as usize, 1 + seed as usize % 7, seed));
        // So many that a sample of them tells where to look.
        let sampled = (20..23).map(|seed| (seed, federation(1200, seed as usize - 19, seed)));
        let mut stops = [0, 0, 0];
        for (seed, round) in random_rounds(2000).chain(odd_rounds(40)).chain((0..10).map(large)).chain(sampled) {
            for round in purses(&round) {
                let outcome = Clock.run(&round).unwrap();
                let lazy: Vec<_> = outcome.winners().iter().map(|winner| (winner.seat, winner.payment)).collect();
                assert_eq!(lazy, plain_loop(&round), "seed {seed}, purse {:?}", round.purse());
                assert!(outcome.payments().micros() <= i128::from(round.purse().unwrap().micros()), "seed {seed}");
                let is_whole = outcome.winners().len() == round.admitted();
                stops[if outcome.is_bound_by_purse() { 1 + usize::from(is_whole) } else { 0 }] += 1;
            }
        }
        assert!(stops.iter().all(|&count| count > 100), "{stops:?}");
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
            let blur = history.blur;
            for seat in history.winners() {
                let losses: Vec<Information> = (0..history.rejected.len())
                    .map(|step| history.loss(&mut round.kernel(), step, round.gram(seat)).unwrap())
                    .collect();
                assert!(losses.windows(2).all(|pair| blur.least(pair[0]) <= pair[1]), "seed {seed}");
            }
        }
    }
}
