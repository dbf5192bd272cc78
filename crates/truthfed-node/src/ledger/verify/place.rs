//! Where in a journal something is wrong, and what to call it.

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::{Fault, Problem, Verdict};

#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) entry: u64,
    pub(super) round: Option<RoundId>,
    pub(super) member: Option<&'a ClientId>,
}

impl<'a> Place<'a> {
    pub(super) fn entry(entry: u64) -> Place<'a> {
        Place { entry, round: None, member: None }
    }

    pub(super) fn of(self, member: &'a ClientId) -> Place<'a> {
        Place { member: Some(member), ..self }
    }

    pub(super) fn problem<T>(self, fault: Fault, expected: impl ToString, found: impl ToString) -> Verdict<T> {
        Err(self.fault(fault, expected, found))
    }

    #[expect(clippy::needless_pass_by_value, reason = "words and numbers alike, as they come")]
    pub(super) fn fault(self, fault: Fault, expected: impl ToString, found: impl ToString) -> Box<Problem> {
        let Place { entry, round, member } = self;
        let (expected, found) = (expected.to_string(), found.to_string());
        Box::new(Problem { entry, round, member: member.cloned(), fault, expected, found })
    }

    /// That two things are the same.
    pub(super) fn check<T: PartialEq + ToString>(self, fault: Fault, expected: T, found: T) -> Verdict {
        if expected == found { Ok(()) } else { self.problem(fault, expected, found) }
    }
}
