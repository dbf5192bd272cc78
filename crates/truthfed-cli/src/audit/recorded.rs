//! Recorded rounds: one document, lines of them, or a folder of both.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use serde::de::IgnoredAny;
use truthfed::auction::{ROUND_SCHEMA, Round, RoundDocument};

use crate::source;

/// All rounds of a file, a folder or standard input, in the order of names and lines.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Round>> {
    let rounds = if path.is_dir() { read_folder(path)? } else { read_file(path)? };
    anyhow::ensure!(!rounds.is_empty(), "{} holds no rounds", source::name(path));
    Ok(rounds)
}

fn read_folder(folder: &Path) -> anyhow::Result<Vec<Round>> {
    let mut rounds = Vec::new();
    for path in names(folder).with_context(|| format!("cannot read the folder {}", folder.display()))? {
        match ending(&path) {
            _ if path.is_dir() => rounds.extend(read_folder(&path)?),
            "jsonl" => rounds.extend(read_file(&path)?),
            "json" => rounds.extend(read_if_round(&path)?),
            _ => {}
        }
    }
    Ok(rounds)
}

/// What the name of a file ends with, whether it is packed or not.
fn ending(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// What is in a folder, sorted; links to folders are not followed.
fn names(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !(entry.file_type()?.is_symlink() && entry.path().is_dir()) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// One document, or lines of documents where the first line is a whole one.
fn read_file(path: &Path) -> anyhow::Result<Vec<Round>> {
    let text = source::read(path, source::MAX_ROUND)?;
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_lines =
        ending(path) == "jsonl" || serde_json::from_str::<IgnoredAny>(first).is_ok() && text.trim() != first.trim();
    if !is_lines {
        let round = RoundDocument::read_round(&text).with_context(|| source::name(path))?;
        return Ok(vec![round]);
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(index, line)| {
        RoundDocument::read_round(line).with_context(|| format!("{}, line {}", source::name(path), index + 1))
    };
    lines.map(read).collect()
}

/// The round in a file of a folder, if it is one: other files may lie there too.
fn read_if_round(path: &Path) -> anyhow::Result<Option<Round>> {
    #[derive(Deserialize)]
    struct Head {
        schema: Option<serde_json::Value>,
    }
    let text = source::read(path, source::MAX_ROUND)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    serde_json::from_str::<IgnoredAny>(text).with_context(|| source::name(path))?;
    let is_round =
        serde_json::from_str::<Head>(text).is_ok_and(|head| head.schema.is_some_and(|schema| schema == ROUND_SCHEMA));
    is_round.then(|| RoundDocument::read_round(text).with_context(|| source::name(path))).transpose()
}
