//! What experiments leave on disk.
//!
//! An [`OutputFolder`] takes whole files and lists them, each with its SHA-256, in `manifest.json`; nothing in it
//! depends on the time or on the number of threads. [`write_simulation`] fills one with the runs of a configuration:
//!
//! - `config.toml`: the configuration as run,
//! - `curves.csv`, `clients.csv`: the totals of each seed over time, and of each client,
//! - `rounds/seed-N.jsonl`: every settled round as a line that `truthfed auction -` reads,
//! - `rounds/seed-N.csv`: every round that ended, and how.

mod digest;
mod folder;
mod kind;
mod tables;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::config::{Arms, Config, RawConfig};
use crate::simulation::Run;

pub(crate) use digest::{hash_file, hex_digest};
pub use folder::{OutputError, OutputFolder, Writer};
pub use kind::{Inner, Kind, SIMULATION, SWEEP};
pub(crate) use tables::{csv_field, figure_names, figure_values};

/// Writes the runs of a configuration, and the manifest. Fails when a file cannot be written. The folder is marked as
/// unfinished then, and can be written to again.
pub fn write_simulation(folder: OutputFolder, config: &Config, runs: &[Run]) -> Result<usize, OutputError> {
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
    for run in runs {
        folder.write(&format!("rounds/seed-{}.jsonl", run.seed), |out| tables::round_documents(out, run))?;
        folder.write(&format!("rounds/seed-{}.csv", run.seed), |out| tables::rounds(out, run))?;
    }
    folder.finish(Details { config: config.raw(), seeds: runs.len(), inputs })
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
