//! The report on disk: page, figures, data, claims, rounds and a manifest.

use std::path::PathBuf;

use serde::Serialize;
use truthfed::auction::RoundDocument;
use truthfed::protocol::Ending;
use truthfed_report::chart::Figure;
use truthfed_report::export::figure_files;
use truthfed_report::page::{Item, Page, Section};
use truthfed_sim::config::default_toml;
use truthfed_sim::manipulation::SETTING;
use truthfed_sim::output::{Kind, OutputFolder};
use truthfed_sim::simulation::Run;

use super::Reproduction;
use super::claim::{Claim, Own, matrix};
use super::constants;
use super::decision::RULE;
use super::growth::MONOPOLY;
use super::knapsack;
use super::macro_level::SWEEP;
use super::numbering;
use super::optimum::{BLOCKED, OVERSHOOT};
use super::readings::{READINGS, Reading};
use super::single_rounds::{ALONE, FIXED_GRID, PAID_LESS, PRINTED_GRID};
use super::summary;
use crate::report::json;

/// Every claim with the numbers behind its verdict.
pub(crate) const CLAIMS: &str = "claims.json";
/// Every figure as data, in the order of the page.
pub(crate) const FIGURES: &str = "figures.json";

/// What [`write`] leaves in its folder.
pub(crate) const REPRODUCTION: Kind = Kind {
    schema: "truthfed.reproduction/1",
    command: "truthfed reproduce",
    files: &["index.html", CLAIMS, FIGURES, "config.toml", "misreport.toml", "across-rounds.toml"],
    inner: &[
        ("figures", |name| [".svg", ".pdf", ".png", ".csv"].iter().any(|ending| name.ends_with(ending))),
        ("rounds", |name| name.contains("-seed-") && name.ends_with(".jsonl")),
        ("counterexamples", |name| name.ends_with(".json")),
    ],
};

/// The page: claims on top, then the sections, settings at the end.
fn page(reproduction: &Reproduction) -> Page {
    let Reproduction { sections, claims, ours, .. } = reproduction;
    let lead =
        "A reproduction of Incentivized Truthful Communication for Federated Bandits (Wei, Li, Ren, Xu and Wang, ICLR \
                2024): what was found, under four readings of the paper."
            .to_owned();
    let found = Section::new("found", "What was found", [""; 0], [Item::List(summary::lines(reproduction))]);
    let text = format!(
        "Every checkable statement of the paper in our words, with its number there, and a mark for each of four readings. \
         Behind each line are the measurements and a command that repeats them, or one case of them; run it in the folder of \
         this page, which holds the files it reads. Differences between runs are taken seed by seed, ± is half of a 95 % \
         interval. Reproduced (+): it holds in the measurement. Not reproduced (-): it does not show, and another setting might show \
         it. Refuted (x): a counterexample, it is false as stated. Undecided (?): the seeds do not tell. {RULE}"
    );
    let rounds = "Random rounds are small and odd on purpose where a statement is about any round: a few clients in a few dimensions, \
                  with equal clients, equal asks, asks of 0, empty data and low reserves among them. An audit of the same rounds tries \
                  more asks, and so counts more cases.";
    let paper = Section::new(
        "claims",
        "The paper, statement by statement",
        [text.as_str(), rounds],
        [Item::Matrix(matrix(claims)), Item::Table(numbering::table(claims))],
    );
    let text = "Claims about the mechanisms and rules of this program, which the paper does not make.";
    let beyond =
        Section::new("ours", "Claims beyond the paper", [text], [Item::Verdicts(ours.iter().map(Own::told).collect())]);
    let sections = [found, paper].into_iter().chain(sections.iter().cloned()).chain([beyond]).collect();
    Page { title: "Truth-FedBan, reproduced".to_owned(), lead, sections, footer: footer(reproduction) }
}

fn footer(reproduction: &Reproduction) -> String {
    let look = match (reproduction.quick, reproduction.thorough) {
        (true, _) => " Run with --quick: fewer steps and rounds than the paper.",
        (_, true) => " Run with --thorough: longer horizons and searches.",
        _ => "",
    };
    format!(
        "truthfed {}. Seeds 1 to {}.{look} inc-feducb is \
         reconstructed from its outline. `config.toml` beside this page has the configuration, `rounds/` the rounds of \
         the comparison, and `figures/` for every figure the values by seed behind its means.",
        env!("CARGO_PKG_VERSION"),
        reproduction.seeds
    )
}

/// Writes everything into a folder of kind [`REPRODUCTION`], and returns the path of
/// the page. If a file cannot be written, the folder stays marked as unfinished and can be written to again.
pub(super) fn write(reproduction: &Reproduction, folder: OutputFolder) -> anyhow::Result<PathBuf> {
    let page = page(reproduction);
    let index = folder.path().join("index.html");
    let text = |name: &str, text: &str| folder.write(name, |out| out.write_all(text.as_bytes()));
    folder.begin()?;
    text("index.html", &page.to_html())?;
    text(CLAIMS, &claims_json(reproduction))?;
    text(FIGURES, &json(&figures(&page).collect::<Vec<_>>()))?;
    text("config.toml", &default_toml())?;
    text("misreport.toml", SWEEP)?;
    text("across-rounds.toml", SETTING)?;
    text("counterexamples/printed-grid.json", PRINTED_GRID)?;
    text("counterexamples/printed-grid-lie.json", &PRINTED_GRID.replace("\"ask\": 5.8", "\"ask\": 6.4"))?;
    text("counterexamples/fixed-grid.json", FIXED_GRID)?;
    text("counterexamples/blocked.json", BLOCKED)?;
    text("counterexamples/overshoot.json", OVERSHOOT)?;
    text("counterexamples/monopoly.json", MONOPOLY)?;
    text("counterexamples/alone.json", ALONE)?;
    text("counterexamples/paid-less.json", PAID_LESS)?;
    for (name, document) in
        constants::files().chain([knapsack::file()]).chain(reproduction.counterexamples.iter().cloned())
    {
        text(&format!("counterexamples/{name}"), &document)?;
    }
    for (mechanism, runs) in &reproduction.methods.recorded {
        for run in runs {
            text(&format!("rounds/{mechanism}-seed-{}.jsonl", run.seed), &rounds_of(run))?;
        }
    }
    for figure in figures(&page) {
        for (name, bytes) in figure_files(figure)? {
            folder.write(&format!("figures/{name}"), |out| out.write_all(&bytes))?;
        }
    }
    let Reproduction { seeds, quick, thorough, .. } = *reproduction;
    folder.finish(Details { config: default_toml(), seeds, quick, thorough })?;
    Ok(index)
}

/// What the manifest says beside the files.
#[derive(Serialize)]
struct Details {
    config: String,
    seeds: u64,
    quick: bool,
    thorough: bool,
}

fn figures(page: &Page) -> impl Iterator<Item = &Figure> {
    page.sections.iter().flat_map(|section| &section.items).filter_map(|item| match item {
        Item::Figure(figure) => Some(figure),
        _ => None,
    })
}

/// Every settled round as one line that `truthfed auction -` reads.
fn rounds_of(run: &Run) -> String {
    let documents = run.rounds.iter().filter_map(|(_, record)| match &record.ending {
        Ending::Settled { spec, .. } => Some(format!("{}\n", RoundDocument::of(spec))),
        _ => None,
    });
    documents.collect()
}

/// What `claims.json` holds: statements of the paper with a cell for each reading, and our own claims.
#[derive(Serialize)]
struct Claims<'a> {
    readings: &'static [Reading],
    /// How intervals decide.
    rule: &'static str,
    paper: &'a [Claim],
    ours: &'a [Own],
}

pub(super) fn claims_json(reproduction: &Reproduction) -> String {
    json(&Claims { readings: &READINGS, rule: RULE, paper: &reproduction.claims, ours: &reproduction.ours })
}
