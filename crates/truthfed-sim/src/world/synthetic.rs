//! Linear rewards of fixed arms, with Gaussian noise.

use truthfed::generate::Stream;

use super::arms::unit;
use super::{Played, Purpose, World, stream};
use crate::config;

/// Steps over which the drift of a configuration is measured.
const DRIFT_STEPS: f64 = 1000.0;

/// A hidden parameter of unit length, fixed arms of which each step shows some, and Gaussian noise.
///
/// Each client may have a parameter of its own around the common one, and the common one may wander.
#[derive(Debug)]
pub struct Synthetic {
    arms: Vec<Vec<f64>>,
    /// The common parameter.
    theta: Vec<f64>,
    /// What is added to it for each client, before it is brought to unit length; none if all have the same.
    own: Vec<Vec<f64>>,
    /// The standard deviation of each coordinate of a step of the common parameter, and what draws it.
    drift: f64,
    drifts: Stream,
    noise: f64,
    shown: Vec<Stream>,
    noises: Vec<Stream>,
    order: Vec<usize>,
    per_step: usize,
}

impl Synthetic {
    /// A world of these arms, with clients, noise and parameters as configured.
    ///
    /// # Panics
    /// When there is no arm.
    pub fn new(arms: Vec<Vec<f64>>, world: &config::World, seed: u64) -> Synthetic {
        let dimension = arms.first().expect("a world needs arms").len();
        let theta = unit(stream(seed, Purpose::Theta, 0).normals(dimension));
        let streams = |purpose| (0..world.clients).map(|client| stream(seed, purpose, client)).collect();
        let own = |client: usize| {
            let direction = unit(stream(seed, Purpose::Taste, client).normals(dimension));
            direction.into_iter().map(|coordinate| world.heterogeneity * coordinate).collect()
        };
        let differing = if world.heterogeneity > 0.0 { world.clients } else { 0 };
        Synthetic {
            theta,
            own: (0..differing).map(own).collect(),
            drift: world.drift / (DRIFT_STEPS * dimension as f64).sqrt(),
            drifts: stream(seed, Purpose::Drift, 0),
            order: (0..arms.len()).collect(),
            per_step: world.arms_per_step.min(arms.len()),
            arms,
            noise: world.noise,
            shown: streams(Purpose::Shown),
            noises: streams(Purpose::Noise),
        }
    }

    /// The parameter of a client, now.
    fn parameter(&self, client: usize) -> Vec<f64> {
        match self.own.get(client) {
            Some(own) => unit(self.theta.iter().zip(own).map(|(common, own)| common + own).collect()),
            None => self.theta.clone(),
        }
    }

    /// One step of a random walk on the sphere, the same whatever was chosen.
    fn wander(&mut self) {
        if self.drift > 0.0 {
            let step = self.drifts.normals(self.theta.len());
            let moved = self.theta.iter().zip(step).map(|(coordinate, normal)| coordinate + self.drift * normal);
            self.theta = unit(moved.collect());
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
        let theta = self.parameter(client);
        let mean = |arm: usize| -> f64 { self.arms[arm].iter().zip(&theta).map(|(a, t)| a * t).sum() };
        let (mut best, mut sum) = (f64::NEG_INFINITY, 0.0);
        for &arm in &self.order[..self.per_step] {
            best = best.max(mean(arm));
            sum += mean(arm);
        }
        let expected = mean(index);
        let reward = expected + self.noise * self.noises[client].normal();
        let played = Played { reward, regret: best - expected, blind: sum / self.per_step as f64 };
        self.wander();
        played
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::simulation::Simulation;

    fn config(changes: &[&str]) -> Config {
        Config::read("", &changes.iter().map(|&change| change.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn world(changes: &[&str]) -> Synthetic {
        let arms = vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![0.0, 0.0, 1.0]];
        Synthetic::new(arms, &config(&[&["world.dimension=3", "world.noise=0"], changes].concat()).raw().world, 4)
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
    }

    #[test]
    fn each_client_has_a_parameter_of_its_own_around_the_common_one() {
        let same = world(&[]);
        assert_eq!(same.parameter(0), same.parameter(7));
        let apart = |heterogeneity: &str| {
            let world = world(&[heterogeneity]);
            assert_eq!(world.theta, same.theta);
            (0..25).map(|client| distance(&world.parameter(client), &world.theta)).sum::<f64>() / 25.0
        };
        let (near, far) = (apart("world.heterogeneity=0.1"), apart("world.heterogeneity=1"));
        assert!((0.05..0.1).contains(&near) && (0.5..1.0).contains(&far), "{near} {far}");
    }

    #[test]
    fn the_parameter_wanders_as_far_as_configured_and_alike_whatever_is_chosen() {
        let walk = |drift: &str, choice: usize| {
            let mut world = world(&[drift]);
            let begin = world.theta.clone();
            for step in 0..1000 {
                let shown = world.present(step % 25).to_vec();
                world.play(step % 25, shown[choice]);
            }
            (distance(&begin, &world.theta), world.theta)
        };
        assert_eq!(walk("world.drift=0", 0).0, 0.0);
        let (distance, end) = walk("world.drift=0.3", 0);
        assert!((0.05..0.9).contains(&distance), "{distance}");
        assert_eq!(walk("world.drift=0.3", 2).1, end);
    }

    #[test]
    fn sharing_helps_less_the_more_clients_differ_and_the_parameter_moves() {
        let advantage = |changes: &[&str]| {
            let regret = |mechanism: &str| {
                let config = config(&[&["world.steps=3000", mechanism], changes].concat());
                Simulation::new(&config, 1).unwrap().run().totals().regret
            };
            regret("rounds.mechanism=alone") / regret("rounds.mechanism=everyone")
        };
        let (alike, different) = (advantage(&[]), advantage(&["world.heterogeneity=2"]));
        assert!(alike > 2.0 && different < 0.8, "{alike} {different}");
        let moving = advantage(&["world.drift=2"]);
        assert!(moving < alike, "{moving} {alike}");
    }
}
