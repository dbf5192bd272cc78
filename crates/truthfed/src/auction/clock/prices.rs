//! What a winner of the clock auction is paid.
//!
//! The price is the least, over the rejections before the winner froze, of the largest ask with which it
//! would have stayed rather than the one rejected: about score(t) * loss(t). The scores fall with t and the
//! loss grows, so over an interval [a, b) it is at least score(b - 1) * loss(a); only intervals whose bound
//! is below the best price so far are split. Where many are priced, [`Growth`] bounds the losses of all of them, and usually
//! shows that the last step before the freezing has the lowest price: a handful of log determinants per winner, not one
//! per rejection.
//!
//! Each winner is searched for by itself, but many at a time: what they ask for next is evaluated together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::growth::Growth;
use super::rejection::History;
use crate::Amount;
use crate::auction::bound::Bound;
use crate::auction::meter::Metered;
use crate::auction::outcome::Priced;
use crate::auction::ratio::highest_ask_to_beat;
use crate::auction::{Information, Round, Seat};
use crate::statistics::Pair;

/// Clients that one thread searches for at a time.
const TOGETHER: usize = 64;

/// The winners with their prices, and the log determinants each took.
pub(super) fn prices(round: &Round, history: &History, winners: &[Seat]) -> Metered<Vec<Priced>> {
    let growth = Growth::new(round, history, (0, history.rejected.len()), winners.len());
    let searches = winners.iter().map(|&seat| Search::of_winner(round, history, seat, growth.as_ref()));
    let found = run(searches.collect())?;
    Ok(found.into_iter().map(|search| ((search.seat, Amount::saturating(search.best)), search.evaluations)).collect())
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

/// The clients after the rejections `from..to` too, at each of which they might have been turned away, and the log determinants
/// that took.
pub(super) fn lower(
    (round, history): (&Round, &History),
    left: impl Iterator<Item = Left>,
    (from, to): (usize, usize),
    growth: Option<&Growth>,
) -> Metered<(Vec<Left>, u64)> {
    let searches = left.map(|left| Search::of_left(round, history, left, (from, to), growth)).collect();
    let found = run(searches)?;
    let evaluations = found.iter().map(|search| search.evaluations).sum();
    let lowered = |search: &Search<'_>| {
        let (_, loss) = search.latest();
        Left { seat: search.seat, price: Amount::saturating(search.best), loss }
    };
    Ok((found.iter().map(lowered).collect(), evaluations))
}

/// Searches to the end, all at once.
fn run(mut searches: Vec<Search<'_>>) -> Metered<Vec<Search<'_>>> {
    match searches.len() <= TOGETHER {
        true => run_together(&mut searches)?,
        false => searches.par_chunks_mut(TOGETHER).try_for_each(run_together)?,
    }
    Ok(searches)
}

fn run_together(searches: &mut [Search<'_>]) -> Metered<()> {
    let Some(Search { round, history, .. }) = searches.first() else { return Ok(()) };
    let (round, history) = (*round, *history);
    let mut kernel = round.kernel();
    let mut asked: Vec<(usize, usize)> = Vec::with_capacity(searches.len());
    let mut pairs: Vec<Pair<'_>> = Vec::with_capacity(searches.len());
    let mut levels: Vec<Information> = Vec::with_capacity(searches.len());
    let mut open: Vec<usize> = (0..searches.len()).collect();
    loop {
        asked.clear();
        asked.extend(open.iter().filter_map(|&place| Some((place, searches[place].next()?))));
        if asked.is_empty() {
            return Ok(());
        }
        pairs.clear();
        pairs.extend(asked.iter().map(|&(place, step)| (history.matrix(step), round.gram(searches[place].seat))));
        levels.clear();
        kernel.levels_without(&pairs, &mut levels)?;
        for (&(place, step), &without) in asked.iter().zip(&levels) {
            searches[place].take(step, history.level(step) - without);
        }
        open.clear();
        open.extend(asked.iter().map(|(place, _)| *place));
    }
}

/// Asks for the loss of a client at one step after another, until its price is known.
struct Search<'a> {
    round: &'a Round,
    history: &'a History,
    growth: Option<&'a Growth>,
    seat: Seat,
    best: i128,
    stage: Stage,
    /// The last step at which it is known not to be frozen.
    free: usize,
    /// Losses at some steps, and the step after each of these.
    known: Vec<(usize, Information)>,
    /// The lowest bound first.
    open: BinaryHeap<Reverse<Interval>>,
    evaluations: u64,
}

enum Stage {
    /// When did it freeze? Not after this step.
    Freezing(usize),
    /// What does it lose at the last step before that?
    Last,
    /// Which step has the lowest price? This interval is split.
    Splitting(Option<Interval>),
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
    fn of_winner(round: &'a Round, history: &'a History, seat: Seat, growth: Option<&'a Growth>) -> Search<'a> {
        let sighting = history.sightings[seat.0];
        let mut search = Search {
            round,
            history,
            growth,
            seat,
            best: i128::from(round.reserve().micros()),
            stage: Stage::Splitting(None),
            free: 0,
            known: Vec::new(),
            open: BinaryHeap::new(),
            evaluations: 0,
        };
        // Essential from the start: its price never falls.
        let Some((free, loss)) = sighting.free else { return search };
        search.learn(0, sighting.first);
        if free > 0 {
            search.learn(free, loss);
        }
        search.free = free;
        search.stage = Stage::Freezing(search.surely_frozen(sighting.frozen));
        search
    }

    fn of_left(
        round: &'a Round,
        history: &'a History,
        Left { seat, price, loss }: Left,
        (from, to): (usize, usize),
        growth: Option<&'a Growth>,
    ) -> Search<'a> {
        let (best, stage, known) = (i128::from(price.micros()), Stage::Last, vec![(from, loss)]);
        let (free, open) = (to - 1, BinaryHeap::new());
        Search { round, history, growth, seat, best, stage, free, known, open, evaluations: 0 }
    }

    /// The step after the last that was evaluated before the freezing, and the loss there.
    fn latest(&self) -> (usize, Information) {
        *self.known.last().expect("something is known of every client that is not essential")
    }

    /// A step at which the client surely is frozen, if it is at this step, losing so much. Moves the last step at which it is known
    /// to be free as far as that loss allows.
    fn surely_frozen(&mut self, (frozen, loss): (usize, Information)) -> usize {
        let Some(growth) = self.growth else { return frozen };
        let history = self.history;
        // What is lost without it only grows, and what all have only falls.
        let most = history.blur.most(loss);
        self.free = last(self.free, frozen, |step| !history.is_frozen(step, most));
        let least = history.blur.least(growth.least(self.free, loss));
        1 + last(self.free, frozen, |step| !history.is_frozen(step, least))
    }

    /// The step to evaluate next; `None`: the price is known.
    fn next(&mut self) -> Option<usize> {
        if let Stage::Freezing(frozen) = self.stage {
            if self.free + 1 < frozen {
                return Some(usize::midpoint(self.free, frozen));
            }
            self.stage = Stage::Last;
            if self.latest().0 == self.free + 1 {
                self.open_all();
            }
        }
        let Stage::Splitting(split) = &mut self.stage else { return Some(self.free) };
        let Reverse(interval) = self.open.pop()?;
        // Prices are whole micro-units below the real bound.
        if interval.bound.0 - 2.0 >= self.best as f64 {
            return None;
        }
        let middle = usize::midpoint(interval.from, interval.to);
        *split = Some(interval);
        Some(middle)
    }

    /// Takes what it asked for.
    fn take(&mut self, step: usize, loss: Information) {
        self.evaluations += 1;
        match &mut self.stage {
            Stage::Freezing(frozen) if self.history.is_frozen(step, loss) => *frozen = step,
            Stage::Freezing(_) => {
                self.free = step;
                self.learn(step, loss);
            }
            Stage::Last => {
                self.learn(step, loss);
                self.open_all();
            }
            Stage::Splitting(split) => {
                let Interval { from, to, loss: least, .. } = split.take().expect("an interval was chosen");
                self.consider(step, loss);
                self.add(from, step, least);
                self.add(step + 1, to, loss);
            }
        }
    }

    /// Opens all steps up to the latest one at which a lower price could be.
    fn open_all(&mut self) {
        self.stage = Stage::Splitting(None);
        let known = std::mem::take(&mut self.known);
        let ((start, first), (end, loss)) = (known[0], known[known.len() - 1]);
        match self.growth {
            None => known.windows(2).for_each(|pair| self.add(pair[0].0, pair[1].0 - 1, pair[0].1)),
            Some(growth) => {
                for (cell, least) in growth.open(loss, self.best) {
                    self.add(cell.from.max(start), cell.to.min(end - 1), least.max(first));
                }
            }
        }
        self.known = known;
    }

    fn learn(&mut self, step: usize, loss: Information) {
        self.consider(step, loss);
        self.known.push((step + 1, loss));
    }

    fn consider(&mut self, step: usize, loss: Information) {
        let allowed = highest_ask_to_beat(&self.history.rejected[step], self.seat, loss);
        self.best = self.best.min(allowed);
    }

    fn add(&mut self, from: usize, to: usize, loss: Information) {
        if from < to {
            let least = self.history.blur.least(loss).units().max(0) as f64;
            let score = self.history.lowest_scores[to - 1];
            let bound = Bound(if least > 0.0 { score * least } else { 0.0 });
            self.open.push(Reverse(Interval { bound, from, to, loss }));
        }
    }
}

/// The last of the steps `from..to` for which something holds that does not come back once it does not; at least `from`.
fn last(from: usize, to: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (from, to);
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}
