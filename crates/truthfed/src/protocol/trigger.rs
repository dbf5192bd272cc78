//! What is reason enough for a round.
//!
//! A member that counts `n` steps since some earlier moment wants a round when `n * log(det V_now / det V_then)` exceeds the
//! communication threshold: enough steps, and enough new information. It opens the round with its offer. The coordinator does
//! not take its word for it: the offer itself, of n samples with the Gram matrix G, must be worth as much on top of what is
//! settled, `n * log(det(V + lambda I + G) / det(V + lambda I))`. Both sides compute that by [`Trigger::is_met`], to the same bit.

use serde::{Deserialize, Serialize};

use crate::statistics::{Factor, Gram};

/// Since when a member counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Since {
    /// The last round it took part in, won or lost (the default; what the regret analysis uses).
    #[default]
    Round,
    /// The last round it won, as the paper's pseudo-code has it: a member that loses asks again at every step.
    Delivery,
}

/// When a member opens a round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// Since when it counts.
    pub since: Since,
    /// The communication threshold, at least 0.
    pub threshold: f64,
    /// Whether the offer that opens a round must be worth the threshold by itself; default true. Without it any offer opens
    /// one, as in the paper, whose clients are honest about that.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub checked: bool,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_yes(checked: &bool) -> bool {
    *checked
}

impl Trigger {
    /// With the offer that opens a round checked.
    pub fn new(since: Since, threshold: f64) -> Trigger {
        Trigger { since, threshold, checked: true }
    }

    /// Whether an offer may open a round on top of what is settled. All have one dimension.
    pub fn is_met(&self, lambda: f64, settled: &Gram, samples: u64, offered: &Gram) -> bool {
        #[cfg(feature = "planted-faults")]
        if crate::planted::is(crate::planted::Fault::TriggerIgnored) {
            return true;
        }
        !self.checked || worth(lambda, settled, samples, offered) > self.threshold
    }
}

/// `n * log(det(V + lambda I + G) / det(V + lambda I))`; nothing if rounding leaves no determinant, which no terms allow.
fn worth(lambda: f64, settled: &Gram, samples: u64, offered: &Gram) -> f64 {
    let before = settled.ridge(lambda);
    let mut after = before.clone();
    after.add(offered);
    match (Factor::new(&before), Factor::new(&after)) {
        (Ok(before), Ok(after)) => samples as f64 * (after.log_det() - before.log_det()),
        _ => 0.0,
    }
}

/// The paper's communication threshold for `horizon` steps of `clients` clients: `T / (N^2 d log T) - sqrt(T^2 / (N^2 d
/// R log T)) * log(coverage^(1 - 1/e))` with `R = ceil(d log(1 + T / (lambda d)))`.
pub fn communication_threshold(horizon: u64, clients: usize, dimension: usize, lambda: f64, log_coverage: f64) -> f64 {
    let (t, n, d) = (horizon as f64, clients as f64, dimension as f64);
    let log_t = libm::log(t.max(2.0));
    let epochs = (d * libm::log1p(t / (lambda * d))).ceil();
    let strict = (1.0 - 1.0 / std::f64::consts::E) * log_coverage;
    t / (n * n * d * log_t) - (t * t / (n * n * d * epochs * log_t)).sqrt() * strict
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_follows_the_formula() {
        // By hand: 6250 / (625 * 5 * 8.7403) = 0.22883; R = ceil(5 * log(12501)) = 48;
        // sqrt(6250^2 / (625 * 5 * 48 * 8.7403)) = 5.45835; times 0.632121 * 0.693147 = 0.438153.
        let threshold = communication_threshold(6250, 25, 5, 0.1, libm::log(0.5));
        assert!((threshold - (0.228_83 + 5.458_35 * 0.438_153)).abs() < 1e-3, "{threshold}");
        // Full coverage leaves only the first term.
        let threshold = communication_threshold(1000, 10, 2, 1.0, 0.0);
        assert!((threshold - 1000.0 / (200.0 * libm::log(1000.0))).abs() < 1e-9);
    }
}
