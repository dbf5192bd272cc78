//! Many runs of one configuration, and what they have in common.

use rayon::prelude::*;
use serde::Serialize;
use truthfed::{Stop, Stopped};

use crate::config::Config;
use crate::simulation::{Run, Simulation};
use crate::totals::Totals;
use crate::world::{Source, WorldError};

/// Runs a configuration under seeds `1..=seeds`, in parallel; the result does not depend on the number of threads.
/// `done` is called after each run, from any thread.
pub fn run_seeds(config: &Config, seeds: u64, done: impl Fn() + Sync) -> Result<Vec<Run>, WorldError> {
    match run_seeds_until(&Stop::never(), config, seeds, done) {
        Ok(runs) => Ok(runs),
        Err(RunError::World(error)) => Err(error),
        Err(RunError::Stopped(_)) => unreachable!("nobody stops it"),
    }
}

/// Why runs ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// User: a file of arms or ratings cannot be used.
    #[error(transparent)]
    World(#[from] WorldError),
    /// Caller: it stopped them.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// [`run_seeds`], unless it is stopped: then each run ends after its current step.
pub fn run_seeds_until(stop: &Stop, config: &Config, seeds: u64, done: impl Fn() + Sync) -> Result<Vec<Run>, RunError> {
    let source = Source::read(config)?;
    let run = |seed| {
        let run = Simulation::from_source(config, &source, seed).run_until(stop)?;
        done();
        Ok(run)
    };
    (1..=seeds).into_par_iter().map(run).collect()
}

/// Mean and standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Spread {
    pub mean: f64,
    /// The standard deviation of a sample, 0 for one value.
    pub sd: f64,
}

impl Spread {
    /// Of some values; zero for none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Spread {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len() as f64;
        if values.is_empty() {
            return Spread::default();
        }
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let sd = if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        Spread { mean, sd }
    }

    pub fn over(runs: &[Run], figure: impl Fn(&Totals) -> f64) -> Spread {
        Spread::of(runs.iter().map(|run| figure(&run.totals())))
    }
}

/// A figure over time: for each moment of the curves its spread over the runs.
pub fn over_time(runs: &[Run], figure: impl Fn(&Totals) -> f64) -> Vec<(f64, Spread)> {
    let moments = runs.iter().map(|run| run.curve.len()).min().unwrap_or(0);
    let at = |moment: usize| {
        let step = runs[0].curve[moment].steps as f64;
        (step, Spread::of(runs.iter().map(|run| figure(&run.curve[moment]))))
    };
    (0..moments).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_means_and_sample_deviations() {
        assert_eq!(Spread::of([]), Spread::default());
        assert_eq!(Spread::of([3.0]), Spread { mean: 3.0, sd: 0.0 });
        assert_eq!(Spread::of([1.0, 3.0]), Spread { mean: 2.0, sd: 2_f64.sqrt() });
    }
}
