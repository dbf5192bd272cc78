//! Linear rewards of fixed arms, with Gaussian noise.

use truthfed::generate::Stream;

use super::arms::unit;
use super::{Played, Purpose, World, stream};

/// A hidden parameter of unit length, fixed arms of which each step shows some, and Gaussian noise.
#[derive(Debug)]
pub struct Synthetic {
    arms: Vec<Vec<f64>>,
    /// The expected reward of each arm.
    means: Vec<f64>,
    noise: f64,
    shown: Vec<Stream>,
    noises: Vec<Stream>,
    order: Vec<usize>,
    per_step: usize,
}

impl Synthetic {
    /// A world of these arms, of which `per_step` are shown at a time.
    ///
    /// # Panics
    /// When there is no arm.
    pub fn new(arms: Vec<Vec<f64>>, per_step: usize, noise: f64, clients: usize, seed: u64) -> Synthetic {
        let dimension = arms.first().expect("a world needs arms").len();
        let theta = unit(stream(seed, Purpose::Theta, 0).normals(dimension));
        let means = arms.iter().map(|arm| arm.iter().zip(&theta).map(|(a, t)| a * t).sum()).collect();
        let streams = |purpose| (0..clients).map(|client| stream(seed, purpose, client)).collect();
        Synthetic {
            order: (0..arms.len()).collect(),
            per_step: per_step.min(arms.len()),
            arms,
            means,
            noise,
            shown: streams(Purpose::Shown),
            noises: streams(Purpose::Noise),
        }
    }
}

impl World for Synthetic {
    /// Draws without replacement, by the first steps of a shuffle that continues from the order of the last draw. The
    /// order of clients does not depend on the mechanism, so neither do the arms.
    fn present(&mut self, client: usize) -> &[usize] {
        let last = self.order.len() - 1;
        for i in 0..self.per_step {
            let j = self.shown[client].between(i, last);
            self.order.swap(i, j);
        }
        &self.order[..self.per_step]
    }

    fn arm(&self, index: usize) -> &[f64] {
        &self.arms[index]
    }

    fn play(&mut self, client: usize, index: usize) -> Played {
        let (mut best, mut sum) = (f64::NEG_INFINITY, 0.0);
        for &arm in &self.order[..self.per_step] {
            best = best.max(self.means[arm]);
            sum += self.means[arm];
        }
        let reward = self.means[index] + self.noise * self.noises[client].normal();
        Played { reward, regret: best - self.means[index], blind: sum / self.per_step as f64 }
    }
}
