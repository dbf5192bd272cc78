//! The outcome as one JSON object.

use serde::Serialize;
use truthfed::auction::{Outcome, Violation};

use super::Timed;
use crate::report::json;

pub(super) fn text(timed: &Timed, violations: Option<&[Violation]>) -> String {
    let certificate = violations.map(|violations| Certificate {
        certified: violations.is_empty(),
        violations: violations.iter().map(ToString::to_string).collect(),
    });
    json(&Certified { outcome: TimedOutcome::of(timed), certificate })
}

#[derive(Serialize)]
struct Certified<'a> {
    #[serde(flatten)]
    outcome: TimedOutcome<'a>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    certificate: Option<Certificate>,
}

#[derive(Serialize)]
struct Certificate {
    certified: bool,
    violations: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct TimedOutcome<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    seconds: Seconds,
}

#[derive(Serialize)]
struct Seconds {
    select: f64,
    price: f64,
}

impl TimedOutcome<'_> {
    pub(super) fn of(timed: &Timed) -> TimedOutcome<'_> {
        let seconds = Seconds { select: timed.select_seconds, price: timed.price_seconds };
        TimedOutcome { outcome: &timed.outcome, seconds }
    }
}
