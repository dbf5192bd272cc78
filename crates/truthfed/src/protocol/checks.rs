//! Checks of what members send: whether an offer, and later its moment, can come from data at all.
//!
//! An offer of n observations with contexts of norm at most L has a Gram matrix that is positive semi-definite, of
//! trace at most n L^2 and of rank at most n. (No eigenvalue of such a matrix exceeds its trace, so a bound of its own
//! would add nothing.) With rewards of size at most Y, the moment lies in the range of the Gram matrix, and its energy
//! b' V^+ b, the part of the rewards that the contexts explain, is at most n Y^2.
//!
//! Promise: sums of such observations, in any order and merged from any parts, are never refused. Every tolerance lies
//! above the worst that rounding can do, not above the usual. And what is accepted never makes a later round impossible:
//! `capacity` argues it.
//!
//! Not here: whether the moment is the one that was committed to (the service), whether it is plausible
//! ([`super::Surprise`]).

use super::{Rejection, RoundId, Terms};
use crate::auction::{ClientId, Offer};
use crate::statistics::{Factor, Gram, MAX_ENTRY};

/// Why an offer is not taken. The member must fix it; the round goes on without it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OfferError {
    #[error("offer of {client} was sent by {from}: each member sends its own")]
    OtherClient { client: ClientId, from: ClientId },
    #[error("gram of {client} has dimension {got}, the federation has {expected}")]
    WrongDimension { client: ClientId, got: usize, expected: usize },
    #[error("offer of {client} has {samples} samples, at most {most} are taken at a time")]
    TooManySamples { client: ClientId, samples: u64, most: u64 },
    #[error("offer of {client} has {samples} samples, at least {least} are taken at a time")]
    TooFewSamples { client: ClientId, samples: u64, least: u64 },
    #[error("offer of {client} has 0 samples: its gram must be zero")]
    NoSamples { client: ClientId },
    #[error("gram of {client} has trace {trace}, {samples} samples of norm {norm} give at most {most}")]
    TraceTooLarge { client: ClientId, trace: f64, samples: u64, norm: f64, most: f64 },
    /// The first pivot that is not above 0, after what rounding may account for was added to the diagonal.
    #[error("gram of {client} is not positive semi-definite: pivot {pivot} at row {row} must not be below 0")]
    NotPositive { client: ClientId, row: usize, pivot: f64 },
    #[error("gram of {client} has a rank above {samples}: that many samples give at most that rank")]
    RankTooHigh { client: ClientId, samples: u64 },
}

/// An offer that passed [`Terms::check_offer`]: a coordinator of the same terms need not check it again. Only
/// [`Terms::checked`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedOffer {
    pub(super) terms: Terms,
    pub(super) samples: u64,
    pub(super) offer: Offer,
    /// The round after which it was found to be reason enough for the next.
    pub(super) worth_after: Option<RoundId>,
}

impl CheckedOffer {
    /// That it is reason enough for the next round, if this was settled when the last one, `closed`, had ended. A coordinator
    /// with the same round behind it need not check that again either.
    pub fn opening(mut self, closed: RoundId, settled: &Gram) -> Result<CheckedOffer, Rejection> {
        let CheckedOffer { terms, samples, offer, .. } = &self;
        let trigger = terms.trigger();
        if !trigger.is_met(terms.bandit().lambda(), settled, *samples, &offer.gram) {
            return Err(Rejection::TriggerNotMet { client: offer.client.clone(), threshold: trigger.threshold });
        }
        self.worth_after = Some(closed);
        Ok(self)
    }
}

/// Why a delivery is not taken. The member may still deliver what it offered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DeliveryError {
    #[error("moment of {client} has {got} entries, the federation has dimension {expected}")]
    WrongDimension { client: ClientId, got: usize, expected: usize },
    #[error("entry {index} of the moment of {client} is {value}: it must be finite and at most 1e15 in size")]
    OutOfRange { client: ClientId, index: usize, value: f64 },
    /// A direction in which it has no context has no reward either. The energy is that with a small ridge.
    #[error("moment of {client} lies outside the range of its gram: its energy {energy} must be at most {most}")]
    OutsideGram { client: ClientId, energy: f64, most: f64 },
    #[error("moment of {client} has energy {energy}, {samples} rewards of size {reward} give at most {most}")]
    EnergyTooLarge { client: ClientId, energy: f64, samples: u64, reward: f64, most: f64 },
}

/// Share of a size that is taken for rounding, whatever the number of samples.
const SLACK: f64 = 1e-9;
/// By how many times the ridge of the energy exceeds the rounding of the Gram matrix.
const RIDGE_OVER_ROUNDING: f64 = 1e3;
/// Share by which rounding may raise an energy; [`Terms::check_delivery`] argues it.
const ENERGY_SLACK: f64 = 1e-3;

/// The share of the trace by which rounding may move the trace of a sum of that many outer products.
///
/// Each term passes at most n additions, each off by half an epsilon of a partial sum of sizes. The sum of sizes at
/// (i, j) is at most sqrt(V_ii V_jj), so the error is a matrix of norm at most n/2 epsilon times the trace. This is
/// more than twice that.
fn rounding(samples: u64) -> f64 {
    SLACK + samples as f64 * f64::EPSILON
}

impl Terms {
    /// An offer that can come from that many samples. Fails as [`Terms::check_offer`].
    pub fn checked(&self, offer: Offer, samples: u64) -> Result<CheckedOffer, OfferError> {
        self.check_offer(&offer, samples)?;
        Ok(CheckedOffer { terms: self.clone(), samples, offer, worth_after: None })
    }

    /// Whether an offer can come from that many samples.
    pub fn check_offer(&self, offer: &Offer, samples: u64) -> Result<(), OfferError> {
        let Offer { client, gram, .. } = offer;
        let client = || client.clone();
        let (got, expected) = (gram.dimension(), self.dimension());
        if got != expected {
            return Err(OfferError::WrongDimension { client: client(), got, expected });
        }
        let most = self.raw().samples;
        if samples > most {
            return Err(OfferError::TooManySamples { client: client(), samples, most });
        }
        let least = self.least_samples();
        if samples < least {
            return Err(OfferError::TooFewSamples { client: client(), samples, least });
        }
        if samples == 0 && gram.lower().iter().any(|&entry| entry != 0.0) {
            return Err(OfferError::NoSamples { client: client() });
        }
        let (trace, norm) = (gram.trace(), self.raw().norm);
        let most = samples as f64 * norm * norm;
        if trace > most * (1.0 + rounding(samples)) {
            return Err(OfferError::TraceTooLarge { client: client(), trace, samples, norm, most });
        }
        // In floats a positive semi-definite matrix with this on its diagonal has a Cholesky factor, and whatever passes can
        // be in a round: see `capacity`.
        let shift = self.tolerance() * gram.scale();
        if let Err(error) = Factor::new(&gram.ridge(shift)) {
            return Err(OfferError::NotPositive { client: client(), row: error.row, pivot: error.pivot });
        }
        if samples < expected as u64 && gram.exceeds_rank(samples as usize, shift) {
            return Err(OfferError::RankTooHigh { client: client(), samples });
        }
        Ok(())
    }

    /// Whether a moment can belong to an offer of that many samples, which was checked.
    ///
    /// One solve shows both that the moment b lies in the range of the Gram matrix V and that its energy is within its
    /// bound: b' (V + r I)^-1 b is at most b' V^+ b, hence at most n Y^2, for every r; and a part of b outside the
    /// range adds its square over r, which is huge for a small r.
    ///
    /// What rounding does to it: let u <= n/2 epsilon be the relative error of the sums, t the trace and r = q t. The
    /// error of V has norm at most u t = (u/q) r, which raises the energy by at most the factor 1 / (1 - u/q). The
    /// error of b has at most the length u sqrt(t n) Y, so the root of the energy grows by at most u sqrt(n) Y /
    /// sqrt(q). As q is at least 2000 u and 1e-9, the two together stay below 6e-4 of n Y^2 for the 10^9 samples that terms
    /// allow, and the solve itself (d epsilon over q) below 2e-4. The bound is therefore held to within a thousandth.
    pub fn check_delivery(&self, offer: &Offer, samples: u64, moment: &[f64]) -> Result<(), DeliveryError> {
        let Offer { client, gram, .. } = offer;
        let client = || client.clone();
        let (got, expected) = (moment.len(), gram.dimension());
        if got != expected {
            return Err(DeliveryError::WrongDimension { client: client(), got, expected });
        }
        if let Some(index) = moment.iter().position(|entry| !entry.is_finite() || entry.abs() > MAX_ENTRY) {
            return Err(DeliveryError::OutOfRange { client: client(), index, value: moment[index] });
        }
        let reward = self.raw().reward;
        let most = samples as f64 * reward * reward * (1.0 + ENERGY_SLACK);
        let ridge = (SLACK + RIDGE_OVER_ROUNDING * samples as f64 * f64::EPSILON) * gram.scale();
        let Ok(factor) = Factor::new(&gram.ridge(ridge)) else {
            return Err(DeliveryError::OutsideGram { client: client(), energy: f64::INFINITY, most });
        };
        let energy = factor.quadratic_form(moment);
        if energy <= most {
            return Ok(());
        }
        // With x = (V + r I)^-1 b the energy is x' V x + r x' x, and only what lies outside the range makes the second
        // large.
        let outside = ridge * factor.solve(moment).iter().map(|x| x * x).sum::<f64>();
        Err(if outside < energy / 2.0 {
            DeliveryError::EnergyTooLarge { client: client(), energy, samples, reward, most }
        } else {
            DeliveryError::OutsideGram { client: client(), energy, most }
        })
    }
}
