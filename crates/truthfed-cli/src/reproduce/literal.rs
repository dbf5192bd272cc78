//! Algorithms 1, 2 and 7 of the paper letter by letter, with ratios of floats and no shortcut, to count their steps and to
//! check lemmas about them.

use truthfed::auction::{Information, Round, Seat};

/// Algorithm 2: buys the best affordable value until nothing is affordable. What adds nothing is not bought.
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
    /// What it bought, in order.
    pub(super) bought: Vec<Seat>,
}

/// Algorithm 1 until a level is reached, without a client if one is given; none if all that are left do not reach it.
pub(super) fn search(round: &Round, required: Information, epsilon: f64, without: Option<Seat>) -> Option<Stop> {
    let others: Vec<Seat> = round.seats().filter(|seat| Some(*seat) != without).collect();
    if round.level(&others) < required {
        return None;
    }
    let smallest = others.iter().map(|seat| round.ask(*seat).micros()).filter(|ask| *ask > 0).min()?;
    let mut stop = Stop { budget: smallest, steps: 0, bought: Vec::new() };
    let mut budget = smallest as f64;
    while level(round, &stop.bought) < required {
        budget *= 1.0 + epsilon;
        stop = Stop { budget: budget as i64, steps: stop.steps + 1, bought: greedy(round, budget as i64, without) };
    }
    Some(stop)
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
