//! The tables of folders that `simulate` and `sweep` wrote, and the one among them that has the wanted columns.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use serde::Deserialize;
use truthfed_sim::output::{SIMULATION, SWEEP};

use crate::source;

/// Largest table, in bytes, unpacked.
const MAX_TABLE: u64 = 4 << 30;

/// A table of a folder, as text.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) path: PathBuf,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// The tables to draw, one of each folder, and the columns that tell series apart.
#[derive(Debug)]
pub(super) struct Chosen {
    /// What to call each folder, empty if there is one; its table.
    pub(super) tables: Vec<(String, Table)>,
    pub(super) by: Vec<String>,
}

impl Table {
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }

    fn has_all<'n>(&self, mut names: impl Iterator<Item = &'n String>) -> bool {
        names.all(|name| self.columns.contains(name))
    }

    fn file(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Manifest {
    schema: String,
    complete: bool,
}

/// The first table of each folder that has all columns. Series differ by folder and by `by`; those of a sweep also by every key
/// of its grid that is not on the axis.
pub(super) fn choose(folders: &[PathBuf], x: &str, ys: &[String], by: &[String]) -> anyhow::Result<Chosen> {
    let x = x.to_owned();
    let wanted = || ys.iter().chain([&x]).chain(by);
    let mut chosen = Chosen { tables: Vec::new(), by: by.to_vec() };
    for folder in folders {
        let name = if folders.len() > 1 { folder.display().to_string() } else { String::new() };
        let table = table(folder, &wanted().collect::<Vec<_>>())?;
        // What stands before the seed are the keys of a grid; tables of a run begin with it.
        for key in table.columns.iter().take_while(|column| *column != "seed").filter(|key| **key != x) {
            if !chosen.by.contains(key) {
                chosen.by.push(key.clone());
            }
        }
        chosen.tables.push((name, table));
    }
    Ok(chosen)
}

fn table(folder: &Path, wanted: &[&String]) -> anyhow::Result<Table> {
    let tables = names(folder)?.iter().map(|name| read(folder.join(name))).collect::<anyhow::Result<Vec<_>>>()?;
    let lists = || {
        let list = |table: &Table| format!("{} has {}", table.file(), table.columns.join(", "));
        tables.iter().map(list).collect::<Vec<_>>().join("; ")
    };
    let unknown = wanted.iter().find(|name| !tables.iter().any(|table| table.columns.contains(name)));
    let folder = folder.display();
    if let Some(unknown) = unknown {
        return Err(anyhow!("{folder} has no column `{unknown}`: {}", lists()));
    }
    let place = tables.iter().position(|table| table.has_all(wanted.iter().copied()));
    let Some(place) = place else {
        let names: Vec<String> = wanted.iter().map(|name| format!("`{name}`")).collect();
        return Err(anyhow!("no table of {folder} has all of {}: {}", names.join(", "), lists()));
    };
    Ok(tables.into_iter().nth(place).expect("it was found there"))
}

/// The tables that a folder has, in the order in which they are searched.
fn names(folder: &Path) -> anyhow::Result<Vec<&'static str>> {
    let shown = folder.display();
    let expected = format!("{shown} is not a folder of `{}` or `{}`", SIMULATION.command, SWEEP.command);
    let text = source::read(&folder.join("manifest.json"), source::MAX_CONFIG).with_context(|| expected.clone())?;
    let manifest: Manifest = serde_json::from_str(&text).with_context(|| expected.clone())?;
    let kind = [&SIMULATION, &SWEEP].into_iter().find(|kind| kind.schema == manifest.schema);
    let kind = kind.ok_or_else(|| anyhow!("{expected}: its manifest is of schema {}", manifest.schema))?;
    ensure!(manifest.complete, "{shown} is not complete: run `{}` again", kind.command);
    // The summary of a sweep holds means, which would be averaged again.
    let is_table = |name: &str| name.trim_end_matches(".gz").ends_with(".csv") && name != "summary.csv";
    Ok(kind.files.iter().copied().filter(|name| is_table(name)).collect())
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
