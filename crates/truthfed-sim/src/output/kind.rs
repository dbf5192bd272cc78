//! What each kind of experiment leaves behind, and how its folder is recognised.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::OutputError;
use super::folder::{MANIFEST, UNFINISHED, list};

#[derive(Debug)]
pub struct Kind {
    pub schema: &'static str,
    /// The command that writes it.
    pub command: &'static str,
    /// Every file at the top: a folder with any other is refused.
    pub files: &'static [&'static str],
    pub inner: &'static [Inner],
}

/// A folder inside, and whether a name in it is ours.
pub type Inner = (&'static str, fn(&str) -> bool);

pub const SIMULATION: Kind = Kind {
    schema: "truthfed.simulation/2",
    command: "truthfed simulate",
    files: &["config.toml", "curves.csv", "clients.csv", "rounds.csv", "offers.csv.gz"],
    inner: &[("rounds", |name| name.starts_with("seed-") && name.ends_with(".jsonl.gz"))],
};

pub const SWEEP: Kind = Kind {
    schema: "truthfed.sweep/1",
    command: "truthfed sweep",
    files: &["sweep.toml", "results.csv", "summary.csv"],
    inner: &[("cells", |name| name.ends_with(".json") && name.starts_with(|first: char| first.is_ascii_digit()))],
};

impl Kind {
    pub(super) fn inner(&self) -> impl Iterator<Item = &'static str> {
        self.inner.iter().map(|(name, _)| *name)
    }

    pub(super) fn head(&self, complete: bool) -> Head<'static> {
        Head { schema: self.schema, version: env!("CARGO_PKG_VERSION"), complete }
    }

    /// Everything in the folder must be of this kind, and marked by a manifest.
    pub(super) fn refuse_foreign(&self, path: &Path) -> Result<(), OutputError> {
        let foreign = |name: &str| OutputError::Foreign {
            folder: path.display().to_string(),
            name: name.to_owned(),
            command: self.command,
        };
        let names: Vec<String> = list(path)?.into_iter().filter(|name| !name.starts_with(UNFINISHED)).collect();
        let is_ours =
            |name: &str| name == MANIFEST || self.inner().any(|inner| name == inner) || self.files.contains(&name);
        if let Some(name) = names.iter().find(|name| !is_ours(name)) {
            return Err(foreign(name));
        }
        for (inner, owns) in self.inner {
            if let Some(name) = list(&path.join(inner))?.iter().find(|name| !owns(name)) {
                return Err(foreign(&format!("{inner}/{name}")));
            }
        }
        match names.first() {
            Some(first) if !self.is_marked(path) => Err(foreign(first)),
            _ => Ok(()),
        }
    }

    fn is_marked(&self, path: &Path) -> bool {
        let text = fs::read_to_string(path.join(MANIFEST)).unwrap_or_default();
        serde_json::from_str::<Head<'_>>(&text).is_ok_and(|head| head.schema == self.schema)
    }
}

/// The part of a manifest that every kind has.
#[derive(Serialize, Deserialize)]
pub(super) struct Head<'a> {
    schema: &'a str,
    version: &'a str,
    complete: bool,
}

pub(super) fn manifest(content: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(content).expect("our own structs are JSON");
    text.push(b'\n');
    text
}
