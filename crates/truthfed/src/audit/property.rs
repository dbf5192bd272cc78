//! What can be asked of a mechanism.

use std::fmt;
use std::str::FromStr;

use crate::auction::catalog::{Claim, Claims};

/// A property of a mechanism that an audit can refute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Property {
    /// Asking less never turns a win into a loss.
    Monotone,
    /// No winner is paid less than it asks.
    IndividuallyRational,
    /// No ask is better for a client than its true cost.
    Truthful,
    /// Each winner wins at its payment and loses one micro-unit above, and choosing agrees with paying.
    Certified,
    /// No group can lie so that each of its members gains.
    Collusion,
    /// No group can lie so that it gains in sum.
    CollusionInTotal,
    /// The winners reach the round's coverage.
    Coverage,
    /// No cheaper set of clients reaches the round's coverage.
    Optimum,
}

/// There is no property of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no property: it must be one of {names}", names = Property::ALL.map(Property::name).join(", "))]
pub struct UnknownProperty(pub String);

impl Property {
    /// Every property, in the order of a verdict table.
    pub const ALL: [Property; 8] = [
        Property::Monotone,
        Property::IndividuallyRational,
        Property::Truthful,
        Property::Certified,
        Property::Collusion,
        Property::CollusionInTotal,
        Property::Coverage,
        Property::Optimum,
    ];

    /// The name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Property::Monotone => "monotone",
            Property::IndividuallyRational => "ir",
            Property::Truthful => "truthful",
            Property::Certified => "certified",
            Property::Collusion => "collusion",
            Property::CollusionInTotal => "collusion-total",
            Property::Coverage => "coverage",
            Property::Optimum => "optimum",
        }
    }

    /// What it demands, in words that follow the name and a colon.
    pub const fn meaning(self) -> &'static str {
        match self {
            Property::Monotone => "asking less must never turn a win into a loss",
            Property::IndividuallyRational => "no winner may be paid less than it asks",
            Property::Truthful => "no ask may be better for a client than its true cost",
            Property::Certified => "each winner must win at its payment, and lose one micro-unit above",
            Property::Collusion => "no group may lie so that each of its members gains",
            Property::CollusionInTotal => "no group may lie so that it gains in sum",
            Property::Coverage => "the winners must reach the coverage of the round",
            Property::Optimum => "no cheaper set of clients may reach the coverage of the round",
        }
    }

    /// How far a mechanism with these claims promises it. Failing a [`Claim::Yes`] is a fault.
    pub fn claim_of(self, claims: &Claims) -> Claim {
        match self {
            Property::Monotone | Property::Truthful | Property::Certified => claims.truthful,
            Property::IndividuallyRational => claims.individually_rational,
            Property::Collusion => claims.collusion_proof,
            Property::CollusionInTotal => Claim::No,
            Property::Coverage => Claim::Yes,
            Property::Optimum => claims.optimal,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Property {
    type Err = UnknownProperty;

    fn from_str(name: &str) -> Result<Property, UnknownProperty> {
        let found = Property::ALL.into_iter().find(|property| property.name() == name);
        found.ok_or_else(|| UnknownProperty(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back() {
        for property in Property::ALL {
            assert_eq!(property.name().parse(), Ok(property));
        }
        let error = "honest".parse::<Property>().unwrap_err().to_string();
        assert!(error.starts_with("`honest` is no property: it must be one of monotone, ir, truthful,"), "{error}");
    }
}
