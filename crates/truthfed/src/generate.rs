//! Random rounds from a seed, for experiments and tests.
//!
//! The same seed gives the same round on every machine. [`federation`] looks like a round of a real federation of any
//! size. [`varied`] is small and deliberately odd (equal clients, zero asks, empty data, tight reserves), to find bugs.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rayon::prelude::*;

use crate::Amount;
use crate::auction::{Coverage, Offer, Round, RoundSpec};
use crate::statistics::{Gram, MAX_DIMENSION, Statistics};

/// So many clients are drawn on all cores.
const MANY: usize = 1000;
/// As many as a round may have.
const MAX_CLIENTS: usize = 10_000_000;

/// A stream of random numbers. One seed has many independent streams.
#[derive(Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    pub fn new(seed: u64, number: u64) -> Stream {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        Stream(rng)
    }

    pub fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        self.0.sample(StandardNormal)
    }

    /// A uniform number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    /// A uniform whole number in `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        self.0.random_range(low as u64..=high as u64) as usize
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A uniformly drawn item; panics if there is none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.between(0, items.len() - 1)]
    }

    /// A context of unit length; coordinate i has variance (d - i) / d before it is normalised.
    pub fn context(&mut self, dimension: usize) -> Vec<f64> {
        let mut x = self.normals(dimension);
        for (i, coordinate) in x.iter_mut().enumerate() {
            *coordinate *= ((dimension - i) as f64 / dimension as f64).sqrt();
        }
        let norm = x.iter().map(|coordinate| coordinate * coordinate).sum::<f64>().sqrt();
        x.iter().map(|coordinate| coordinate / norm).collect()
    }

    fn gram(&mut self, dimension: usize, samples: usize) -> Gram {
        let mut gram = Gram::zeros(dimension).expect("the dimension was checked");
        for _ in 0..samples {
            gram.add_outer(&self.context(dimension));
        }
        gram
    }

    /// An amount below `units`, in whole micro-units.
    fn amount(&mut self, units: usize) -> Amount {
        Amount::saturating(self.between(0, units * 1_000_000 - 1) as i128)
    }
}

/// A round of a federation: every client offers the data of 1 to 50 unit contexts at an ask drawn from
/// U(0, 100). Data of 25 contexts per client is already settled, of at most 4000 clients: more would only take time.
/// Lambda 0.1, coverage 0.5, reserve 10000.
///
/// # Panics
/// When `clients` is 0 or above ten million, or `dimension` not in `1..=512`.
pub fn federation(clients: usize, dimension: usize, seed: u64) -> Round {
    let spec = federation_spec(clients, dimension, seed).expect("a valid number of clients and dimensions");
    Round::new(spec).expect("a generated round is valid")
}

/// Why no federation can be generated. The caller must choose another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    #[error("clients is {0}: it must lie in 1..=10000000")]
    Clients(usize),
    #[error("dimension is {0}: it must lie in 1..=512")]
    Dimension(usize),
}

/// The parts of [`federation`]. Every client draws from a stream of its own, so many are drawn on all cores.
pub fn federation_spec(clients: usize, dimension: usize, seed: u64) -> Result<RoundSpec, GenerateError> {
    if !(1..=MAX_CLIENTS).contains(&clients) {
        return Err(GenerateError::Clients(clients));
    }
    if !(1..=MAX_DIMENSION).contains(&dimension) {
        return Err(GenerateError::Dimension(dimension));
    }
    let digits = (clients - 1).to_string().len();
    let offer = |i: usize| {
        let mut stream = Stream::new(seed, 1 + i as u64);
        let samples = stream.between(1, 50);
        let gram = stream.gram(dimension, samples);
        let client = format!("c{i:0digits$}").parse().expect("a short name");
        Offer { client, ask: stream.amount(100), gram }
    };
    let settled = Stream::new(seed, 0).gram(dimension, 25 * clients.min(4000));
    let offers = match clients < MANY {
        true => (0..clients).map(offer).collect(),
        false => (0..clients).into_par_iter().map(offer).collect(),
    };
    Ok(RoundSpec::new(settled, offers))
}

/// A small odd round: 1 to 12 clients, dimension 1 to 5, with equal clients, equal or zero asks, empty data,
/// low reserves and all kinds of targets among them.
pub fn varied(seed: u64) -> Round {
    varied_within(seed, (1, 12), (1, 5))
}

/// [`varied`] with other ranges of clients and dimensions.
///
/// # Panics
/// When a range is empty or outside the bounds of a round.
pub fn varied_within(seed: u64, clients: (usize, usize), dimensions: (usize, usize)) -> Round {
    let mut stream = Stream::new(seed, 0);
    let dimension = stream.between(dimensions.0, dimensions.1);
    let count = stream.between(clients.0, clients.1);
    let equal_asks = stream.chance(0.1);
    let mut offers: Vec<Offer> = Vec::new();
    for i in 0..count {
        let samples = if stream.chance(0.05) { 0 } else { stream.between(1, 12) };
        let mut gram = six_decimals(&stream.gram(dimension, samples));
        let mut ask = if stream.chance(0.05) { Amount::ZERO } else { stream.amount(50) };
        if i > 0 && stream.chance(0.1) {
            gram = offers[stream.between(0, i - 1)].gram.clone();
        }
        if i > 0 && (equal_asks || stream.chance(0.05)) {
            ask = offers[0].ask;
        }
        // 7 i + 3 mod 101 shuffles the names, so that the order of ids differs from the order of drawing.
        let client = format!("c{:02}", (7 * i + 3) % 101).parse().expect("a short name");
        offers.push(Offer { client, ask, gram });
    }
    let settled = stream.between(0, 30);
    let spec = RoundSpec {
        lambda: stream.pick(&[0.1, 1.0]),
        coverage: Coverage::ratio(stream.pick(&[0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0])).expect("a valid ratio"),
        reserve: Amount::from_units(stream.pick(&[20, 40, 100, 10_000])),
        ..RoundSpec::new(six_decimals(&stream.gram(dimension, settled)), offers)
    };
    Round::new(spec).expect("a generated round is valid")
}

/// What an honest member delivers, beside what honest others delivered before it: all rewards follow one parameter, with noise of
/// one scale.
#[derive(Debug, Clone)]
pub struct HonestDelivery {
    pub others: Statistics,
    pub delivered: Statistics,
    pub lambda: f64,
    pub sigma: f64,
}

/// A delivery of 1 to 10^6 samples in 1 to 50 dimensions, beside none to 10^6 samples of others.
pub fn honest_delivery(seed: u64) -> HonestDelivery {
    let mut stream = Stream::new(seed, 2);
    // Small ones more often: they are faster, and no less odd.
    let dimension = libm::exp(stream.uniform() * libm::log(50.5)) as usize;
    let size = |stream: &mut Stream| libm::pow(10.0, 6.0 * stream.uniform()) as u64;
    let (samples, before) = (size(&mut stream), size(&mut stream));
    let before = if stream.chance(0.05) { 0 } else { before };
    let (lambda, sigma) = (stream.pick(&[0.01, 0.1, 1.0, 10.0]), stream.pick(&[0.01, 0.1, 0.5, 1.0]));
    let length = stream.pick(&[0.0, 0.5, 1.0, 1.0]);
    let theta: Vec<f64> = stream.context(dimension).iter().map(|x| length * x).collect();
    let [others, delivered] = [before, samples].map(|samples| observed(&mut stream, &theta, samples, sigma));
    HonestDelivery { others, delivered, lambda, sigma }
}

/// The sums of so many observations. Few are drawn one by one; the sums of many are drawn at once, with the same distribution given
/// their Gram matrix.
fn observed(stream: &mut Stream, theta: &[f64], samples: u64, sigma: f64) -> Statistics {
    let d = theta.len();
    let mean = |x: &[f64]| -> f64 { x.iter().zip(theta).map(|(x, theta)| x * theta).sum() };
    let mut sums = Statistics::new(d).expect("a valid dimension");
    let drawn = samples.min(2 * d as u64);
    let share = (samples as f64 / drawn.max(1) as f64).sqrt();
    for _ in 0..drawn {
        // One context in the place of `samples / drawn` equal ones: their noises add up to one of `share` times the scale.
        let x: Vec<f64> = stream.context(d).iter().map(|x| share * x).collect();
        let reward = mean(&x) + sigma * stream.normal();
        sums.observe(&x, reward).expect("numbers of moderate size");
    }
    Statistics::from_parts(sums.gram().clone(), sums.moment().to_vec(), samples).expect("as many as there are")
}

/// Rounded as in a file written by hand.
fn six_decimals(gram: &Gram) -> Gram {
    let rounded = gram.lower().iter().map(|entry| (entry * 1e6).round() / 1e6).collect();
    Gram::from_lower(gram.dimension(), rounded).expect("unit contexts stay within bounds")
}
