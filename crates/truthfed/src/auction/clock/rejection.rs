//! Who is turned away, in which order.
//!
//! What is lost without a client only grows as the active set shrinks, so its score ask / loss only
//! falls: a score seen earlier is an upper bound, and only the top of a heap of such bounds is evaluated
//! anew. Rounding may lower a loss by a hair, so bounds carry [`Round::noise`].

use std::collections::BinaryHeap;

use crate::auction::bound::{Bound, WIDER};
use crate::auction::kernel::Kernel;
use crate::auction::meter::Metered;
use crate::auction::ratio::Ratio;
use crate::auction::{Information, Round, Seat};

/// The rejections in order, with all that pricing needs.
#[derive(Debug, Default)]
pub(super) struct History {
    required: Information,
    pub(super) rejected: Vec<Ratio>,
    /// The matrix before each rejection, and after the last.
    matrices: Vec<f64>,
    /// log det of each of them.
    levels: Vec<Information>,
    /// The lowest score ask / loss of the rejections up to each, rounded down.
    pub(super) lowest_scores: Vec<f64>,
    pub(super) sightings: Vec<Sighting>,
    size: usize,
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
        loop {
            let worst = history.worst(round, &mut kernel, &tree.root, level, &mut queue)?;
            history.matrices.extend_from_slice(&tree.root);
            history.levels.push(level);
            let Some(worst) = worst else { break };
            history.reject(worst);
            tree.remove(worst.seat, round.grams());
            level = kernel.level(&tree.root)?;
        }
        history.evaluations = kernel.evaluations;
        Ok(history)
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
        matrix: &[f64],
        level: Information,
        queue: &mut BinaryHeap<Candidate>,
    ) -> Metered<Option<Ratio>> {
        let step = self.rejected.len();
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
        let lowest = self.lowest_scores.last().copied().unwrap_or(f64::INFINITY);
        self.lowest_scores.push(lowest.min(score(&worst) / WIDER));
        self.rejected.push(worst);
    }

    /// Everyone who was not rejected, by seat.
    pub(super) fn winners(&self) -> Vec<Seat> {
        let mut stays = vec![true; self.sightings.len()];
        self.rejected.iter().for_each(|ratio| stays[ratio.seat.0] = false);
        (0..stays.len()).filter(|&seat| stays[seat]).map(Seat).collect()
    }

    pub(super) fn loss(&self, kernel: &mut Kernel, step: usize, gram: &[f64]) -> Metered<Information> {
        let matrix = &self.matrices[step * self.size..][..self.size];
        Ok(self.levels[step] - kernel.level_without(matrix, gram)?)
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
