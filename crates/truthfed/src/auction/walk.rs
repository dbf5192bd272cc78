//! The lazy greedy walk: buy the best value, again and again.
//!
//! Every step takes the client with the highest gain per ask. Gains only fall as the bought set grows
//! (submodularity), so a gain seen earlier bounds today's; only clients whose bound reaches the best
//! exact value of the step are evaluated anew. Rounding may lift a gain by a hair, so bounds carry
//! [`Round::noise`]: the picks are exactly those of evaluating everyone.
//!
//! Not here: remembering a walk and branching off from it ([`super::path`]).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::bound::{Bound, WIDER};
use super::kernel::Kernel;
use super::meter::Metered;
use super::ratio::Ratio;
use super::round::add;
use super::{Information, Round, Seat};
use crate::Amount;
use crate::statistics::Pair;

/// One purchase: who, and what stood before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pick {
    pub(super) ratio: Ratio,
    pub(super) level: Information,
    /// Sum of asks before this pick.
    pub(super) spent: i128,
}

/// A gain that was evaluated at some step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) step: usize,
    pub(super) seat: Seat,
    pub(super) gain: Information,
}

#[derive(Debug)]
pub(super) struct Walk<'r> {
    round: &'r Round,
    pub(super) kernel: Kernel,
    /// The ridge Gram matrix of what was bought so far, and its information.
    pub(super) matrix: Vec<f64>,
    pub(super) level: Information,
    pub(super) spent: i128,
    budget: i128,
    /// Purchases so far, those before a resumption included.
    pub(super) step: usize,
    gains: Vec<Information>,
    seen_at: Vec<usize>,
    /// Clients that may be bought, by an upper bound of their value; of equals the smaller seat first.
    queue: BinaryHeap<(Bound, Reverse<Seat>)>,
    pub(super) trace: Vec<Seen>,
    /// The least budget with which the walk so far could have gone otherwise.
    pub(super) next_change: i128,
}

impl<'r> Walk<'r> {
    /// A walk from nothing bought, which may spend without end.
    pub(super) fn new(round: &'r Round) -> Metered<Walk<'r>> {
        let mut walk = Walk::at(round, 0, round.base_matrix().to_vec(), round.base_level(), 0);
        let pairs: Vec<Pair<'_>> = round.seats().map(|seat| (round.base_matrix(), round.gram(seat))).collect();
        let mut levels = Vec::with_capacity(pairs.len());
        walk.kernel.levels_with(&pairs, &mut levels)?;
        round.seats().zip(levels).for_each(|(seat, with)| walk.note(seat, with - round.base_level()));
        walk.queue = round.seats().map(|seat| walk.candidate(seat)).collect();
        Ok(walk)
    }

    /// A walk that goes on after `step` purchases: `seen` are the gains evaluated so far, `gone` the clients
    /// that are bought or out of the question.
    pub(super) fn resume(
        round: &'r Round,
        step: usize,
        matrix: &[f64],
        (level, spent): (Information, i128),
        seen: impl Iterator<Item = Seen>,
        gone: impl Iterator<Item = Seat>,
    ) -> Walk<'r> {
        let mut walk = Walk::at(round, step, matrix.to_vec(), level, spent);
        for Seen { step, seat, gain } in seen {
            walk.gains[seat.0] = gain;
            walk.seen_at[seat.0] = step;
        }
        let mut here = vec![true; round.admitted()];
        gone.for_each(|seat| here[seat.0] = false);
        walk.queue = round.seats().filter(|seat| here[seat.0]).map(|seat| walk.candidate(seat)).collect();
        walk
    }

    fn at(round: &'r Round, step: usize, matrix: Vec<f64>, level: Information, spent: i128) -> Walk<'r> {
        Walk {
            round,
            kernel: round.kernel(),
            matrix,
            level,
            spent,
            budget: i128::MAX,
            step,
            gains: vec![Information::ZERO; round.admitted()],
            seen_at: vec![usize::MAX; round.admitted()],
            queue: BinaryHeap::new(),
            trace: Vec::new(),
            next_change: i128::MAX,
        }
    }

    /// From here on clients are bought only while the sum of asks stays within `budget`.
    pub(super) fn within(mut self, budget: i128) -> Walk<'r> {
        self.budget = budget;
        self
    }

    /// What a client would add now, whether or not it takes part in the walk.
    pub(super) fn gain_of(&mut self, seat: Seat) -> Metered<Information> {
        Ok(self.kernel.level_with(&self.matrix, self.round.gram(seat))? - self.level)
    }

    /// The best value that adds anything and can be afforded.
    pub(super) fn choose(&mut self) -> Metered<Option<Pick>> {
        let mut best: Option<Ratio> = None;
        let mut evaluated = Vec::new();
        while let Some(&(Bound(bound), Reverse(seat))) = self.queue.peek() {
            if best.is_some_and(|best| bound < value(best.gain, best.ask)) {
                break;
            }
            self.queue.pop();
            let ask = self.round.ask(seat);
            let needed = self.spent + i128::from(ask.micros());
            if needed > self.budget {
                self.next_change = self.next_change.min(needed);
                continue;
            }
            let gain = self.current_gain(seat)?;
            evaluated.push(seat);
            let ratio = Ratio { seat, gain, ask };
            if gain > Information::ZERO && best.is_none_or(|best| ratio.beats(&best)) {
                best = Some(ratio);
            }
        }
        for seat in evaluated {
            if best.is_none_or(|best| best.seat != seat) {
                self.queue.push(self.candidate(seat));
            }
        }
        Ok(best.map(|ratio| Pick { ratio, level: self.level, spent: self.spent }))
    }

    pub(super) fn take(&mut self, pick: &Pick) {
        let Ratio { seat, gain, ask } = pick.ratio;
        add(&mut self.matrix, self.round.gram(seat));
        self.level = self.level + gain;
        self.spent += i128::from(ask.micros());
        self.step += 1;
    }

    /// The gain at this step, evaluated unless it is known.
    fn current_gain(&mut self, seat: Seat) -> Metered<Information> {
        if self.seen_at[seat.0] != self.step {
            let gain = self.gain_of(seat)?;
            self.note(seat, gain);
        }
        Ok(self.gains[seat.0])
    }

    fn note(&mut self, seat: Seat, gain: Information) {
        self.gains[seat.0] = gain;
        self.seen_at[seat.0] = self.step;
        self.trace.push(Seen { step: self.step, seat, gain });
    }

    fn candidate(&self, seat: Seat) -> (Bound, Reverse<Seat>) {
        let most = self.gains[seat.0] + self.round.noise();
        (Bound(value(most, self.round.ask(seat)) * WIDER), Reverse(seat))
    }
}

/// Gain per ask as a float, infinite at ask zero: for bounds only.
pub(super) fn value(gain: Information, ask: Amount) -> f64 {
    match (gain.units(), ask.micros()) {
        (..=0, _) => 0.0,
        (_, 0) => f64::INFINITY,
        (gain, ask) => gain as f64 / ask as f64,
    }
}
