//! The documents show what the program prints, and the pictures that it draws.
//!
//! A fenced block of kind `console` holds commands, each behind `$ `, and below each what it prints on standard output.
//! The test runs every command in a shell and compares. A block that begins or ends with a line `...` shows only the end
//! or the beginning. Blocks marked `console slow` are skipped unless `TRUTHFED_DOCUMENTS` is set:
//!
//! - `TRUTHFED_DOCUMENTS=check` also runs the slow blocks,
//! - `TRUTHFED_DOCUMENTS=write` runs all of them and writes what was printed into the documents (`make figures`).
//!
//! All commands share one folder, so a block can use the files of an earlier one. The table of violations in
//! docs/mechanisms.md is slow, too.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What stands for lines that are left out.
const OMITTED: &str = "...";
/// The properties of an audit, each a column of the table of violations in docs/mechanisms.md.
const PROPERTIES: [&str; 8] =
    ["monotone", "ir", "truthful", "certified", "collusion", "collusion-total", "coverage", "optimum"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md and every page of docs, in the order in which their commands run.
fn documents() -> Vec<PathBuf> {
    let pages = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = pages.filter(|path| path.extension().is_some_and(|kind| kind == "md")).collect();
    pages.sort();
    pages.insert(0, root().join("README.md"));
    pages
}

/// Runs commands as a reader would type them, and remembers what each printed.
struct Shell {
    folder: tempfile::TempDir,
    printed: BTreeMap<String, String>,
}

impl Shell {
    fn new() -> Shell {
        Shell { folder: tempfile::tempdir().unwrap(), printed: BTreeMap::new() }
    }

    fn run(&mut self, command: &str) -> String {
        if let Some(printed) = self.printed.get(command) {
            return printed.clone();
        }
        let programs = Path::new(env!("CARGO_BIN_EXE_truthfed")).parent().unwrap().display();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(self.folder.path()).env("PATH", path);
        let output = shell.output().unwrap();
        // 1 means that the answer is no, which a document may well show.
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1)), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let printed: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        self.printed.insert(command.to_owned(), printed.clone());
        printed
    }
}

/// What a block should show of `printed`, with as many lines left out as it leaves out now.
fn shown_of(printed: &str, shown: &[&str]) -> Vec<String> {
    let lines: Vec<String> = printed.lines().map(str::to_owned).collect();
    let (omitted, kept) = ([OMITTED.to_owned()], shown.len().saturating_sub(1).min(lines.len()));
    match shown {
        [first, ..] if *first == OMITTED => [&omitted, &lines[lines.len() - kept..]].concat(),
        [.., last] if *last == OMITTED => [&lines[..kept], &omitted].concat(),
        _ => lines,
    }
}

/// The lines of a block as they should be.
fn block(shell: &mut Shell, lines: &[&str]) -> Vec<String> {
    let mut fresh = Vec::new();
    let mut rest = lines;
    while let [command, after @ ..] = rest {
        let typed = command.strip_prefix("$ ").unwrap_or_else(|| panic!("a console block begins with {command:?}"));
        let end = after.iter().position(|line| line.starts_with("$ ")).unwrap_or(after.len());
        fresh.push((*command).to_owned());
        fresh.extend(shown_of(&shell.run(typed), &after[..end]));
        rest = &after[end..];
    }
    fresh
}

/// A row of violations for each mechanism; bold where it claims the property.
fn audit_rows(shell: &mut Shell) -> Vec<String> {
    let audit: Value = serde_json::from_str(&shell.run("truthfed audit --runs 0 --json")).unwrap();
    let verdicts = audit["verdicts"].as_array().unwrap().chunks(PROPERTIES.len());
    let cell = |(verdict, property): (&Value, &str)| {
        assert_eq!(verdict["property"], property);
        let violations = &verdict["violations"];
        if verdict["claimed"] == true { format!("**{violations}**") } else { violations.to_string() }
    };
    let row = |verdicts: &[Value]| {
        let cells: Vec<String> = verdicts.iter().zip(PROPERTIES).map(cell).collect();
        format!("| `{}` | {} |", verdicts[0]["mechanism"].as_str().unwrap(), cells.join(" | "))
    };
    verdicts.map(row).collect()
}

/// A document as it should be.
fn refreshed(shell: &mut Shell, text: &str, with_slow: bool) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut fresh: Vec<String> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        fresh.push(lines[at].to_owned());
        if with_slow && lines[at] == format!("| mechanism | {} |", PROPERTIES.join(" | ")) {
            fresh.push(lines[at + 1].to_owned());
            fresh.extend(audit_rows(shell));
            at += lines[at..].iter().position(|line| !line.starts_with('|')).unwrap_or(lines.len() - at);
            continue;
        }
        let runs = lines[at] == "```console" || (lines[at] == "```console slow" && with_slow);
        at += 1;
        if runs {
            let end = at + lines[at..].iter().position(|line| *line == "```").expect("the block ends");
            fresh.extend(block(shell, &lines[at..end]));
            at = end;
        }
    }
    fresh.join("\n") + "\n"
}

#[test]
fn documents_show_what_the_program_prints() {
    let mode = std::env::var("TRUTHFED_DOCUMENTS").ok();
    let mut shell = Shell::new();
    let mut differing = Vec::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let fresh = refreshed(&mut shell, &text, mode.is_some());
        if fresh == text {
            continue;
        }
        if mode.as_deref() == Some("write") {
            std::fs::write(&path, fresh).unwrap();
            continue;
        }
        let lines = text.lines().zip(fresh.lines()).enumerate();
        let (line, (has, prints)) = lines.into_iter().find(|(_, (old, new))| old != new).unwrap_or((0, ("", "")));
        differing.push(format!("{}:{}\n  shows  {has}\n  prints {prints}", path.display(), line + 1));
    }
    assert!(differing.is_empty(), "`make figures` rewrites these:\n{}", differing.join("\n"));
    let report = shell.folder.path().join("out/reproduce");
    check_figures_of_the_paper(&report);
    check_pictures(&report, mode.as_deref() == Some("write"));
}

/// Every figure in the text of docs/paper.md stands on the report page, or was printed by a command of docs/paper.md.
///
/// Figures are numbers with a decimal point and whole numbers from 100 up.
fn check_figures_of_the_paper(report: &Path) {
    let page = std::fs::read_to_string(root().join("docs/paper.md")).unwrap();
    let mut sources = words(&std::fs::read_to_string(report.join("index.html")).unwrap());
    let mut prose = String::new();
    for (index, part) in page.split("```").enumerate() {
        if index % 2 == 0 { prose.push_str(part) } else { sources.push_str(part) }
    }
    let known = numbers(&sources);
    let is_figure = |number: &String| number.contains('.') || number.len() > 2;
    let unknown: Vec<String> = numbers(&prose).into_iter().filter(|n| is_figure(n) && !known.contains(n)).collect();
    assert!(unknown.is_empty(), "docs/paper.md has figures that no command prints: {unknown:?}");
}

/// The text of an HTML page, without styles, drawings and tags.
fn words(html: &str) -> String {
    let mut text = html.to_owned();
    for (start, end) in [("<style", "</style>"), ("<svg", "</svg>"), ("<", ">")] {
        let mut rest = text.as_str();
        let mut kept = String::new();
        while let Some((before, tag)) = rest.split_once(start) {
            kept.push_str(before);
            kept.push(' ');
            rest = tag.split_once(end).map_or("", |(_, after)| after);
        }
        text = kept + rest;
    }
    text
}

/// The pictures in docs are those of the report, to the byte.
fn check_pictures(report: &Path, write: bool) {
    for entry in std::fs::read_dir(root().join("docs/figures")).unwrap() {
        let path = entry.unwrap().path();
        let fresh = std::fs::read(report.join("figures").join(path.file_name().unwrap())).unwrap();
        if std::fs::read(&path).unwrap() == fresh {
            continue;
        }
        assert!(write, "{} is not the report's: `make figures` copies it", path.display());
        std::fs::write(&path, fresh).unwrap();
    }
}

/// The numbers of a text, without separators of thousands and without signs.
fn numbers(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    words.map(|word| word.trim_matches(['.', ',']).replace(',', "")).filter(|word| !word.is_empty()).collect()
}

#[test]
fn the_readme_lists_the_mechanisms_of_the_catalog_with_what_they_claim() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let list: Value = serde_json::from_str(&Shell::new().run("truthfed mechanisms --json")).unwrap();
    let keys = ["target", "individually_rational", "truthful", "collusion_proof"];
    for mechanism in list["mechanisms"].as_array().unwrap() {
        let start = format!("| `{}`", mechanism["name"].as_str().unwrap());
        let row = readme.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row {start}"));
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[3..7], keys.map(|key| mechanism[key].as_str().unwrap()), "{start}");
    }
}
