//! Algorithms 1, 2, 4, 5 and 7 of the paper letter by letter, with ratios of floats and no shortcut, to count their steps and
//! to check lemmas about them.
//!
//! A reading of the target also says whether purchases may cost the whole budget. Less than a budget is at most a micro-unit
//! less.

use truthfed::auction::{Coverage, Information, Round, Seat};

use super::readings::{TARGETS, is_strict};

/// The growth of the budgets, 1 + epsilon with the paper's epsilon.
const GROWTH: f64 = 2.0;

/// The level that a reading of the target requires.
pub(super) fn required(round: &Round, target: &str) -> Information {
    let strict = 1.0 - 1.0 / std::f64::consts::E;
    let nobody = (round.level(&[]) - round.total_level()).to_nats();
    let more = if target == TARGETS[0] { nobody / std::f64::consts::E } else { 0.0 };
    round.required(Coverage::from_log((strict * round.coverage().log() + more).min(0.0)).expect("a target"))
}

/// The most that purchases within a budget may cost.
pub(super) fn spendable(budget: i64, target: &str) -> i64 {
    budget - i64::from(is_strict(target))
}

/// Algorithm 2 with purchases of at most the budget: buys the best affordable value until nothing is affordable. What adds
/// nothing is not bought.
pub(super) fn greedy(round: &Round, budget: i64, without: Option<Seat>) -> Vec<Seat> {
    let (mut bought, mut left) = (Vec::new(), budget);
    loop {
        let level = level(round, &bought);
        let value = |seat: Seat| {
            let gain = (level_with(round, &bought, seat) - level).to_nats();
            gain / round.ask(seat).to_f64()
        };
        let is_open =
            |seat: &Seat| Some(*seat) != without && !bought.contains(seat) && round.ask(*seat).micros() <= left;
        let best = round.seats().filter(is_open).map(|seat| (value(seat), seat)).filter(|(value, _)| *value > 0.0);
        let Some((_, seat)) = best.reduce(|best, next| if next.0 > best.0 { next } else { best }) else {
            return bought;
        };
        left -= round.ask(seat).micros();
        bought.push(seat);
    }
}

/// How many clients Algorithm 2 evaluates within a budget: at every purchase all that are affordable.
pub(super) fn evaluations(round: &Round, budget: i64) -> usize {
    let bought = greedy(round, budget, None);
    let at = |count: usize| {
        let spent: i64 = bought[..count].iter().map(|seat| round.ask(*seat).micros()).sum();
        let is_open = |seat: &Seat| !bought[..count].contains(seat) && round.ask(*seat).micros() <= budget - spent;
        round.seats().filter(is_open).count()
    };
    (0..=bought.len()).map(at).sum()
}

/// log det V of a set in any order.
pub(super) fn level(round: &Round, seats: &[Seat]) -> Information {
    let mut sorted = seats.to_vec();
    sorted.sort();
    round.level(&sorted)
}

fn level_with(round: &Round, seats: &[Seat], seat: Seat) -> Information {
    level(round, &[seats, &[seat]].concat())
}

/// Where Algorithm 1 stops.
pub(super) struct Stop {
    pub(super) budget: i64,
    /// Budgets tried.
    pub(super) steps: u64,
}

/// Algorithm 1 until its target is reached, without a client if one is given; none if all that are left do not reach it.
pub(super) fn search(round: &Round, target: &str, without: Option<Seat>) -> Option<Stop> {
    let required = required(round, target);
    let others: Vec<Seat> = round.seats().filter(|seat| Some(*seat) != without).collect();
    if round.level(&others) < required {
        return None;
    }
    let smallest = others.iter().map(|seat| round.ask(*seat).micros()).filter(|ask| *ask > 0).min()?;
    let mut stop = Stop { budget: smallest, steps: 0 };
    let (mut budget, mut bought) = (smallest as f64, Vec::new());
    while level(round, &bought) < required {
        budget *= GROWTH;
        stop = Stop { budget: budget as i64, steps: stop.steps + 1 };
        bought = greedy(round, spendable(stop.budget, target), without);
    }
    Some(stop)
}

/// Algorithms 4 and 5: the budgets are sums of asks in greedy order. None if they run out before the target is reached.
pub(super) fn greedy_v2(round: &Round, target: &str) -> Option<Vec<Seat>> {
    let required = required(round, target);
    let order = greedy(round, i64::MAX, None);
    let budgets = order.iter().scan(0, |budget, seat| {
        *budget += round.ask(*seat).micros();
        Some(*budget)
    });
    let mut bought = budgets.map(|budget| greedy(round, spendable(budget, target), None));
    let mut found = bought.find(|bought| level(round, bought) >= required)?;
    found.sort();
    Some(found)
}

/// Steps that the bisection of Algorithm 7 takes from 0 to a budget, to a tolerance.
pub(super) fn bisection_steps(budget: i64, gamma: i64) -> u64 {
    let (mut width, mut steps) = (budget as f64, 0);
    while width / 2.0 >= gamma as f64 {
        width /= 2.0;
        steps += 1;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::readings::greedy_v2 as fast;
    use crate::reproduce::single_rounds::ALONE;
    use truthfed::Amount;
    use truthfed::auction::RoundDocument;
    use truthfed::generate::varied;

    #[test]
    fn greedy_v2_letter_by_letter_is_the_fast_one_if_budgets_may_be_spent_whole() {
        let target = TARGETS[0];
        let is_usual = |round: &Round| {
            round.seats().all(|seat| round.ask(seat) > Amount::ZERO) && round.level(&[]) < required(round, target)
        };
        for (seed, round) in (0..60).map(|seed| (seed, varied(seed))).filter(|(_, round)| is_usual(round)) {
            assert_eq!(greedy_v2(&round, target), fast(target).select(&round).ok(), "seed {seed}");
        }
    }

    #[test]
    fn to_the_letter_the_ask_of_a_client_alone_does_not_pay_for_it() {
        let round = RoundDocument::read_round(ALONE).unwrap();
        let [normalised, printed] = TARGETS.map(|target| greedy_v2(&round, target));
        assert_eq!((normalised, printed), (Some(vec![Seat(0)]), None));
        assert_eq!(TARGETS.map(|target| search(&round, target, None).unwrap().steps), [1, 1]);
    }
}
