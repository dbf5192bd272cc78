//! The terms of a federation: what every round is run by, checked once.

use crate::Amount;
use crate::auction::{Coverage, CoverageError};
use crate::statistics::{MAX_DIMENSION, Statistics};

/// How much each round must cover.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CoverageRule {
    /// Always the same determinant ratio.
    Fixed(Coverage),
    /// The largest target under which nobody is essential, from the number of samples so far.
    MonopolyFree,
}

/// What a federation agreed on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Dimension of the contexts, `1..=512`.
    pub dimension: usize,
    /// Ridge weight, `1e-9..=1e9`.
    pub lambda: f64,
    /// How much a round must cover.
    pub coverage: CoverageRule,
    /// Highest ask that is admitted.
    pub reserve: Amount,
    /// Longest context, `1e-9..=1e9`: an offer of n samples has a trace of at most n times its square.
    pub norm: f64,
    /// Largest reward, in size, `1e-9..=1e9`: the moment of n samples has an energy of at most n times its square.
    pub reward: f64,
    /// Most observations in one offer, `1..=10^9`. No sum that so many give may exceed 9e14: entries above 10^15 are
    /// not read.
    pub samples: u64,
    /// How long offers are taken.
    pub offers_ms: u64,
    /// How long deliveries are taken.
    pub deliveries_ms: u64,
}

/// Why terms are refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum TermsError {
    /// Operator: no such dimension.
    #[error("dimension is {0}: it must lie in 1..=512")]
    Dimension(usize),
    /// Operator: no such number.
    #[error("{what} is {value}: it must lie between 1e-9 and 1e9")]
    OutOfRange {
        /// Which.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// Operator: no such number of samples.
    #[error("samples is {0}: it must lie in 1..=1000000000")]
    Samples(u64),
    /// Operator: allow fewer samples, or scale contexts or rewards.
    #[error("an offer of {samples} samples can have entries of {largest:e}: norm and reward must keep it within 9e14")]
    OfferTooLarge {
        /// Samples that are allowed.
        samples: u64,
        /// What their sum can come to.
        largest: f64,
    },
}

/// Most observations in one offer that terms can allow: all counts of a federation stay far within 64 bits.
const MAX_SAMPLES: u64 = 1_000_000_000;
/// Most that an entry of an offer may come to: entries above 1e15 are not read, and sums are rounded.
const LARGEST_SUM: f64 = 9e14;

impl Terms {
    /// The terms, if they are valid.
    ///
    /// # Errors
    /// Names the first that is not.
    pub fn checked(self) -> Result<Terms, TermsError> {
        if !(1..=MAX_DIMENSION).contains(&self.dimension) {
            return Err(TermsError::Dimension(self.dimension));
        }
        for (what, value) in [("lambda", self.lambda), ("norm", self.norm), ("reward", self.reward)] {
            if !(1e-9..=1e9).contains(&value) {
                return Err(TermsError::OutOfRange { what, value });
            }
        }
        if !(1..=MAX_SAMPLES).contains(&self.samples) {
            return Err(TermsError::Samples(self.samples));
        }
        let largest = self.samples as f64 * self.norm * self.norm.max(self.reward);
        if largest > LARGEST_SUM {
            return Err(TermsError::OfferTooLarge { samples: self.samples, largest });
        }
        Ok(self)
    }

    /// The target of a round in which `offered` samples are added to what is settled.
    pub(super) fn target(&self, settled: &Statistics, offered: u64) -> Result<Coverage, CoverageError> {
        match self.coverage {
            CoverageRule::Fixed(coverage) => Ok(coverage),
            CoverageRule::MonopolyFree => {
                Coverage::monopoly_free(settled.samples() + offered, self.norm, self.lambda, self.dimension)
            }
        }
    }
}
