//! `greedy-v2`: the paper's Algorithms 4 and 5, a greedy with a budget that grows client by client.
//!
//! Its budgets are the partial sums of the asks in greedy order. With a budget that just pays for the
//! first k clients of that order, the budgeted greedy buys exactly those: each was the best value
//! among all, so it is among the affordable. So the whole is the plain greedy at another target,
//! coverage^(1 - 1/e) unless `target` says otherwise, and that is how it is run; the tests walk through the printed algorithm.
//!
//! The one difference: clients that ask 0 cost no budget, so the printed loop takes all of them that add
//! anything even where some would do. The plain greedy stops at the target here too.

use std::collections::BTreeMap;

use super::catalog::{Claims, Entry};
use super::parameter::Value;
use super::target::{TARGET, Target};
use super::{Mechanism, Outcome, Refusal, Round, Seat, greedy};
use crate::Amount;

/// The greedy at the target coverage^(1 - 1/e), critical payments.
#[derive(Debug, Clone, Copy)]
pub struct GreedyV2 {
    target: Target,
}

pub(super) const ENTRY: Entry = Entry {
    name: "greedy-v2",
    summary: "the paper's Algorithms 4 and 5: the greedy at a stricter target",
    target: "c^(1-1/e)",
    parameters: &[TARGET],
    claims: |_| Claims::TRUTHFUL,
    build: |setting| Box::new(GreedyV2 { target: Target::of(setting) }),
};

/// As printed.
impl Default for GreedyV2 {
    fn default() -> GreedyV2 {
        GreedyV2 { target: Target::Printed }
    }
}

impl Mechanism for GreedyV2 {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        [self.target.parameter()].into()
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        greedy::run(round, self.name(), self.target.coverage(round))
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        greedy::select(round, self.target.coverage(round))
    }

    fn wins(&self, round: &Round, asks: &[(Seat, Amount)]) -> Result<Vec<bool>, Refusal> {
        greedy::wins(round, self.target.coverage(round), asks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{naive_greedy, random_rounds};
    use crate::auction::{Coverage, Greedy, Information};

    /// Algorithms 4 and 5 to the letter: order all, then grow the budget along that order.
    fn printed(round: &Round) -> Vec<Seat> {
        let required = round.required(round.coverage().pow(Coverage::STRICT));
        let order = naive_greedy(round, Information::UNREACHABLE, i128::MAX);
        let (mut bought, mut level, mut budget) = (Vec::new(), round.base_level(), 0);
        let mut asks = order.iter().map(|(seat, _)| i128::from(round.ask(*seat).micros()));
        while level < required {
            budget += asks.next().expect("everyone together meets the target");
            bought = naive_greedy(round, Information::UNREACHABLE, budget);
            level = bought.iter().fold(round.base_level(), |level, (_, gain)| level + *gain);
        }
        let mut seats: Vec<Seat> = bought.into_iter().map(|(seat, _)| seat).collect();
        seats.sort();
        seats
    }

    #[test]
    fn greedy_v2_as_printed_buys_what_the_greedy_buys_unless_some_ask_nothing() {
        for (seed, round) in random_rounds(1000) {
            if round.seats().any(|seat| round.ask(seat) == Amount::ZERO) {
                continue;
            }
            assert_eq!(GreedyV2::default().select(&round).unwrap(), printed(&round), "seed {seed}");
        }
    }

    #[test]
    fn greedy_v2_at_c_equals_greedy_at_c_to_the_one_minus_one_over_e() {
        for (seed, round) in random_rounds(500) {
            let stricter = libm::pow(round.coverage().to_ratio(), Coverage::STRICT);
            let greedy = Greedy.run(&round.with_coverage(Coverage::ratio(stricter).unwrap())).unwrap();
            assert_eq!(GreedyV2::default().run(&round).unwrap().winners(), greedy.winners(), "seed {seed}");
        }
    }
}
