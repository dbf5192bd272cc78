//! How much the matrix of a later step is below that of an earlier one, for all directions at once.
//!
//! c M - N has no eigenvalue below zero exactly if N is at most c times M in every direction. A factorization shows that, in the
//! time of one log determinant. A good c is guessed first: the determinants tell the mean over all directions, and how far the
//! worst direction is from it hardly changes from one time to the next.

use crate::auction::{Information, Round};
use crate::statistics::log_det_in_place;

/// What rounding may move in a matrix, beside its noise: far above the rounding of a factorization of few hundred rows.
const MARGIN: f64 = 1e-9;
/// After a guess that was too good, and after one that was not.
const LESS: f64 = 0.8;
const MORE: f64 = 1.03;
/// A guess that is worse is not worth its time.
const LEAST_SHARE: f64 = 0.05;

/// What comparing matrices of a round needs to know of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Directions {
    dimension: usize,
    margin: f64,
}

impl Directions {
    pub(super) fn of(round: &Round) -> Directions {
        Directions { dimension: round.dimension(), margin: MARGIN + 4.0 * round.noise().to_nats() }
    }

    /// Whether `later` is surely at most `times` the matrix `earlier`, in all of them.
    pub(super) fn are_at_most(self, later: &[f64], times: f64, earlier: &[f64]) -> bool {
        let times = times - self.margin;
        let mut difference: Vec<f64> = earlier.iter().zip(later).map(|(e, l)| times * e - l).collect();
        log_det_in_place(&mut difference, &mut vec![0.0; self.dimension]).is_some()
    }

    /// By how much more than 1 `times` has to be, for a matrix to be at most `times` itself.
    pub(super) fn least_excess(self) -> f64 {
        2.0 * self.margin
    }

    /// The mean ratio of two matrices over all of them, by their levels.
    pub(super) fn mean_ratio(self, later: Information, earlier: Information) -> f64 {
        libm::exp((later - earlier).to_nats() / self.dimension as f64)
    }
}

/// Follows the matrices from a first one.
#[derive(Debug)]
pub(super) struct Shrinkage {
    directions: Directions,
    first: Since,
    mark: Since,
}

/// A matrix, its level, and how near to the mean its worst direction came the last time.
#[derive(Debug)]
struct Since {
    matrix: Vec<f64>,
    level: Information,
    share: f64,
}

impl Shrinkage {
    pub(super) fn new(round: &Round, matrix: &[f64], level: Information) -> Shrinkage {
        let since = || Since { matrix: matrix.to_vec(), level, share: 0.9 };
        Shrinkage { directions: Directions::of(round), first: since(), mark: since() }
    }

    /// How many times the first matrix, and that of the last mark, this one is at most.
    pub(super) fn mark(&mut self, matrix: &[f64], level: Information) -> (f64, f64) {
        let since_first = self.first.times(self.directions, matrix, level);
        let since_mark = self.mark.times(self.directions, matrix, level);
        self.mark.matrix.copy_from_slice(matrix);
        self.mark.level = level;
        (since_first, since_mark)
    }
}

impl Since {
    fn times(&mut self, directions: Directions, matrix: &[f64], level: Information) -> f64 {
        let mean = directions.mean_ratio(level, self.level);
        while self.share > LEAST_SHARE {
            let times = 1.0 - self.share * (1.0 - mean);
            if directions.are_at_most(matrix, times, &self.matrix) {
                self.share = (self.share * MORE).min(0.999);
                return times;
            }
            self.share *= LESS;
        }
        self.share = 2.0 * LEAST_SHARE;
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::rejection::History;
    use super::*;
    use crate::generate::{federation, varied_within};

    #[test]
    fn every_loss_grows_by_at_least_as_much_as_matrices_shrink() {
        let mut shrunk = 0;
        let odd = (0..200).map(|seed| (seed, varied_within(seed, (30, 90), (1, 6))));
        for (seed, round) in odd.chain((0..6).map(|seed| (seed, federation(700, 1 + seed as usize, seed)))) {
            let history = History::new(&round, Information::NOTHING).unwrap();
            let mut shrinkage = Shrinkage::new(&round, history.matrix(0), history.level(0));
            let mut kernel = round.kernel();
            let leaves = history.leaves();
            let steps: Vec<usize> = (0..=history.rejected.len()).step_by(16).collect();
            for pair in steps.windows(2) {
                let (since_first, since_mark) = shrinkage.mark(history.matrix(pair[1]), history.level(pair[1]));
                let here = round.seats().filter(|seat| leaves[seat.0] > pair[1]);
                for seat in here.step_by(1 + round.admitted() / 20) {
                    let [first, mark, now] = [0, pair[0], pair[1]]
                        .map(|step| history.loss(&mut kernel, step, round.gram(seat)).unwrap().units() as f64);
                    let least = |loss: f64| history.blur.least(Information::from_units(loss as i64)).units() as f64;
                    assert!(now * since_first >= least(first), "seed {seed}, step {}", pair[1]);
                    assert!(now * since_mark >= least(mark), "seed {seed}, step {}", pair[1]);
                    shrunk += usize::from(since_first < 0.99) + usize::from(since_mark < 0.999);
                }
            }
        }
        assert!(shrunk > 3000, "{shrunk}");
    }
}
