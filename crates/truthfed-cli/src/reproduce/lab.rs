//! Runs the experiments: configurations, seeds, progress.

use rayon::prelude::*;
use truthfed::auction::catalog;
use truthfed_report::chart::{Bar, Point, Series, Value};
use truthfed_sim::config::Config;
use truthfed_sim::experiment::run_seeds;
use truthfed_sim::simulation::{ClientTotals, Run, Simulation};
use truthfed_sim::totals::Totals;
use truthfed_sim::world::{Source, WorldError};

use super::interval::Interval;
use super::readings::Reading;
use crate::progress::Progress;

/// The steps of the paper's experiments.
const STEPS: u64 = 6250;
const QUICK_STEPS: u64 = 1500;
/// Runs of each experiment of the paper, and of those here whose figures are not judged.
const FEW: u64 = 5;
/// Runs of each experiment here whose figures are judged.
const JUDGED: u64 = 30;

/// How much to run.
pub(super) struct Lab {
    pub(super) seeds: u64,
    /// Fewer steps and rounds, for `--quick`.
    pub(super) quick: bool,
    /// Longer horizons and searches, for `--thorough`.
    pub(super) thorough: bool,
    pub(super) progress: Progress,
}

impl Lab {
    pub(super) fn stage(&self, name: &str) {
        self.progress.note(name);
    }

    /// `count`, a tenth of it with `--quick`, ten times as many with `--thorough`.
    pub(super) fn many(&self, count: u64) -> u64 {
        match (self.quick, self.thorough) {
            (true, _) => count.div_ceil(10),
            (_, true) => 10 * count,
            _ => count,
        }
    }

    /// As many seeds as the paper had runs, or fewer.
    pub(super) fn few(&self) -> u64 {
        self.seeds.min(FEW)
    }

    /// Seeds of an experiment that is judged, other than those of the comparison.
    pub(super) fn judged(&self) -> u64 {
        self.seeds.min(JUDGED)
    }

    /// Steps of an experiment in the paper's setting.
    pub(super) fn steps(&self) -> u64 {
        if self.quick { QUICK_STEPS } else { STEPS }
    }

    /// The paper's setting with some keys changed.
    pub(super) fn config(&self, changes: &[(&str, &str)]) -> Config {
        let mut all = vec![format!("world.steps={}", self.steps())];
        all.extend(changes.iter().map(|(key, value)| format!("{key}={value}")));
        Config::read("", &all).expect("the experiments are configured correctly")
    }

    /// Runs the paper's setting with these changes under few seeds.
    pub(super) fn runs(&self, changes: &[(&str, &str)]) -> Result<Vec<Run>, WorldError> {
        run_seeds(&self.config(changes), self.few(), || {})
    }

    /// [`Lab::runs`] with each value of one key in turn, in parallel.
    pub(super) fn runs_with(
        &self,
        changes: &[(&str, &str)],
        key: &str,
        values: &[impl ToString + Sync],
    ) -> Result<Vec<Vec<Run>>, WorldError> {
        values.par_iter().map(|value| self.runs(&[changes, &[(key, &value.to_string())]].concat())).collect()
    }

    /// What the paper's setting with these changes adds up to, under seeds from 1.
    pub(super) fn briefs(&self, changes: &[(&str, &str)], seeds: u64) -> Result<Vec<Brief>, WorldError> {
        let config = self.config(changes);
        let source = Source::read(&config)?;
        let run = |seed: u64| Brief::of(Simulation::from_source(&config, &source, seed).run());
        Ok((1..=seeds).into_par_iter().map(run).collect())
    }
}

/// A run without its rounds: thousands of them fit into memory.
#[derive(Debug, Clone)]
pub(super) struct Brief {
    pub(super) curve: Vec<Totals>,
    pub(super) clients: Vec<ClientTotals>,
}

impl Brief {
    fn of(run: Run) -> Brief {
        Brief { curve: run.curve, clients: run.clients }
    }

    pub(super) fn totals(&self) -> Totals {
        self.curve.last().copied().unwrap_or_default()
    }
}

/// A figure of each run, in the order of the seeds.
pub(super) fn each(briefs: &[Brief], figure: impl Fn(&Totals) -> f64) -> Vec<f64> {
    briefs.iter().map(|brief| figure(&brief.totals())).collect()
}

/// The mean of a figure.
pub(super) fn mean(briefs: &[Brief], figure: impl Fn(&Totals) -> f64) -> Interval {
    Interval::of(each(briefs, figure))
}

/// The difference of a figure between two groups of runs, seed by seed.
pub(super) fn difference(ours: &[Brief], theirs: &[Brief], figure: impl Fn(&Totals) -> f64) -> Interval {
    Interval::paired(&each(ours, &figure), &each(theirs, &figure))
}

/// How much more a figure is in one group of runs than in another, seed by seed, in percent of the other's mean.
pub(super) fn percent_more(ours: &[Brief], theirs: &[Brief], figure: impl Fn(&Totals) -> f64) -> Interval {
    Interval::percent_more(&each(ours, &figure), &each(theirs, &figure))
}

/// The differences of [`difference`], scaled.
pub(super) fn differences(ours: &[Brief], theirs: &[Brief], figure: fn(&Totals) -> f64, scale: f64) -> Vec<f64> {
    each(ours, figure).into_iter().zip(each(theirs, figure)).map(|(a, b)| scale * (a - b)).collect()
}

/// Truth-FedBan in a reading, with more changes.
pub(super) fn reading_changes<'a>(reading: &Reading, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let own =
        [("rounds.mechanism", "truth-fedban"), ("rounds.target", reading.target), ("rounds.trigger", reading.trigger)];
    let strict = reading.strict_budget.then_some(("rounds.strict_budget", "true"));
    own.into_iter().chain(strict).chain(more.iter().copied()).collect()
}

/// The command that runs these changes.
pub(super) fn simulate(changes: &[(&str, &str)], seeds: u64) -> String {
    format!("truthfed simulate {} --seeds {seeds}", sets(changes))
}

/// The flags that make these changes.
pub(super) fn sets(changes: &[(&str, &str)]) -> String {
    let sets: Vec<String> = changes.iter().map(|(key, value)| format!("--set {key}={value}")).collect();
    sets.join(" ")
}

/// A figure at every fifth moment of the curves, for each run.
pub(super) fn over_time(runs: &[Brief], figure: fn(&Totals) -> f64) -> Vec<(f64, Vec<f64>)> {
    let moments = runs.iter().map(|run| run.curve.len()).min().unwrap_or(0);
    let at = |moment: usize| {
        (runs[0].curve[moment].steps as f64, runs.iter().map(|run| figure(&run.curve[moment])).collect::<Vec<f64>>())
    };
    (4..moments).step_by(5).map(at).collect()
}

/// The difference of a figure at the same moments, seed by seed.
pub(super) fn gap_over_time(ours: &[Brief], theirs: &[Brief], figure: fn(&Totals) -> f64) -> Vec<(f64, Vec<f64>)> {
    let pairs = over_time(ours, figure).into_iter().zip(over_time(theirs, figure));
    pairs.map(|((x, ours), (_, theirs))| (x, ours.iter().zip(theirs).map(|(a, b)| a - b).collect())).collect()
}

/// The name of a mechanism as figures show it.
pub(super) fn label(mechanism: &str) -> String {
    match mechanism {
        "everyone" => "everyone (DisLinUCB)".to_owned(),
        "inc-feducb" => "inc-feducb (reconstructed)".to_owned(),
        other => other.to_owned(),
    }
}

/// One colour for each mechanism, in all figures.
pub(super) fn palette() -> Vec<String> {
    catalog::names().into_iter().map(label).collect()
}

/// A line through the means of values under seeds from 1, with their 95 % intervals.
pub(super) fn series(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Vec<f64>)>) -> Series {
    let point = |(x, values): (f64, Vec<f64>)| {
        let Interval { mean, half } = Interval::of(values.iter().copied());
        Point::new(x, mean, half).with_values(Value::from_seed(1, values))
    };
    Series::new(name, points.into_iter().map(point))
}

/// The mean of values under seeds from 1, with its 95 % interval.
pub(super) fn bar(name: impl Into<String>, values: Vec<f64>, label: impl Fn(f64) -> String) -> Bar {
    let Interval { mean, half } = Interval::of(values.iter().copied());
    Bar::new(name, mean, half).with_label(label(mean)).with_values(Value::from_seed(1, values))
}

// Figures of the totals, as spreads and charts take them.
pub(super) const REGRET: fn(&Totals) -> f64 = |totals| totals.regret;
pub(super) const SCALARS: fn(&Totals) -> f64 = |totals| totals.scalars as f64;
pub(super) const INCENTIVE: fn(&Totals) -> f64 = |totals| totals.incentive;
pub(super) const SOCIAL_COST: fn(&Totals) -> f64 = |totals| totals.social_cost;
pub(super) const ROUNDS: fn(&Totals) -> f64 = |totals| totals.rounds as f64;

/// A whole number with its sign, as labels of bars show it: the axis has a proper minus too.
pub(super) fn signed(value: f64) -> String {
    // Adding 0 turns a rounded -0 into 0.
    format!("{:+.0}", value.round() + 0.0).replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::readings::READINGS;

    #[test]
    fn winners_of_whole_runs_to_the_letter_are_those_with_budgets_that_may_be_spent_whole() {
        let lab = Lab { seeds: 3, quick: true, thorough: false, progress: Progress::new("stages", 1) };
        for reading in READINGS.iter().filter(|reading| reading.strict_budget) {
            let whole = Reading { strict_budget: false, ..*reading };
            let [ours, theirs] =
                [reading, &whole].map(|reading| lab.briefs(&reading_changes(reading, &[]), 3).unwrap());
            assert_eq!(each(&ours, SOCIAL_COST), each(&theirs, SOCIAL_COST), "{}", reading.name);
            assert_eq!(each(&ours, SCALARS), each(&theirs, SCALARS), "{}", reading.name);
        }
    }
}
