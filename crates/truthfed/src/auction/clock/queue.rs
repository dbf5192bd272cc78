//! Who may be rejected next: everyone by an upper bound of its score.
//!
//! A score that was seen at some step is a bound from then on, as losses only grow while clients leave. More than that: if the
//! matrix of a later step is at most c times that of the step, all losses have grown by at least 1 / c, as -log(1 - x) grows at
//! least in proportion to x. So one number lowers the bounds of all at once, in the order in which they are. It is
//! found anew every few steps ([`shrinkage`](super::shrinkage)).
//!
//! Most clients are evaluated at the first step and then not before it is their turn: they are sorted once. A heap has the few
//! that were evaluated again.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::rejection::score;
use super::shrinkage::Shrinkage;
use crate::auction::bound::{Bound, WIDER};
use crate::auction::ratio::Ratio;
use crate::auction::round::Blur;
use crate::auction::{Information, Round, Seat};

/// Steps after which bounds are lowered: that takes as long as a few evaluations.
const EVERY: usize = 16;

/// A client that may be rejected, with an upper bound of its score.
type Candidate = (Bound, Seat);

#[derive(Debug)]
pub(super) struct Queue {
    blur: Blur,
    /// Those that were not evaluated since the first step, the highest bound last.
    waiting: Vec<Candidate>,
    /// Those that were evaluated before the last mark. Bounds are over `since_marks`.
    seen: BinaryHeap<Candidate>,
    /// Those that were evaluated after it.
    recent: BinaryHeap<Candidate>,
    /// How much matrices have shrunk at most since the first step, and from mark to mark.
    since_first: f64,
    since_marks: f64,
    /// The step of the last mark.
    mark: usize,
    shrinkage: Shrinkage,
}

impl Queue {
    /// Everyone with its loss at the step `first`, of which matrix and level are given.
    pub(super) fn new(
        round: &Round,
        blur: Blur,
        (first, matrix, level): (usize, &[f64], Information),
        losses: impl Iterator<Item = (Seat, Information)>,
    ) -> Queue {
        let mut waiting: Vec<Candidate> = losses.map(|(seat, loss)| candidate(round, blur, seat, loss)).collect();
        waiting.par_sort_unstable();
        Queue {
            blur,
            waiting,
            seen: BinaryHeap::new(),
            recent: BinaryHeap::new(),
            since_first: 1.0,
            since_marks: 1.0,
            mark: first,
            shrinkage: Shrinkage::new(round, matrix, level),
        }
    }

    /// The client with the highest bound, if it is not below `least`.
    pub(super) fn pop(&mut self, least: f64) -> Option<(f64, Seat)> {
        let bound =
            |candidate: Option<&Candidate>, times: f64| candidate.map_or(f64::NEG_INFINITY, |it| it.0.0 * times);
        let waiting = bound(self.waiting.last(), self.since_first);
        let seen = bound(self.seen.peek(), self.since_marks);
        let recent = bound(self.recent.peek(), 1.0);
        let highest = waiting.max(seen).max(recent);
        if highest < least {
            return None;
        }
        let popped = match () {
            () if waiting == highest => self.waiting.pop(),
            () if seen == highest => self.seen.pop(),
            () => self.recent.pop(),
        };
        popped.map(|(_, seat)| (highest, seat))
    }

    /// Takes a client back that was evaluated at the present step.
    pub(super) fn push(&mut self, round: &Round, seat: Seat, loss: Information) {
        self.recent.push(candidate(round, self.blur, seat, loss));
    }

    /// Tells the queue the matrix of a step and its level.
    pub(super) fn advance(&mut self, step: usize, matrix: &[f64], level: Information) {
        if step < self.mark + EVERY {
            return;
        }
        let (since_first, since_mark) = self.shrinkage.mark(matrix, level);
        self.since_first = self.since_first.min(since_first);
        self.since_marks *= since_mark;
        self.mark = step;
        let since_marks = self.since_marks;
        self.seen.extend(self.recent.drain().map(|(Bound(bound), seat)| (Bound(bound / since_marks * WIDER), seat)));
    }
}

fn candidate(round: &Round, blur: Blur, seat: Seat, loss: Information) -> Candidate {
    let least = Ratio { seat, gain: blur.least(loss), ask: round.ask(seat) };
    (Bound(score(&least) * WIDER), seat)
}
