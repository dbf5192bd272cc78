//! `truthfed auction`: one round, one mechanism or all of them.

mod compare;
mod input;
mod json;
mod words;

use std::time::Instant;

use truthfed::auction::{CertificateError, Mechanism, Outcome, Refusal, Round, Violation, certify};

use crate::args::AuctionArgs;
use crate::report::Report;

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
    let mechanism = args.parameters.setting(&args.mechanism)?.mechanism();
    let mechanism = mechanism.as_ref();
    let timed = Timed::run(mechanism, &round)?;
    let certificate = if args.certify { Some(violations(&round, mechanism, &timed.outcome)?) } else { None };
    let text = match args.json {
        true => json::text(&timed, certificate.as_deref()),
        false => words::text(&round, &timed, certificate.as_deref()),
    };
    Ok(match certificate {
        Some(violations) if !violations.is_empty() => Report::refuted(text),
        _ => Report::done(text),
    })
}

/// Payments that are not critical values; empty when all are.
fn violations(round: &Round, mechanism: &dyn Mechanism, outcome: &Outcome) -> Result<Vec<Violation>, Refusal> {
    match certify(round, mechanism, outcome) {
        Ok(()) => Ok(Vec::new()),
        Err(CertificateError::NotCritical(violations)) => Ok(violations),
        Err(CertificateError::Refused(refusal)) => Err(refusal),
    }
}

/// An outcome, and how long it took.
struct Timed {
    outcome: Outcome,
    select_seconds: f64,
    price_seconds: f64,
}

impl Timed {
    /// Runs the selection alone, then the whole: pricing is the difference.
    fn run(mechanism: &dyn Mechanism, round: &Round) -> Result<Timed, Refusal> {
        let start = Instant::now();
        mechanism.select(round)?;
        let select_seconds = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let outcome = mechanism.run(round)?;
        let price_seconds = (start.elapsed().as_secs_f64() - select_seconds).max(0.0);
        Ok(Timed { outcome, select_seconds, price_seconds })
    }

    fn seconds(&self) -> f64 {
        self.select_seconds + self.price_seconds
    }
}
