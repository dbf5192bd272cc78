//! Who is turned away, in which order.
//!
//! What is lost without a client only grows as the active set shrinks, so its score ask / loss only
//! falls: a score seen earlier is an upper bound, and only those with the highest bounds are evaluated
//! anew ([`Queue`]). Rounding may lower a loss by a hair, so bounds are widened by a [`Blur`].

use rayon::prelude::*;

use super::queue::Queue;
use crate::Amount;
use crate::auction::bound::WIDER;
use crate::auction::kernel::Kernel;
use crate::auction::meter::Metered;
use crate::auction::ratio::Ratio;
use crate::auction::round::Blur;
use crate::auction::sum_tree::SumTree;
use crate::auction::{Information, Round, Seat};
use crate::statistics::Pair;

/// Floats that are compared with the purse are off by far less.
const SURELY: f64 = 1.0 + 1e-6;
/// Most clients that are evaluated together with the level of a step, as there are eight lanes.
const TOGETHER: usize = 7;
/// Clients that one thread evaluates at a time.
const CHUNK: usize = 1024;
/// Steps at which one client is evaluated together.
const AT_ONCE: usize = 64;
/// How fast the search learns how many are usually needed.
const ADAPTS: f64 = 0.1;

/// The rejections in order, with all that pricing needs.
#[derive(Debug, Default)]
pub(super) struct History {
    required: Information,
    /// How far losses may fall, for matrices that meet the target.
    pub(super) blur: Blur,
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
    /// Those without whom even all others miss the target, by seat.
    pub(super) essential: Vec<Seat>,
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
    /// A step at which it was seen to be frozen, and its loss then, unless it was rejected.
    pub(super) frozen: (usize, Information),
}

impl History {
    pub(super) fn new(round: &Round, required: Information) -> Metered<History> {
        let (blur, size) = (round.blur(required), round.base_matrix().len());
        let mut history = History { required, blur, size, ..History::default() };
        let tree = round.tree().clone();
        history.note(&tree, round.total_level());
        let seats: Vec<Seat> = round.seats().collect();
        let first = history.losses(round, 0, &seats)?;
        history.evaluations = seats.len() as u64;
        let sighting = |first: Information| {
            let free = (!history.is_frozen(0, first)).then_some((0, first));
            Sighting { first, free, frozen: (0, first) }
        };
        history.sightings = first.into_iter().map(sighting).collect();
        history.essential = seats.into_iter().filter(|seat| history.sightings[seat.0].free.is_none()).collect();
        let free = round.seats().filter_map(|seat| Some((seat, history.sightings[seat.0].free?.1)));
        let queue = Queue::new(round, blur, (0, history.matrix(0), history.levels[0]), free);
        history.reject_all(round, queue, tree, |_, _| false)?;
        Ok(history)
    }

    /// Gives the target up and goes on, with nobody frozen any more, until prices are sure to fit into the purse. What is lost
    /// without each of those that were left, at the first of these steps.
    ///
    /// After a rejection at a score no price is above that score times the client's loss, and the losses of all add up to no
    /// more than all of them add to what is settled.
    pub(super) fn give_up(&mut self, round: &Round, purse: Amount) -> Metered<Vec<(Seat, Information)>> {
        let left = self.winners();
        let tree = self.tree.take().expect("a history keeps what is left");
        let begin = self.rejected.len();
        (self.given_up, self.required) = (Some(begin), Information::NOTHING);
        self.blur = round.blur(self.required);
        let losses = self.losses(round, begin, &left)?;
        self.evaluations += left.len() as u64;
        let losses: Vec<(Seat, Information)> = left.into_iter().zip(losses).collect();
        for &(seat, first) in &losses {
            let never = (usize::MAX, Information::UNREACHABLE);
            self.sightings[seat.0] = Sighting { first, free: Some((begin, first)), frozen: never };
        }
        let first = (begin, self.matrix(begin), self.levels[begin]);
        let queue = Queue::new(round, self.blur, first, losses.iter().copied());
        let mut active = losses.len();
        self.reject_all(round, queue, tree, |level, worst| {
            let noise = active as f64 * round.noise().units() as f64;
            let most = score(worst) * ((level - round.base_level()).units() as f64 + noise);
            active -= 1;
            most * SURELY <= purse.micros() as f64
        })?;
        Ok(losses)
    }

    /// Rejects until nobody can be, or until `is_enough` of the level before a rejection and the rejected.
    fn reject_all(
        &mut self,
        round: &Round,
        queue: Queue,
        mut tree: SumTree,
        mut is_enough: impl FnMut(Information, &Ratio) -> bool,
    ) -> Metered<()> {
        let mut search = Search::new(round, queue);
        while let Some(worst) = search.worst(self)? {
            let level = self.levels[self.rejected.len()];
            self.reject(worst);
            tree.remove(worst.seat, round.grams());
            self.matrices.extend_from_slice(&tree.root);
            if is_enough(level, &worst) {
                let level = search.kernel.level(&tree.root)?;
                self.levels.push(level);
                break;
            }
        }
        self.evaluations += search.kernel.evaluations;
        self.tree = Some(tree);
        Ok(())
    }

    /// The matrix and its level before the next rejection.
    fn note(&mut self, tree: &SumTree, level: Information) {
        self.matrices.extend_from_slice(&tree.root);
        self.levels.push(level);
    }

    /// What is lost without each of these clients at a step: as many log determinants as clients.
    pub(super) fn losses(&self, round: &Round, step: usize, seats: &[Seat]) -> Metered<Vec<Information>> {
        let (matrix, level) = (self.matrix(step), self.levels[step]);
        let chunk = |seats: &[Seat]| {
            let pairs: Vec<Pair<'_>> = seats.iter().map(|&seat| (matrix, round.gram(seat))).collect();
            let mut levels = Vec::with_capacity(seats.len());
            round.kernel().levels_without(&pairs, &mut levels)?;
            levels.iter_mut().for_each(|without| *without = level - *without);
            Ok(levels)
        };
        if seats.len() <= CHUNK {
            return chunk(seats);
        }
        let chunks: Vec<Vec<Information>> = seats.par_chunks(CHUNK).map(chunk).collect::<Metered<_>>()?;
        Ok(chunks.concat())
    }

    fn reject(&mut self, worst: Ratio) {
        let before = self.lowest_scores.last().filter(|_| self.given_up != Some(self.rejected.len()));
        let lowest = before.copied().unwrap_or(f64::INFINITY);
        self.lowest_scores.push(lowest.min(score(&worst) / WIDER));
        self.rejected.push(worst);
    }

    /// The loss of a client at the present step, and whether it is frozen.
    fn see(&mut self, seat: Seat, loss: Information) -> bool {
        let now = self.rejected.len();
        let is_frozen = self.is_frozen(now, loss);
        let sighting = &mut self.sightings[seat.0];
        if is_frozen {
            sighting.frozen = (now, loss);
        } else {
            sighting.free = Some((now, loss));
        }
        is_frozen
    }

    /// Whether a client that was not rejected would not have been with each of these asks either: at every step before it freezes,
    /// the one that was is worse value.
    pub(super) fn stays(&self, round: &Round, asks: &[(Seat, Amount)]) -> Metered<Vec<bool>> {
        let mut stays = vec![true; asks.len()];
        let (mut kernel, mut levels) = (round.kernel(), Vec::new());
        let steps: Vec<usize> = (0..self.rejected.len()).collect();
        for steps in steps.chunks(AT_ONCE) {
            let gram = round.gram(asks[0].0);
            let pairs: Vec<Pair<'_>> = steps.iter().map(|&step| (self.matrix(step), gram)).collect();
            levels.clear();
            kernel.levels_without(&pairs, &mut levels)?;
            for (&step, &without) in steps.iter().zip(&levels) {
                let gain = self.levels[step] - without;
                if self.is_frozen(step, gain) || !stays.contains(&true) {
                    return Ok(stays);
                }
                for (stays, &(seat, ask)) in stays.iter_mut().zip(asks) {
                    *stays &= Ratio { seat, gain, ask }.beats(&self.rejected[step]);
                }
            }
        }
        Ok(stays)
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

    pub(super) fn level(&self, step: usize) -> Information {
        self.levels[step]
    }

    #[cfg(test)]
    pub(super) fn loss(&self, kernel: &mut Kernel, step: usize, gram: &[f64]) -> Metered<Information> {
        Ok(self.levels[step] - kernel.level_without(self.matrix(step), gram)?)
    }

    pub(super) fn is_frozen(&self, step: usize, loss: Information) -> bool {
        self.levels[step] - loss < self.required
    }
}

/// Looks for the worst value, step after step.
struct Search<'r> {
    round: &'r Round,
    kernel: Kernel,
    queue: Queue,
    /// Takes nothing away: with it a level is evaluated beside those without a client.
    zeros: Vec<f64>,
    /// How much lower the worst score usually is than the highest bound.
    usually: f64,
    /// Those that are to be evaluated, and those that were and are not frozen.
    seats: Vec<Seat>,
    free: Vec<Ratio>,
}

impl<'r> Search<'r> {
    fn new(round: &'r Round, queue: Queue) -> Search<'r> {
        let zeros = vec![0.0; round.base_matrix().len()];
        Search { round, kernel: round.kernel(), queue, zeros, usually: 1.0, seats: Vec::new(), free: Vec::new() }
    }

    /// The worst value among those the target can do without.
    fn worst(&mut self, history: &mut History) -> Metered<Option<Ratio>> {
        let mut worst = None;
        let mut most = TOGETHER;
        let mut highest = None;
        while self.choose(history, most, &mut worst, &mut highest) {
            self.evaluate(history, &mut worst)?;
            // Many are frozen, perhaps all that are left.
            most = if worst.is_none() { most.saturating_mul(2) } else { TOGETHER };
        }
        if let (Some(worst), Some(highest)) = (&worst, highest) {
            let ratio = score(worst) / highest;
            if ratio <= 1.0 {
                self.usually += ADAPTS * (ratio - self.usually);
            }
        }
        for ratio in self.free.drain(..).filter(|ratio| worst.is_none_or(|worst| worst.seat != ratio.seat)) {
            self.queue.push(self.round, ratio.seat, ratio.gain);
        }
        Ok(worst)
    }

    /// Chooses who is evaluated next: those that might be worse than the worst so far, or at first those that are likely to be
    /// needed. Whether there is anything to evaluate.
    fn choose(&mut self, history: &History, most: usize, worst: &mut Option<Ratio>, highest: &mut Option<f64>) -> bool {
        let now = history.rejected.len();
        self.seats.clear();
        let mut least = worst.as_ref().map_or(f64::NEG_INFINITY, score);
        while self.seats.len() < most
            && let Some((bound, seat)) = self.queue.pop(least)
        {
            match history.sightings[seat.0].free {
                Some((seen, gain)) if seen == now => {
                    self.consider(Ratio { seat, gain, ask: self.round.ask(seat) }, worst);
                    least = worst.as_ref().map_or(f64::NEG_INFINITY, score);
                }
                _ => {
                    self.seats.push(seat);
                    highest.get_or_insert(bound);
                    if worst.is_none() && most == TOGETHER {
                        least = least.max(bound * self.usually);
                    }
                }
            }
        }
        !self.seats.is_empty() || history.levels.len() == now
    }

    fn evaluate(&mut self, history: &mut History, worst: &mut Option<Ratio>) -> Metered<()> {
        let seats = std::mem::take(&mut self.seats);
        if seats.len() > TOGETHER {
            let losses = history.losses(self.round, history.rejected.len(), &seats)?;
            history.evaluations += seats.len() as u64;
            seats.iter().zip(losses).for_each(|(&seat, loss)| self.see(history, seat, loss, worst));
        } else {
            self.evaluate_few(history, &seats, worst)?;
        }
        self.seats = seats;
        Ok(())
    }

    /// Together with the level of the step, if that is not known.
    fn evaluate_few(&mut self, history: &mut History, seats: &[Seat], worst: &mut Option<Ratio>) -> Metered<()> {
        let now = history.rejected.len();
        let matrix = history.matrix(now);
        let is_new = history.levels.len() == now;
        let mut pairs: [Pair<'_>; TOGETHER + 1] = [(matrix, &self.zeros); TOGETHER + 1];
        let first = usize::from(is_new);
        for (pair, &seat) in pairs[first..].iter_mut().zip(seats) {
            pair.1 = self.round.gram(seat);
        }
        let mut levels = Vec::with_capacity(TOGETHER + 1);
        self.kernel.levels_without(&pairs[..first + seats.len()], &mut levels)?;
        if is_new {
            self.queue.advance(now, matrix, levels[0]);
            history.levels.push(levels[0]);
        }
        let level = history.levels[now];
        for (&seat, &without) in seats.iter().zip(&levels[first..]) {
            self.see(history, seat, level - without, worst);
        }
        Ok(())
    }

    fn see(&mut self, history: &mut History, seat: Seat, loss: Information, worst: &mut Option<Ratio>) {
        if !history.see(seat, loss) {
            self.consider(Ratio { seat, gain: loss, ask: self.round.ask(seat) }, worst);
        }
    }

    fn consider(&mut self, ratio: Ratio, worst: &mut Option<Ratio>) {
        self.free.push(ratio);
        if worst.is_none_or(|worst| worst.beats(&ratio)) {
            *worst = Some(ratio);
        }
    }
}

/// Ask per loss as a float, infinite without loss: for bounds only.
pub(super) fn score(ratio: &Ratio) -> f64 {
    if ratio.gain <= Information::ZERO { f64::INFINITY } else { ratio.ask.micros() as f64 / ratio.gain.units() as f64 }
}
