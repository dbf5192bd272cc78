//! What a winner of the clock auction is paid.
//!
//! The price is the least, over the rejections before the winner froze, of the largest ask with which it
//! would have stayed rather than the one rejected: about score(t) * loss(t). The scores fall with t and the
//! loss grows, so over an interval [a, b) it is at least score(b - 1) * loss(a); only intervals whose bound
//! is below the best price so far are split. A handful of log determinants per winner, not one per rejection.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::growth::Growth;
use super::rejection::History;
use crate::Amount;
use crate::auction::bound::Bound;
use crate::auction::kernel::Kernel;
use crate::auction::meter::Metered;
use crate::auction::outcome::Priced;
use crate::auction::ratio::highest_ask_to_beat;
use crate::auction::{Information, Round, Seat};

/// A winner with its price, and the log determinants it took.
pub(super) fn price(round: &Round, history: &History, seat: Seat) -> Metered<Priced> {
    let mut search = Search::new(round, history, seat, i128::from(round.reserve().micros()));
    search.run()?;
    Ok(((seat, Amount::saturating(search.best)), search.kernel.evaluations))
}

/// A client at some step after the target was given up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) seat: Seat,
    /// Its price before that step.
    pub(super) price: Amount,
    /// What was lost without it at that step or an earlier one.
    pub(super) loss: Information,
}

/// The client after the rejections `from..to` too, at each of which it might have been turned away.
pub(super) fn lower(
    (round, history): (&Round, &History),
    left: Left,
    (from, to): (usize, usize),
    growth: Option<&Growth>,
) -> Metered<(Left, u64)> {
    let mut search = Search::new(round, history, left.seat, i128::from(left.price.micros()));
    let loss = search.loss(to - 1)?;
    search.consider(to - 1, loss);
    match growth {
        None => search.add(from, to - 1, left.loss),
        Some(growth) => {
            for (cell, least) in growth.open(round, loss, search.best) {
                search.add(cell.from, cell.to, least.max(left.loss));
            }
        }
    }
    search.narrow_down()?;
    Ok((Left { price: Amount::saturating(search.best), loss, ..left }, search.kernel.evaluations))
}

struct Search<'a> {
    round: &'a Round,
    history: &'a History,
    seat: Seat,
    kernel: Kernel,
    best: i128,
    /// The lowest bound first.
    open: BinaryHeap<Reverse<Interval>>,
}

/// Steps `from..to` at which the loss is at least `loss`; `bound` is below every price in it.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    bound: Bound,
    from: usize,
    to: usize,
    loss: Information,
}

impl<'a> Search<'a> {
    fn new(round: &'a Round, history: &'a History, seat: Seat, best: i128) -> Search<'a> {
        Search { round, history, seat, kernel: round.kernel(), best, open: BinaryHeap::new() }
    }

    fn run(&mut self) -> Metered<()> {
        let sighting = self.history.sightings[self.seat.0];
        // Essential from the start: its price never falls.
        let Some(last_free) = sighting.free else { return Ok(()) };
        self.consider(0, sighting.first);
        if last_free.0 > 0 {
            self.consider(last_free.0, last_free.1);
            self.add(1, last_free.0, sighting.first);
        }
        self.find_freezing(last_free, sighting.frozen)?;
        self.narrow_down()
    }

    fn narrow_down(&mut self) -> Metered<()> {
        while let Some(Reverse(interval)) = self.open.pop() {
            // Prices are whole micro-units below the real bound.
            if interval.bound.0 - 2.0 >= self.best as f64 {
                break;
            }
            self.split(interval)?;
        }
        Ok(())
    }

    /// Narrows down when the client froze, and opens what is left to search until that time.
    fn find_freezing(&mut self, mut free: (usize, Information), frozen: usize) -> Metered<()> {
        let mut frozen = frozen.min(self.history.rejected.len());
        while free.0 + 1 < frozen {
            let middle = usize::midpoint(free.0, frozen);
            let loss = self.loss(middle)?;
            if self.history.is_frozen(middle, loss) {
                frozen = middle;
            } else {
                self.consider(middle, loss);
                self.add(free.0 + 1, middle, free.1);
                free = (middle, loss);
            }
        }
        self.add(free.0 + 1, frozen, free.1);
        Ok(())
    }

    fn split(&mut self, Interval { from, to, loss, .. }: Interval) -> Metered<()> {
        let middle = usize::midpoint(from, to);
        let middle_loss = self.loss(middle)?;
        self.consider(middle, middle_loss);
        self.add(from, middle, loss);
        self.add(middle + 1, to, middle_loss);
        Ok(())
    }

    fn consider(&mut self, step: usize, loss: Information) {
        let allowed = highest_ask_to_beat(&self.history.rejected[step], self.seat, loss);
        self.best = self.best.min(allowed);
    }

    fn add(&mut self, from: usize, to: usize, loss: Information) {
        if from < to {
            let least = (loss - self.round.noise()).units().max(0) as f64;
            let score = self.history.lowest_scores[to - 1];
            let bound = Bound(if least > 0.0 { score * least } else { 0.0 });
            self.open.push(Reverse(Interval { bound, from, to, loss }));
        }
    }

    fn loss(&mut self, step: usize) -> Metered<Information> {
        self.history.loss(&mut self.kernel, step, self.round.gram(self.seat))
    }
}
