//! A synthetic application: arms drawn at random, a hidden parameter, noise.

use std::time::{Duration, Instant};

use serde::Serialize;
use truthfed::bandit::LinUcb;
use truthfed::generate::Stream;
use truthfed_node::agent::Handle;
use truthfed_node::terms::Agreement;

use super::SLICES;

pub(super) const DIMENSION: usize = 8;
const ARMS: usize = 20;
const NOISE: f64 = 0.1;
/// The pace of a member: a step takes at least that long.
const PACE: Duration = Duration::from_millis(30);
const SEED: u64 = 1;

/// One member's application, and its twin that learns alone.
pub(super) struct Player {
    agent: Handle,
    twin: LinUcb,
    theta: Vec<f64>,
    stream: Stream,
}

impl Player {
    /// Whoever is contrary sees the opposite of what the others see.
    pub(super) fn new(number: usize, agent: Handle, agreement: &Agreement, is_contrary: bool) -> Player {
        let mut theta = Stream::new(SEED, 0).context(DIMENSION);
        if is_contrary {
            theta.iter_mut().for_each(|x| *x = -*x);
        }
        let twin = LinUcb::new(agreement.bandit());
        Player { agent, twin, theta, stream: Stream::new(SEED, number as u64) }
    }

    pub(super) async fn play(mut self, begin: Instant, time: Duration) -> anyhow::Result<Slices> {
        let mut slices = Slices { time, ..Slices::default() };
        while begin.elapsed() < time {
            let next = tokio::time::Instant::now() + PACE;
            let arms: Vec<Vec<f64>> = (0..ARMS).map(|_| self.stream.context(DIMENSION)).collect();
            let noise = NOISE * self.stream.normal();
            let (decision, chosen) = self.agent.choose(arms.clone()).await?;
            self.agent.learn(decision, self.worth(&arms[chosen]) + noise).await?;
            let alone = self.twin.choose(&arms)?;
            self.twin.learn(&arms[alone], self.worth(&arms[alone]) + noise)?;
            let best = arms.iter().map(|arm| self.worth(arm)).fold(f64::NEG_INFINITY, f64::max);
            let regret = |arm: usize| best - self.worth(&arms[arm]);
            slices.add(begin.elapsed(), regret(chosen), regret(alone));
            tokio::time::sleep_until(next).await;
        }
        Ok(slices)
    }

    fn worth(&self, arm: &[f64]) -> f64 {
        arm.iter().zip(&self.theta).map(|(x, theta)| x * theta).sum()
    }
}

#[derive(Default)]
pub(super) struct Slices {
    time: Duration,
    slices: [Slice; SLICES],
}

/// The regret of one period, which gets its name at the end.
#[derive(Default, Serialize)]
pub(super) struct Slice {
    pub(super) period: String,
    pub(super) steps: u64,
    pub(super) together: f64,
    pub(super) alone: f64,
}

impl Slices {
    fn add(&mut self, at: Duration, together: f64, alone: f64) {
        let share = at.as_secs_f64() / self.time.as_secs_f64();
        let sums = &mut self.slices[((share * SLICES as f64) as usize).min(SLICES - 1)];
        sums.steps += 1;
        sums.together += together;
        sums.alone += alone;
    }

    pub(super) fn merge(&mut self, other: &Slices) {
        self.time = other.time;
        for (sums, other) in self.slices.iter_mut().zip(&other.slices) {
            sums.steps += other.steps;
            sums.together += other.together;
            sums.alone += other.alone;
        }
    }

    pub(super) fn into_slices(mut self) -> [Slice; SLICES] {
        let seconds = |border: usize| self.time.as_secs_f64() * border as f64 / SLICES as f64;
        for (number, slice) in self.slices.iter_mut().enumerate() {
            slice.period = format!("{:.0} to {:.0} s", seconds(number), seconds(number + 1));
        }
        self.slices
    }
}
