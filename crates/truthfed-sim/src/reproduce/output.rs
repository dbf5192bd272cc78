//! The report on disk: page, figures, data, claims, rounds and a manifest.
//!
//! Everything is written into a folder of its own first, which takes the place of an older report in one step: a
//! report is there whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use truthfed::auction::RoundDocument;
use truthfed::protocol::Ending;

use super::Reproduction;
use super::lab::Options;
use super::macro_level::SWEEP;
use super::micro_level::COUNTEREXAMPLE;
use super::single_rounds::FIXED_GRID;
use crate::config::DEFAULT_TOML;
use crate::output::{OutputError, hash_file};
use crate::report::export::{ExportError, write_figure};
use crate::report::page::{Item, Page, Section, Verdict, VerdictKind};
use crate::simulation::Run;

const MANIFEST: &str = "manifest.json";
const SCHEMA: &str = "truthfed.reproduction/1";

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// User: the folder or a file cannot be written.
    #[error("cannot write {path}: {error}")]
    Io {
        /// The file.
        path: String,
        /// What happened.
        error: io::Error,
    },
    /// User: choose another folder.
    #[error("{0} is there already and is not a report of `truthfed reproduce`: choose another folder, or remove it")]
    Foreign(String),
    /// A figure could not be drawn or written.
    #[error(transparent)]
    Figure(#[from] ExportError),
    /// A file that was written cannot be read back.
    #[error(transparent)]
    Hash(#[from] OutputError),
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

/// Writes everything into a folder and returns the path of the page.
///
/// # Errors
/// When the folder holds something else, or a file cannot be written.
pub fn write(reproduction: &Reproduction, folder: &Path) -> Result<PathBuf, WriteError> {
    check_folder(folder)?;
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    at(parent, fs::create_dir_all(parent))?;
    let staging = at(parent, tempfile::Builder::new().prefix(".truthfed-").tempdir_in(parent))?;
    fill(reproduction, staging.path())?;
    if folder.exists() {
        at(folder, fs::remove_dir_all(folder))?;
    }
    at(folder, fs::rename(staging.keep(), folder))?;
    at(folder, readable(folder))?;
    Ok(folder.join("index.html"))
}

/// A temporary folder is its owner's alone; a report is for all.
fn readable(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    Ok(())
}

/// Whether a report may go there: only an empty folder or an older report is replaced.
///
/// # Errors
/// When something else is there.
pub fn check_folder(folder: &Path) -> Result<(), WriteError> {
    let Ok(mut entries) = fs::read_dir(folder) else {
        return match folder.exists() {
            true => Err(WriteError::Foreign(folder.display().to_string())),
            false => Ok(()),
        };
    };
    let ours = fs::read_to_string(folder.join(MANIFEST)).is_ok_and(|text| text.contains(SCHEMA));
    if ours || entries.next().is_none() { Ok(()) } else { Err(WriteError::Foreign(folder.display().to_string())) }
}

fn fill(reproduction: &Reproduction, folder: &Path) -> Result<(), WriteError> {
    let mut files = Files { folder, hashes: BTreeMap::new() };
    files.write("index.html", &reproduction.page.to_html())?;
    files.write("claims.json", &claims_json(&reproduction.claims))?;
    files.write("config.toml", DEFAULT_TOML)?;
    files.write("misreport.toml", SWEEP)?;
    files.write("counterexamples/printed-grid.json", COUNTEREXAMPLE)?;
    files.write("counterexamples/printed-grid-lie.json", &COUNTEREXAMPLE.replace("\"ask\": 5.8", "\"ask\": 6.4"))?;
    files.write("counterexamples/fixed-grid.json", FIXED_GRID)?;
    for (mechanism, runs) in &reproduction.runs {
        for run in runs {
            files.write(&format!("rounds/{mechanism}-seed-{}.jsonl", run.seed), &rounds_of(run))?;
        }
    }
    for figure in figures(&reproduction.page) {
        at(folder, fs::create_dir_all(folder.join("figures")))?;
        write_figure(&folder.join("figures"), figure)?;
        for kind in ["svg", "pdf", "png", "csv"] {
            files.note(&format!("figures/{}.{kind}", figure.id))?;
        }
    }
    let manifest = Manifest {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        seeds: reproduction.options.seeds,
        quick: reproduction.options.quick,
        config: DEFAULT_TOML,
        files: std::mem::take(&mut files.hashes),
    };
    files.write(MANIFEST, &json(&manifest))
}

/// All figures of a page.
pub(super) fn figures(page: &Page) -> impl Iterator<Item = &crate::report::chart::Figure> {
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

/// Files of a report, with their hashes.
struct Files<'f> {
    folder: &'f Path,
    hashes: BTreeMap<String, String>,
}

impl Files<'_> {
    fn write(&mut self, name: &str, text: &str) -> Result<(), WriteError> {
        let path = self.folder.join(name);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(self.folder))?;
            fs::File::create(&path)?.write_all(text.as_bytes())
        };
        at(&path, write())?;
        self.note(name)
    }

    fn note(&mut self, name: &str) -> Result<(), WriteError> {
        self.hashes.insert(name.to_owned(), hash_file(&self.folder.join(name))?);
        Ok(())
    }
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, WriteError> {
    result.map_err(|error| WriteError::Io { path: path.display().to_string(), error })
}

#[derive(Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    version: &'static str,
    seeds: u64,
    quick: bool,
    config: &'a str,
    files: BTreeMap<String, String>,
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
    json(&Claims { claims: claims.iter().map(claim_json).collect() })
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

fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("our own structs are JSON") + "\n"
}
