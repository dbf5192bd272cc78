//! One cell of a sweep, and its file.
//!
//! The file holds the whole configuration, the seed and the totals, under a hash of all three. It is taken over only
//! if it is, byte for byte, what this version would write with these totals.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Point, Sweep};
use crate::config::RawConfig;
use crate::output::{OutputError, hash_file, hex_digest, input_files};
use crate::totals::SeedTotals;

/// Digits of the hash in the name of a file.
const SHORT: usize = 12;

#[derive(Debug)]
pub(super) struct Cell<'s> {
    pub(super) point: &'s Point,
    pub(super) seed: u64,
    pub(super) index: usize,
    /// The hash of everything that decides the totals: version, configuration, files that it reads, seed.
    key: String,
}

/// Why a cell on disk is computed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Not a cell, or cut off.
    #[error("it cannot be read")]
    Unreadable,
    /// Changed after it was written.
    #[error("its content is not what its hash says")]
    Damaged,
    /// Of another configuration, or another version of truthfed.
    #[error("it belongs to another configuration")]
    OtherConfiguration,
    /// Of a mechanism, a cost or a world of the caller's own, whose code no hash knows.
    #[error("it was computed with parts of your own, which may have changed")]
    OwnParts,
}

#[derive(Serialize, Deserialize)]
struct Document {
    sha256: String,
    cell: Box<RawValue>,
}

#[derive(Serialize)]
struct Content<'a> {
    key: &'a str,
    version: &'static str,
    config: &'a RawConfig,
    totals: SeedTotals,
}

/// The part of the content that is not known beforehand.
#[derive(Deserialize)]
struct Found {
    totals: SeedTotals,
}

impl<'s> Cell<'s> {
    pub(super) fn new(point: &'s Point, seed: u64, index: usize, key: String) -> Cell<'s> {
        Cell { point, seed, index, key }
    }

    pub(super) fn into_key(self) -> String {
        self.key
    }

    pub(super) fn file_name(&self) -> String {
        format!("{:05}-{}.json", self.index, self.short_hash())
    }

    /// What tells it from cells of other configurations.
    pub(super) fn short_hash(&self) -> &str {
        &self.key[..SHORT]
    }

    pub(super) fn document(&self, totals: SeedTotals) -> String {
        let content =
            Content { key: &self.key, version: env!("CARGO_PKG_VERSION"), config: self.point.config.raw(), totals };
        let cell = serde_json::value::to_raw_value(&content).expect("our own structs are JSON");
        let document = Document { sha256: hex_digest(cell.get().as_bytes()), cell };
        serde_json::to_string(&document).expect("our own structs are JSON") + "\n"
    }

    /// The totals in the text of a file.
    pub(super) fn read(&self, text: &str) -> Result<SeedTotals, Unfit> {
        if self.point.config.has_own_parts() {
            return Err(Unfit::OwnParts);
        }
        let document: Document = serde_json::from_str(text).map_err(|_| Unfit::Unreadable)?;
        if hex_digest(document.cell.get().as_bytes()) != document.sha256 {
            return Err(Unfit::Damaged);
        }
        let found: Found = serde_json::from_str(document.cell.get()).map_err(|_| Unfit::Unreadable)?;
        match self.document(found.totals) == text && found.totals.seed == self.seed {
            true => Ok(found.totals),
            false => Err(Unfit::OtherConfiguration),
        }
    }
}

pub(super) fn short_hash_in(name: &str) -> Option<&str> {
    name.strip_suffix(".json")?.split_once('-').map(|(_, hash)| hash)
}

/// All cells of a sweep: point by point, each under all seeds.
pub(super) fn cells(sweep: &Sweep) -> Result<Vec<Cell<'_>>, OutputError> {
    let mut hashes = BTreeMap::new();
    let mut cells = Vec::with_capacity(sweep.cells());
    for point in sweep.points() {
        let inputs = inputs(point, &mut hashes)?;
        let known = (env!("CARGO_PKG_VERSION"), point.config.raw(), inputs);
        let known = serde_json::to_string(&known).expect("our own structs are JSON");
        for seed in 1..=sweep.seeds() {
            let key = hex_digest(format!("{known} {seed}").as_bytes());
            cells.push(Cell::new(point, seed, cells.len(), key));
        }
    }
    Ok(cells)
}

/// The hashes of the files of a point, each computed once.
fn inputs(point: &Point, hashes: &mut BTreeMap<PathBuf, String>) -> Result<Vec<String>, OutputError> {
    let hash = |path: PathBuf| match hashes.entry(path) {
        Entry::Occupied(known) => Ok(known.get().clone()),
        Entry::Vacant(new) => hash_file(new.key()).map(|hash| new.insert(hash).clone()),
    };
    input_files(&point.config).into_iter().map(hash).collect()
}
