//! How much work a run of a mechanism may be.
//!
//! Lazy evaluation saves most log determinants of most rounds, but not of every round: where members are alike, or where
//! somebody made them so, it comes near to evaluating everyone at every step. So a round can have a limit. It is a number
//! of multiplications, which takes about the same time in every dimension.
//!
//! Whether a run is over the limit depends on its total alone, which is the same at any number of threads. A run that is
//! stopped early has exceeded the limit already, and would not have come back below it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Refusal, Round};

/// What a log determinant costs beyond d^3, as if there were so many more dimensions: copying, logarithms, and keeping a queue
/// of candidates. From d = 1 to d = 512, one core then does 9e9 to 2.2e10 of the multiplications in a second.
const OVERHEAD: u64 = 12;
/// Kernels report to the meter after so many multiplications: a tenth of a millisecond.
const BATCH: u64 = 1 << 20;

/// A search that is over the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OverLimit(u64);

pub(super) type Metered<T> = Result<T, OverLimit>;

/// Counts the log determinants of one run, on all its threads.
#[derive(Debug)]
pub(super) struct Meter {
    limit: u64,
    /// Most log determinants that are within the limit.
    most: u64,
    used: AtomicU64,
    /// After so many log determinants kernels report.
    pub(super) batch: u64,
}

impl Meter {
    fn new(limit: u64, dimension: usize) -> Meter {
        let each = cost(dimension);
        Meter { limit, most: limit / each, used: AtomicU64::new(0), batch: (BATCH / each).max(1) }
    }

    // Relaxed: nothing else is read by what it says, and the last look comes after all threads are joined.
    pub(super) fn add(&self, evaluations: u64) {
        self.used.fetch_add(evaluations, Ordering::Relaxed);
    }

    pub(super) fn check(&self) -> Metered<()> {
        if self.used.load(Ordering::Relaxed) <= self.most { Ok(()) } else { Err(OverLimit(self.limit)) }
    }
}

/// Multiplications that a log determinant counts for: (d + 12)^3.
pub(super) fn cost(dimension: usize) -> u64 {
    (dimension as u64 + OVERHEAD).pow(3)
}

impl From<OverLimit> for Refusal {
    fn from(OverLimit(limit): OverLimit) -> Refusal {
        Refusal::TooMuchWork { limit }
    }
}

/// Decides a round within its limit: all kernels of the round that `decide` is given count towards it.
///
/// A round with a purse is refused. Being over the limit comes before any other reason to give up, which a run that is stopped early might not have met.
pub(super) fn within_limit<T>(round: &Round, decide: impl FnOnce(&Round) -> Result<T, Refusal>) -> Result<T, Refusal> {
    if round.purse().is_some() { Err(Refusal::KnowsNoPurse) } else { within_limit_and_purse(round, decide) }
}

/// [`within_limit`] for mechanisms that keep to the round's purse.
pub(super) fn within_limit_and_purse<T>(
    round: &Round,
    decide: impl FnOnce(&Round) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let Some(limit) = round.work() else { return decide(round) };
    let meter = Arc::new(Meter::new(limit, round.dimension()));
    let decided = decide(&round.metered(meter.clone()));
    meter.check()?;
    decided
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Amount;
    use crate::auction::testing::random_rounds;
    use crate::auction::{Clock, Coverage, Evaluations, Mechanism, Offer, Outcome, RoundSpec, Vcg, catalog, certify};
    use crate::generate::{Stream, federation};
    use crate::statistics::{Gram, LANES};

    fn limited(round: &Round, work: u64) -> Round {
        Round::new(RoundSpec { work: Some(work), ..round.spec() }).unwrap()
    }

    /// What a run decides, and the log determinants that it takes, if `most` are allowed.
    fn metered(mechanism: &dyn Mechanism, round: &Round, most: u64) -> (Result<Outcome, Refusal>, u64) {
        let meter = Arc::new(Meter::new(most * cost(round.dimension()), round.dimension()));
        let decided = mechanism.run(&round.metered(meter.clone()));
        (decided, meter.used.load(Ordering::Relaxed))
    }

    /// Members with the same data but for a hundredth of a sample, at asks a micro-unit apart.
    fn similar(clients: usize, dimension: usize, coverage: f64) -> Round {
        let mut stream = Stream::new(1, 0);
        let mut common = Gram::zeros(dimension).unwrap();
        (0..2 * dimension).for_each(|_| common.add_outer(&stream.context(dimension)));
        let offer = |i: usize| {
            let mut gram = common.clone();
            gram.add_outer(&stream.context(dimension).iter().map(|x| 0.1 * x).collect::<Vec<f64>>());
            Offer { client: format!("c{i:04}").parse().unwrap(), ask: Amount::saturating(1_000_000 + i as i128), gram }
        };
        let coverage = Coverage::ratio(coverage).unwrap();
        let base = Gram::zeros(dimension).unwrap();
        Round::new(RoundSpec { coverage, ..RoundSpec::new(base, (0..clients).map(offer).collect()) }).unwrap()
    }

    #[test]
    fn a_run_is_refused_exactly_if_it_takes_more_than_the_limit_at_any_number_of_threads() {
        let mut mechanisms: Vec<Box<dyn Mechanism>> =
            catalog::entries().iter().map(catalog::Entry::mechanism).collect();
        // Some of its searches give up by themselves, which must not hide that all together take too much.
        mechanisms.extend([2, 5, 20].map(|node_limit| Box::new(Vcg { node_limit }) as Box<dyn Mechanism>));
        let pools = [1, 2, 8].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
        let rounds: Vec<Round> = random_rounds(30).map(|(_, round)| round).chain([federation(20, 4, 1)]).collect();
        for (mechanism, round) in mechanisms.iter().flat_map(|it| rounds.iter().map(move |round| (it, round))) {
            let (free, used) = metered(mechanism.as_ref(), round, u64::MAX / cost(round.dimension()));
            if let Ok(outcome) = &free {
                let reported = outcome.evaluations();
                assert!(used >= reported.select + reported.price, "{} {used} {reported:?}", mechanism.name());
            }
            let work = used * cost(round.dimension());
            for pool in &pools {
                let run = |work: u64| pool.install(|| mechanism.run(&limited(round, work)));
                assert_eq!(run(work), free, "{}", mechanism.name());
                assert_eq!(run(work - 1), Err(Refusal::TooMuchWork { limit: work - 1 }), "{}", mechanism.name());
            }
        }
    }

    /// Checks that a run with a limit between selecting and pricing, or within selecting, stops soon after it.
    fn check_stops(round: &Round, most: impl Fn(Evaluations) -> u64) {
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let most = most(Clock.run(round).unwrap().evaluations());
        let (refused, used) = one_thread.install(|| metered(&Clock, round, most));
        let batch = BATCH / cost(round.dimension());
        assert!(refused.is_err() && used > most && used <= most + batch + LANES as u64, "{used} of {most}");
        let limit = most * cost(round.dimension());
        let refused = Clock.run(&limited(round, limit)).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("limit of {limit} multiplications: raise the limit (`work` in")),
            "{refused}"
        );
    }

    #[test]
    fn a_round_of_members_that_are_alike_stops_within_a_batch_of_its_limit() {
        check_stops(&similar(400, 32, 1e-20), |free| free.select / 4);
    }

    #[test]
    fn pricing_stops_within_a_batch_of_the_limit_although_each_price_takes_little() {
        check_stops(&federation(1000, 5, 1), |free| free.select + free.price / 10);
    }

    #[test]
    fn certifying_takes_what_it_takes_whatever_the_limit_of_the_round() {
        for entry in catalog::entries() {
            for (seed, round) in random_rounds(20) {
                let (mechanism, round) = (entry.mechanism(), &round);
                let outcome = mechanism.run(round).unwrap();
                let certified = |round: &Round| certify(round, mechanism.as_ref(), &outcome);
                assert_eq!(certified(&limited(round, 1)), certified(round), "{} {seed}", entry.name);
            }
        }
    }
}
