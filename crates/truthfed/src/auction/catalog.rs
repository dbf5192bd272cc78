//! All mechanisms, with their parameters and what each claims.
//!
//! The one list of mechanisms: each entry stands in its mechanism's file, and `auction/mod.rs` lists them.

use std::fmt;

use super::parameter::Parameter;
use super::{MECHANISMS, Mechanism, MechanismSetting, clock};

/// How far a property is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Claim {
    /// It holds; the tests try to refute it.
    Yes,
    /// It holds up to the named limit.
    Partly(&'static str),
    No,
    /// The question does not arise.
    NotApplicable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claims {
    /// No winner is paid less than it asked.
    pub individually_rational: Claim,
    /// The true cost is every client's best ask.
    pub truthful: Claim,
    /// No group can lie so that each of its members gains.
    pub collusion_proof: Claim,
    /// The winners are the cheapest set that meets the round's coverage.
    pub optimal: Claim,
    /// Payments come to no more than the round's purse. A mechanism that claims it not refuses a round that has one.
    pub within_purse: Claim,
}

/// A mechanism as its own file defines it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Entry {
    pub name: &'static str,
    /// One line: what it is.
    pub summary: &'static str,
    /// The target, in terms of the coverage c.
    pub target: &'static str,
    pub parameters: &'static [Parameter],
    /// Claims can depend on parameters.
    pub(super) claims: fn(&MechanismSetting) -> Claims,
    pub(super) build: fn(&MechanismSetting) -> Box<dyn Mechanism>,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Claim::Yes => "yes",
            Claim::Partly(limit) => limit,
            Claim::No => "no",
            Claim::NotApplicable => "-",
        })
    }
}

impl Claims {
    pub(super) const NONE: Claims = Claims {
        individually_rational: Claim::No,
        truthful: Claim::No,
        collusion_proof: Claim::No,
        optimal: Claim::No,
        within_purse: Claim::No,
    };
    /// No client alone has a reason to lie.
    pub(super) const TRUTHFUL: Claims =
        Claims { individually_rational: Claim::Yes, truthful: Claim::Yes, ..Claims::NONE };

    /// Whether winners are paid. If not, no ask is better than another.
    pub fn pays(&self) -> bool {
        self.truthful != Claim::NotApplicable
    }
}

impl Entry {
    /// With the default of every parameter.
    pub fn setting(&'static self) -> MechanismSetting {
        MechanismSetting::of(self)
    }

    pub fn mechanism(&'static self) -> Box<dyn Mechanism> {
        self.setting().mechanism()
    }

    pub fn claims(&'static self) -> Claims {
        self.setting().claims()
    }

    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }
}

pub const DEFAULT: &str = clock::ENTRY.name;

/// Every mechanism, baselines first.
pub fn entries() -> &'static [Entry] {
    MECHANISMS
}

pub fn find(name: &str) -> Option<&'static Entry> {
    MECHANISMS.iter().find(|entry| entry.name == name)
}

pub fn names() -> Vec<&'static str> {
    MECHANISMS.iter().map(|entry| entry.name).collect()
}

/// Every parameter once, with the names of the mechanisms that have it.
pub fn parameters() -> Vec<(&'static Parameter, Vec<&'static str>)> {
    let mut found: Vec<(&Parameter, Vec<&str>)> = Vec::new();
    for entry in MECHANISMS {
        for parameter in entry.parameters {
            match found.iter_mut().find(|(known, _)| known.name == parameter.name) {
                Some((_, mechanisms)) => mechanisms.push(entry.name),
                None => found.push((parameter, vec![entry.name])),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_the_default_is_among_them() {
        for (place, entry) in entries().iter().enumerate() {
            assert_eq!(entry.mechanism().name(), entry.name);
            assert!(std::ptr::eq(find(entry.name).unwrap(), entry), "{} is listed twice", entry.name);
            assert_eq!(names()[place], entry.name);
        }
        assert!(names().contains(&DEFAULT));
        assert!(find("nobody").is_none());
    }

    #[test]
    fn parameters_of_one_name_are_the_same_and_their_defaults_are_valid() {
        for (parameter, mechanisms) in parameters() {
            parameter.check(parameter.default()).unwrap();
            let is_free = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(parameter.name.chars().all(is_free) && parameter.name != "name", "{}", parameter.name);
            for name in mechanisms {
                assert_eq!(find(name).unwrap().parameter(parameter.name), Some(parameter), "{name}");
            }
        }
    }
}
