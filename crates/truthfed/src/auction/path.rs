//! A remembered greedy walk, and branches of it.
//!
//! "What if this client were not there, or asked another price, or the budget were smaller" follows the
//! same path up to some turn: [`Path::resume`] starts there, with every bound known by then. A branch that
//! is remembered itself keeps only what is its own and refers to its parent for the rest.

use super::kernel::Kernel;
use super::meter::Metered;
use super::walk::{Pick, Seen, Walk};
use super::{Information, Round, Seat};

/// The purchases of a walk in order, with the matrix and the known gains at each.
#[derive(Debug)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    /// The step at which the own part begins.
    pub(super) start: usize,
    picks: Vec<Pick>,
    /// The matrix before each own pick, and after the last.
    matrices: Vec<f64>,
    trace: Vec<Seen>,
    size: usize,
    pub(super) level: Information,
    /// Sum of asks of all purchases.
    pub(super) spent: i128,
    /// The least budget with which the own part could have gone otherwise; the largest number if none.
    pub(super) next_change: i128,
    /// Log determinants evaluated for the own part.
    pub(super) evaluations: u64,
}

impl<'p> Path<'p> {
    /// Walks until `required` is met or nobody is left to buy.
    pub(super) fn new(round: &Round, required: Information) -> Metered<Path<'static>> {
        Path::record(None, Walk::new(round)?, required)
    }

    /// Walks on from `walk`, which was resumed from this path.
    pub(super) fn branch(&'p self, walk: Walk<'_>, required: Information) -> Metered<Path<'p>> {
        Path::record(Some(self), walk, required)
    }

    fn record(parent: Option<&'p Path<'p>>, mut walk: Walk<'_>, required: Information) -> Metered<Path<'p>> {
        let (start, size) = (walk.step, walk.matrix.len());
        let (mut picks, mut matrices) = (Vec::new(), Vec::new());
        while walk.level < required {
            let Some(pick) = walk.choose()? else { break };
            picks.push(pick);
            matrices.extend_from_slice(&walk.matrix);
            walk.take(&pick);
        }
        matrices.extend_from_slice(&walk.matrix);
        let Walk { level, spent, next_change, trace, kernel, .. } = walk;
        let evaluations = kernel.evaluations;
        Ok(Path { parent, start, picks, matrices, trace, size, level, spent, next_change, evaluations })
    }

    pub(super) fn len(&self) -> usize {
        self.start + self.picks.len()
    }

    pub(super) fn pick(&self, step: usize) -> &Pick {
        match self.parent {
            Some(parent) if step < self.start => parent.pick(step),
            _ => &self.picks[step - self.start],
        }
    }

    pub(super) fn picks(&self) -> impl ExactSizeIterator<Item = &Pick> {
        (0..self.len()).map(|step| self.pick(step))
    }

    /// What a client would have added before a step, or at the end.
    pub(super) fn gain_at(&self, kernel: &mut Kernel, step: usize, gram: &[f64]) -> Metered<Information> {
        Ok(kernel.level_with(self.matrix(step), gram)? - self.level_at(step))
    }

    /// How many purchases from the beginning are within a budget.
    pub(super) fn affordable(&self, budget: i128) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let pick = self.pick(middle);
            if pick.spent + i128::from(pick.ratio.ask.micros()) <= budget { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// A walk that has made the first `step` purchases of this path and goes on, in `round` (whose asks may
    /// differ, as long as those purchases stay the same), without a client if one is given.
    pub(super) fn resume<'r>(&self, round: &'r Round, step: usize, without: Option<Seat>) -> Walk<'r> {
        let state = (self.level_at(step), self.spent_at(step));
        let mut seen = Vec::with_capacity(2 * round.admitted());
        self.seen_until(step, &mut seen);
        let bought = (0..step).map(|step| self.pick(step).ratio.seat);
        Walk::resume(round, step, self.matrix(step), state, seen.into_iter(), bought.chain(without))
    }

    /// What each client would have added before the first step.
    pub(super) fn first_gains(&self) -> impl Iterator<Item = (Seat, Information)> {
        assert!(self.parent.is_none(), "bug: only a walk from the beginning evaluates everyone");
        self.trace.iter().take_while(|seen| seen.step == 0).map(|seen| (seen.seat, seen.gain))
    }

    /// Information before a step, or at the end.
    pub(super) fn level_at(&self, step: usize) -> Information {
        if step < self.len() { self.pick(step).level } else { self.level }
    }

    /// Sum of asks before a step, or at the end.
    pub(super) fn spent_at(&self, step: usize) -> i128 {
        if step < self.len() { self.pick(step).spent } else { self.spent }
    }

    pub(super) fn matrix(&self, step: usize) -> &[f64] {
        match self.parent {
            Some(parent) if step < self.start => parent.matrix(step),
            _ => &self.matrices[(step - self.start) * self.size..][..self.size],
        }
    }

    fn seen_until(&self, step: usize, seen: &mut Vec<Seen>) {
        if let Some(parent) = self.parent {
            parent.seen_until(step.min(self.start), seen);
        }
        let known = self.trace.partition_point(|seen| seen.step <= step);
        seen.extend_from_slice(&self.trace[..known]);
    }
}

/// The turn of each client on a path; `None` for those that were not bought.
pub(super) fn turns(path: &Path<'_>, clients: usize) -> Vec<Option<usize>> {
    let mut turns = vec![None; clients];
    for (step, pick) in path.picks().enumerate() {
        turns[pick.ratio.seat.0] = Some(step);
    }
    turns
}
