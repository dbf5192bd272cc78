//! Where in a journal something is wrong, and what to call it.

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::{Fault, Problem, Verdict};
use crate::journal::Entry;

/// Where in the journal something is said.
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

    pub(super) fn round(entry: u64, round: RoundId) -> Place<'a> {
        Place { entry, round: Some(round), member: None }
    }

    pub(super) fn of(self, member: &'a ClientId) -> Place<'a> {
        Place { member: Some(member), ..self }
    }

    #[expect(clippy::needless_pass_by_value, reason = "words and numbers alike, as they come")]
    pub(super) fn problem<T>(self, fault: Fault, expected: impl ToString, found: impl ToString) -> Verdict<T> {
        let Place { entry, round, member } = self;
        let (expected, found) = (expected.to_string(), found.to_string());
        Err(Box::new(Problem { entry, round, member: member.cloned(), fault, expected, found }))
    }

    /// That two things are the same.
    pub(super) fn check<T: PartialEq + ToString>(self, fault: Fault, expected: T, found: T) -> Verdict {
        if expected == found { Ok(()) } else { self.problem(fault, expected, found) }
    }
}

pub(super) fn name_of(entry: &Entry) -> &'static str {
    match entry {
        Entry::Genesis { .. } => "a genesis",
        Entry::Enrolled { .. } => "an enrolment",
        Entry::Revoked { .. } => "a revocation",
        Entry::Opened { .. } => "a round is opened",
        Entry::Offered { .. } => "an offer",
        Entry::Declined { .. } => "a decline",
        Entry::Sealed { .. } => "a seal",
        Entry::Awarded { .. } => "an award",
        Entry::Delivered { .. } => "a delivery",
        Entry::Settled { .. } => "a settlement",
        Entry::Aborted { .. } => "an end without an auction",
        Entry::Checkpoint { .. } => "a checkpoint",
    }
}

pub(super) fn round_of(entry: &Entry) -> Option<RoundId> {
    match entry {
        Entry::Awarded { round, .. } | Entry::Settled { round, .. } | Entry::Aborted { round, .. } => Some(*round),
        _ => None,
    }
}

pub(super) fn member_of(entry: &Entry) -> Option<&ClientId> {
    match entry {
        Entry::Offered { member, .. } | Entry::Declined { member, .. } | Entry::Delivered { member, .. } => {
            Some(member)
        }
        _ => None,
    }
}
