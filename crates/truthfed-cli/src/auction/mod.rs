//! `truthfed auction`: one round, one mechanism or all of them.

mod compare;
mod input;
mod words;

use std::time::Instant;

use serde::Serialize;
use truthfed::auction::{CertificateError, Mechanism, Outcome, Refusal, Round, Violation, certify};

use crate::args::AuctionArgs;
use crate::purse;
use crate::report::{Report, json};

pub(crate) fn run(args: &AuctionArgs) -> anyhow::Result<Report> {
    if args.example {
        return Ok(Report::done(input::EXAMPLE.to_owned()));
    }
    let round = input::round(args)?;
    if let Some(file) = &args.write {
        return input::write(&round, file);
    }
    if args.compare {
        return Ok(compare::run(&round, &args.parameters.all_settings()?, args.json));
    }
    let setting = args.parameters.setting(&args.mechanism)?;
    if args.purse.is_some() {
        purse::check(&setting)?;
    }
    let mechanism = &*setting.mechanism();
    let timed = Timed::run(mechanism, &round)?;
    let violations = if args.certify { Some(violations(&round, mechanism, &timed.outcome)?) } else { None };
    let is_refuted = violations.as_ref().is_some_and(|violations| !violations.is_empty());
    let text = match args.json {
        true => json(&Certified { timed, certificate: violations.as_deref().map(Certificate::of) }),
        false => words::text(&round, &timed, violations.as_deref()),
    };
    Ok(if is_refuted { Report::refuted(text) } else { Report::done(text) })
}

#[derive(Serialize)]
struct Certified {
    #[serde(flatten)]
    timed: Timed,
    #[serde(flatten)]
    certificate: Option<Certificate>,
}

#[derive(Serialize)]
struct Certificate {
    certified: bool,
    violations: Vec<String>,
}

impl Certificate {
    fn of(violations: &[Violation]) -> Certificate {
        let certified = violations.is_empty();
        Certificate { certified, violations: violations.iter().map(ToString::to_string).collect() }
    }
}

/// Payments that are not critical values; empty when all are.
fn violations(round: &Round, mechanism: &dyn Mechanism, outcome: &Outcome) -> Result<Vec<Violation>, Refusal> {
    match certify(round, mechanism, outcome) {
        Ok(()) => Ok(Vec::new()),
        Err(CertificateError::NotCritical(violations)) => Ok(violations),
        Err(CertificateError::Refused(refusal)) => Err(refusal),
    }
}

#[derive(Serialize)]
struct Timed {
    #[serde(flatten)]
    outcome: Outcome,
    /// Choosing and pricing.
    seconds: f64,
}

impl Timed {
    fn run(mechanism: &dyn Mechanism, round: &Round) -> Result<Timed, Refusal> {
        let start = Instant::now();
        let outcome = mechanism.run(round)?;
        Ok(Timed { outcome, seconds: start.elapsed().as_secs_f64() })
    }
}
