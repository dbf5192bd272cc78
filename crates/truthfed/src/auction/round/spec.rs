//! The parts of a round, and whether a round can be made of them.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Amount;
use crate::auction::{ClientId, Coverage};
use crate::statistics::{Factor, Gram, MAX_ENTRY, packed_len};

/// Most offers in a round: in 5 dimensions their matrices take 1.2 GB.
const MAX_OFFERS: usize = 10_000_000;
/// So many offers are checked on all cores.
const MANY: usize = 1000;
/// Share of the trace by which an eigenvalue may be negative: rounding of a matrix of unit contexts written
/// with six decimals.
const PSD_TOLERANCE: f64 = 1e-5;
/// Rounds whose log determinants rounding could move by more nats are refused: a coverage would be off by more than 0.01 %.
const WORST_NATS: f64 = 1e-4;

/// One client's offer: its data's Gram matrix, at an ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    pub client: ClientId,
    pub ask: Amount,
    /// The sum of x x' over its unshared observations.
    pub gram: Gram,
}

/// The parts of a round, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundSpec {
    /// Ridge weight, above 0.
    pub lambda: f64,
    pub coverage: Coverage,
    /// Highest ask that is admitted, and the payment of an essential client.
    pub reserve: Amount,
    /// What all payments together may come to; `None`: no limit. Asks above it are not admitted either.
    pub purse: Option<Amount>,
    /// Most multiplications that running a mechanism may take, where a log determinant counts for (d + 12)^3 of them; `None`:
    /// no limit.
    pub work: Option<u64>,
    /// Gram matrix of what is settled already, without the ridge.
    pub base: Gram,
    /// At least one offer, each client once.
    pub offers: Vec<Offer>,
}

impl RoundSpec {
    /// A round of these offers with the usual limits: lambda 0.1, coverage 0.5, reserve 10,000, no purse, any amount of work.
    pub fn new(base: Gram, offers: Vec<Offer>) -> RoundSpec {
        let coverage = Coverage::ratio(0.5).expect("a half lies in (0, 1]");
        RoundSpec { lambda: 0.1, coverage, reserve: Amount::from_units(10_000), purse: None, work: None, base, offers }
    }
}

/// Why a round cannot be run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RoundError {
    /// Caller: the ridge weight must be positive.
    #[error("lambda is {0:?}: it must be above 0 and at most 1e15")]
    Lambda(f64),
    /// Caller: nobody offers.
    #[error("offers is empty: a round needs at least one offer")]
    NoOffers,
    /// Caller: split the federation.
    #[error("offers has {0} entries, at most 10000000 are allowed")]
    TooManyOffers(usize),
    /// Member: one offer each.
    #[error("client {0} offers twice: each client may offer once")]
    DuplicateClient(ClientId),
    /// Member: the matrix has another size than the base.
    #[error("gram of {client} has dimension {got}, base has {expected}")]
    WrongDimension { client: ClientId, got: usize, expected: usize },
    /// Member: no data gives such a matrix.
    #[error("gram of {client} is not positive semi-definite: an eigenvalue lies below -1e-5 times its trace")]
    NotPositive { client: ClientId },
    /// Caller: the settled statistics are broken.
    #[error("base is not positive semi-definite: an eigenvalue lies below -1e-5 times its trace")]
    BaseNotPositive,
    /// Caller: with these sizes a log determinant could not be told from rounding.
    #[error(
        "lambda is {lambda:?}, too small for matrices of this size and rounding: it must be at least {least:e} \
         (or write the matrices with more digits)"
    )]
    LambdaTooSmall { lambda: f64, least: f64 },
}

/// How far below zero the eigenvalues of offers may lie.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Negativity {
    /// Of all together.
    pub(super) all: f64,
    /// Of the worst.
    pub(super) worst: f64,
}

/// Checks everything.
pub(super) fn check(spec: &RoundSpec) -> Result<Negativity, RoundError> {
    if !(spec.lambda > 0.0 && spec.lambda <= MAX_ENTRY) {
        return Err(RoundError::Lambda(spec.lambda));
    }
    match spec.offers.len() {
        0 => return Err(RoundError::NoOffers),
        1..=MAX_OFFERS => {}
        more => return Err(RoundError::TooManyOffers(more)),
    }
    let mut clients: Vec<&ClientId> = spec.offers.iter().map(|offer| &offer.client).collect();
    clients.sort_unstable();
    if let Some(pair) = clients.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(RoundError::DuplicateClient(pair[0].clone()));
    }
    let expected = spec.base.dimension();
    for Offer { client, gram, .. } in &spec.offers {
        if gram.dimension() != expected {
            return Err(RoundError::WrongDimension { client: client.clone(), got: gram.dimension(), expected });
        }
    }
    check_positive(spec)
}

/// Every sum of a subset must stay positive definite: the ridge has to outweigh all negative
/// eigenvalues together, and the rounding of the largest matrix.
fn check_positive(spec: &RoundSpec) -> Result<Negativity, RoundError> {
    let of_base = spec.base.negativity(PSD_TOLERANCE).ok_or(RoundError::BaseNotPositive)?;
    let mut negativity = Negativity::default();
    let mut total = spec.base.ridge(spec.lambda);
    let negativity_of = |offer: &Offer| offer.gram.negativity(PSD_TOLERANCE);
    let each: Vec<Option<f64>> = match spec.offers.len() < MANY {
        true => spec.offers.iter().map(negativity_of).collect(),
        false => spec.offers.par_iter().map(negativity_of).collect(),
    };
    for (Offer { client, gram, .. }, own) in spec.offers.iter().zip(each) {
        let own = own.ok_or_else(|| RoundError::NotPositive { client: client.clone() })?;
        negativity = Negativity { all: negativity.all + own, worst: negativity.worst.max(own) };
        total.add(gram);
    }
    let (lambda, dimension) = (spec.lambda, spec.base.dimension());
    let rounding = 16.0 * dimension as f64 * f64::EPSILON * total.trace();
    let least = 2.0 * (of_base + negativity.all + rounding);
    if lambda < least {
        return Err(RoundError::LambdaTooSmall { lambda, least });
    }
    let Perturbation { condition: moved, .. } = Perturbation::of(&spec.base.ridge(lambda), total.lower());
    // What rounding can move falls as the ridge grows, in proportion where nothing is settled.
    let least = lambda * moved / WORST_NATS;
    if lambda >= least { Ok(negativity) } else { Err(RoundError::LambdaTooSmall { lambda, least }) }
}

/// How far rounding can move the log determinant of any sum of offers, in nats. `total` is the packed sum of all.
///
/// Adding up and factorising moves entry (i, j) of a sum M by at most a few d epsilon sqrt(M_ii M_jj), so its log determinant
/// by at most that many d epsilon times the sum of M_ii (M^-1)_ii. The diagonal is largest in the sum of all offers, and that
/// of the inverse in the base. Scaling a coordinate changes nothing: a huge offer in one direction harms no other.
#[derive(Debug)]
pub(super) struct Perturbation {
    pub(super) condition: f64,
    /// Of the inverse of the base with its ridge.
    pub(super) inverse_trace: f64,
}

impl Perturbation {
    pub(super) fn of(ridge_base: &Gram, total: &[f64]) -> Perturbation {
        let dimension = ridge_base.dimension();
        let factor = Factor::new(ridge_base).expect("a checked base with its ridge is positive definite");
        let (mut condition, mut inverse_trace) = (0.0, 0.0);
        for (i, inverse) in factor.inverse_diagonal().enumerate() {
            condition += total[packed_len(i) + i] * inverse;
            inverse_trace += inverse;
        }
        Perturbation { condition: 4.0 * dimension as f64 * f64::EPSILON * condition, inverse_trace }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::auction::Round;

    pub(in crate::auction::round) fn offer(client: &str, ask: &str, gram: f64) -> Offer {
        let gram = Gram::from_rows(&[[gram]]).unwrap();
        Offer { client: client.parse().unwrap(), ask: ask.parse().unwrap(), gram }
    }

    pub(in crate::auction::round) fn spec(offers: Vec<Offer>) -> RoundSpec {
        RoundSpec { reserve: Amount::from_units(10), ..RoundSpec::new(Gram::zeros(1).unwrap(), offers) }
    }

    fn check_refused(change: impl FnOnce(&mut RoundSpec), expected: &str) {
        let mut spec = spec(vec![offer("b", "2", 1.0), offer("a", "1", 1.0)]);
        change(&mut spec);
        let error = Round::new(spec).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn wrong_parts_are_refused_by_name() {
        check_refused(|spec| spec.lambda = 0.0, "lambda is 0.0: it must be above 0");
        check_refused(|spec| spec.lambda = f64::NAN, "lambda is NaN");
        check_refused(|spec| spec.lambda = 1.1e15, "at most 1e15");
        check_refused(|spec| spec.offers.clear(), "offers is empty");
        check_refused(|spec| spec.offers[0].client = "a".parse().unwrap(), "client a offers twice");
        check_refused(|spec| spec.base = Gram::zeros(2).unwrap(), "gram of b has dimension 1, base has 2");
        check_refused(|spec| spec.offers[1] = offer("a", "1", -1.0), "gram of a is not positive");
        check_refused(|spec| spec.base = Gram::from_rows(&[[-1.0]]).unwrap(), "base is not positive");
        check_refused(|spec| spec.offers[1] = offer("a", "1", 9e14), "lambda is 0.1, too small");
    }

    #[test]
    fn what_rounding_can_move_follows_from_the_smallest_sum_and_the_largest_entry() {
        let base = Gram::from_rows(&[[2.0, 0.0], [0.0, 8.0]]).unwrap();
        let expected = 4.0 * 2.0 * f64::EPSILON * (3.0 / 2.0 + 40.0 / 8.0);
        assert!((Perturbation::of(&base, &[3.0, 9.0, 40.0]).condition / expected - 1.0).abs() < 1e-12);
    }

    /// The least ridge weight that is told when another is refused.
    fn least_lambda(spec: &RoundSpec) -> f64 {
        match Round::new(spec.clone()) {
            Err(RoundError::LambdaTooSmall { lambda, least }) if lambda == spec.lambda && lambda < least => least,
            other => panic!("{other:?}"),
        }
    }

    fn check_least(mut spec: RoundSpec, expected: f64) {
        spec.lambda = expected * 0.999;
        assert!((least_lambda(&spec) / expected - 1.0).abs() < 1e-11, "{:e} {expected:e}", least_lambda(&spec));
        spec.lambda = expected * 1.001;
        Round::new(spec).unwrap();
    }

    #[test]
    fn the_ridge_outweighs_twice_all_negative_eigenvalues_and_the_rounding_of_the_sum() {
        let bent = |below: f64| Gram::from_rows(&[[1.0, 0.0], [0.0, -below]]).unwrap();
        let grams = [bent(4e-6), bent(5e-6), bent(6e-6)];
        let negativity: f64 = grams.iter().map(|gram| gram.negativity(PSD_TOLERANCE).unwrap()).sum();
        let rounding = 16.0 * 2.0 * f64::EPSILON * 3.0;
        let [base, first, second] = grams;
        let offers =
            vec![Offer { gram: first, ..offer("a", "1", 0.0) }, Offer { gram: second, ..offer("b", "1", 0.0) }];
        check_least(RoundSpec { base, ..spec(offers) }, 2.0 * (negativity + rounding));
    }

    #[test]
    fn the_ridge_is_large_enough_for_log_determinants_to_be_told_from_rounding() {
        // Of two offers in one dimension, where nothing is settled: the sum of both over the ridge, by its rounding.
        let offers = vec![offer("a", "1", 1e6), offer("b", "1", 3e6)];
        check_least(spec(offers), 4.0 * f64::EPSILON * 4e6 / WORST_NATS);
    }
}
