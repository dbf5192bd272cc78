//! `vcg`: the cheapest set of clients that meets the target, by exact search, with Clarke payments.
//!
//! Branch and bound. Clients are decided by their ids, included first; a client that adds nothing is left out, one that
//! the target cannot do without is put in. These decisions depend on the data only, never on an ask, and of several
//! cheapest sets the first that the search meets wins: so ties go to the smaller ids by a fixed order of sets, and the
//! critical value is exact. A branch is cut when its lower bound is no better than the best set so far.
//!
//! Two bounds, both from submodularity. From below: what each free client adds now is the most it can
//! ever add, so a fractional knapsack of these gains bounds the cost of what is missing. From above: what
//! would be lost without each free client now is the least its absence can cost, so a fractional knapsack
//! of these losses bounds what can be saved.

mod bounds;
mod search;

use std::collections::BTreeMap;

use rayon::prelude::*;

use self::search::{Search, Solution};
use super::catalog::{Claim, Claims, Entry};
use super::meter::within_limit;
use super::outcome::{Priced, tally};
use super::parameter::{Kind, Parameter, Value};
use super::{Evaluations, Mechanism, Outcome, PaymentRule, Refusal, Round, Seat};
use crate::Amount;

/// Sets are kept in 128-bit words.
const MAX_CLIENTS: usize = 128;

#[derive(Debug, Clone, Copy)]
pub struct Vcg {
    /// Most nodes one search may visit before it gives up (there is one search for the winners and two for
    /// each winner's price).
    pub node_limit: u64,
}

/// More than 30 clients need, and some seconds before 60 are refused.
const DEFAULT_NODE_LIMIT: u64 = 300_000;

const NODE_LIMIT: Parameter = Parameter {
    name: "node_limit",
    kind: Kind::Count { default: DEFAULT_NODE_LIMIT },
    help: "most nodes a search may visit",
};

pub(super) const ENTRY: Entry = Entry {
    name: "vcg",
    summary: "the exact optimum by branch and bound, Clarke payments",
    target: "c",
    parameters: &[NODE_LIMIT],
    claims: |_| Claims { optimal: Claim::Yes, ..Claims::TRUTHFUL },
    build: |setting| Box::new(Vcg { node_limit: setting.count(&NODE_LIMIT) }),
};

impl Default for Vcg {
    fn default() -> Vcg {
        Vcg { node_limit: DEFAULT_NODE_LIMIT }
    }
}

impl Mechanism for Vcg {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        [NODE_LIMIT.with(self.node_limit)].into()
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        within_limit(round, |round| {
            let (optimum, select) = self.optimum(round)?;
            // All are priced, also when one search gives up: the work of the run must not depend on threads.
            let priced = optimum.winners().into_par_iter().map(|seat| self.price(round, &optimum, seat));
            let priced: Vec<Result<Priced, Refusal>> = priced.collect();
            let (paid, price) = tally(priced.into_iter().collect::<Result<_, _>>()?);
            let evaluations = Evaluations { select, price };
            Ok(Outcome::new(round, self.name(), PaymentRule::Critical, round.coverage(), paid, evaluations))
        })
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        Ok(self.optimum(round)?.0.winners())
    }
}

impl Vcg {
    /// The cheapest covering set of all, and the log determinants it took.
    fn optimum(&self, round: &Round) -> Result<(Solution, u64), Refusal> {
        let (optimum, evaluations) = self.solve(round, None)?;
        Ok((optimum.expect("everyone together meets a target relative to everyone"), evaluations))
    }

    /// The cheapest covering set, `without` a client if one is given; `None` when there is none.
    fn solve(&self, round: &Round, without: Option<Seat>) -> Result<(Option<Solution>, u64), Refusal> {
        if round.admitted() > MAX_CLIENTS {
            return Err(Refusal::TooManyClients { clients: round.admitted(), limit: MAX_CLIENTS });
        }
        Search::new(round, without, self.node_limit).run()
    }

    /// The optimum without a winner, less what the others of the optimum ask; one micro-unit less where
    /// that is a tie the winner would lose.
    fn price(&self, round: &Round, optimum: &Solution, seat: Seat) -> Result<Priced, Refusal> {
        let (without, evaluations) = self.solve(round, Some(seat))?;
        let Some(without) = without else { return Ok(((seat, round.reserve()), evaluations)) };
        let others = optimum.cost - i128::from(round.ask(seat).micros());
        let clarke = without.cost - others;
        if clarke > i128::from(round.reserve().micros()) {
            return Ok(((seat, round.reserve()), evaluations));
        }
        let at_tie = round.with_seat_ask(seat, Amount::saturating(clarke));
        let (tied, more) = self.optimum(&at_tie)?;
        let lost = i128::from(!tied.includes(seat));
        Ok(((seat, Amount::saturating(clarke - lost)), evaluations + more))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::catalog;
    use crate::auction::testing::{check_payments, one_dimensional, random_rounds};

    /// The least cost of a covering set, over all sets.
    fn brute_force(round: &Round) -> i128 {
        let required = round.required(round.coverage());
        let all: Vec<Seat> = round.seats().collect();
        let sets = (0_u32..1 << all.len())
            .map(|mask| -> Vec<Seat> { all.iter().copied().filter(|seat| mask >> seat.0 & 1 == 1).collect() });
        let covering = sets.filter(|set| round.level(set) >= required);
        covering.map(|set| set.iter().map(|&seat| i128::from(round.ask(seat).micros())).sum()).min().unwrap()
    }

    #[test]
    fn vcg_equals_brute_force_up_to_twelve_clients() {
        for (seed, round) in random_rounds(400) {
            let outcome = Vcg::default().run(&round).unwrap();
            assert_eq!(outcome.social_cost().micros(), brute_force(&round), "seed {seed}");
        }
    }

    #[test]
    fn vcg_social_cost_is_at_most_that_of_all_others_at_its_target() {
        for (seed, round) in random_rounds(400) {
            let optimum = Vcg::default().run(&round).unwrap().social_cost();
            for entry in catalog::entries() {
                let outcome = entry.mechanism().run(&round).unwrap();
                assert!(optimum <= outcome.social_cost(), "seed {seed}: {}", entry.name);
            }
        }
    }

    #[test]
    fn a_winner_is_paid_what_its_absence_would_cost_the_others() {
        let round = one_dimensional(0.6, &[("a", "3", 4.0), ("b", "5", 4.0), ("c", "9", 4.0)]);
        check_payments(&Vcg::default(), &round, &[("a", "9"), ("b", "9")]);
        // At the reserve too the tie goes to the smaller id.
        let round = one_dimensional(0.4, &[("a", "100", 4.0), ("b", "3", 4.0)]);
        check_payments(&Vcg::default(), &round, &[("b", "99.999999")]);
    }

    #[test]
    fn too_large_a_search_is_refused_with_the_reason() {
        let hasty = Vcg { node_limit: 1 };
        for clients in [40, 128] {
            let refusal = hasty.run(&crate::generate::federation(clients, 2, 1)).unwrap_err();
            assert_eq!(refusal, Refusal::TooManyNodes { clients, limit: 1 });
        }
        let refusal = Vcg::default().run(&crate::generate::federation(129, 2, 1)).unwrap_err();
        assert_eq!(refusal, Refusal::TooManyClients { clients: 129, limit: 128 });
        // Everyone is needed, which is seen at the first node.
        let round = one_dimensional(1.0, &[("a", "3", 4.0), ("b", "5", 4.0)]);
        assert_eq!(hasty.run(&round).unwrap().winners().len(), 2);
    }
}
