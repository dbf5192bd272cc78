//! The report on disk: page, figures, data, claims, rounds and a manifest.

use std::path::PathBuf;

use serde::Serialize;
use truthfed::auction::RoundDocument;
use truthfed::protocol::Ending;

use super::Reproduction;
use super::lab::Options;
use super::macro_level::SWEEP;
use super::micro_level::COUNTEREXAMPLE;
use super::single_rounds::FIXED_GRID;
use crate::config::DEFAULT_TOML;
use crate::manipulation::SETTING;
use crate::output::{OutputError, OutputFolder};
use crate::report::chart::Figure;
use crate::report::export::{ExportError, figure_files};
use crate::report::page::{Item, Page, Section, Verdict, VerdictKind};
use crate::simulation::Run;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// User: the folder or a file cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Ours: a figure could not be drawn.
    #[error(transparent)]
    Figure(#[from] ExportError),
}

/// The page: claims on top, then the sections, settings at the end.
pub(super) fn page(options: Options, sections: Vec<Section>, claims: &[Verdict]) -> Page {
    let count = |kind: VerdictKind| claims.iter().filter(|claim| claim.verdict == kind).count();
    let lead = format!(
        "A reproduction of Incentivized Truthful Communication for Federated Bandits (Wei, Li, Ren, Xu and Wang, ICLR \
         2024). {} claims were tried: {} reproduced, {} not reproduced, {} refuted by a counterexample.",
        claims.len(),
        count(VerdictKind::Reproduced),
        count(VerdictKind::NotReproduced),
        count(VerdictKind::Refuted),
    );
    let claims = Section {
        id: "claims".to_owned(),
        title: "Claims".to_owned(),
        text: vec![
            "Each claim in our words, what was measured, and a command that shows it; files of the commands lie beside \
             this page."
                .to_owned(),
        ],
        items: vec![Item::Verdicts(claims.to_vec())],
    };
    let mut all = vec![claims];
    all.extend(sections);
    Page { title: "Truth-FedBan, reproduced".to_owned(), lead, sections: all, footer: footer(options) }
}

fn footer(options: Options) -> String {
    let look = if options.quick { " A first look: fewer steps and rounds than the paper." } else { "" };
    format!(
        "truthfed {}. Seeds 1 to {}.{look} Mean and standard deviation over the seeds throughout. inc-feducb is \
         reconstructed from its outline. The configuration stands in `config.toml` beside this page, the rounds of the \
         comparison in `rounds/`.",
        env!("CARGO_PKG_VERSION"),
        options.seeds
    )
}

/// Writes everything into a folder of kind [`REPRODUCTION`](crate::output::REPRODUCTION), and returns the path of the
/// page.
///
/// # Errors
/// When a file cannot be written. The folder is marked as unfinished then, and can be written to again.
pub fn write(reproduction: &Reproduction, folder: OutputFolder) -> Result<PathBuf, WriteError> {
    let page = folder.path().join("index.html");
    let text = |name: &str, text: &str| folder.write(name, |out| out.write_all(text.as_bytes()));
    folder.begin()?;
    text("index.html", &reproduction.page.to_html())?;
    text("claims.json", &claims_json(&reproduction.claims))?;
    text("config.toml", DEFAULT_TOML)?;
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
    for figure in figures(&reproduction.page) {
        for (name, bytes) in figure_files(figure)? {
            folder.write(&format!("figures/{name}"), |out| out.write_all(&bytes))?;
        }
    }
    let Options { seeds, quick } = reproduction.options;
    folder.finish(Details { config: DEFAULT_TOML, seeds, quick })?;
    Ok(page)
}

/// What the manifest says beside the files.
#[derive(Serialize)]
struct Details {
    config: &'static str,
    seeds: u64,
    quick: bool,
}

/// All figures of a page.
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

#[derive(Serialize)]
struct Claims<'a> {
    claims: Vec<ClaimJson<'a>>,
}

#[derive(Serialize)]
struct ClaimJson<'a> {
    id: &'a str,
    claim: &'a str,
    measured: &'a str,
    verdict: &'static str,
    command: &'a str,
}

/// The claims as a machine reads them.
pub(super) fn claims_json(claims: &[Verdict]) -> String {
    let claims = Claims { claims: claims.iter().map(claim_json).collect() };
    serde_json::to_string_pretty(&claims).expect("our own structs are JSON") + "\n"
}

fn claim_json(claim: &Verdict) -> ClaimJson<'_> {
    let verdict = match claim.verdict {
        VerdictKind::Reproduced => "reproduced",
        VerdictKind::NotReproduced => "not-reproduced",
        VerdictKind::Refuted => "refuted",
    };
    let Verdict { id, claim, measured, command, .. } = claim;
    ClaimJson { id, claim, measured, verdict, command }
}
