//! The tables of folders that `simulate` and `sweep` wrote, and the one among them that has the wanted columns.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, ensure};
use serde::Deserialize;
use truthfed_sim::output::{Kind, SIMULATION, SWEEP};

use super::Wanted;
use crate::source;

/// Largest table, in bytes, unpacked.
const MAX_TABLE: u64 = 4 << 30;

/// A table of a folder, as text.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) path: PathBuf,
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

/// A folder that `simulate` or `sweep` wrote, with its tables in the order in which they are searched.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    pub(crate) tables: Vec<Arc<Table>>,
}

/// The tables to draw, one of each folder, and the columns that tell series apart.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// What to call each folder, empty if there is one; its table.
    pub(super) tables: Vec<(String, Arc<Table>)>,
    pub(super) by: Vec<String>,
}

impl Table {
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    fn has_all<'n>(&self, mut names: impl Iterator<Item = &'n String>) -> bool {
        names.all(|name| self.columns.contains(name))
    }

    pub(crate) fn file(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// The keys of a grid, which stand before the seed; tables of a run begin with it.
    pub(crate) fn keys(&self) -> &[String] {
        let seed = self.columns.iter().position(|column| column == "seed");
        &self.columns[..seed.unwrap_or(self.columns.len())]
    }
}

#[derive(Deserialize)]
struct Manifest {
    schema: String,
    complete: bool,
}

/// The first table of each folder that has all columns, or only the one of this name. Series differ by folder and by `by`; those
/// of a sweep also by every key of its grid that is not on the axis.
pub(crate) fn choose(folders: &[Folder], wanted: &Wanted, file: Option<&str>) -> anyhow::Result<Chosen> {
    let x = wanted.x.to_owned();
    let columns: Vec<&String> = wanted.ys.iter().chain([&x]).chain(wanted.by).collect();
    let mut chosen = Chosen { tables: Vec::new(), by: wanted.by.to_vec() };
    for folder in folders {
        let name = if folders.len() > 1 { folder.path.display().to_string() } else { String::new() };
        let table = folder.table(&columns, file)?;
        for key in table.keys().iter().filter(|key| **key != x) {
            if !chosen.by.contains(key) {
                chosen.by.push(key.clone());
            }
        }
        chosen.tables.push((name, table.clone()));
    }
    Ok(chosen)
}

impl Folder {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Folder> {
        let kind = kind_of(path, &[&SIMULATION, &SWEEP])?;
        // The summary of a sweep holds means, which would be averaged again.
        let is_table = |name: &&&str| name.trim_end_matches(".gz").ends_with(".csv") && **name != "summary.csv";
        let tables = kind.files.iter().filter(is_table).map(|name| Ok(Arc::new(read(path.join(name))?)));
        Ok(Folder { path: path.to_owned(), tables: tables.collect::<anyhow::Result<_>>()? })
    }

    fn table(&self, wanted: &[&String], file: Option<&str>) -> anyhow::Result<&Arc<Table>> {
        let tables = || self.tables.iter().filter(|table| file.is_none_or(|file| table.file() == file));
        let lists = || {
            let list = |table: &Arc<Table>| format!("{} has {}", table.file(), table.columns.join(", "));
            tables().map(list).collect::<Vec<_>>().join("; ")
        };
        let unknown = wanted.iter().find(|name| !tables().any(|table| table.columns.contains(name)));
        let folder = self.path.display();
        if let Some(unknown) = unknown {
            return Err(anyhow!("{folder} has no column `{unknown}`: {}", lists()));
        }
        tables().find(|table| table.has_all(wanted.iter().copied())).ok_or_else(|| {
            let names: Vec<String> = wanted.iter().map(|name| format!("`{name}`")).collect();
            anyhow!("no table of {folder} has all of {}: {}", names.join(", "), lists())
        })
    }
}

/// The kind of a folder, one of these. Fails when it is another or not complete.
pub(crate) fn kind_of(folder: &Path, among: &[&'static Kind]) -> anyhow::Result<&'static Kind> {
    let shown = folder.display();
    let commands: Vec<String> = among.iter().map(|kind| format!("`{}`", kind.command)).collect();
    let (last, first) = commands.split_last().expect("there is a kind");
    let expected = format!("{shown} is not a folder of {} or {last}", first.join(", "));
    let text = source::read(&folder.join("manifest.json"), source::MAX_CONFIG).with_context(|| expected.clone())?;
    let manifest: Manifest = serde_json::from_str(&text).with_context(|| expected.clone())?;
    let kind = among.iter().find(|kind| kind.schema == manifest.schema);
    let kind = kind.ok_or_else(|| anyhow!("{expected}: its manifest is of schema {}", manifest.schema))?;
    ensure!(manifest.complete, "{shown} is not complete: run `{}` again", kind.command);
    Ok(kind)
}

fn read(path: PathBuf) -> anyhow::Result<Table> {
    let text = source::read(&path, MAX_TABLE)?;
    let mut records = records(&text);
    ensure!(!records.is_empty(), "{} is empty", path.display());
    let columns = records.remove(0);
    for (index, row) in records.iter().enumerate() {
        let (got, expected, line) = (row.len(), columns.len(), index + 2);
        ensure!(got == expected, "{}, record {line}: {got} fields, expected {expected}", path.display());
    }
    Ok(Table { path, columns, rows: records })
}

/// The records of a CSV text (RFC 4180): fields may stand in quotes, with quotes doubled.
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let (mut record, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => field.extend(rest.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => record.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            c => field.push(c),
        }
    }
    if !field.is_empty() || !record.is_empty() {
        record.push(field);
        records.push(record);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split_at_commas_outside_of_quotes() {
        let expected = [vec!["a", "b c", ""], vec!["1,5", "say \"x\"\nagain", "2"]];
        assert_eq!(records("a,b c,\r\n\"1,5\",\"say \"\"x\"\"\nagain\",2\n"), expected);
        assert_eq!(records("a,b"), [vec!["a", "b"]]);
        assert!(records("").is_empty());
    }
}
