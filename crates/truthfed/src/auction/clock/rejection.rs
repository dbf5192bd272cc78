//! Who is turned away, in which order.
//!
//! What is lost without a client only grows as the active set shrinks, so its score ask / loss only
//! falls: a score seen earlier is an upper bound, and only the top of a heap of such bounds is evaluated
//! anew. Rounding may lower a loss by a hair, so bounds carry [`Round::noise`].

use std::collections::BinaryHeap;

use crate::Amount;
use crate::auction::bound::{Bound, WIDER};
use crate::auction::kernel::Kernel;
use crate::auction::meter::Metered;
use crate::auction::ratio::Ratio;
use crate::auction::sum_tree::SumTree;
use crate::auction::{Information, Round, Seat};

/// Floats that are compared with the purse are off by far less.
const SURELY: f64 = 1.0 + 1e-6;

/// The rejections in order, with all that pricing needs.
#[derive(Debug, Default)]
pub(super) struct History {
    required: Information,
    /// The step at which the target was given up, if it was.
    given_up: Option<usize>,
    pub(super) rejected: Vec<Ratio>,
    /// The matrix before each rejection, and after the last.
    matrices: Vec<f64>,
    /// log det of each of them.
    levels: Vec<Information>,
    /// The lowest score ask / loss of the rejections up to each, rounded down; anew after the target was given up.
    pub(super) lowest_scores: Vec<f64>,
    pub(super) sightings: Vec<Sighting>,
    size: usize,
    /// What is left after the last rejection.
    tree: Option<SumTree>,
    pub(super) evaluations: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Sighting {
    /// What was lost without it at the first step.
    pub(super) first: Information,
    /// The last step at which it was seen not to be frozen, and its loss then; `None`: essential.
    pub(super) free: Option<(usize, Information)>,
    /// A step at which it was seen to be frozen, unless it was rejected.
    pub(super) frozen: usize,
}

impl History {
    pub(super) fn new(round: &Round, required: Information) -> Metered<History> {
        let mut history = History { required, size: round.base_matrix().len(), ..History::default() };
        let mut kernel = round.kernel();
        let mut tree = round.tree().clone();
        let mut level = round.total_level();
        let mut queue = history.first_pass(round, &mut kernel)?;
        history.note(&tree, level);
        while let Some(worst) = history.worst(round, &mut kernel, &mut queue)? {
            history.reject(worst);
            tree.remove(worst.seat, round.grams());
            level = kernel.level(&tree.root)?;
            history.note(&tree, level);
        }
        history.evaluations = kernel.evaluations;
        history.tree = Some(tree);
        Ok(history)
    }

    /// Gives the target up and goes on, with nobody frozen any more, until prices are sure to fit into the purse. What is lost
    /// without each of those that were left, at the first of these steps.
    ///
    /// After a rejection at a score no price is above that score times the client's loss, and the losses of all add up to no
    /// more than all of them add to what is settled.
    pub(super) fn give_up(&mut self, round: &Round, purse: Amount) -> Metered<Vec<(Seat, Information)>> {
        let left = self.winners();
        let mut tree = self.tree.take().expect("a history keeps what is left");
        let mut kernel = round.kernel();
        let begin = self.rejected.len();
        (self.given_up, self.required) = (Some(begin), Information::NOTHING);
        let mut losses = Vec::with_capacity(left.len());
        for seat in left {
            losses.push((seat, self.loss(&mut kernel, begin, round.gram(seat))?));
        }
        let mut queue: BinaryHeap<Candidate> =
            losses.iter().map(|&(seat, loss)| candidate(round, seat, loss)).collect();
        for &(seat, first) in &losses {
            self.sightings[seat.0] = Sighting { first, free: Some((begin, first)), frozen: usize::MAX };
        }
        let mut active = losses.len();
        while let Some(worst) = self.worst(round, &mut kernel, &mut queue)? {
            let level = self.levels[self.rejected.len()];
            let noise = active as f64 * round.noise().units() as f64;
            let most = score(&worst) * ((level - round.base_level()).units() as f64 + noise);
            self.reject(worst);
            tree.remove(worst.seat, round.grams());
            let level = kernel.level(&tree.root)?;
            self.note(&tree, level);
            active -= 1;
            if most * SURELY <= purse.micros() as f64 {
                break;
            }
        }
        self.evaluations += kernel.evaluations;
        Ok(losses)
    }

    /// The matrix and its level before the next rejection.
    fn note(&mut self, tree: &SumTree, level: Information) {
        self.matrices.extend_from_slice(&tree.root);
        self.levels.push(level);
    }

    /// Everyone's loss while all are active; the essential are frozen at once.
    fn first_pass(&mut self, round: &Round, kernel: &mut Kernel) -> Metered<BinaryHeap<Candidate>> {
        let mut candidates = Vec::with_capacity(round.admitted());
        for seat in round.seats() {
            let without = kernel.level_without(&round.tree().root, round.gram(seat))?;
            let first = round.total_level() - without;
            let free = (without >= self.required).then_some((0, first));
            if free.is_some() {
                candidates.push(candidate(round, seat, first));
            }
            self.sightings.push(Sighting { first, free, frozen: 0 });
        }
        Ok(candidates.into())
    }

    /// The worst value among those the target can do without.
    fn worst(
        &mut self,
        round: &Round,
        kernel: &mut Kernel,
        queue: &mut BinaryHeap<Candidate>,
    ) -> Metered<Option<Ratio>> {
        let step = self.rejected.len();
        let (matrix, level) = (&self.matrices[step * self.size..][..self.size], self.levels[step]);
        let mut worst: Option<Ratio> = None;
        let mut free: Vec<Ratio> = Vec::new();
        while let Some(&(Bound(bound), seat)) = queue.peek() {
            if worst.is_some_and(|worst| bound < score(&worst)) {
                break;
            }
            queue.pop();
            let sighting = &mut self.sightings[seat.0];
            let gain = match sighting.free {
                Some((seen, loss)) if seen == step => loss,
                _ => {
                    let without = kernel.level_without(matrix, round.gram(seat))?;
                    if without < self.required {
                        sighting.frozen = step;
                        continue;
                    }
                    level - without
                }
            };
            sighting.free = Some((step, gain));
            let ratio = Ratio { seat, gain, ask: round.ask(seat) };
            free.push(ratio);
            if worst.is_none_or(|worst| worst.beats(&ratio)) {
                worst = Some(ratio);
            }
        }
        let others = free.into_iter().filter(|ratio| worst.is_none_or(|worst| worst.seat != ratio.seat));
        queue.extend(others.map(|ratio| candidate(round, ratio.seat, ratio.gain)));
        Ok(worst)
    }

    fn reject(&mut self, worst: Ratio) {
        let before = self.lowest_scores.last().filter(|_| self.given_up != Some(self.rejected.len()));
        let lowest = before.copied().unwrap_or(f64::INFINITY);
        self.lowest_scores.push(lowest.min(score(&worst) / WIDER));
        self.rejected.push(worst);
    }

    /// The step at which each is rejected, by seat; those that stay have the largest number.
    pub(super) fn leaves(&self) -> Vec<usize> {
        let mut leaves = vec![usize::MAX; self.sightings.len()];
        self.rejected.iter().enumerate().for_each(|(step, ratio)| leaves[ratio.seat.0] = step);
        leaves
    }

    /// Everyone who was not rejected, by seat.
    pub(super) fn winners(&self) -> Vec<Seat> {
        let leaves = self.leaves();
        (0..leaves.len()).filter(|&seat| leaves[seat] == usize::MAX).map(Seat).collect()
    }

    pub(super) fn matrix(&self, step: usize) -> &[f64] {
        &self.matrices[step * self.size..][..self.size]
    }

    pub(super) fn loss(&self, kernel: &mut Kernel, step: usize, gram: &[f64]) -> Metered<Information> {
        Ok(self.levels[step] - kernel.level_without(self.matrix(step), gram)?)
    }

    pub(super) fn is_frozen(&self, step: usize, loss: Information) -> bool {
        self.levels[step] - loss < self.required
    }
}

/// Ask per loss as a float, infinite without loss: for bounds only.
fn score(ratio: &Ratio) -> f64 {
    if ratio.gain <= Information::ZERO { f64::INFINITY } else { ratio.ask.micros() as f64 / ratio.gain.units() as f64 }
}

/// A client that may be rejected, with an upper bound of its score.
type Candidate = (Bound, Seat);

fn candidate(round: &Round, seat: Seat, loss: Information) -> Candidate {
    let least = Ratio { seat, gain: loss - round.noise(), ask: round.ask(seat) };
    (Bound(score(&least) * WIDER), seat)
}
