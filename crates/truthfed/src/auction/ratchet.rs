//! `ratchet`: the paper's Algorithm 1, mended.
//!
//! Budgets grow along a fixed grid that no ask can move. At each budget Algorithm 2 buys from scratch, and
//! its purchases are added to the set kept so far; the search stops when the kept set meets the target.
//!
//! As printed, the search keeps only the last set, and a client that lowers its ask can change the rest of
//! the purchases, miss the target at that budget and be dropped at the next. Here, once chosen stays chosen:
//! for a client that lowers its ask every step is unchanged until it is chosen. So it is monotone, and the
//! critical value is the largest over the budgets up to the one at which the search without the client stops.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::budget::{EPSILON, Grid, buy_within, critical_within};
use super::catalog::{Claims, Entry};
use super::kernel::Kernel;
use super::meter::{Metered, within_limit};
use super::outcome::{Priced, tally};
use super::parameter::{Kind, Parameter, ParameterError, Value};
use super::path::{Path, turns};
use super::round::add;
use super::{Evaluations, Information, Mechanism, MechanismSetting, Outcome, PaymentRule, Refusal, Round, Seat};
use crate::Amount;

/// Kept purchases over growing budgets, critical payments.
#[derive(Debug, Clone, Copy)]
pub struct Ratchet {
    first_budget: Amount,
    epsilon: f64,
}

/// A hundredth of a unit: below what one would ask. From 0 budgets would not grow.
const FIRST_BUDGET: Parameter = Parameter {
    name: "first_budget",
    kind: Kind::Amount { default: Amount::from_micros(10_000).expect("a valid amount") },
    help: "the first budget",
};

pub(super) const ENTRY: Entry = Entry {
    name: "ratchet",
    summary: "Algorithm 1 fixed: budgets that no ask can move, once chosen stays chosen",
    target: "c",
    parameters: &[EPSILON, FIRST_BUDGET],
    claims: |_| Claims::TRUTHFUL,
    build: |setting| Box::new(Ratchet::of(setting)),
};

impl Ratchet {
    /// Budgets `first_budget * (1 + epsilon)^m`.
    pub fn new(first_budget: Amount, epsilon: f64) -> Result<Ratchet, ParameterError> {
        FIRST_BUDGET.check(first_budget)?;
        EPSILON.check(epsilon)?;
        Ok(Ratchet { first_budget, epsilon })
    }

    fn of(setting: &MechanismSetting) -> Ratchet {
        Ratchet { first_budget: setting.amount(&FIRST_BUDGET), epsilon: setting.real(&EPSILON) }
    }

    fn grid(&self) -> Grid {
        Grid::new(self.first_budget.micros(), self.epsilon)
    }
}

impl Default for Ratchet {
    fn default() -> Ratchet {
        Ratchet::of(&ENTRY.setting())
    }
}

impl Mechanism for Ratchet {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        [EPSILON.with(self.epsilon), FIRST_BUDGET.with(self.first_budget)].into()
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        within_limit(round, |round| {
            let search = Search::new(round, self.grid())?;
            let priced = search.winners().into_par_iter().map(|seat| search.price(seat));
            let (paid, price) = tally(priced.collect::<Result<_, _>>()?);
            let evaluations = Evaluations { select: search.evaluations, price };
            Ok(Outcome::new(round, self.name(), PaymentRule::Critical, round.coverage(), paid, evaluations))
        })
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        Ok(Search::new(round, self.grid())?.winners())
    }
}

/// The search over budgets with everyone present.
struct Search<'r> {
    round: &'r Round,
    grid: Grid,
    required: Information,
    trunk: Path<'static>,
    turns: Vec<Option<usize>>,
    stages: Vec<Stage>,
    evaluations: u64,
}

/// A budget at which something changes, and who was chosen there first.
struct Stage {
    m: u64,
    chosen: Vec<Seat>,
}

impl<'r> Search<'r> {
    fn new(round: &'r Round, grid: Grid) -> Metered<Search<'r>> {
        let required = round.required(round.coverage());
        #[cfg(feature = "planted-faults")]
        let grid = match crate::planted::is(crate::planted::Fault::BudgetFromSmallestAsk) {
            true => Grid::new(round.seats().map(|seat| round.ask(seat).micros()).min().unwrap_or(1).max(1), 1.0),
            false => grid,
        };
        let trunk = Path::new(round, Information::UNREACHABLE)?;
        let turns = turns(&trunk, round.admitted());
        let evaluations = trunk.evaluations;
        let mut search = Search { round, grid, required, trunk, turns, stages: Vec::new(), evaluations };
        let mut kept = Kept::new(round);
        let mut kernel = round.kernel();
        let mut m = 0;
        while kept.level < required {
            let bought = buy_within(round, &search.trunk, grid.budget(m), None)?;
            search.evaluations += bought.evaluations;
            let chosen = kept.add_all(round, &mut kernel, bought.picks().map(|pick| pick.ratio.seat))?;
            search.stages.push(Stage { m, chosen });
            if kept.level < required {
                let next = bought.next_change;
                assert!(next < i128::MAX, "bug: everyone together misses a target relative to everyone");
                m = grid.reaching(next);
            }
        }
        search.evaluations += kernel.evaluations;
        Ok(search)
    }

    fn winners(&self) -> Vec<Seat> {
        let mut winners: Vec<Seat> = self.stages.iter().flat_map(|stage| stage.chosen.iter().copied()).collect();
        winners.sort();
        winners
    }

    /// A winner with its critical value, and the log determinants it took.
    ///
    /// Before the budget at which it was first chosen, it would have had to ask less than it did.
    fn price(&self, seat: Seat) -> Metered<Priced> {
        let (round, grid) = (self.round, self.grid);
        let reserve = i128::from(round.reserve().micros());
        let mut kernel = round.kernel();
        let first = self.stages.iter().position(|stage| stage.chosen.contains(&seat));
        let first = first.expect("a winner was chosen at some budget");
        let mut kept = Kept::new(round);
        for stage in &self.stages[..first] {
            kept.add_all(round, &mut kernel, stage.chosen.iter().copied())?;
        }
        let mut runs: Vec<(Path<'_>, i128)> = Vec::new();
        let mut m = self.stages[first].m;
        while kept.level < self.required {
            let bought = buy_within(round, &self.trunk, grid.budget(m), Some((seat, self.turns[seat.0])))?;
            kept.add_all(round, &mut kernel, bought.picks().map(|pick| pick.ratio.seat))?;
            let next = bought.next_change;
            let covered = kept.level >= self.required;
            if next == i128::MAX && !covered {
                let evaluations = kernel.evaluations + total_evaluations(&runs) + bought.evaluations;
                return Ok(((seat, round.reserve()), evaluations));
            }
            // The same purchases are made with every budget below the next change; the largest allows most.
            let next_m = if covered { m + 1 } else { grid.reaching(next) };
            runs.push((bought, grid.budget(next_m - 1)));
            m = next_m;
        }
        let mut best = i128::from(round.ask(seat).micros());
        for (bought, budget) in runs.iter().rev() {
            best = critical_within(round, &mut kernel, bought, *budget, seat, best)?;
        }
        Ok(((seat, Amount::saturating(best.min(reserve))), kernel.evaluations + total_evaluations(&runs)))
    }
}

fn total_evaluations(runs: &[(Path<'_>, i128)]) -> u64 {
    runs.iter().map(|(bought, _)| bought.evaluations).sum()
}

struct Kept {
    here: Vec<bool>,
    matrix: Vec<f64>,
    level: Information,
}

impl Kept {
    fn new(round: &Round) -> Kept {
        Kept { here: vec![false; round.admitted()], matrix: round.base_matrix().to_vec(), level: round.base_level() }
    }

    /// Adds clients in order, and returns those that were new.
    fn add_all(&mut self, round: &Round, kernel: &mut Kernel, seats: impl Iterator<Item = Seat>) -> Metered<Vec<Seat>> {
        let new: Vec<Seat> = seats.filter(|seat| !std::mem::replace(&mut self.here[seat.0], true)).collect();
        for &seat in &new {
            add(&mut self.matrix, round.gram(seat));
        }
        if !new.is_empty() {
            self.level = kernel.level(&self.matrix)?;
        }
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{naive_greedy, random_rounds};

    /// Every budget of the grid, one after another, bought from scratch.
    fn plain_loop(round: &Round, grid: Grid) -> Vec<Seat> {
        let required = round.required(round.coverage());
        let (mut kept, mut kernel) = (Kept::new(round), round.kernel());
        let mut m = 0;
        while kept.level < required {
            let bought = naive_greedy(round, Information::UNREACHABLE, grid.budget(m));
            kept.add_all(round, &mut kernel, bought.into_iter().map(|(seat, _)| seat)).unwrap();
            m += 1;
        }
        round.seats().filter(|seat| kept.here[seat.0]).collect()
    }

    #[test]
    fn skipping_budgets_at_which_nothing_changes_changes_nothing() {
        for epsilon in [1.0, 0.07] {
            let ratchet = Ratchet::new(Amount::saturating(10_000), epsilon).unwrap();
            for (seed, round) in random_rounds(300) {
                assert_eq!(ratchet.select(&round).unwrap(), plain_loop(&round, ratchet.grid()), "seed {seed}");
            }
        }
    }

    #[test]
    fn parameters_outside_their_bounds_are_refused() {
        let error = Ratchet::new(Amount::ZERO, 1.0).unwrap_err();
        assert_eq!(error.to_string(), "first_budget is 0: it must be above 0");
        for epsilon in [0.0, -1.0, 1e-10, f64::NAN, f64::INFINITY] {
            assert!(Ratchet::new(Amount::STEP, epsilon).is_err(), "{epsilon}");
        }
    }
}
