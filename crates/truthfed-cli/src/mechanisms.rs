//! `truthfed mechanisms`: what there is, and what each promises.

use serde::Serialize;
use truthfed::auction::catalog::{self, Claim, Entry};

use crate::args::MechanismsArgs;
use crate::report::{Report, json, table};

pub(crate) fn run(args: &MechanismsArgs) -> Report {
    let entries = catalog::all();
    Report::done(if args.json { json(&list(&entries)) } else { text(&entries) })
}

fn text(entries: &[Entry]) -> String {
    let row = |entry: &Entry| {
        vec![
            entry.mechanism.name().to_owned(),
            entry.summary.to_owned(),
            entry.target.to_owned(),
            word(entry.individually_rational).to_owned(),
            word(entry.truthful).to_owned(),
            word(entry.collusion_proof).to_owned(),
            word(entry.optimal).to_owned(),
        ]
    };
    let header = ["name", "what it is", "target", "individually rational", "truthful", "collusion-proof", "optimal"];
    let table = table(&header, &[], entries.iter().map(row).collect());
    format!(
        "{table}\
         c is the coverage of the round. Individually rational: no winner is paid less than it asks. Truthful: the \
         true cost\nis every client's best ask. Collusion-proof: no group can lie so that each of its members gains.\nOptimal: no \
         cheaper set meets c. `truthfed audit` tries to refute all of these, and that every target is met.\n"
    )
}

fn word(claim: Claim) -> &'static str {
    match claim {
        Claim::Yes => "yes",
        Claim::Partly(limit) => limit,
        Claim::No => "no",
        Claim::NotApplicable => "-",
    }
}

#[derive(Serialize)]
struct List {
    mechanisms: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    name: &'static str,
    summary: &'static str,
    target: &'static str,
    individually_rational: &'static str,
    truthful: &'static str,
    collusion_proof: &'static str,
    optimal: &'static str,
    default: bool,
}

fn list(entries: &[Entry]) -> List {
    let item = |entry: &Entry| Item {
        name: entry.mechanism.name(),
        summary: entry.summary,
        target: entry.target,
        individually_rational: word(entry.individually_rational),
        truthful: word(entry.truthful),
        collusion_proof: word(entry.collusion_proof),
        optimal: word(entry.optimal),
        default: entry.mechanism.name() == catalog::DEFAULT,
    };
    List { mechanisms: entries.iter().map(item).collect() }
}
