//! Whole runs step by step, in epochs from one round to the next, as the proof of Theorem 10 counts them.
//!
//! An epoch is good if det V_g at most doubles in it (Wang et al. 2020), bad otherwise. The last one ends with the run: as if
//! a round closed it, whose winners bring what the target asks for and no more.

use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use truthfed::auction::{Outcome, Round, RoundSpec, Seat};
use truthfed::protocol::{Ending, communication_threshold};
use truthfed::statistics::Statistics;
use truthfed_sim::config::Config;
use truthfed_sim::simulation::{Run, Simulation};
use truthfed_sim::world::{Played, Source, World, WorldError};

use super::determinants::ridge;
use super::lab::{Lab, reading_changes};
use super::readings::{Reading, TARGETS};

/// What was played at each step: the arm, and the regret.
type Steps = Arc<Mutex<Vec<(Vec<f64>, f64)>>>;

/// A world that remembers what was played in it.
struct Recorder {
    world: Box<dyn World>,
    steps: Steps,
}

impl World for Recorder {
    fn present(&mut self, client: usize) -> &[usize] {
        self.world.present(client)
    }

    fn arm(&self, index: usize) -> &[f64] {
        self.world.arm(index)
    }

    fn play(&mut self, client: usize, index: usize) -> Played {
        let played = self.world.play(client, index);
        let step = (self.world.arm(index).to_vec(), played.regret);
        self.steps.lock().expect("nobody panics while writing").push(step);
        played
    }
}

/// A run against the bounds of Appendix E, each with a constant of 1.
#[derive(Default)]
pub(super) struct Measured {
    /// The highest regret of a step over the bound of Lemma 19.
    pub(super) step: f64,
    /// The regret of all good epochs, and of all bad ones, over the bounds in the proof of Theorem 10.
    pub(super) good: f64,
    pub(super) bad: f64,
    /// Scalars of the costliest kind of round, 2 (d² + d) for each client, that a round took on average.
    pub(super) round: f64,
}

/// All runs under a reading that are judged.
pub(super) fn measure(lab: &Lab, reading: &Reading) -> Result<Vec<Measured>, WorldError> {
    let config = lab.config(&reading_changes(reading, &[]));
    let source = Source::read(&config)?;
    let run = |seed: u64| {
        let steps = Steps::default();
        let world = Recorder { world: source.world(&config, seed), steps: steps.clone() };
        let run = Simulation::from_source(&config, &source, seed).with_world(world).run();
        let steps = steps.lock().expect("nobody panics while writing").clone();
        measured(&run, &steps, &config, reading.target)
    };
    Ok((1..=lab.judged()).into_par_iter().map(run).collect())
}

fn measured(run: &Run, steps: &[(Vec<f64>, f64)], config: &Config, target: &str) -> Measured {
    const COVERAGE: f64 = 0.5;
    let (learning, world) = (&config.raw().learning, &config.raw().world);
    let log_coverage = libm::log(COVERAGE);
    let strict = (1.0 - 1.0 / std::f64::consts::E) * log_coverage;
    let (t, n, d) = (steps.len() as f64, world.clients as f64, world.dimension as f64);
    let (log_t, log_t_delta) = (libm::log(t), libm::log(t / learning.delta));
    let threshold =
        communication_threshold(steps.len() as u64, world.clients, world.dimension, learning.lambda, log_coverage);
    let good_bound = d / libm::exp(strict / 2.0) * (t * log_t_delta * log_t).sqrt();
    let bad_bound = n * libm::pow(d, 1.5) * (threshold * log_t_delta).sqrt() * log_t;
    let mut found = Measured::default();
    // Of what is missing, nobody's level is the share 1/e that a normalised target does not ask for.
    let unasked = if target == TARGETS[0] { 1.0 / std::f64::consts::E } else { 0.0 };
    let closing = |start: f64, all: f64| (all + strict + unasked * (start - all)).max(start);
    for (regret, length, growth) in by_epoch(run, steps, learning.lambda, closing) {
        found.step = found.step.max(regret / (d * log_t_delta * length * libm::exp(growth - strict)).sqrt());
        let is_good = growth <= std::f64::consts::LN_2;
        *(if is_good { &mut found.good } else { &mut found.bad }) += regret;
    }
    let totals = run.totals();
    let whole = n * 2.0 * (d * d + d) * totals.rounds as f64;
    let round = if totals.rounds > 0 { totals.scalars as f64 / whole } else { 0.0 };
    Measured { good: found.good / good_bound, bad: found.bad / bad_bound, round, ..found }
}

/// For each step its regret, the squared length of the arm in the inverse of all data that exist, and by how much log det V_g
/// grows in its epoch. `closing` says where the last epoch ends, which began at one level, if all data reach another.
fn by_epoch(
    run: &Run,
    steps: &[(Vec<f64>, f64)],
    lambda: f64,
    closing: impl Fn(f64, f64) -> f64,
) -> Vec<(f64, f64, f64)> {
    let settled = run.rounds.iter().filter_map(|(step, record)| match &record.ending {
        Ending::Settled { spec, outcome, .. } => Some((*step as usize, spec.as_ref(), outcome.as_ref())),
        _ => None,
    });
    let settled: Vec<(usize, &RoundSpec, &Outcome)> = settled.collect();
    // The steps that end epochs, and log det V_g during each: what a round begins with, and what the last one leaves.
    let ends: Vec<usize> = settled.iter().map(|(step, ..)| *step).collect();
    let before_round = settled.iter().map(|(_, spec, _)| ridge(&spec.base, lambda).log_det());
    let after_last = settled.last().map(|(_, spec, outcome)| after(spec, outcome));
    let levels: Vec<f64> = before_round.chain(after_last).collect();
    let mut everything = Statistics::new(steps[0].0.len()).expect("a small dimension");
    let nothing = ridge(everything.gram(), lambda).log_det();
    let mut before: Vec<(f64, f64)> = Vec::with_capacity(steps.len());
    for (x, regret) in steps {
        before.push((*regret, ridge(everything.gram(), lambda).quadratic_form(x)));
        everything.observe(x, 0.0).expect("a finite context");
    }
    let last = ridge(everything.gram(), lambda).log_det();
    let mut epoch = 0;
    let in_epoch = |(step, (regret, length)): (usize, (f64, f64))| {
        while epoch < ends.len() && ends[epoch] < step + 1 {
            epoch += 1;
        }
        // Between two rounds V_g grows by what the second settles.
        let start = levels.get(epoch).copied().unwrap_or(nothing);
        let end = levels.get(epoch + 1).copied().unwrap_or_else(|| closing(start, last));
        (regret, length, end - start)
    };
    before.into_iter().enumerate().map(in_epoch).collect()
}

/// log det V_g after a round whose winners all delivered.
fn after(spec: &RoundSpec, outcome: &Outcome) -> f64 {
    let round = Round::new(spec.clone()).expect("a round that was settled");
    let winners: Vec<Seat> = outcome.winners().iter().map(|winner| winner.seat).collect();
    round.level(&winners).to_nats()
}
