//! Strategies of a manipulator over a whole run.

use std::fmt;

use serde::Serialize;
use truthfed::protocol::Offers;

use crate::role::{Pricing, Role, Share};
use crate::simulation::Simulation;

/// What one client does from the first step to the last. Where offers are fresh, all but [`Strategy::Multiple`] keep what the
/// rule retires, and offer it again within their bound: nobody can see that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Strategy {
    /// Asks its true cost times this, in every round. 1 is the truth.
    Multiple(f64),
    /// The same, and keeps what it does not sell.
    Hoard(f64),
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
    Hoard,
    UntilEssential,
    Sandbag,
    Hide,
    Shift,
    JoinLate,
    Delay,
    Adaptive,
    Split,
}

impl Strategy {
    /// Those to try where members offer so. Where they offer all that is not sold, a few show that the truth is not the best.
    pub fn under(offers: Offers) -> Vec<Strategy> {
        let multiples = [0.25, 0.5, 0.8, 1.25, 1.5, 2.0, 4.0].map(Strategy::Multiple);
        let hoards = [1.0, 1.25, 1.5, 2.0, 4.0].map(Strategy::Hoard);
        let sandbags = [2, 4, 8].map(Strategy::Sandbag);
        let hides = [2, 3, 4].map(Strategy::Hide);
        let shifts = [0.25, 0.5, 0.75].map(Strategy::Shift);
        let late = [2, 3, 5, 9].map(Strategy::JoinLate);
        let adaptive = [1.5, 2.0, 4.0].map(Strategy::Adaptive);
        let mut all = [&multiples[..], &[Strategy::UntilEssential], &sandbags, &[Strategy::Split]].concat();
        if offers == Offers::Fresh {
            all.extend([&hoards[..], &hides, &shifts, &late, &adaptive, &[Strategy::Delay]].concat());
        }
        all
    }

    pub fn family(self) -> Family {
        match self {
            Strategy::Multiple(_) => Family::Multiple,
            Strategy::Hoard(_) => Family::Hoard,
            Strategy::UntilEssential => Family::UntilEssential,
            Strategy::Sandbag(_) => Family::Sandbag,
            Strategy::Hide(_) => Family::Hide,
            Strategy::Shift(_) => Family::Shift,
            Strategy::JoinLate(_) => Family::JoinLate,
            Strategy::Delay => Family::Delay,
            Strategy::Adaptive(_) => Family::Adaptive,
            Strategy::Split => Family::Split,
        }
    }

    pub fn parameter(self) -> Option<f64> {
        match self {
            Strategy::Multiple(factor)
            | Strategy::Hoard(factor)
            | Strategy::Shift(factor)
            | Strategy::Adaptive(factor) => Some(factor),
            Strategy::Sandbag(round) | Strategy::Hide(round) | Strategy::JoinLate(round) => Some(round as f64),
            Strategy::UntilEssential | Strategy::Delay | Strategy::Split => None,
        }
    }

    pub fn follow(self, simulation: Simulation<'_>, client: usize) -> Simulation<'_> {
        let honest = Role::asking(Pricing::Multiple(1.0));
        let hoarder = |pricing| Role { hoards: true, ..Role::asking(pricing) };
        let offering = |share| Role { share, ..hoarder(Pricing::Multiple(1.0)) };
        let role = match self {
            Strategy::Split => return simulation.with_split(client),
            Strategy::Multiple(factor) => Role::asking(Pricing::Multiple(factor)),
            Strategy::Hoard(factor) => hoarder(Pricing::Multiple(factor)),
            Strategy::UntilEssential => hoarder(Pricing::Reserve),
            Strategy::Sandbag(round) => hoarder(Pricing::Withhold(round.saturating_sub(1))),
            Strategy::Hide(rounds) => offering(Share::Every(rounds)),
            Strategy::Shift(share) => offering(Share::Part(share)),
            Strategy::JoinLate(round) => offering(Share::From(round)),
            Strategy::Delay => Role { opens: false, ..honest },
            Strategy::Adaptive(factor) => hoarder(Pricing::Falling(factor)),
        };
        simulation.with_role(client, role)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Multiple(factor) => write!(f, "asks {factor} times its cost"),
            Strategy::Hoard(factor) => write!(f, "keeps all and asks {factor} times its cost"),
            Strategy::UntilEssential => f.write_str("asks the reserve"),
            Strategy::Sandbag(round) => write!(f, "sells from its round {round} on"),
            Strategy::Hide(rounds) => write!(f, "offers in one round of {rounds}"),
            Strategy::Shift(share) => write!(f, "offers {share} of its data"),
            Strategy::JoinLate(round) => write!(f, "joins in round {round}"),
            Strategy::Delay => f.write_str("never opens a round"),
            Strategy::Adaptive(factor) => write!(f, "asks {factor} times its cost and less for more"),
            Strategy::Split => f.write_str("splits its data in two"),
        }
    }
}

impl Family {
    /// In the order of reports.
    pub const ALL: [Family; 10] = [
        Family::Multiple,
        Family::Hoard,
        Family::UntilEssential,
        Family::Sandbag,
        Family::Hide,
        Family::Shift,
        Family::JoinLate,
        Family::Delay,
        Family::Adaptive,
        Family::Split,
    ];
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Multiple => "asks a multiple of its cost",
            Family::Hoard => "keeps all and asks a multiple",
            Family::UntilEssential => "asks the reserve until essential",
            Family::Sandbag => "withholds, then sells",
            Family::Hide => "hides, then offers",
            Family::Shift => "offers a part",
            Family::JoinLate => "joins late",
            Family::Delay => "never opens a round",
            Family::Adaptive => "asks less for more",
            Family::Split => "splits its data in two",
        })
    }
}
