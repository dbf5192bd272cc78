//! Sufficient statistics of a linear bandit: the data that clients collect, deliver and share.
//!
//! [`Statistics`] is the triple (sum of x x', sum of x y, number of observations), without the ridge
//! term. Statistics of disjoint observations merge by addition. The caller chooses the order,
//! and the same order gives the same bits. [`Gram`] is the matrix part, [`Factor`] its Cholesky factor.
//!
//! Not here: choosing arms ([`crate::bandit`]), the value of a client's data ([`crate::auction`]).

mod factor;
mod gram;
mod inverse;
mod lanes;

use serde::{Deserialize, Serialize};

pub(crate) use factor::log_det_in_place;
pub use factor::{Factor, NotPositive};
pub(crate) use gram::packed_len;
pub use gram::{Gram, GramError, MAX_ENTRY};
#[cfg(test)]
pub(crate) use lanes::levels;
pub(crate) use lanes::{LANES, Lane, Lanes, Pair, turned};

/// Largest dimension of contexts. At 512 a packed Gram matrix takes 1 MiB.
pub const MAX_DIMENSION: usize = 512;
/// Largest magnitude of a coordinate or a reward: products stay below 10^12, so that 1000 of them stay within
/// [`MAX_ENTRY`].
pub const MAX_OBSERVATION: f64 = 1e6;
/// Most observations in statistics that come from elsewhere: sums of such numbers stay within the range of a count.
pub const MAX_SAMPLES: u64 = 1_000_000_000_000_000;

/// The sufficient statistics of a set of observations `(x, y)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct Statistics {
    gram: Gram,
    moment: Vec<f64>,
    samples: u64,
}

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

/// Why statistics refuse an observation or other statistics. All are the caller's to fix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatisticsError {
    #[error("{what} has dimension {got}, expected {expected}")]
    WrongDimension { what: &'static str, got: usize, expected: usize },
    #[error("{what} has the value {value}: it must be finite and at most 1e6 in size")]
    OutOfRange { what: &'static str, value: f64 },
    #[error(transparent)]
    Gram(#[from] GramError),
    #[error("entry {index} of the moment is {value}: it must be finite")]
    NotFinite { index: usize, value: f64 },
    #[error("{0} samples are more than can be counted: at most 1000000000000000")]
    TooManySamples(u64),
}

impl Statistics {
    pub fn new(dimension: usize) -> Result<Statistics, GramError> {
        Ok(Statistics { gram: Gram::zeros(dimension)?, moment: vec![0.0; dimension], samples: 0 })
    }

    pub fn from_parts(gram: Gram, moment: Vec<f64>, samples: u64) -> Result<Statistics, StatisticsError> {
        let (got, expected) = (moment.len(), gram.dimension());
        if got != expected {
            return Err(StatisticsError::WrongDimension { what: "moment", got, expected });
        }
        if let Some(index) = moment.iter().position(|entry| !entry.is_finite()) {
            return Err(StatisticsError::NotFinite { index, value: moment[index] });
        }
        if samples > MAX_SAMPLES {
            return Err(StatisticsError::TooManySamples(samples));
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

    /// Adds one observation; one that is refused changes nothing.
    pub fn observe(&mut self, context: &[f64], reward: f64) -> Result<(), StatisticsError> {
        self.check_dimension("context", context.len())?;
        check_range("context", context)?;
        check_range("reward", &[reward])?;
        self.gram.add_outer(context);
        self.moment.iter_mut().zip(context).for_each(|(sum, x)| *sum += x * reward);
        self.samples += 1;
        Ok(())
    }

    /// Adds the statistics of other observations.
    pub fn merge(&mut self, other: &Statistics) -> Result<(), StatisticsError> {
        self.check_dimension("merged statistics", other.dimension())?;
        self.gram.add(&other.gram);
        self.moment.iter_mut().zip(&other.moment).for_each(|(sum, x)| *sum += x);
        self.samples += other.samples;
        Ok(())
    }

    fn check_dimension(&self, what: &'static str, got: usize) -> Result<(), StatisticsError> {
        let expected = self.dimension();
        if got == expected { Ok(()) } else { Err(StatisticsError::WrongDimension { what, got, expected }) }
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
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
        let gram = Gram::from_rows(&[[1.25, 1.5], [1.5, 5.0]]).unwrap();
        let expected = Statistics::from_parts(gram, vec![4.0, 4.0], 2).unwrap();
        assert_eq!(observed(&[([1.0, 2.0], 3.0), ([0.5, -1.0], 2.0)]), expected);
    }

    #[test]
    fn merged_statistics_are_those_of_all_observations() {
        let mut sum = observed(&[([1.0, 2.0], 3.0)]);
        sum.merge(&observed(&[([0.5, -1.0], 2.0), ([4.0, 0.0], 1.0)])).unwrap();
        assert_eq!(sum, observed(&[([1.0, 2.0], 3.0), ([0.5, -1.0], 2.0), ([4.0, 0.0], 1.0)]));
    }

    /// An agent that took over a snapshot of so many ended: it could not add its own.
    #[test]
    fn statistics_of_more_samples_than_can_be_counted_were_taken() {
        let of = |samples| Statistics::from_parts(Gram::zeros(2).unwrap(), vec![0.0; 2], samples);
        assert_eq!(of(u64::MAX - 1), Err(StatisticsError::TooManySamples(u64::MAX - 1)));
        let mut most = of(MAX_SAMPLES).unwrap();
        most.merge(&of(MAX_SAMPLES).unwrap()).unwrap();
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
        assert_eq!(statistics, before);
    }
}
