//! Strategies of a manipulator over a whole run.

use std::fmt;

use serde::Serialize;

use crate::config::Rounds;
use crate::role::{Pricing, Role, Share};
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
    /// Offers in every round of a number divisible by this only, what it has collected since.
    Hide(u64),
    /// Offers this share of what it has in each round, and keeps the rest for the next.
    Shift(f64),
    /// Offers from its round of this number on.
    JoinLate(u64),
    /// Never opens a round.
    Delay,
    /// Asks its true cost times this, and less the more data it has: see [`Pricing::Falling`].
    Adaptive(f64),
    /// Asks its true cost times a factor that changes with the number of the round: what a search for a best response finds.
    Schedule([f64; Pricing::STAGES.len()]),
    /// Enrols twice: its observations go to its two members in turn, and each asks its true cost. Each bears half of the
    /// client's base cost. So selling both halves costs as much as selling the whole, if the cost does not depend on a
    /// determinant (`costs.weight` 0). See [`Simulation::with_split`].
    Split,
    /// Enrols as one with the next client: see [`Simulation::with_merged`]. Half of what the two earn counts.
    Merge,
}

/// Strategies that differ in a parameter only, by the name of their variant of [`Strategy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    Multiple,
    UntilEssential,
    Sandbag,
    Hide,
    Shift,
    JoinLate,
    Delay,
    Adaptive,
    Schedule,
    Split,
    Merge,
}

impl Strategy {
    /// All that are known.
    pub fn all() -> Vec<Strategy> {
        let multiples = [0.25, 0.5, 0.8, 1.25, 1.5, 2.0, 4.0].map(Strategy::Multiple);
        let sandbags = [2, 4, 8].map(Strategy::Sandbag);
        let hides = [2, 3, 4].map(Strategy::Hide);
        let shifts = [0.25, 0.5, 0.75].map(Strategy::Shift);
        let late = [2, 3, 5, 9].map(Strategy::JoinLate);
        let adaptive = [1.5, 2.0, 4.0].map(Strategy::Adaptive);
        let others = [Strategy::UntilEssential, Strategy::Delay, Strategy::Split, Strategy::Merge];
        [&multiples[..], &sandbags, &hides, &shifts, &late, &adaptive, &others].concat()
    }

    /// Those to try. Where clients may offer all that is not sold, a few show that the truth is not the best.
    pub fn under(rounds: &Rounds) -> Vec<Strategy> {
        let few = [Family::Multiple, Family::UntilEssential, Family::Sandbag, Family::Split];
        let is_tried = |strategy: &Strategy| rounds.quota > 0.0 || few.contains(&strategy.family());
        Strategy::all().into_iter().filter(is_tried).collect()
    }

    pub fn family(self) -> Family {
        match self {
            Strategy::Multiple(_) => Family::Multiple,
            Strategy::UntilEssential => Family::UntilEssential,
            Strategy::Sandbag(_) => Family::Sandbag,
            Strategy::Hide(_) => Family::Hide,
            Strategy::Shift(_) => Family::Shift,
            Strategy::JoinLate(_) => Family::JoinLate,
            Strategy::Delay => Family::Delay,
            Strategy::Adaptive(_) => Family::Adaptive,
            Strategy::Schedule(_) => Family::Schedule,
            Strategy::Split => Family::Split,
            Strategy::Merge => Family::Merge,
        }
    }

    pub fn parameter(self) -> Option<f64> {
        match self {
            Strategy::Multiple(factor) | Strategy::Shift(factor) | Strategy::Adaptive(factor) => Some(factor),
            Strategy::Sandbag(round) | Strategy::Hide(round) | Strategy::JoinLate(round) => Some(round as f64),
            Strategy::UntilEssential | Strategy::Delay | Strategy::Schedule(_) | Strategy::Split | Strategy::Merge => {
                None
            }
        }
    }

    pub fn follow(self, simulation: Simulation<'_>, client: usize) -> Simulation<'_> {
        let honest = Role::asking(Pricing::Multiple(1.0));
        let offering = |share| Role { share, ..honest };
        let role = match self {
            Strategy::Split => return simulation.with_split(client),
            Strategy::Merge => return simulation.with_merged(client),
            Strategy::Multiple(factor) => Role::asking(Pricing::Multiple(factor)),
            Strategy::UntilEssential => Role::asking(Pricing::Reserve),
            Strategy::Sandbag(round) => Role::asking(Pricing::Withhold(round.saturating_sub(1))),
            Strategy::Hide(rounds) => offering(Share::Every(rounds)),
            Strategy::Shift(share) => offering(Share::Part(share)),
            Strategy::JoinLate(round) => offering(Share::From(round)),
            Strategy::Delay => Role { opens: false, ..honest },
            Strategy::Adaptive(factor) => Role::asking(Pricing::Falling(factor)),
            Strategy::Schedule(factors) => Role::asking(Pricing::Schedule(factors)),
        };
        simulation.with_role(client, role)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Multiple(factor) => write!(f, "asks {factor} times its cost"),
            Strategy::UntilEssential => f.write_str("asks the reserve"),
            Strategy::Sandbag(round) => write!(f, "sells from its round {round} on"),
            Strategy::Hide(rounds) => write!(f, "offers in one round of {rounds}"),
            Strategy::Shift(share) => write!(f, "offers {share} of its data"),
            Strategy::JoinLate(round) => write!(f, "joins in round {round}"),
            Strategy::Delay => f.write_str("never opens a round"),
            Strategy::Adaptive(factor) => write!(f, "asks {factor} times its cost and less for more"),
            Strategy::Schedule(factors) => {
                let factors =
                    factors.map(|factor| if factor.is_finite() { factor.to_string() } else { "no".to_owned() });
                write!(f, "asks {} times its cost", factors.join(", "))
            }
            Strategy::Split => f.write_str("splits its data in two"),
            Strategy::Merge => f.write_str("enrols as one with another"),
        }
    }
}

impl Family {
    /// In the order of reports.
    pub const ALL: [Family; 11] = [
        Family::Multiple,
        Family::UntilEssential,
        Family::Sandbag,
        Family::Hide,
        Family::Shift,
        Family::JoinLate,
        Family::Delay,
        Family::Adaptive,
        Family::Schedule,
        Family::Split,
        Family::Merge,
    ];
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Multiple => "asks a multiple of its cost",
            Family::UntilEssential => "asks the reserve until essential",
            Family::Sandbag => "withholds, then sells",
            Family::Hide => "hides, then offers",
            Family::Shift => "offers a part",
            Family::JoinLate => "joins late",
            Family::Delay => "never opens a round",
            Family::Adaptive => "asks less for more",
            Family::Schedule => "asks what a search found",
            Family::Split => "splits its data in two",
            Family::Merge => "enrols as one with another",
        })
    }
}
