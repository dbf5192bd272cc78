//! Sufficient statistics of a linear bandit: the data that clients collect, deliver and share.
//!
//! [`Statistics`] is the triple (sum of x x', sum of x y, number of observations), without the ridge
//! term. Statistics of disjoint observations merge by addition. The caller chooses the order,
//! and the same order gives the same bits. [`Gram`] is the matrix part, [`Factor`] its Cholesky factor.
//!
//! Not here: choosing arms ([`crate::bandit`]), the value of a client's data ([`crate::auction`]).

mod factor;
mod gram;

use serde::{Deserialize, Serialize};

pub(crate) use factor::log_det_in_place;
pub use factor::{Factor, NotPositive};
pub(crate) use gram::packed_len;
pub use gram::{Gram, GramError, MAX_ENTRY};

/// Largest dimension of contexts. At 512 a packed Gram matrix takes 1 MiB.
pub const MAX_DIMENSION: usize = 512;
/// Largest magnitude of a coordinate or a reward: products stay below 10^12, so that 1000 of them stay within
/// [`MAX_ENTRY`].
pub const MAX_OBSERVATION: f64 = 1e6;

/// The sufficient statistics of a set of observations `(x, y)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Statistics {
    gram: Gram,
    moment: Vec<f64>,
    samples: u64,
}

/// Statistics as read, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    gram: Vec<f64>,
    moment: Vec<f64>,
    samples: u64,
}

impl TryFrom<Parts> for Statistics {
    type Error = StatisticsError;

    fn try_from(Parts { gram, moment, samples }: Parts) -> Result<Statistics, StatisticsError> {
        Statistics::from_parts(Gram::from_sums(gram)?, moment, samples)
    }
}

/// Why statistics refuse an observation or other statistics.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatisticsError {
    /// Caller: the dimensions differ.
    #[error("{what} has dimension {got}, expected {expected}")]
    WrongDimension { what: &'static str, got: usize, expected: usize },
    /// Caller: a coordinate or the reward is NaN, infinite or too large.
    #[error("{what} has the value {value}: it must be finite and at most 1e6 in size")]
    OutOfRange { what: &'static str, value: f64 },
    /// Caller: the numbers are not a Gram matrix.
    #[error(transparent)]
    Gram(#[from] GramError),
    /// Caller: the moment has an entry that is NaN or infinite.
    #[error("entry {index} of the moment is {value}: it must be finite")]
    NotFinite { index: usize, value: f64 },
    /// Caller: the subtracted statistics have more samples.
    #[error("cannot subtract {got} samples from {held}")]
    TooFewSamples { got: u64, held: u64 },
}

impl Statistics {
    /// The statistics of no observation.
    ///
    /// # Errors
    /// When `dimension` is not in `1..=512`.
    pub fn new(dimension: usize) -> Result<Statistics, GramError> {
        Ok(Statistics { gram: Gram::zeros(dimension)?, moment: vec![0.0; dimension], samples: 0 })
    }

    /// # Errors
    /// When the moment does not have the dimension of the Gram matrix, or is not finite.
    pub fn from_parts(gram: Gram, moment: Vec<f64>, samples: u64) -> Result<Statistics, StatisticsError> {
        let (got, expected) = (moment.len(), gram.dimension());
        if got != expected {
            return Err(StatisticsError::WrongDimension { what: "moment", got, expected });
        }
        if let Some(index) = moment.iter().position(|entry| !entry.is_finite()) {
            return Err(StatisticsError::NotFinite { index, value: moment[index] });
        }
        Ok(Statistics { gram, moment, samples })
    }

    pub fn dimension(&self) -> usize {
        self.gram.dimension()
    }

    /// The sum of x x'.
    pub fn gram(&self) -> &Gram {
        &self.gram
    }

    /// The sum of x y.
    pub fn moment(&self) -> &[f64] {
        &self.moment
    }

    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Adds one observation.
    ///
    /// # Errors
    /// When the context has another dimension, or a number is not finite or above 10^6; then nothing changes.
    pub fn observe(&mut self, context: &[f64], reward: f64) -> Result<(), StatisticsError> {
        self.check_dimension("context", context.len())?;
        check_range("context", context)?;
        check_range("reward", &[reward])?;
        self.gram.add_outer(context);
        for (sum, x) in self.moment.iter_mut().zip(context) {
            *sum += x * reward;
        }
        self.samples += 1;
        Ok(())
    }

    /// Adds the statistics of other observations.
    ///
    /// # Errors
    /// When the dimensions differ.
    pub fn merge(&mut self, other: &Statistics) -> Result<(), StatisticsError> {
        self.check_dimension("merged statistics", other.dimension())?;
        self.gram.add(&other.gram);
        for (sum, x) in self.moment.iter_mut().zip(&other.moment) {
            *sum += x;
        }
        self.samples += other.samples;
        Ok(())
    }

    /// Subtracts statistics that were merged before.
    ///
    /// # Errors
    /// When the dimensions differ or `other` has more samples.
    pub fn subtract(&mut self, other: &Statistics) -> Result<(), StatisticsError> {
        self.check_dimension("subtracted statistics", other.dimension())?;
        let (got, held) = (other.samples, self.samples);
        self.samples = held.checked_sub(got).ok_or(StatisticsError::TooFewSamples { got, held })?;
        self.gram.subtract(&other.gram);
        for (sum, x) in self.moment.iter_mut().zip(&other.moment) {
            *sum -= x;
        }
        Ok(())
    }

    fn check_dimension(&self, what: &'static str, got: usize) -> Result<(), StatisticsError> {
        let expected = self.dimension();
        if got == expected { Ok(()) } else { Err(StatisticsError::WrongDimension { what, got, expected }) }
    }
}

fn check_range(what: &'static str, values: &[f64]) -> Result<(), StatisticsError> {
    match values.iter().find(|value| !value.is_finite() || value.abs() > MAX_OBSERVATION) {
        Some(&value) => Err(StatisticsError::OutOfRange { what, value }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(points: &[([f64; 2], f64)]) -> Statistics {
        let mut statistics = Statistics::new(2).unwrap();
        for (x, y) in points {
            statistics.observe(x, *y).unwrap();
        }
        statistics
    }

    #[test]
    fn observations_sum_outer_products_and_moments() {
        let statistics = observed(&[([1.0, 2.0], 3.0), ([0.5, -1.0], 2.0)]);
        assert_eq!(statistics.gram().rows(), vec![vec![1.25, 1.5], vec![1.5, 5.0]]);
        assert_eq!(statistics.moment(), [4.0, 4.0]);
        assert_eq!(statistics.samples(), 2);
    }

    #[test]
    fn merge_then_subtract_gives_back_the_first() {
        let first = observed(&[([1.0, 2.0], 3.0)]);
        let second = observed(&[([0.5, -1.0], 2.0), ([4.0, 0.0], 1.0)]);
        let mut sum = first.clone();
        sum.merge(&second).unwrap();
        assert_eq!(sum.samples(), 3);
        sum.subtract(&second).unwrap();
        assert_eq!(sum, first);
    }

    #[test]
    fn bad_observations_change_nothing() {
        let mut statistics = observed(&[([1.0, 2.0], 3.0)]);
        let before = statistics.clone();
        assert!(statistics.observe(&[1.0], 0.0).is_err());
        assert!(statistics.observe(&[1.0, f64::NAN], 0.0).is_err());
        assert!(statistics.observe(&[1.0, 1.0], f64::INFINITY).is_err());
        assert_eq!(
            statistics.observe(&[1.0, 2e6], 0.0).unwrap_err().to_string(),
            "context has the value 2000000: it must be finite and at most 1e6 in size"
        );
        assert!(statistics.merge(&Statistics::new(3).unwrap()).is_err());
        let more = observed(&[([1.0, 2.0], 3.0), ([0.0, 0.0], 0.0)]);
        assert_eq!(statistics.subtract(&more), Err(StatisticsError::TooFewSamples { got: 2, held: 1 }));
        assert_eq!(statistics, before);
    }
}
