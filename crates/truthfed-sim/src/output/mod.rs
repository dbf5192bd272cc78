//! What experiments leave on disk.
//!
//! An [`OutputFolder`] takes whole files and lists them, each with its SHA-256, in `manifest.json`; nothing in it
//! depends on the time or on the number of threads. [`write_simulation`] fills one with the runs of a configuration:
//!
//! - `config.toml`: the configuration as run,
//! - `curves.csv`, `clients.csv`: the totals of each seed over time, and of each client,
//! - `rounds.csv`: every round that ended, and how,
//! - `offers.csv.gz`: every offer of every settled round: one row per seed, round and client,
//! - `rounds/seed-N.jsonl.gz`: every settled round as a line that `truthfed auction -` reads, if the caller wants them.
//!
//! The tables are tidy: a row is one observation, a column one variable, and all seeds stand in one file.

mod digest;
mod folder;
mod kind;
mod offers;
mod tables;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::config::{Arms, Config, RawConfig};
use crate::gzip::pack;
use crate::simulation::Run;

pub(crate) use digest::{hash_file, hex_digest};
pub use folder::{OutputError, OutputFolder, Writer};
pub use kind::{Inner, Kind, SIMULATION, SWEEP};
pub(crate) use tables::{csv_field, figure_names, figure_values};

/// Whether the rounds are written as documents too: they take far more room than all tables together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Documents {
    Written,
    LeftOut,
}

/// Writes the runs of a configuration, and the manifest. Fails when a file cannot be written. The folder is marked as
/// unfinished then, and can be written to again.
pub fn write_simulation(
    folder: OutputFolder,
    config: &Config,
    runs: &[Run],
    documents: Documents,
) -> Result<usize, OutputError> {
    #[derive(Serialize)]
    struct Details<'a> {
        config: &'a RawConfig,
        seeds: usize,
        inputs: BTreeMap<String, String>,
    }
    let inputs = hash_inputs(input_files(config))?;
    folder.begin()?;
    let text = toml::to_string(config.raw()).expect("a configuration is TOML");
    folder.write("config.toml", |out| out.write_all(text.as_bytes()))?;
    folder.write("curves.csv", |out| tables::curves(out, runs))?;
    folder.write("clients.csv", |out| tables::clients(out, runs))?;
    folder.write("rounds.csv", |out| tables::rounds(out, runs))?;
    folder.write("offers.csv.gz", |out| pack(out, |out| offers::offers(out, config, runs)))?;
    for run in runs.iter().filter(|_| documents == Documents::Written) {
        let name = format!("rounds/seed-{}.jsonl.gz", run.seed);
        folder.write(&name, |out| pack(out, |out| tables::round_documents(out, run)))?;
    }
    folder.finish(Details { config: config.raw(), seeds: runs.len(), inputs })
}

/// Tables of runs as text: `clients.csv`, `rounds.csv` and `curves.csv` of the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    pub clients: String,
    pub rounds: String,
    pub curves: String,
}

impl Tables {
    pub fn of(runs: &[Run]) -> Tables {
        let text = |fill: fn(&mut Writer<'_>, &[Run]) -> std::io::Result<()>| {
            let mut text = Vec::new();
            fill(&mut text, runs).expect("memory takes everything");
            String::from_utf8(text).expect("tables are text")
        };
        Tables { clients: text(tables::clients), rounds: text(tables::rounds), curves: text(tables::curves) }
    }
}

pub(crate) fn input_files(config: &Config) -> Vec<PathBuf> {
    match &config.arms {
        Arms::File(path) => vec![path.clone()],
        Arms::Law(_) => Vec::new(),
    }
}

/// The SHA-256 of some files, by path.
pub(crate) fn hash_inputs(paths: impl IntoIterator<Item = PathBuf>) -> Result<BTreeMap<String, String>, OutputError> {
    paths.into_iter().map(|path| Ok((path.display().to_string(), hash_file(&path)?))).collect()
}

#[cfg(test)]
mod tests;
