//! Verdicts and economics as one JSON object.

use serde::Serialize;
use serde_json::value::RawValue;
use truthfed::audit::{Economics, Spread};
use truthfed_sim::manipulation::Finding;

use super::{Audited, Row};
use crate::report::{decimal, json};

#[derive(Serialize)]
struct Object<'a> {
    verdicts: Vec<Verdict<'a>>,
    economics: Vec<Costs<'a>>,
    across_rounds: Option<&'a [Finding]>,
}

#[derive(Serialize)]
struct Verdict<'a> {
    mechanism: &'a str,
    property: &'a str,
    verdict: &'a str,
    cases: u64,
    violations: u64,
    worst_gain: Option<Box<RawValue>>,
    counterexample: Option<String>,
    claimed: bool,
    refused: u64,
}

#[derive(Serialize)]
struct Costs<'a> {
    mechanism: &'a str,
    social_cost_per_optimum: Option<Distribution>,
    payments_per_optimum: Option<Distribution>,
    payments_per_vcg_payments: Option<Distribution>,
    essential_share_of_winners: Option<Distribution>,
    information_per_best: Option<Distribution>,
    proportional_share_per_best: Option<Distribution>,
}

#[derive(Serialize)]
struct Distribution {
    rounds: usize,
    mean: f64,
    median: f64,
    p95: f64,
    worst: f64,
}

/// The object; counterexamples have a name where they are written.
pub(super) fn text(audited: &Audited, are_written: bool) -> String {
    json(&Object {
        verdicts: audited.rows.iter().map(|row| verdict(row, are_written)).collect(),
        economics: audited.economics.iter().map(costs).collect(),
        across_rounds: audited.across_rounds.as_ref().map(|findings| findings.best.as_slice()),
    })
}

fn verdict(row: &Row, is_written: bool) -> Verdict<'_> {
    let verdict = &row.verdict;
    Verdict {
        mechanism: &verdict.mechanism,
        property: verdict.property.name(),
        verdict: if verdict.holds() { "holds" } else { "refuted" },
        cases: verdict.cases,
        violations: verdict.violations,
        worst_gain: verdict.worst.as_ref().map(|worst| decimal(&worst.gain)),
        counterexample: row.found.as_ref().filter(|_| is_written).map(|_| row.file()),
        claimed: row.is_claimed,
        refused: verdict.refused,
    }
}

fn costs(economics: &Economics) -> Costs<'_> {
    let distribution = |spread: &Spread| {
        let Spread { rounds, mean, median, p95, worst } = *spread;
        Distribution { rounds, mean, median, p95, worst }
    };
    Costs {
        mechanism: &economics.mechanism,
        social_cost_per_optimum: economics.social_cost.as_ref().map(distribution),
        payments_per_optimum: economics.payments.as_ref().map(distribution),
        payments_per_vcg_payments: economics.frugality.as_ref().map(distribution),
        essential_share_of_winners: economics.essential.as_ref().map(distribution),
        information_per_best: economics.information.as_ref().map(distribution),
        proportional_share_per_best: economics.proportional.as_ref().map(distribution),
    }
}
