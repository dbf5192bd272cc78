//! The report on disk: page, figures, data, claims, rounds and a manifest.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use truthfed::auction::RoundDocument;
use truthfed::protocol::Ending;
use truthfed_report::chart::Figure;
use truthfed_report::export::figure_files;
use truthfed_report::page::{Item, Page, Section, Verdict, VerdictKind};
use truthfed_sim::config::default_toml;
use truthfed_sim::manipulation::SETTING;
use truthfed_sim::output::{Kind, OutputFolder};
use truthfed_sim::simulation::Run;

use super::Reproduction;
use super::macro_level::SWEEP;
use super::micro_level::COUNTEREXAMPLE;
use super::single_rounds::FIXED_GRID;
use crate::report::json;

/// What [`write`] leaves in its folder.
pub(super) const REPRODUCTION: Kind = Kind {
    schema: "truthfed.reproduction/1",
    command: "truthfed reproduce",
    files: &["index.html", "claims.json", "config.toml", "misreport.toml", "across-rounds.toml"],
    inner: &[
        ("figures", |name| [".svg", ".pdf", ".png", ".csv"].iter().any(|ending| name.ends_with(ending))),
        ("rounds", |name| name.contains("-seed-") && name.ends_with(".jsonl")),
        ("counterexamples", |name| name.ends_with(".json")),
    ],
};

/// The page: claims on top, then the sections, settings at the end.
fn page(reproduction: &Reproduction) -> Page {
    let Reproduction { sections, claims, .. } = reproduction;
    let lead = format!(
        "A reproduction of Incentivized Truthful Communication for Federated Bandits (Wei, Li, Ren, Xu and Wang, ICLR \
         2024). {}",
        verdicts(claims)
    );
    let text = "Each row states a claim in our words, the measurement, and a command that repeats it. Run the commands \
                in the folder of this page: it holds the files they read.";
    let claims = Section::new("claims", "Claims", [text], [Item::Verdicts(claims.clone())]);
    let sections = std::iter::once(claims).chain(sections.iter().cloned()).collect();
    Page { title: "Truth-FedBan, reproduced".to_owned(), lead, sections, footer: footer(reproduction) }
}

pub(super) fn verdicts(claims: &[Verdict]) -> String {
    let count = |kind: VerdictKind| claims.iter().filter(|claim| claim.verdict == kind).count();
    let [held, failed, refuted] =
        [VerdictKind::Reproduced, VerdictKind::NotReproduced, VerdictKind::Refuted].map(count);
    let all = claims.len();
    format!("{all} claims: {held} reproduced, {failed} not reproduced, {refuted} refuted by a counterexample.")
}

fn footer(reproduction: &Reproduction) -> String {
    let look = if reproduction.quick { " Run with --quick: fewer steps and rounds than the paper." } else { "" };
    format!(
        "truthfed {}. Seeds 1 to {}.{look} All figures are mean and standard deviation over the seeds. inc-feducb is \
         reconstructed from its outline. `config.toml` beside this page has the configuration, `rounds/` the rounds of \
         the comparison.",
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
    text("claims.json", &claims_json(&reproduction.claims))?;
    text("config.toml", &default_toml())?;
    text("misreport.toml", SWEEP)?;
    text("across-rounds.toml", SETTING)?;
    text("counterexamples/printed-grid.json", COUNTEREXAMPLE)?;
    text("counterexamples/printed-grid-lie.json", &COUNTEREXAMPLE.replace("\"ask\": 5.8", "\"ask\": 6.4"))?;
    text("counterexamples/fixed-grid.json", FIXED_GRID)?;
    for (mechanism, runs) in &reproduction.runs {
        for run in runs {
            text(&format!("rounds/{mechanism}-seed-{}.jsonl", run.seed), &rounds_of(run))?;
        }
    }
    for figure in figures(&page) {
        for (name, bytes) in figure_files(figure)? {
            folder.write(&format!("figures/{name}"), |out| out.write_all(&bytes))?;
        }
    }
    let Reproduction { seeds, quick, .. } = *reproduction;
    folder.finish(Details { config: default_toml(), seeds, quick })?;
    Ok(index)
}

/// What the manifest says beside the files.
#[derive(Serialize)]
struct Details {
    config: String,
    seeds: u64,
    quick: bool,
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

pub(super) fn claims_json(claims: &[Verdict]) -> String {
    json(&BTreeMap::from([("claims", claims)]))
}
