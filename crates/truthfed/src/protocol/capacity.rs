//! How much a federation can settle before its ridge weight no longer outweighs rounding.
//!
//! Every sum of offers must stay positive definite, or no later round can be held. What may make it less so is shared out
//! in advance: with capacity C, contexts of norm L and T = C L^2, the largest trace of everything settled and offered,
//!
//! - an offer may have eigenvalues down to -[`tolerance`] times its trace: lambda / 8 for all offers together;
//! - merging at most C deliveries, each rounded to half an epsilon, moves eigenvalues by at most C epsilon T / 2: lambda / 16;
//! - adding up and factorising moves log determinants by at most 4 d epsilon T / (0.7 lambda) nats: [`MOST_MOVED`].
//!
//! A round measures the first two to within a factor of 1.5 and wants half of lambda left: 2 * 1.5 * 3/16 is below 1. So
//! whatever was accepted, a round can be made of it, and of what is settled, up to the capacity.

use crate::bandit::Config;

/// Most nats that rounding may move a log determinant, a little below what a round refuses.
const MOST_MOVED: f64 = 0.95e-4;
/// Largest share of its trace by which an offer may fall short, well within what a round takes for rounding.
const MOST_TOLERANCE: f64 = 1e-6;

/// The capacity that `lambda` is enough for, if an offer has at most `samples` contexts of norm at most `norm`, and no sum
/// may exceed `largest_sum` with `size` per sample.
pub(super) fn largest(bandit: &Config, norm: f64, samples: u64, (largest_sum, size): (f64, f64)) -> u64 {
    let (d, square) = (bandit.dimension() as f64, norm * norm);
    let ridge = bandit.lambda() / (f64::EPSILON * square);
    // An honest offer of n samples is rounded by at most n/2 epsilon of its trace, and its factorisation by d epsilon.
    let rounding_of_an_offer = ridge / (8.0 * (samples as f64 / 2.0 + d));
    let rounding_of_merges = (ridge / 8.0).sqrt();
    let log_determinants = ridge * 0.7 * MOST_MOVED / (4.0 * d);
    let range = largest_sum / size;
    rounding_of_an_offer.min(rounding_of_merges).min(log_determinants).min(range) as u64
}

/// The share of its trace by which eigenvalues of an offer may lie below 0.
pub(super) fn tolerance(capacity: u64, norm: f64, lambda: f64) -> f64 {
    (lambda / (8.0 * capacity as f64 * norm * norm)).min(MOST_TOLERANCE)
}
