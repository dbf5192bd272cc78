//! What an audit finds: violations, counted for each mechanism and property.

use super::{Gain, Property};
use crate::Amount;
use crate::auction::{ClientId, Round};

/// A client asks something else than its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lie {
    pub client: ClientId,
    pub ask: Amount,
}

/// A round in which a mechanism breaks a property.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Violation {
    pub property: Property,
    /// Where. The asks in it are the true costs of the clients.
    pub round: Round,
    /// For `truthful` and both of `collusion`: who asks what instead (one of a group may keep to its cost). For `monotone`: two asks of one client, the lower, with
    /// which it loses, and the higher, with which it wins. Empty for the rest.
    pub lies: Vec<Lie>,
    /// By how much: what the lie earns (`collusion`: each member at least, `collusion-total`: all together), the distance
    /// of the two asks (`monotone`), what is missing to the ask (`ir`), the distance of payment and critical value
    /// (`certified`), what is spent above the optimum (`optimum`); 0 for `coverage`.
    pub gain: Gain,
}

impl Violation {
    /// Whether the only lie is to stay away, by asking more than the reserve: true, but not clever.
    pub(super) fn is_withdrawal(&self) -> bool {
        matches!(self.lies.as_slice(), [lie] if lie.ask > self.round.reserve())
    }

    /// How much a reader has to take in, to sort by.
    pub(super) fn size(&self) -> (bool, usize, usize) {
        (self.is_withdrawal(), clients(&self.round), self.round.dimension())
    }
}

/// How a property of a mechanism fared.
#[derive(Debug, Clone)]
pub struct Verdict {
    pub mechanism: String,
    pub property: Property,
    /// What was tried: clients (`monotone`, `truthful`), clients that win (`ir`, `certified`), groups (`collusion`),
    /// rounds (`coverage`, `optimum`).
    pub cases: u64,
    pub violations: u64,
    /// What could not be tried, as a search was given up; no cases.
    pub refused: u64,
    pub worst: Option<Violation>,
    /// The violation in the smallest round; one that is more than staying away, if there is any.
    pub smallest: Option<Violation>,
}

impl Verdict {
    pub(super) fn new(mechanism: &str, property: Property) -> Verdict {
        let mechanism = mechanism.to_owned();
        Verdict { mechanism, property, cases: 0, violations: 0, refused: 0, worst: None, smallest: None }
    }

    /// Whether nothing was found against it.
    pub fn holds(&self) -> bool {
        self.violations == 0
    }

    pub(super) fn add(&mut self, violation: Option<Violation>) {
        self.cases += 1;
        if let Some(violation) = violation {
            self.violations += 1;
            self.keep(Some(violation.clone()), Some(violation));
        }
    }

    /// Takes over the counts of rounds that come after those of this one.
    pub(super) fn merge(&mut self, later: Verdict) {
        self.cases += later.cases;
        self.violations += later.violations;
        self.refused += later.refused;
        self.keep(later.worst, later.smallest);
    }

    /// Of equals the earlier stays.
    fn keep(&mut self, worst: Option<Violation>, smallest: Option<Violation>) {
        let gain = |violation: &Option<Violation>| violation.as_ref().map(|violation| violation.gain);
        if gain(&worst) > gain(&self.worst) {
            self.worst = worst;
        }
        let is_smaller = |new: &Violation| self.smallest.as_ref().is_none_or(|old| new.size() < old.size());
        if smallest.as_ref().is_some_and(is_smaller) {
            self.smallest = smallest;
        }
    }
}

/// Everyone who offers.
pub(super) fn clients(round: &Round) -> usize {
    round.admitted() + round.turned_away().len()
}
