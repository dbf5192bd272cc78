//! `truthfed-proof soak`: coordinators, members, disks and networks, simulated under faults.

use std::sync::Mutex;
use std::time::Instant;

use serde::Serialize;
use truthfed_cli::progress::Progress;
use truthfed_cli::report::{Report, json, table};
use truthfed_node::digest::{Digest, Hex, Nonce};
use truthfed_proof::chaos::{Report as Found, Trace, Violation, many, run as run_seed};

use crate::args::SoakArgs;

/// How long without a word about it.
const SECONDS: u64 = 60;

pub(crate) fn run(args: &SoakArgs) -> Report {
    match args.seed {
        Some(seed) => one(seed, args),
        None => fresh(args),
    }
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Object<'a> {
    schema: &'static str,
    first_seed: u64,
    rounds: u64,
    #[serde(flatten)]
    found: &'a Found,
    /// Of one seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<Digest>,
    violation: Option<&'a Violation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<String>,
}

fn one(seed: u64, args: &SoakArgs) -> Report {
    let mut trace = if args.trace { Trace::whole() } else { Trace::default() };
    let (found, violation) = match run_seed(seed, &mut trace) {
        Ok(found) => (found, None),
        Err(violation) => (Found { seeds: 1, steps: violation.step, ..Found::default() }, Some(violation)),
    };
    let hash = trace.hash();
    let mut report = report(seed, &found, violation.as_deref(), Some(hash), args.json);
    if args.trace {
        let lines: String = trace.lines().map(|line| format!("{line}\n")).collect();
        report.text.insert_str(0, &lines);
    }
    report
}

/// Seeds that nobody has tried, until the time is over or there were rounds enough.
fn fresh(args: &SoakArgs) -> Report {
    let Hex([a, b, c, d, ..]) = Nonce::random();
    let first = u64::from(u32::from_be_bytes([a, b, c, d])) << 16;
    let seconds = args.seconds.or(args.rounds.is_none().then_some(SECONDS));
    let (what, total) = match (seconds, args.rounds) {
        (Some(seconds), _) => ("seconds", seconds),
        (None, rounds) => ("rounds", rounds.unwrap_or(1)),
    };
    let progress = Progress::new(what, total);
    progress.note(&format!("seeds from {first} on"));
    let (started, told) = (Instant::now(), Mutex::new((0, 0)));
    let tell = |found: &Found| {
        let mut told = told.lock().expect("counting does not panic");
        let (rounds, shown) = &mut *told;
        *rounds += found.rounds();
        let passed = started.elapsed().as_secs();
        let done = if what == "seconds" { passed } else { *rounds }.min(total);
        (*shown..done).for_each(|_| progress.step());
        *shown = done;
        seconds.is_none_or(|seconds| passed < seconds) && args.rounds.is_none_or(|enough| *rounds < enough)
    };
    let (found, violation) = many(first.., rayon::current_num_threads(), tell);
    progress.finish();
    report(first, &found, violation.as_deref(), None, args.json)
}

fn report(
    first_seed: u64,
    found: &Found,
    violation: Option<&Violation>,
    trace: Option<Digest>,
    is_json: bool,
) -> Report {
    let replay = violation.map(|violation| format!("truthfed-proof soak --seed {} --trace", violation.seed));
    let text = match is_json {
        true => {
            let (schema, rounds) = ("truthfed.soak/1", found.rounds());
            json(&Object { schema, first_seed, rounds, found, trace, violation, replay })
        }
        false => words(found, violation, trace, replay),
    };
    if violation.is_some() { Report::refuted(text) } else { Report::done(text) }
}

fn words(found: &Found, violation: Option<&Violation>, trace: Option<Digest>, replay: Option<String>) -> String {
    let Found { seeds, settled, aborted, steps, virtual_ms, faults } = found;
    let rows = faults.iter().map(|(kind, count)| vec![(*kind).to_owned(), count.to_string()]).collect();
    let mut text = table(&["fault", "injected"], &[1], rows);
    let (rounds, minutes) = (found.rounds(), virtual_ms / 60_000);
    text.push_str(&format!(
        "\n{seeds} seeds, {rounds} rounds ({settled} settled, {aborted} aborted), {steps} steps, {minutes} minutes of virtual time\n"
    ));
    if let Some(hash) = trace {
        text.push_str(&format!("trace {hash}\n"));
    }
    match (violation, replay) {
        (Some(violation), Some(replay)) => text.push_str(&format!("\n{violation}\nreplay: {replay}\n")),
        _ => text.push_str("0 violations\n"),
    }
    text
}
