//! What a run adds up to, and the spread of it over seeds.
//!
//! The figures are declared once, in the list below: [`Totals`] has a field for each, and everything that shows figures
//! (tables on a terminal, CSV, JSON, the files of a sweep) goes through [`FIGURES`]. A new figure is a line of the list
//! and the place in [`simulation`](crate::simulation) that counts it.

use serde::{Deserialize, Serialize, Serializer};

use crate::experiment::Spread;
use crate::simulation::Run;

/// Something that is counted or summed in every run.
#[derive(Debug)]
pub struct Figure {
    /// Its name in files.
    pub name: &'static str,
    /// Its name for humans.
    pub title: &'static str,
    pub is_count: bool,
    pub of: fn(&Totals) -> f64,
}

/// The type of a figure: a count (`u64`) or a sum (`f64`).
trait Quantity: Copy {
    const IS_COUNT: bool;
    fn to_f64(self) -> f64;
}

impl Quantity for u64 {
    const IS_COUNT: bool = true;

    fn to_f64(self) -> f64 {
        self as f64
    }
}

impl Quantity for f64 {
    const IS_COUNT: bool = false;

    fn to_f64(self) -> f64 {
        self
    }
}

/// Declares [`Totals`] and [`FIGURES`] from lines `field: type, "name for humans"`.
macro_rules! figures {
    ($($(#[$doc:meta])* $name:ident: $quantity:ty, $title:literal;)*) => {
        /// Sums up to a step.
        #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
        pub struct Totals {
            /// Steps so far.
            pub steps: u64,
            $($(#[$doc])* pub $name: $quantity,)*
        }

        /// All figures, in the order of the files.
        pub const FIGURES: &[Figure] = &[$(Figure {
            name: stringify!($name),
            title: $title,
            is_count: <$quantity as Quantity>::IS_COUNT,
            of: |totals| totals.$name.to_f64(),
        },)*];
    };
}

figures! {
    /// Expected reward missed.
    regret: f64, "regret";
    /// Reward observed.
    reward: f64, "reward";
    /// Reward that blind choice would have given on average.
    blind_reward: f64, "reward of blind choice";
    /// Scalars sent, counted as in the paper: whole matrices.
    scalars: u64, "scalars";
    /// Scalars sent, counting triangles of symmetric matrices.
    packed_scalars: u64, "packed scalars";
    /// Paid to clients.
    incentive: f64, "incentive";
    /// True costs of those that took part.
    social_cost: f64, "social cost";
    /// Rounds that ended.
    rounds: u64, "rounds";
    /// Clients that took part, over all rounds.
    participations: u64, "participations";
    /// Payments to winners without which the target could not be met.
    essential: u64, "essential payments";
}

/// The totals at the end of a run, as files hold them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SeedTotals {
    pub seed: u64,
    #[serde(flatten)]
    pub totals: Totals,
}

impl From<&Run> for SeedTotals {
    fn from(run: &Run) -> SeedTotals {
        SeedTotals { seed: run.seed, totals: run.totals() }
    }
}

/// The spread of every figure over some runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    spreads: Vec<Spread>,
}

impl Summary {
    pub fn of(runs: &[SeedTotals]) -> Summary {
        let spread = |figure: &Figure| Spread::of(runs.iter().map(|run| (figure.of)(&run.totals)));
        Summary { spreads: FIGURES.iter().map(spread).collect() }
    }

    /// The figures with their spreads, in the order of [`FIGURES`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static Figure, Spread)> {
        FIGURES.iter().zip(self.spreads.iter().copied())
    }

    pub fn mean(&self) -> ByName {
        ByName(self.spreads.iter().map(|spread| spread.mean).collect())
    }

    pub fn sd(&self) -> ByName {
        ByName(self.spreads.iter().map(|spread| spread.sd).collect())
    }
}

/// A value for every figure; an object in JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct ByName(Vec<f64>);

impl Serialize for ByName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(FIGURES.iter().map(|figure| figure.name).zip(&self.0))
    }
}
