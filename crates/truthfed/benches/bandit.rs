//! LinUCB: what a decision and an observation cost.
//!
//! A client chooses among 25 arms after a few hundred observations. `step` is what it does all day, choose
//! and learn; `refresh` takes over a new global snapshot. A sample is as many calls as lie between two
//! recomputations of the inverse, so every sample of `learn` and `step` holds one of them.
//!
//! Drawing contexts and rewards is not timed.

use divan::Bencher;
use truthfed::bandit::{Config, LinUcb, RawConfig};
use truthfed::generate::Stream;

const DIMENSIONS: [usize; 4] = [5, 25, 100, 200];
const ARMS: usize = 25;
/// Observations before the clock starts.
const OBSERVED: usize = 300;
/// Decisions that are drawn in advance, and then come round again.
const DECISIONS: usize = 100;
/// Observations from one recomputation of the inverse to the next.
const PERIOD: u32 = 1024;
const SEED: u64 = 1;

fn main() {
    divan::main();
}

#[divan::bench(args = DIMENSIONS, sample_size = PERIOD, sample_count = 20)]
fn choose(bencher: Bencher, dimension: usize) {
    let (bandit, decisions) = experienced(dimension);
    let mut coming = decisions.iter().cycle();
    bencher.bench_local(|| bandit.choose(&next(&mut coming).arms));
}

#[divan::bench(args = DIMENSIONS, sample_size = PERIOD, sample_count = 20)]
fn learn(bencher: Bencher, dimension: usize) {
    let (mut bandit, decisions) = experienced(dimension);
    let mut coming = decisions.iter().cycle();
    bencher.bench_local(|| {
        let Decision { arms, rewards } = next(&mut coming);
        bandit.learn(&arms[0], rewards[0])
    });
}

#[divan::bench(args = DIMENSIONS, sample_size = PERIOD, sample_count = 20)]
fn step(bencher: Bencher, dimension: usize) {
    let (mut bandit, decisions) = experienced(dimension);
    let mut coming = decisions.iter().cycle();
    bencher.bench_local(|| decide(&mut bandit, next(&mut coming)));
}

#[divan::bench(args = DIMENSIONS)]
fn refresh(bencher: Bencher, dimension: usize) {
    let (mut bandit, _) = experienced(dimension);
    let snapshot = bandit.known().clone();
    bencher.with_inputs(|| snapshot.clone()).bench_local_values(|snapshot| bandit.refresh(snapshot));
}

/// The arms on offer, and the reward each would give.
struct Decision {
    arms: Vec<Vec<f64>>,
    rewards: Vec<f64>,
}

impl Decision {
    /// Unit contexts with linear rewards and a little noise.
    fn draw(stream: &mut Stream, theta: &[f64]) -> Decision {
        let arms: Vec<Vec<f64>> = (0..ARMS).map(|_| stream.context(theta.len())).collect();
        let noise = stream.normals(ARMS);
        let rewards = arms.iter().zip(noise).map(|(arm, noise)| dot(arm, theta) + 0.1 * noise).collect();
        Decision { arms, rewards }
    }
}

/// A bandit that has made some decisions, and those it meets next.
fn experienced(dimension: usize) -> (LinUcb, Vec<Decision>) {
    let mut stream = Stream::new(SEED, dimension as u64);
    let theta = stream.context(dimension);
    let raw = RawConfig { dimension, ..RawConfig::default() };
    let mut bandit = LinUcb::new(Config::try_from(raw).expect("a valid dimension"));
    for _ in 0..OBSERVED {
        decide(&mut bandit, &Decision::draw(&mut stream, &theta));
    }
    let decisions = (0..DECISIONS).map(|_| Decision::draw(&mut stream, &theta)).collect();
    (bandit, decisions)
}

fn decide(bandit: &mut LinUcb, Decision { arms, rewards }: &Decision) {
    let chosen = bandit.choose(arms).expect("arms fit the bandit");
    bandit.learn(&arms[chosen], rewards[chosen]).expect("rewards are finite");
}

fn next<'d>(coming: &mut impl Iterator<Item = &'d Decision>) -> &'d Decision {
    coming.next().expect("a cycle has no end")
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
