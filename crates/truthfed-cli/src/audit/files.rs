//! The folder of an audit: `verdicts.json` and a counterexample for each property that was refuted.
//!
//! A file appears only when all of it is there. A folder with anything else in it is refused; counterexamples of an
//! earlier audit are removed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use truthfed::auction::catalog;
use truthfed::audit::Property;

use super::Audited;
use crate::source;

const VERDICTS: &str = "verdicts.json";

/// A folder that is empty, or of an earlier audit.
pub(super) struct Folder {
    path: PathBuf,
    before: Vec<String>,
}

impl Folder {
    pub(super) fn open(path: &Path) -> anyhow::Result<Folder> {
        let shown = path.display();
        fs::create_dir_all(path).with_context(|| format!("cannot make the folder {shown}"))?;
        let mut before = Vec::new();
        for entry in fs::read_dir(path).with_context(|| format!("cannot read the folder {shown}"))? {
            before.push(entry?.file_name().to_string_lossy().into_owned());
        }
        before.sort();
        let is_audit = before.iter().any(|name| name == VERDICTS);
        if let Some(name) = before.iter().find(|name| !(is_audit && is_ours(name))) {
            anyhow::bail!(
                "{shown} holds {name}, which `truthfed audit` did not write: choose another folder, or empty it"
            );
        }
        Ok(Folder { path: path.to_owned(), before })
    }

    /// Writes all there is, and returns what to say about it.
    pub(super) fn write(&self, audited: &Audited, verdicts: &str) -> anyhow::Result<String> {
        let mut written = Vec::new();
        for row in &audited.rows {
            if let Some((counterexample, _)) = &row.found {
                self.write_file(&row.file(), &counterexample.to_string())?;
                written.push(row.file());
            }
        }
        self.write_file(VERDICTS, verdicts)?;
        let stale = self.before.iter().filter(|name| *name != VERDICTS && !written.contains(name));
        for name in stale {
            let path = self.path.join(name);
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(format!("\nWrote {} files to {}.\n", written.len() + 1, self.path.display()))
    }

    fn write_file(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.path.join(name);
        let written = source::write_whole(&path, |out| out.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", path.display()))
    }
}

fn is_ours(name: &str) -> bool {
    let is_counterexample = |mechanism: &str| {
        let rest = name.strip_prefix(mechanism).and_then(|rest| rest.strip_prefix('-'));
        rest.and_then(|rest| rest.strip_suffix(".json")).is_some_and(|property| property.parse::<Property>().is_ok())
    };
    // What a process that was killed leaves is ours too.
    name == VERDICTS || name.starts_with(".truthfed-") || catalog::names().into_iter().any(is_counterexample)
}
