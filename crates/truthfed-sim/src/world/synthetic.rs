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
    /// One arm after another.
    arms: Vec<f64>,
    dimension: usize,
    /// The expected reward of every arm, where it is the same for all clients at all times.
    means: Option<Vec<f64>>,
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
        let is_fixed = world.heterogeneity == 0.0 && world.drift == 0.0;
        Synthetic {
            dimension,
            means: is_fixed.then(|| arms.iter().map(|arm| expected(arm, &theta)).collect()),
            theta,
            own: (0..differing).map(own).collect(),
            drift: world.drift / (DRIFT_STEPS * dimension as f64).sqrt(),
            drifts: stream(seed, Purpose::Drift, 0),
            order: (0..arms.len()).collect(),
            per_step: world.arms_per_step.min(arms.len()),
            arms: arms.into_iter().flatten().collect(),
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
        let shown = &mut self.shown[client];
        for i in 0..self.per_step {
            let j = shown.between(i, last);
            self.order.swap(i, j);
        }
        &self.order[..self.per_step]
    }

    fn arm(&self, index: usize) -> &[f64] {
        &self.arms[index * self.dimension..][..self.dimension]
    }

    fn play(&mut self, client: usize, index: usize) -> Played {
        let shown = &self.order[..self.per_step];
        let ((best, sum), expected) = match &self.means {
            Some(means) => (best_and_sum(shown.iter().map(|&arm| means[arm])), means[index]),
            None => {
                let theta = self.parameter(client);
                let mean = |arm: usize| expected(self.arm(arm), &theta);
                (best_and_sum(shown.iter().map(|&arm| mean(arm))), mean(index))
            }
        };
        let reward = expected + self.noise * self.noises[client].normal();
        let played = Played { reward, regret: best - expected, blind: sum / self.per_step as f64 };
        self.wander();
        played
    }
}

fn expected(arm: &[f64], theta: &[f64]) -> f64 {
    arm.iter().zip(theta).map(|(a, t)| a * t).sum()
}

fn best_and_sum(means: impl Iterator<Item = f64>) -> (f64, f64) {
    means.fold((f64::NEG_INFINITY, 0.0), |(best, sum), mean| (best.max(mean), sum + mean))
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

    /// Means that are computed once, and those computed at every step under a drift that moves nothing.
    #[test]
    fn a_world_that_stands_still_gives_what_one_that_could_move_gives() {
        let (mut still, mut moving) = (world(&["world.noise=0.1"]), world(&["world.noise=0.1"]));
        assert!(still.means.is_some() && world(&["world.drift=0.1"]).means.is_none());
        assert!(world(&["world.heterogeneity=0.1"]).means.is_none());
        moving.means = None;
        for step in 0..500 {
            let client = step % 25;
            let shown = still.present(client).to_vec();
            assert_eq!(shown, moving.present(client));
            let arm = shown[step % shown.len()];
            let bits = |played: Played| [played.reward, played.regret, played.blind].map(f64::to_bits);
            assert_eq!(bits(still.play(client, arm)), bits(moving.play(client, arm)), "step {step}");
        }
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
