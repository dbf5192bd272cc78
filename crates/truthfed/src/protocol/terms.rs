//! The terms of a federation: what every round is run by, checked once.

use super::OfferBody;
use crate::Amount;
use crate::auction::{ClientId, Coverage, CoverageError};
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
    /// Ridge weight, above 0.
    pub lambda: f64,
    /// How much a round must cover.
    pub coverage: CoverageRule,
    /// Highest ask that is admitted.
    pub reserve: Amount,
    /// Longest context, above 0: an offer of n samples has a trace of at most n times its square.
    pub norm: f64,
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
    /// Operator: a number must be positive.
    #[error("{what} is {value}: it must be above 0 and at most 1e9")]
    NotPositive {
        /// Which.
        what: &'static str,
        /// Its value.
        value: f64,
    },
}

/// Why an offer is not taken. The round goes on without it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OfferError {
    /// Member: another size than the federation's.
    #[error("gram of {client} has dimension {got}, the federation has {expected}")]
    WrongDimension {
        /// Whose offer.
        client: ClientId,
        /// Its dimension.
        got: usize,
        /// The federation's.
        expected: usize,
    },
    /// Member: no data gives such a matrix.
    #[error("gram of {client} is not positive semi-definite: an eigenvalue lies below -1e-9 times its trace")]
    NotPositive {
        /// Whose offer.
        client: ClientId,
    },
    /// Member: more than that many contexts can give.
    #[error("gram of {client} has trace {trace}, {samples} samples of norm {norm} give at most {most}")]
    TraceTooLarge {
        /// Whose offer.
        client: ClientId,
        /// The trace.
        trace: f64,
        /// The number of samples.
        samples: u64,
        /// Longest context.
        norm: f64,
        /// The bound.
        most: f64,
    },
}

/// Share of the trace by which rounding may make an eigenvalue negative: statistics are sent with all digits.
const PSD_TOLERANCE: f64 = 1e-9;

impl Terms {
    /// The terms, if they are valid.
    ///
    /// # Errors
    /// Names the first that is not.
    pub fn checked(self) -> Result<Terms, TermsError> {
        if !(1..=MAX_DIMENSION).contains(&self.dimension) {
            return Err(TermsError::Dimension(self.dimension));
        }
        for (what, value) in [("lambda", self.lambda), ("norm", self.norm)] {
            if !(value > 0.0 && value <= 1e9) {
                return Err(TermsError::NotPositive { what, value });
            }
        }
        Ok(self)
    }

    /// Whether an offer can be what it says it is.
    ///
    /// # Errors
    /// Says why not.
    pub fn check_offer(&self, client: &ClientId, offer: &OfferBody) -> Result<(), OfferError> {
        let client = || client.clone();
        let (got, expected) = (offer.gram.dimension(), self.dimension);
        if got != expected {
            return Err(OfferError::WrongDimension { client: client(), got, expected });
        }
        let (trace, samples, norm) = (offer.gram.trace(), offer.samples, self.norm);
        let most = samples as f64 * norm * norm;
        if trace > most * (1.0 + 1e-9) {
            return Err(OfferError::TraceTooLarge { client: client(), trace, samples, norm, most });
        }
        match offer.gram.negativity(PSD_TOLERANCE) {
            Some(_) => Ok(()),
            None => Err(OfferError::NotPositive { client: client() }),
        }
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
