//! How much information a round must buy, relative to buying from everyone.

/// The required ratio of determinants, det V(winners) / det V(all admitted), in (0, 1].
///
/// Kept with its logarithm: in high dimension the ratio itself may underflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coverage {
    ratio: f64,
    log: f64,
}

/// Why a number is not a coverage target. All are the caller's to fix.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CoverageError {
    #[error("coverage is {0}: it must be above 0 and at most 1")]
    OutOfRange(f64),
    #[error("log_coverage is {0}: it must be finite and at most 0")]
    Log(f64),
    #[error("{what} is {value}: it must be positive and finite")]
    NotPositive { what: &'static str, value: f64 },
}

impl Coverage {
    /// The paper's stricter exponent, 1 - 1/e.
    pub(super) const STRICT: f64 = 1.0 - 1.0 / std::f64::consts::E;

    pub fn ratio(ratio: f64) -> Result<Coverage, CoverageError> {
        if ratio > 0.0 && ratio <= 1.0 {
            Ok(Coverage { ratio, log: libm::log(ratio) })
        } else {
            Err(CoverageError::OutOfRange(ratio))
        }
    }

    /// The target (1 + t L^2 / (lambda d))^-d, under which no client is essential, when `samples` (t)
    /// observations of norm at most `norm` (L) exist in the whole federation.
    pub fn monopoly_free(samples: u64, norm: f64, lambda: f64, dimension: usize) -> Result<Coverage, CoverageError> {
        for (what, value) in [("norm", norm), ("lambda", lambda)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(CoverageError::NotPositive { what, value });
            }
        }
        let d = dimension as f64;
        Ok(Coverage::of_log(-d * libm::log1p(samples as f64 * norm * norm / (lambda * d))))
    }

    /// The ratio of which this is the logarithm, for ratios too small for a float.
    pub fn from_log(log: f64) -> Result<Coverage, CoverageError> {
        if log.is_finite() && log <= 0.0 { Ok(Coverage::of_log(log)) } else { Err(CoverageError::Log(log)) }
    }

    fn of_log(log: f64) -> Coverage {
        Coverage { ratio: libm::exp(log), log }
    }

    /// The required determinant ratio; 0 where it is too small for a float.
    pub fn to_ratio(self) -> f64 {
        self.ratio
    }

    /// This target to the power of `exponent`: below 1 it is stricter.
    pub(super) fn pow(self, exponent: f64) -> Coverage {
        Coverage::of_log(self.log * exponent)
    }

    /// The logarithm of the ratio, at most 0.
    pub fn log(self) -> f64 {
        self.log
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_lies_above_zero_and_up_to_one() {
        for bad in [0.0, -0.5, 1.000_001, f64::NAN, f64::INFINITY] {
            assert!(Coverage::ratio(bad).is_err(), "{bad}");
        }
        assert_eq!(Coverage::ratio(1.0).unwrap().log(), 0.0);
    }

    #[test]
    fn the_printed_exponent_makes_the_target_stricter() {
        let strict = Coverage::ratio(0.5).unwrap().pow(Coverage::STRICT).to_ratio();
        assert!((strict - 0.645).abs() < 5e-4);
    }

    #[test]
    fn the_monopoly_free_target_follows_the_lemma() {
        let target = Coverage::monopoly_free(10, 1.0, 0.1, 2).unwrap().to_ratio();
        assert!((target - 1.0 / (51.0 * 51.0)).abs() < 1e-15);
        let target = Coverage::monopoly_free(10, 2.0, 0.1, 2).unwrap().to_ratio();
        assert!((target - 1.0 / (201.0 * 201.0)).abs() < 1e-15);
        assert!(Coverage::monopoly_free(10, 0.0, 0.1, 2).is_err());
        assert!(Coverage::monopoly_free(10, 1.0, f64::NAN, 2).is_err());
    }
}
