//! The outcome as one JSON object.

use serde::Serialize;
use serde_json::value::RawValue;
use truthfed::auction::{Outcome, Violation};

use super::Timed;
use crate::report::{decimal, json};

pub(super) fn text(timed: &Timed, violations: Option<&[Violation]>) -> String {
    let certificate = violations.map(|violations| Certificate {
        certified: violations.is_empty(),
        violations: violations.iter().map(ToString::to_string).collect(),
    });
    json(&Certified { outcome: OutcomeJson::of(timed), certificate })
}

#[derive(Serialize)]
struct Certified {
    #[serde(flatten)]
    outcome: OutcomeJson,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    certificate: Option<Certificate>,
}

#[derive(Serialize)]
struct Certificate {
    certified: bool,
    violations: Vec<String>,
}

/// The stable form of an outcome.
#[derive(Serialize)]
pub(super) struct OutcomeJson {
    mechanism: String,
    coverage: f64,
    target: f64,
    social_cost: Box<RawValue>,
    payments: Box<RawValue>,
    log_dets: LogDets,
    seconds: Seconds,
    winners: Vec<WinnerJson>,
    turned_away: Vec<String>,
}

#[derive(Serialize)]
struct LogDets {
    select: u64,
    price: u64,
}

#[derive(Serialize)]
struct Seconds {
    select: f64,
    price: f64,
}

#[derive(Serialize)]
struct WinnerJson {
    client: String,
    ask: Box<RawValue>,
    payment: Box<RawValue>,
    essential: bool,
}

impl OutcomeJson {
    pub(super) fn of(timed: &Timed) -> OutcomeJson {
        let outcome: &Outcome = &timed.outcome;
        let log_dets = outcome.evaluations();
        let winners = outcome.winners().iter().map(|winner| WinnerJson {
            client: winner.client.to_string(),
            ask: decimal(&winner.ask),
            payment: decimal(&winner.payment),
            essential: winner.essential,
        });
        OutcomeJson {
            mechanism: outcome.mechanism().to_owned(),
            coverage: outcome.coverage(),
            target: outcome.target(),
            social_cost: decimal(&outcome.social_cost()),
            payments: decimal(&outcome.payments()),
            log_dets: LogDets { select: log_dets.select, price: log_dets.price },
            seconds: Seconds { select: timed.select_seconds, price: timed.price_seconds },
            winners: winners.collect(),
            turned_away: outcome.turned_away().iter().map(ToString::to_string).collect(),
        }
    }
}
