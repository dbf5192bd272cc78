//! What each winner of a greedy walk could have asked: many walks without one client, next to each other.
//!
//! The walk without a winner is a branch of the main walk, and hardly differs from it: it buys the same clients, and at some
//! time another one in the place of the winner. So the main walk tells where to look. Let a branch without i have bought
//! the first m clients of the main walk (but i), and others perhaps. Its matrix is at least V(m) - G(i), V(m) being that of the main walk, and that is at
//! least (1 - l) V(m) if G(i) is at most l V(m). So nobody adds more to the branch than 1 / (1 - l) times what it would
//! add to the main walk at m. A [`Ranking`] has the best of each stage of the main walk, evaluated there, and a bound for all
//! others: it serves all branches, which then evaluate little more than whom they buy.
//!
//! What the winner itself would have added is evaluated afterwards. That falls along the branch, and what its rivals ask per information
//! grows. So over an interval of purchases the price is bounded by its two ends, and only intervals that could have a higher one
//! are split.
//!
//! A branch that strays so far from the main walk that the ranking cannot tell whom it buys is given back, to be walked by itself.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bound::{Bound, WIDER};
use super::meter::Metered;
use super::path::Path;
use super::ratio::{Ratio, highest_ask_to_beat};
use super::round::add;
use super::walk::value;
use super::{Information, Round, Seat};
use crate::statistics::{Pair, log_det_in_place};

/// Clients that are evaluated at every stage of the main walk: a few vectors full. Most branches need the first two.
const RANKED: usize = 24;
/// A branch remembers its matrix after every so many purchases.
const EVERY: usize = 8;
/// What is tried as the share of a client in the matrix, of the most that its gain allows.
const SHARES: [f64; 4] = [0.3, 0.5, 0.75, 1.0];
/// For rounding in a factorization, beside the noise of the round.
const MARGIN: f64 = 1e-9;

/// The best clients at every stage of a walk.
#[derive(Debug)]
pub(super) struct Ranking {
    stages: Vec<Stage>,
    /// Log determinants that it took.
    pub(super) evaluations: u64,
}

#[derive(Debug)]
struct Stage {
    /// Clients that are not bought yet, with bounds of their values, the highest first.
    best: Vec<(f64, Seat)>,
    /// No other client has a higher value; below zero if there is none.
    others: f64,
}

impl Ranking {
    pub(super) fn new(round: &Round, path: &Path<'_>) -> Metered<Ranking> {
        let mut kernel = round.kernel();
        let bound = |seat: Seat, gain: Information| {
            // Once for what rounding moves in a gain, once for offers that are not quite positive semi-definite.
            let most = gain + round.noise() + round.noise();
            value(most, round.ask(seat)) * WIDER
        };
        let mut queue: BinaryHeap<(Bound, Reverse<Seat>)> =
            path.first_gains().map(|(seat, gain)| (Bound(bound(seat, gain)), Reverse(seat))).collect();
        let mut is_bought = vec![false; round.admitted()];
        let (mut stages, mut levels) = (Vec::with_capacity(path.len() + 1), Vec::new());
        for step in 0..=path.len() {
            let mut seats: Vec<Seat> = Vec::with_capacity(RANKED);
            while seats.len() < RANKED
                && let Some((_, Reverse(seat))) = queue.pop()
            {
                if !is_bought[seat.0] {
                    seats.push(seat);
                }
            }
            let pairs: Vec<Pair<'_>> = seats.iter().map(|&seat| (path.matrix(step), round.gram(seat))).collect();
            levels.clear();
            kernel.levels_with(&pairs, &mut levels)?;
            let level = path.level_at(step);
            let gains = seats.iter().zip(&levels).map(|(&seat, &with)| (bound(seat, with - level), seat));
            let mut best: Vec<(f64, Seat)> = gains.collect();
            best.sort_by(|a, b| b.0.total_cmp(&a.0));
            let others = queue.peek().map_or(f64::NEG_INFINITY, |(bound, _)| bound.0);
            queue.extend(best.iter().map(|&(bound, seat)| (Bound(bound), Reverse(seat))));
            stages.push(Stage { best, others });
            if step < path.len() {
                is_bought[path.pick(step).ratio.seat.0] = true;
            }
        }
        Ok(Ranking { stages, evaluations: kernel.evaluations })
    }
}

/// What came of a branch.
pub(super) struct Found {
    /// The largest ask of the winner in micro-units with which it would still be bought; `None`: it has to be walked by itself.
    pub(super) price: Option<i128>,
    pub(super) evaluations: u64,
}

/// Walks all branches without the clients that were bought at `turns`, until each has `required`.
pub(super) fn walk_all(
    round: &Round,
    path: &Path<'_>,
    ranking: &Ranking,
    turns: &[usize],
    required: Information,
) -> Metered<Vec<Found>> {
    let mut branches: Vec<Branch<'_>> =
        turns.iter().map(|&turn| Branch::new(round, path, ranking, turn, required)).collect();
    let mut kernel = round.kernel();
    let mut levels: Vec<Information> = Vec::with_capacity(branches.len());
    let mut open: Vec<usize> = (0..branches.len()).collect();
    loop {
        open.retain(|&place| branches[place].next());
        if open.is_empty() {
            break;
        }
        let pairs: Vec<Pair<'_>> = open.iter().map(|&place| branches[place].asked()).collect();
        levels.clear();
        kernel.levels_with(&pairs, &mut levels)?;
        open.iter().zip(&levels).for_each(|(&place, &level)| branches[place].take(level));
    }
    Ok(branches.into_iter().map(Branch::found).collect())
}

/// A walk without one client.
struct Branch<'a> {
    round: &'a Round,
    path: &'a Path<'a>,
    ranking: &'a Ranking,
    own: Ratio,
    required: Information,
    /// Nobody adds more than so many times what it adds to the main walk.
    times: f64,
    /// The matrix of what was bought so far, and its information.
    matrix: Vec<f64>,
    level: Information,
    /// Purchases of the main walk that are made, but for that of the client itself; and others that are.
    stage: usize,
    ahead: Vec<Seat>,
    /// Own purchases, the level before each, and the highest ask per information up to each.
    picks: Vec<Ratio>,
    levels: Vec<Information>,
    rates: Vec<f64>,
    /// The matrix before the first of them, and every few of them.
    marks: Vec<f64>,
    doing: Doing,
    /// Who of the stage comes next, and the best of those before.
    next: usize,
    best: Option<Ratio>,
    price: i128,
    /// The highest bound first.
    open: BinaryHeap<Interval>,
    evaluations: u64,
}

enum Doing {
    /// Evaluates this client, to buy the best.
    Choosing(Seat),
    /// Evaluates itself in the middle of an interval, with this matrix.
    Splitting(Interval, usize, Vec<f64>),
    Priced,
    Lost,
}

/// Purchases `from..to` before which its gain is at most `gain`; `bound` is above every price in it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    bound: Bound,
    from: usize,
    to: usize,
    gain: Information,
}

impl<'a> Branch<'a> {
    fn new(
        round: &'a Round,
        path: &'a Path<'a>,
        ranking: &'a Ranking,
        turn: usize,
        required: Information,
    ) -> Branch<'a> {
        let own = path.pick(turn).ratio;
        let matrix = path.matrix(turn).to_vec();
        let share = share(round, &matrix, &own);
        Branch {
            round,
            path,
            ranking,
            own,
            required,
            times: WIDER / (1.0 - share),
            level: path.level_at(turn),
            stage: turn + 1,
            ahead: Vec::new(),
            picks: Vec::new(),
            levels: Vec::new(),
            rates: Vec::new(),
            marks: matrix.clone(),
            matrix,
            doing: if share < 1.0 { Doing::Choosing(own.seat) } else { Doing::Lost },
            next: 0,
            best: None,
            price: i128::from(own.ask.micros()),
            open: BinaryHeap::new(),
            evaluations: 0,
        }
    }

    fn found(self) -> Found {
        let price = match self.doing {
            Doing::Lost => None,
            _ => Some(self.price),
        };
        Found { price, evaluations: self.evaluations }
    }

    /// The matrix and the client that are to be evaluated together.
    fn asked(&self) -> Pair<'_> {
        match &self.doing {
            Doing::Splitting(_, _, matrix) => (matrix, self.round.gram(self.own.seat)),
            Doing::Choosing(seat) => (&self.matrix, self.round.gram(*seat)),
            Doing::Priced | Doing::Lost => unreachable!("bug: nothing is left to evaluate"),
        }
    }

    /// Goes on until something has to be evaluated; false: nothing has.
    fn next(&mut self) -> bool {
        match self.doing {
            Doing::Choosing(_) => self.choose(),
            Doing::Splitting(..) => self.split(),
            Doing::Priced | Doing::Lost => false,
        }
    }

    fn take(&mut self, level: Information) {
        self.evaluations += 1;
        match &mut self.doing {
            Doing::Choosing(seat) => {
                let ratio = Ratio { seat: *seat, gain: level - self.level, ask: self.round.ask(*seat) };
                if ratio.gain > Information::ZERO && self.best.is_none_or(|best| ratio.beats(&best)) {
                    self.best = Some(ratio);
                }
            }
            Doing::Splitting(interval, middle, _) => {
                let (Interval { from, to, gain: before, .. }, middle) = (&*interval, *middle);
                let (from, to, before, gain) = (*from, *to, *before, level - self.levels[middle]);
                self.consider(middle, gain);
                self.add(from, middle, before);
                self.add(middle + 1, to, gain);
            }
            Doing::Priced | Doing::Lost => {}
        }
    }

    fn choose(&mut self) -> bool {
        while self.level < self.required {
            let Stage { best, others } = &self.ranking.stages[self.stage];
            let least = self.best.map_or(f64::NEG_INFINITY, |best| value(best.gain, best.ask));
            let left =
                best[self.next..].iter().position(|(_, seat)| *seat != self.own.seat && !self.ahead.contains(seat));
            let next = left.map(|left| self.next + left).filter(|&next| best[next].0 * self.times >= least);
            if let Some(next) = next {
                self.next = next + 1;
                self.doing = Doing::Choosing(best[next].1);
                return true;
            }
            if others * self.times >= least && *others >= 0.0 {
                self.doing = Doing::Lost;
                return false;
            }
            match self.best {
                Some(best) => self.buy(best),
                // Essential but for rounding.
                None => {
                    self.price = i128::from(self.round.reserve().micros());
                    self.doing = Doing::Priced;
                    return false;
                }
            }
        }
        self.consider(0, self.own.gain);
        self.add(1, self.picks.len(), self.own.gain);
        self.split()
    }

    fn buy(&mut self, pick: Ratio) {
        self.picks.push(pick);
        self.levels.push(self.level);
        let rate = pick.ask.micros() as f64 / pick.gain.units() as f64 * WIDER;
        self.rates.push(self.rates.last().map_or(rate, |&before| rate.max(before)));
        add(&mut self.matrix, self.round.gram(pick.seat));
        self.level = self.level + pick.gain;
        if self.picks.len().is_multiple_of(EVERY) {
            self.marks.extend_from_slice(&self.matrix);
        }
        self.ahead.push(pick.seat);
        while self.stage < self.path.len() {
            let made = self.path.pick(self.stage).ratio.seat;
            let Some(place) = self.ahead.iter().position(|&seat| seat == made) else { break };
            self.ahead.swap_remove(place);
            self.stage += 1;
        }
        (self.next, self.best) = (0, None);
    }

    fn split(&mut self) -> bool {
        let reserve = i128::from(self.round.reserve().micros());
        let Some(interval) = self.open.pop().filter(|it| it.bound.0 > self.price as f64 && self.price < reserve) else {
            self.doing = Doing::Priced;
            return false;
        };
        let middle = usize::midpoint(interval.from, interval.to);
        let (size, mark) = (self.matrix.len(), middle / EVERY);
        let mut matrix = self.marks[mark * size..][..size].to_vec();
        for pick in &self.picks[mark * EVERY..middle] {
            add(&mut matrix, self.round.gram(pick.seat));
        }
        self.doing = Doing::Splitting(interval, middle, matrix);
        true
    }

    fn consider(&mut self, step: usize, gain: Information) {
        self.price = self.price.max(highest_ask_to_beat(&self.picks[step], self.own.seat, gain));
    }

    fn add(&mut self, from: usize, to: usize, gain: Information) {
        if from < to {
            let most = (gain + self.round.noise()).units().max(0) as f64;
            self.open.push(Interval { bound: Bound(most * self.rates[to - 1] + 1.0), from, to, gain });
        }
    }
}

/// Which share of the matrix with the client its data is at most, in any direction: below 1, or 1 if that is not sure.
///
/// If it is at most x times the matrix without it, that is x / (1 + x). Its gain is the sum of log(1 + x) over directions, so
/// no x is above exp(gain) - 1. A factorization shows whether less is enough.
fn share(round: &Round, matrix: &[f64], own: &Ratio) -> f64 {
    let most = libm::exp((own.gain + round.noise()).to_nats()) - 1.0;
    let margin = MARGIN + 4.0 * round.noise().to_nats();
    let mut column = vec![0.0; round.dimension()];
    let mut suffices = |x: f64| {
        let together = matrix.iter().zip(round.gram(own.seat));
        let mut rest: Vec<f64> = together.map(|(entry, gram)| (x - margin) * entry - gram).collect();
        log_det_in_place(&mut rest, &mut column).is_some()
    };
    let x = SHARES.iter().map(|share| share * most + 2.0 * margin).find(|&x| suffices(x));
    x.map_or(1.0, |x| x / (1.0 + x))
}
