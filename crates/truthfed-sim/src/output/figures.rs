//! The figures of a run, and their spread over seeds.

use serde::{Deserialize, Serialize, Serializer};

use crate::experiment::Spread;
use crate::simulation::Run;

/// What a run came to, as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // as in `Totals`
pub struct SeedTotals {
    pub seed: u64,
    pub steps: u64,
    pub regret: f64,
    pub reward: f64,
    pub blind_reward: f64,
    pub scalars: u64,
    pub packed_scalars: u64,
    pub incentive: f64,
    pub social_cost: f64,
    pub rounds: u64,
    pub participations: u64,
    pub essential: u64,
}

impl From<&Run> for SeedTotals {
    fn from(run: &Run) -> SeedTotals {
        let totals = run.totals();
        SeedTotals {
            seed: run.seed,
            steps: totals.step,
            regret: totals.regret,
            reward: totals.reward,
            blind_reward: totals.blind_reward,
            scalars: totals.scalars,
            packed_scalars: totals.packed_scalars,
            incentive: totals.incentive,
            social_cost: totals.social_cost,
            rounds: totals.rounds,
            participations: totals.participations,
            essential: totals.essential,
        }
    }
}

/// Something that is counted or summed in every run.
#[derive(Debug)]
pub struct Figure {
    /// Its name in files.
    pub name: &'static str,
    /// Whether it is a whole number.
    pub is_count: bool,
    /// Its value.
    pub of: fn(&SeedTotals) -> f64,
}

impl Figure {
    const fn sum(name: &'static str, of: fn(&SeedTotals) -> f64) -> Figure {
        Figure { name, is_count: false, of }
    }

    const fn count(name: &'static str, of: fn(&SeedTotals) -> f64) -> Figure {
        Figure { name, is_count: true, of }
    }
}

/// How many figures there are.
const COUNT: usize = 10;

/// All figures, in the order of the files.
pub const FIGURES: [Figure; COUNT] = [
    Figure::sum("regret", |totals| totals.regret),
    Figure::sum("reward", |totals| totals.reward),
    Figure::sum("blind_reward", |totals| totals.blind_reward),
    Figure::count("scalars", |totals| totals.scalars as f64),
    Figure::count("packed_scalars", |totals| totals.packed_scalars as f64),
    Figure::sum("incentive", |totals| totals.incentive),
    Figure::sum("social_cost", |totals| totals.social_cost),
    Figure::count("rounds", |totals| totals.rounds as f64),
    Figure::count("participations", |totals| totals.participations as f64),
    Figure::count("essential", |totals| totals.essential as f64),
];

/// The spread of every figure over some runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    spreads: [Spread; COUNT],
}

impl Summary {
    /// Of the totals of some runs.
    pub fn of(runs: &[SeedTotals]) -> Summary {
        let spread = |index: usize| Spread::of(runs.iter().map(FIGURES[index].of));
        Summary { spreads: std::array::from_fn(spread) }
    }

    /// The spreads, in the order of [`FIGURES`].
    pub fn spreads(&self) -> &[Spread] {
        &self.spreads
    }

    /// The means, by name.
    pub fn mean(&self) -> ByName {
        ByName(self.spreads.map(|spread| spread.mean))
    }

    /// The standard deviations, by name.
    pub fn sd(&self) -> ByName {
        ByName(self.spreads.map(|spread| spread.sd))
    }
}

/// A value for every figure; an object in JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct ByName([f64; COUNT]);

impl Serialize for ByName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(FIGURES.iter().map(|figure| figure.name).zip(self.0))
    }
}
