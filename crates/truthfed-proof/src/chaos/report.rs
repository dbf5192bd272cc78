//! What runs come to.

use std::any::Any;
use std::collections::BTreeMap;

use serde::Serialize;

/// Every kind of fault that is injected.
pub const FAULTS: &[&str] = &[
    "message-lost",
    "message-late",
    "message-repeated",
    "message-readdressed",
    "reply-stale",
    "link-cut",
    "link-clogged",
    "coordinator-killed-before-work",
    "coordinator-killed-after-commit",
    "coordinator-killed-after-reply",
    "coordinator-power-lost",
    "coordinator-killed-inside",
    "coordinator-power-lost-inside",
    "coordinator-disk-failed",
    "coordinator-disk-full",
    "coordinator-recovery-disturbed",
    "coordinator-paused",
    "coordinator-fenced",
    "clock-jumped",
    "wall-clock-jumped",
    "wall-clock-jumped-far",
    "member-killed",
    "member-power-lost",
    "member-killed-inside",
    "member-power-lost-inside",
    "member-disk-failed",
    "member-disk-full",
    "member-gone",
    "member-lied",
    "member-attacked",
    "member-flooded",
    "member-stalled",
    "member-revoked",
    "member-enrolled",
    "data-invented",
    "data-ruled-about",
    "payout-recorded",
    "rounds-paused",
    "round-aborted",
];

/// What one or more runs did. Reports add up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub seeds: u64,
    pub settled: u64,
    /// Rounds that ended without an auction.
    pub aborted: u64,
    pub steps: u64,
    pub virtual_ms: u64,
    pub faults: BTreeMap<&'static str, u64>,
}

impl Report {
    pub fn rounds(&self) -> u64 {
        self.settled + self.aborted
    }

    pub fn add(&mut self, other: &Report) {
        let Report { seeds, settled, aborted, steps, virtual_ms, faults } = other;
        self.seeds += seeds;
        self.settled += settled;
        self.aborted += aborted;
        self.steps += steps;
        self.virtual_ms += virtual_ms;
        for (kind, count) in faults {
            *self.faults.entry(kind).or_default() += count;
        }
    }
}

/// What should never happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error(
    "{}{invariant} is violated in step {step} of seed {seed}: {text}",
    .last.iter().map(|line| format!("{line}\n")).collect::<String>()
)]
pub struct Violation {
    pub invariant: &'static str,
    /// The seed that gives the run again.
    pub seed: u64,
    pub step: u64,
    pub text: String,
    pub last: Vec<String>,
}

/// A violation before it is known where it happened.
#[derive(Debug)]
pub(crate) struct Breach {
    pub(crate) invariant: &'static str,
    pub(crate) text: String,
}

impl Breach {
    /// R6: an inconsistency within the parts themselves.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Breach {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        Breach { invariant: "R6", text: text.unwrap_or_else(|| "a panic without a word".to_owned()) }
    }
}

pub(crate) type Verdict<T = ()> = Result<T, Breach>;

pub(crate) fn breach<T>(invariant: &'static str, text: impl Into<String>) -> Verdict<T> {
    Err(Breach { invariant, text: text.into() })
}

pub(crate) fn check(holds: bool, invariant: &'static str, text: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { breach(invariant, text()) }
}
