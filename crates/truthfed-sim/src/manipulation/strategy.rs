//! Strategies of a manipulator over a whole run.

use std::fmt;

use serde::Serialize;

use crate::role::Pricing;
use crate::simulation::Simulation;

/// What one client does from the first step to the last.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strategy {
    /// Asks its true cost times this, in every round. 1 is the truth.
    Multiple(f64),
    /// Asks the reserve in every round: it sells only when it is essential, and is then paid the reserve.
    UntilEssential,
    /// Asks more than the reserve before its round of this number (from 1), so that it sells nothing. From then on it asks
    /// its true cost, first for everything it has collected.
    Sandbag(u64),
    /// Enrols twice: its observations go to its two members in turn, and each asks its true cost. Each bears half of the
    /// client's base cost. So selling both halves costs as much as selling the whole, if the cost does not depend on a
    /// determinant (`costs.weight` 0). See [`Simulation::with_split`].
    Split,
}

/// Strategies that differ in a parameter only, by the name of their variant of [`Strategy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    Multiple,
    UntilEssential,
    Sandbag,
    Split,
}

impl Strategy {
    pub fn all() -> Vec<Strategy> {
        let multiples = [0.25, 0.5, 0.8, 1.25, 1.5, 2.0, 4.0].map(Strategy::Multiple);
        let sandbags = [2, 4, 8].map(Strategy::Sandbag);
        [&multiples[..], &[Strategy::UntilEssential], &sandbags, &[Strategy::Split]].concat()
    }

    pub fn family(self) -> Family {
        match self {
            Strategy::Multiple(_) => Family::Multiple,
            Strategy::UntilEssential => Family::UntilEssential,
            Strategy::Sandbag(_) => Family::Sandbag,
            Strategy::Split => Family::Split,
        }
    }

    pub fn parameter(self) -> Option<f64> {
        match self {
            Strategy::Multiple(factor) => Some(factor),
            Strategy::Sandbag(round) => Some(round as f64),
            Strategy::UntilEssential | Strategy::Split => None,
        }
    }

    pub fn follow(self, simulation: Simulation<'_>, client: usize) -> Simulation<'_> {
        match self {
            Strategy::Multiple(factor) => simulation.with_pricing(client, Pricing::Multiple(factor)),
            Strategy::UntilEssential => simulation.with_pricing(client, Pricing::Reserve),
            Strategy::Sandbag(round) => simulation.with_pricing(client, Pricing::Withhold(round.saturating_sub(1))),
            Strategy::Split => simulation.with_split(client),
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Multiple(factor) => write!(f, "asks {factor} times its cost"),
            Strategy::UntilEssential => f.write_str("asks the reserve"),
            Strategy::Sandbag(round) => write!(f, "sells from its round {round} on"),
            Strategy::Split => f.write_str("splits its data in two"),
        }
    }
}

impl Family {
    /// In the order of reports.
    pub const ALL: [Family; 4] = [Family::Multiple, Family::UntilEssential, Family::Sandbag, Family::Split];
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Multiple => "asks a multiple of its cost",
            Family::UntilEssential => "asks the reserve until essential",
            Family::Sandbag => "withholds, then sells",
            Family::Split => "splits its data in two",
        })
    }
}
