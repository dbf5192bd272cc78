//! Buying within a budget: the paper's Algorithm 2, and the grid of budgets it is run on.
//!
//! With a budget b, the best value among those that can still be afforded is bought, again and again.
//! "Affordable" means at most the budget. A client that adds nothing is not bought, however cheap: the
//! printed loop would spend what is left over on clients without data.
//!
//! All budgets share the walk without a budget (the trunk) up to the first purchase they cannot afford.

use super::kernel::Kernel;
use super::meter::Metered;
use super::parameter::{Kind, Parameter};
use super::path::Path;
use super::ratio::highest_ask_to_beat;
use super::{Information, Round, Seat};

/// Largest budget in micro-units. 10^7 offers of at most 10^18 each sum to 10^25; a float this large still fits into 128 bits.
const CEILING: f64 = 1e30;

/// Budgets must grow, and not in too many steps: at 1e-9 the grid has 6e10 of them, which are found by halving. The default
/// is that of the paper.
pub(super) const EPSILON: Parameter = Parameter {
    name: "epsilon",
    kind: Kind::Real { default: 1.0, least: 1e-9, most: 1e9 },
    help: "budgets grow by 1 + epsilon",
};

/// The budgets first * (1 + epsilon)^m, rounded down to micro-units.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    first: f64,
    growth: f64,
}

impl Grid {
    pub(super) fn new(first_micros: i64, epsilon: f64) -> Grid {
        Grid { first: first_micros as f64, growth: 1.0 + epsilon }
    }

    pub(super) fn budget(&self, m: u64) -> i128 {
        (self.first * libm::pow(self.growth, m as f64)).min(CEILING) as i128
    }

    pub(super) fn reaching(&self, amount: i128) -> u64 {
        let mut high = 1;
        while self.budget(high) < amount {
            high *= 2;
        }
        let mut low = 0;
        while low < high {
            let middle = u64::midpoint(low, high);
            if self.budget(middle) < amount { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// What Algorithm 2 buys with a budget, without a client if one is given; `turn` is that client's turn on
/// the trunk, if it has one.
pub(super) fn buy_within<'p>(
    round: &Round,
    trunk: &'p Path<'p>,
    budget: i128,
    without: Option<(Seat, Option<usize>)>,
) -> Metered<Path<'p>> {
    let turn = without.and_then(|(_, turn)| turn).unwrap_or(usize::MAX);
    let step = trunk.affordable(budget).min(turn);
    let walk = trunk.resume(round, step, without.map(|(seat, _)| seat)).within(budget);
    trunk.branch(walk, Information::UNREACHABLE)
}

/// The largest ask above `known` with which a client would be bought within the budget, given what is
/// bought without it; `known` when there is none.
///
/// At each step it must be better value than the pick and leave the purchases before within budget; after the
/// last pick, only the latter.
pub(super) fn critical_within(
    round: &Round,
    kernel: &mut Kernel,
    bought: &Path<'_>,
    budget: i128,
    seat: Seat,
    known: i128,
) -> Metered<i128> {
    let mut best = known;
    let mut last_gain: Option<Information> = None;
    for step in bought.start..=bought.len() {
        let affordable = budget - bought.spent_at(step);
        if affordable <= best {
            break;
        }
        let allowed = |gain: Information| match step < bought.len() {
            true => highest_ask_to_beat(&bought.pick(step).ratio, seat, gain).min(affordable),
            false if gain > Information::ZERO => affordable,
            false => -1,
        };
        if last_gain.is_none_or(|gain| allowed(gain + round.noise()) > best) {
            let gain = bought.gain_at(kernel, step, round.gram(seat))?;
            best = best.max(allowed(gain));
            last_gain = Some(gain);
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{naive_greedy, random_rounds};

    #[test]
    fn grid_budgets_grow_and_are_found_again() {
        for (first, epsilon) in [(1, 1.0), (10_000, 1.0), (4_194_304, 0.25), (7, 1e-3), (1, 1e-9)] {
            let grid = Grid::new(first, epsilon);
            for amount in [0, 1, 5, 10_000, 123_456_789, 10_i128.pow(18), 10_i128.pow(25)] {
                let m = grid.reaching(amount);
                assert!(grid.budget(m) >= amount);
                assert!(m == 0 || grid.budget(m - 1) < amount);
            }
        }
        let budgets: Vec<i128> = (0..4).map(|m| Grid::new(4_194_304, 0.25).budget(m)).collect();
        assert_eq!(budgets, [4_194_304, 5_242_880, 6_553_600, 8_192_000]);
    }

    /// Calls `check` with the seed, the round, its trunk and each of nine budgets, from nothing to all asks together.
    fn for_budgets(rounds: u64, mut check: impl FnMut(u64, &Round, &Path<'_>, i128)) {
        for (seed, round) in random_rounds(rounds) {
            let trunk = Path::new(&round, Information::UNREACHABLE).unwrap();
            let total: i128 = round.seats().map(|seat| i128::from(round.ask(seat).micros())).sum();
            (0..=8).for_each(|eighth| check(seed, &round, &trunk, total * eighth / 8));
        }
    }

    #[test]
    fn buying_from_the_trunk_equals_buying_from_scratch() {
        for_budgets(500, |seed, round, trunk, budget| {
            let bought = buy_within(round, trunk, budget, None).unwrap();
            let lazy: Vec<_> = bought.picks().map(|pick| (pick.ratio.seat, pick.ratio.gain)).collect();
            assert_eq!(lazy, naive_greedy(round, Information::UNREACHABLE, budget), "seed {seed}");
        });
    }

    #[test]
    fn information_bought_never_falls_as_the_budget_grows() {
        let mut last = Information::ZERO;
        for_budgets(500, |seed, round, trunk, budget| {
            let level = buy_within(round, trunk, budget, None).unwrap().level;
            assert!(budget == 0 || last <= level + round.noise(), "seed {seed}");
            last = level;
        });
    }

    #[test]
    fn nothing_changes_below_the_next_change() {
        for_budgets(300, |seed, round, trunk, budget| {
            let bought = buy_within(round, trunk, budget, None).unwrap();
            if bought.next_change < i128::MAX {
                let just_below = buy_within(round, trunk, bought.next_change - 1, None).unwrap();
                assert_eq!(bought.level, just_below.level, "seed {seed}");
            }
        });
    }

    #[test]
    fn buying_within_a_fixed_budget_is_monotone_with_the_closed_form_critical_value() {
        for_budgets(200, |seed, round, trunk, budget| {
            let reserve = i128::from(round.reserve().micros());
            for seat in round.seats() {
                let critical = naive_without(round, budget, seat).min(reserve);
                let turn = trunk.picks().position(|pick| pick.ratio.seat == seat);
                let bought = buy_within(round, trunk, budget, Some((seat, turn))).unwrap();
                // Steps before the branch matter only below the own ask.
                let least = i128::from(round.ask(seat).micros()) - 1;
                let found = critical_within(round, &mut round.kernel(), &bought, budget, seat, least).unwrap();
                assert_eq!(found.min(reserve).max(least), critical.max(least), "seed {seed}");
            }
        });
    }

    /// The critical value by bisection over asks: the search trusts that winning asks form an interval, which
    /// the neighbours of every probe confirm.
    fn naive_without(round: &Round, budget: i128, seat: Seat) -> i128 {
        let wins = |ask: i64| {
            let ask = crate::Amount::from_micros(ask).unwrap();
            let bought = naive_greedy(&round.with_seat_ask(seat, ask), Information::UNREACHABLE, budget);
            bought.iter().any(|(bought, _)| *bought == seat)
        };
        let (mut low, mut high) = (-1, round.reserve().micros() + 1);
        while low + 1 < high {
            let middle = i64::midpoint(low, high);
            if wins(middle) { low = middle } else { high = middle }
        }
        i128::from(low)
    }
}
