//! What can be asked of a mechanism.

use std::fmt;
use std::str::FromStr;

use crate::auction::catalog::{Claim, Claims};

/// A property of a mechanism that an audit can refute; [`Property::meaning`] says what each demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Property {
    Monotone,
    IndividuallyRational,
    Truthful,
    /// Also, choosing agrees with paying.
    Certified,
    Collusion,
    CollusionInTotal,
    Coverage,
    /// Of rounds that have one.
    Purse,
    Optimum,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no property: it must be one of {names}", names = Property::ALL.map(Property::name).join(", "))]
pub struct UnknownProperty(pub String);

impl Property {
    /// Every property, in the order of a verdict table.
    pub const ALL: [Property; 9] = [
        Property::Monotone,
        Property::IndividuallyRational,
        Property::Truthful,
        Property::Certified,
        Property::Collusion,
        Property::CollusionInTotal,
        Property::Coverage,
        Property::Purse,
        Property::Optimum,
    ];

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Property::Monotone => ("monotone", "asking less must never turn a win into a loss"),
            Property::IndividuallyRational => ("ir", "no winner may be paid less than it asks"),
            Property::Truthful => ("truthful", "no ask may be better for a client than its true cost"),
            Property::Certified => ("certified", "each winner must win at its payment, and lose one micro-unit above"),
            Property::Collusion => ("collusion", "no group may lie so that each of its members gains"),
            Property::CollusionInTotal => ("collusion-total", "no group may lie so that it gains in sum"),
            Property::Coverage => {
                ("coverage", "the winners must reach the coverage of the round, if its purse reaches for it")
            }
            Property::Purse => ("purse", "payments must not come to more than the purse of the round"),
            Property::Optimum => ("optimum", "no cheaper set of clients may reach the coverage of the round"),
        }
    }

    /// The name, as on the command line.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// What it demands, in words that follow the name and a colon.
    pub const fn meaning(self) -> &'static str {
        self.words().1
    }

    /// How far a mechanism with these claims promises it. Failing a [`Claim::Yes`] is a fault.
    pub fn claim_of(self, claims: &Claims) -> Claim {
        match self {
            Property::Monotone | Property::Truthful | Property::Certified => claims.truthful,
            Property::IndividuallyRational => claims.individually_rational,
            Property::Collusion => claims.collusion_proof,
            Property::CollusionInTotal => Claim::No,
            Property::Coverage => Claim::Yes,
            Property::Purse => claims.within_purse,
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
