//! What data gives is never refused: a million honest members of every kind.

use rayon::prelude::*;

use super::*;
use crate::generate::Stream;

/// How a member's contexts lie, beside three random directions.
type Shape = fn(&mut Stream, &[Vec<f64>]) -> Vec<f64>;

const SHAPES: [Shape; 5] = [
    // Anywhere.
    |stream, directions| stream.normals(directions[0].len()),
    // Each the same.
    |_, directions| directions[0].clone(),
    // One or two coordinates.
    |stream, directions| {
        let mut x = vec![0.0; directions[0].len()];
        x[stream.between(0, directions[0].len() - 1)] = 1.0;
        x[stream.between(0, directions[0].len() - 1)] = stream.normal();
        x
    },
    // Along a few directions.
    |stream, directions| directions[stream.between(0, 2)].clone(),
    // Almost along one direction.
    |stream, directions| directions[0].iter().map(|x| x + 1e-8 * stream.normal()).collect(),
];

/// How long they are, as a share of the norm: whole, any, from 1 down to 1e-12, so short that squares underflow.
const LENGTHS: [fn(&mut Stream) -> f64; 4] = [
    |_| 1.0,
    Stream::uniform,
    |stream| libm::pow(10.0, -12.0 * stream.uniform()),
    |stream| libm::pow(10.0, -140.0 - 30.0 * stream.uniform()),
];

/// How large rewards are, as a share of the largest, given the sum of the context as a share of the norm.
const REWARDS: [fn(&mut Stream, f64) -> f64; 5] = [
    |_, _| 1.0,
    |stream, _| stream.pick(&[1.0, -1.0]),
    |stream, _| 2.0 * stream.uniform() - 1.0,
    |_, sum| sum.clamp(-1.0, 1.0),
    |_, _| 0.0,
];

/// Terms, and what an honest member observed under them.
fn draw(stream: &mut Stream, dimension: usize, samples: usize) -> (Terms, Statistics) {
    let scale = |stream: &mut Stream| {
        let power = libm::pow(10.0, stream.between(0, 12) as f64 - 6.0);
        if stream.chance(0.5) { power } else { power * (0.1 + 0.9 * stream.uniform()) }
    };
    let (norm, largest) = (scale(stream), scale(stream));
    let most = (9e14 / (norm * norm.max(largest))).min(1e9) as u64;
    // A ridge in proportion to the contexts, as whoever scales them would choose it.
    let bandit = RawConfig { dimension, lambda: (norm * norm).clamp(1e-9, 1e9), ..RawConfig::default() };
    let terms = RawTerms { bandit, norm, reward: largest, samples: most, ..raw_terms(dimension) };
    let shape = stream.pick(&SHAPES);
    let length = LENGTHS[stream.pick(&[0, 0, 0, 0, 1, 1, 1, 2, 2, 3])];
    let reward = stream.pick(&REWARDS);
    let directions: Vec<Vec<f64>> = (0..3).map(|_| stream.normals(dimension)).collect();
    // Observations go to parts at random, and parts are merged in another order than they were begun.
    let mut parts = vec![Statistics::new(dimension).unwrap(); stream.pick(&[1, 1, 2, 5])];
    for _ in 0..samples.min(most as usize) {
        let mut context = shape(stream, &directions);
        let long = context.iter().map(|x| x * x).sum::<f64>().sqrt();
        let share = length(stream);
        // Rounding must not lift a coordinate above the norm, which the member's own bandit would refuse.
        context.iter_mut().for_each(|x| *x = (*x / long * norm * share).clamp(-norm, norm));
        let reward = largest * reward(stream, context.iter().sum::<f64>() / norm);
        let part = stream.between(0, parts.len() - 1);
        parts[part].observe(&context, reward).unwrap();
    }
    let mut statistics = parts.pop().unwrap();
    parts.iter().for_each(|part| statistics.merge(part).unwrap());
    (Terms::try_from(terms).unwrap(), statistics)
}

fn check_taken(terms: &Terms, statistics: &Statistics, story: &dyn Fn() -> String) {
    let (gram, samples) = (statistics.gram().clone(), statistics.samples());
    let offer = Offer { client: id("m"), ask: Amount::ZERO, gram };
    assert_eq!(terms.check_offer(&offer, samples), Ok(()), "{}: {terms:?}", story());
    assert_eq!(terms.check_delivery(&offer, samples, statistics.moment()), Ok(()), "{}: {terms:?}", story());
    assert!(offer.gram.negativity(1e-9).is_some(), "{}: a round takes it too", story());
}

#[test]
fn none_of_a_million_honest_members_is_refused() {
    let kinds = (0..1000_u64).into_par_iter().map(|seed| {
        let mut stream = Stream::new(seed, 0);
        let mut most = 0;
        for member in 0..1000 {
            let dimension = stream.between(1, 8);
            let samples = match stream.between(0, 999) {
                0..=19 => 0,
                20..=499 => stream.between(1, dimension),
                500..=899 => stream.between(1, 3 * dimension),
                900..=994 => stream.between(1, 100),
                _ => stream.between(100, 5000),
            };
            let (terms, statistics) = draw(&mut stream, dimension, samples);
            check_taken(&terms, &statistics, &|| format!("seed {seed}, member {member}"));
            most = most.max(statistics.samples());
        }
        most
    });
    assert!(kinds.max().unwrap() > 4000, "some have thousands of samples");
}

#[test]
fn honest_members_of_high_dimension_are_not_refused() {
    for (dimension, draws) in [(30, 300), (100, 40), (512, 2)] {
        for draw_number in 0..draws {
            let mut stream = Stream::new(dimension as u64, draw_number);
            let samples = stream.between(1, 2 * dimension);
            let (terms, statistics) = draw(&mut stream, dimension, samples);
            let story = || format!("dimension {dimension}, draw {draw_number}, {samples} samples");
            check_taken(&terms, &statistics, &story);
        }
    }
}

#[test]
fn a_long_sum_whose_rounding_all_goes_one_way_is_not_refused() {
    // From 2^25 to 2^26 a float has steps of 2^-27: adding a little more than 1 + 2^-28 is rounded up every time.
    let x = 1.0 + libm::pow(2.0, -29.0) + libm::pow(2.0, -46.0);
    let terms = Terms::try_from(RawTerms { norm: x, reward: x, samples: 100_000_000, ..raw_terms(1) }).unwrap();
    let mut statistics = Statistics::new(1).unwrap();
    for _ in 0..1 << 26 {
        statistics.observe(&[x], x).unwrap();
    }
    let most = statistics.samples() as f64 * x * x;
    assert!(statistics.gram().trace() > most * (1.0 + 1e-9), "rounding alone exceeds the bound by a billionth");
    check_taken(&terms, &statistics, &|| "equal terms".to_owned());
}
