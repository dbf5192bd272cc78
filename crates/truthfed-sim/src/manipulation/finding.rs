//! The results of manipulation, as numbers for tables, charts and programs.

use serde::Serialize;

use super::{Family, Strategy};
use crate::experiment::Spread;

/// Gains up to this many units over a whole run count as nothing: asks are rounded to micro-units, and a
/// thousand such errors add up to this.
const NOTHING: f64 = 1e-3;

#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Findings {
    pub clients: usize,
    /// Clients that manipulated, one at a time.
    pub manipulators: usize,
    pub seeds: u64,
    /// Seeds under which parameters were chosen; the measurement uses others.
    pub choosing_seeds: u64,
    /// The best of each family, mechanism by mechanism, as measured.
    pub best: Vec<Finding>,
    /// Every strategy, under the seeds of the choice.
    pub trials: Vec<Finding>,
}

/// A strategy under a mechanism. Amounts are in units of money, over a whole run: means over the manipulators, then mean
/// and standard deviation over the seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    pub mechanism: String,
    pub family: Family,
    /// Its parameter: a factor, or the number of a round.
    pub parameter: Option<f64>,
    /// The strategy in words.
    pub strategy: String,
    /// Utility of a client that follows it.
    pub utility: Spread,
    /// Utility of the same clients when they tell the truth.
    pub truthful: Spread,
    /// The difference, seed by seed.
    pub gain: Spread,
    /// The differences behind it, under seeds from the first of the measurement.
    #[serde(skip)]
    pub gains: Vec<f64>,
    /// Mean gain divided by mean truthful utility; `None` if the truth earns nothing.
    pub relative_gain: Option<f64>,
    /// Standard error of the mean gain: its deviation over the root of the number of seeds.
    pub standard_error: f64,
    pub seeds: u64,
}

impl Finding {
    /// From the mean utility in each seed, with the strategy and with the truth.
    pub(super) fn new(mechanism: &str, strategy: Strategy, manipulated: &[f64], truth: &[f64]) -> Finding {
        let gains: Vec<f64> = manipulated.iter().zip(truth).map(|(lie, truth)| lie - truth).collect();
        let gain = Spread::of(gains.iter().copied());
        let truthful = Spread::of(truth.iter().copied());
        Finding {
            mechanism: mechanism.to_owned(),
            family: strategy.family(),
            parameter: strategy.parameter(),
            strategy: strategy.to_string(),
            utility: Spread::of(manipulated.iter().copied()),
            truthful,
            gain,
            gains,
            relative_gain: (truthful.mean > NOTHING).then(|| gain.mean / truthful.mean),
            standard_error: gain.sd / (truth.len().max(1) as f64).sqrt(),
            seeds: truth.len() as u64,
        }
    }

    /// Whether the mean gain exceeds three standard errors, which chance rarely does (about once in 700 for a normal gain).
    pub fn pays(&self) -> bool {
        self.gain.mean > NOTHING.max(3.0 * self.standard_error)
    }
}

impl Findings {
    /// The mechanisms, in the order of the plan.
    pub fn mechanisms(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.best.iter().map(|found| found.mechanism.as_str()).collect();
        names.dedup();
        names
    }

    /// The families that were tried, in the order of reports.
    pub fn families(&self) -> Vec<Family> {
        let is_tried = |family: &Family| self.best.iter().any(|found| found.family == *family);
        Family::ALL.into_iter().filter(is_tried).collect()
    }

    /// The best of a family under a mechanism.
    pub fn of(&self, mechanism: &str, family: Family) -> Option<&Finding> {
        self.best.iter().find(|found| found.mechanism == mechanism && found.family == family)
    }

    /// The best strategy that a client can follow alone, under the seeds of the choice, as measured under the other seeds.
    pub fn best_response(&self, mechanism: &str) -> Option<&Finding> {
        let is_alone = |trial: &&Finding| trial.mechanism == mechanism && trial.family != Family::Merge;
        let trials = self.trials.iter().filter(is_alone);
        let best = trials.max_by(|a, b| a.utility.mean.total_cmp(&b.utility.mean))?;
        self.of(mechanism, best.family)
    }
}

/// The best strategy of each family by mean utility; of equals, the first.
pub(super) fn choose(trials: &[(Strategy, Finding)]) -> Vec<Strategy> {
    let best = |family: Family| {
        let of_family = trials.iter().filter(|(strategy, _)| strategy.family() == family);
        // Reversed, because `max_by` returns the last of equals.
        let best = of_family.rev().max_by(|(_, a), (_, b)| a.utility.mean.total_cmp(&b.utility.mean));
        best.map(|(strategy, _)| *strategy)
    };
    Family::ALL.into_iter().filter_map(best).collect()
}
