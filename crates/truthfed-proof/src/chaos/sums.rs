//! Sums of samples, counted in whole numbers: nothing is rounded, so that a sample more or less shows.
//!
//! Contexts are whole quarters and rewards whole sixty-fourths; every sum of them is a whole number of 1/256. What attackers
//! invent is a whole number of the unit, which is far below what rounding may account for, and no sum of it is rounded either.

use truthfed::statistics::{Gram, Statistics};

const SCALE: f64 = 16_777_216.0;
/// Below this a number of units is exact.
const EXACT: f64 = 9e15;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) samples: i64,
    gram: Vec<i64>,
    moment: Vec<i64>,
}

impl Sums {
    pub(crate) fn zero(dimension: usize) -> Sums {
        Sums { samples: 0, gram: vec![0; dimension * (dimension + 1) / 2], moment: vec![0; dimension] }
    }

    pub(crate) fn of_sample(arm: &[f64], reward: f64) -> Sums {
        let whole = |x: f64| (x * SCALE) as i64;
        let gram = (0..arm.len()).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| whole(arm[i] * arm[j]));
        Sums { samples: 1, gram: gram.collect(), moment: arm.iter().map(|x| whole(x * reward)).collect() }
    }

    /// Of parts as they are sent; none if no samples have such sums.
    pub(crate) fn of_parts(gram: &Gram, moment: &[f64], samples: u64) -> Option<Sums> {
        let whole = |x: &f64| {
            let scaled = x * SCALE;
            (scaled.fract() == 0.0 && scaled.abs() < EXACT).then_some(scaled as i64)
        };
        let (gram, moment): (Option<_>, Option<_>) =
            (gram.lower().iter().map(whole).collect(), moment.iter().map(whole).collect());
        Some(Sums { samples: samples as i64, gram: gram?, moment: moment? })
    }

    /// Adds others, or takes them away with a factor of -1.
    pub(crate) fn add(&mut self, other: &Sums, factor: i64) {
        self.samples += factor * other.samples;
        let both = |mine: &mut Vec<i64>, others: &Vec<i64>| {
            mine.iter_mut().zip(others).for_each(|(sum, x)| *sum += factor * x);
        };
        both(&mut self.gram, &other.gram);
        both(&mut self.moment, &other.moment);
    }

    /// A number that is not above another, and a whole number of units.
    pub(crate) fn round_down(number: f64) -> f64 {
        (number * SCALE).floor() / SCALE
    }

    /// The packed lower triangle of the Gram matrix.
    pub(crate) fn lower(&self) -> Vec<f64> {
        self.gram.iter().map(|x| *x as f64 / SCALE).collect()
    }

    pub(crate) fn gram(&self) -> Gram {
        Gram::from_lower(self.moment.len(), self.lower()).expect("few samples have small sums")
    }

    /// As statistics, to be hashed as the coordinator does.
    pub(crate) fn statistics(&self) -> Statistics {
        let moment = self.moment.iter().map(|x| *x as f64 / SCALE).collect();
        Statistics::from_parts(self.gram(), moment, self.samples as u64).expect("both have one dimension")
    }
}
