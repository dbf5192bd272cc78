//! The technical lemmas: determinants of random matrices, and the regret of single steps in whole runs.

use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use truthfed::generate::Stream;
use truthfed::protocol::Ending;
use truthfed::statistics::{Factor, Gram, Statistics};
use truthfed_report::page::{Section, Table};
use truthfed_sim::simulation::{Run, Simulation};
use truthfed_sim::world::{Played, Source, World, WorldError};

use super::Part;
use super::claim::{Cell, Claim, Number, Sample};
use super::lab::{Lab, reading_changes, refuted_if, reproduced_if, simulate};
use super::readings::{READINGS, Reading, all};

/// Slack for rounding, relative to the size of a logarithm.
const ROUNDING: f64 = 1e-9;
/// Lemma 19 leaves its constant open. LinUCB's own is 2 alpha over the root of d log(T / delta), which is below 1 with the
/// paper's sigma and lambda.
const CONSTANT: f64 = 1.0;

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("lemmas");
    let draws = lab.many(300);
    let found: Vec<Determinants> = (0..draws).into_par_iter().map(determinants).collect();
    let steps: Vec<Vec<f64>> = READINGS.iter().map(|reading| instantaneous(lab, reading)).collect::<Result<_, _>>()?;
    let claims = [of_determinants(&found), vec![regret(lab, &steps)]].concat();
    let text = "Lemmas 15 to 17 are about any matrices: they are tried on random ones. Lemma 19 is about every step of a run: \
                its regret against the length of the played arm in the inverse of all data that exist.";
    let row = |(reading, ratios): (&Reading, &Vec<f64>)| {
        let highest = ratios.iter().copied().fold(0.0, f64::max);
        vec![reading.name.to_owned(), ratios.len().to_string(), format!("{highest:.4}")]
    };
    let rows = READINGS.iter().zip(&steps).map(row);
    let header = ["reading", "seeds", "highest regret of a step over the bound of Lemma 19, constant 1"];
    let table = Table::new("Regret of single steps.", header, rows).with_numeric([1, 2]);
    Ok(Part { section: Section::new("lemmas", "Lemmas", [text], [table.into()]), claims, ours: Vec::new() })
}

/// By how much each inequality fails, in nats; the identity by its absolute error.
struct Determinants {
    trace: f64,
    potential: f64,
    identity: f64,
}

fn ridge(gram: &Gram, lambda: f64) -> Factor {
    Factor::new(&gram.ridge(lambda)).expect("a ridge matrix is positive definite")
}

fn determinants(seed: u64) -> Determinants {
    let mut stream = Stream::new(seed, 5);
    let (d, count) = (stream.between(1, 8), stream.between(1, 60));
    let lambda = libm::exp(3.0 * stream.normal());
    let norm = libm::exp(stream.normal());
    let mut seen = Statistics::new(d).expect("a small dimension");
    let (mut lengths, mut capped) = (0.0, 0.0);
    let start = ridge(seen.gram(), lambda).log_det();
    for _ in 0..count {
        let x: Vec<f64> = stream.context(d).into_iter().map(|entry| entry * norm).collect();
        let length = ridge(seen.gram(), lambda).quadratic_form(&x);
        lengths += length;
        capped += length.min(1.0);
        seen.observe(&x, 0.0).expect("a finite context");
    }
    let (n, dimension) = (count as f64, d as f64);
    let end = ridge(seen.gram(), lambda).log_det();
    let most = dimension * libm::log(lambda + n * norm * norm / dimension);
    let potential = [end - start - lengths, capped - 2.0 * (end - start), 2.0 * (end - start) - 2.0 * (most - start)];
    // det(A + x x^T) = det(A) (1 + x^T A^-1 x), the lemma with one column, for the last x.
    let x: Vec<f64> = stream.context(d);
    let before = ridge(seen.gram(), lambda);
    let expected = before.log_det() + libm::log1p(before.quadratic_form(&x));
    seen.observe(&x, 0.0).expect("a finite context");
    let identity = (ridge(seen.gram(), lambda).log_det() - expected).abs();
    Determinants { trace: end - most, potential: potential.into_iter().fold(f64::MIN, f64::max), identity }
}

fn of_determinants(found: &[Determinants]) -> Vec<Claim> {
    let claim = |id, source, claim: &str, by: fn(&Determinants) -> f64| {
        let slack = |it: &&Determinants| by(it) > ROUNDING * (1.0 + by(it).abs()) * 100.0;
        let (broken, tried) = (found.iter().filter(slack).count(), found.len());
        let cell = Cell {
            readings: all(),
            verdict: refuted_if(broken > 0),
            measured: format!("broken by {broken} of {tried} random sequences in 1 to 8 dimensions"),
            numbers: vec![Number::exact(format!("violations, of {tried}"), broken as f64)],
            sample: Sample::draws(tried as u64),
            command: "truthfed reproduce".to_owned(),
        };
        Claim::new(id, source, claim, "A known result.", vec![cell])
    };
    vec![
        claim("determinant-trace", "Lemma 15", "det V is at most (λ + t L² / d)^d.", |it| it.trace),
        claim(
            "potential",
            "Lemma 16",
            "The growth of log det V is at most the sum of squared lengths, and at least half of them capped at 1.",
            |it| it.potential,
        ),
        claim(
            "determinant-identity",
            "Lemma 17",
            "det(A + B Cᵀ) = det(A) det(I + Cᵀ A⁻¹ B), with one column.",
            |it| it.identity,
        ),
    ]
}

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

/// The highest ratio of a step's regret to the bound of Lemma 19, for each seed.
fn instantaneous(lab: &Lab, reading: &Reading) -> Result<Vec<f64>, WorldError> {
    let config = lab.config(&reading_changes(reading, &[]));
    let source = Source::read(&config)?;
    let run = |seed: u64| {
        let steps = Steps::default();
        let world = Recorder { world: source.world(&config, seed), steps: steps.clone() };
        let run = Simulation::from_source(&config, &source, seed).with_world(world).run();
        let steps = steps.lock().expect("nobody panics while writing").clone();
        let learning = &config.raw().learning;
        highest_ratio(&run, &steps, learning.lambda, learning.delta)
    };
    Ok((1..=lab.judged()).into_par_iter().map(run).collect())
}

fn highest_ratio(run: &Run, steps: &[(Vec<f64>, f64)], lambda: f64, delta: f64) -> f64 {
    const COVERAGE: f64 = 0.5;
    let dimension = steps[0].0.len();
    let strict = 1.0 - 1.0 / std::f64::consts::E;
    let settled = run.rounds.iter().filter_map(|(step, record)| match &record.ending {
        Ending::Settled { spec, .. } => Some((*step as usize, ridge(&spec.base, lambda).log_det())),
        _ => None,
    });
    // The step that ends each epoch, and log det V_g before that round.
    let epochs: Vec<(usize, f64)> = settled.collect();
    let mut everything = Statistics::new(dimension).expect("a small dimension");
    let mut before: Vec<(f64, f64)> = Vec::with_capacity(steps.len());
    for (x, regret) in steps {
        before.push((*regret, ridge(everything.gram(), lambda).quadratic_form(x)));
        everything.observe(x, 0.0).expect("a finite context");
    }
    let last = ridge(everything.gram(), lambda).log_det();
    let scale = dimension as f64 * libm::log(steps.len() as f64 / delta);
    let mut epoch = 0;
    let mut highest: f64 = 0.0;
    for (step, (regret, length)) in before.into_iter().enumerate() {
        while epoch < epochs.len() && epochs[epoch].0 < step + 1 {
            epoch += 1;
        }
        // Between two rounds V_g grows by what the second settles; after the last, by all that is left.
        let start = epochs.get(epoch).map_or_else(|| epochs.last().map_or(last, |it| it.1), |it| it.1);
        let end = epochs.get(epoch + 1).map_or(last, |it| it.1);
        let bound = (scale * length * libm::exp(end - start - strict * libm::log(COVERAGE))).sqrt();
        highest = highest.max(regret / bound);
    }
    highest
}

fn regret(lab: &Lab, steps: &[Vec<f64>]) -> Claim {
    let cell = |(reading, ratios): (&Reading, &Vec<f64>)| {
        let highest = ratios.iter().copied().fold(0.0, f64::max);
        Cell {
            readings: vec![reading.name],
            verdict: reproduced_if(highest <= CONSTANT),
            measured: format!(
                "of all steps of {} runs, at most {highest:.4} times the bound with a constant of 1",
                ratios.len()
            ),
            numbers: vec![Number::exact("highest ratio to the bound", highest)],
            sample: Sample::runs(lab.judged()),
            command: simulate(&reading_changes(reading, &[]), lab.judged()),
        }
    };
    let claim = "The regret of a step is O(√(d log(T/δ)) · ‖x‖ · √(det ratio of its epoch / c^(1-1/e))).";
    let why = "With the constant taken as 1.";
    Claim::new("instantaneous-regret", "Lemma 19", claim, why, READINGS.iter().zip(steps).map(cell).collect())
}
