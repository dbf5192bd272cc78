//! The runbook works as it is written: every command of docs/operate.md, in its order, in one shell.
//!
//! All commands of the page stand in fenced blocks of kind `sh`. The shell stops at the first that fails, and the test names its
//! line. `$STORE` is an empty PostgreSQL database; the ports of the page must be free.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use truthfed_node::testing::{Database, Place};

const PAGE: &str = "docs/operate.md";
const BEGIN: &str = "```sh";
const END: &str = "```";
/// Whatever still runs ends with the shell.
const FRAME: &str = "set -euo pipefail\n\
                     trap 'echo \"stopped in the block of line $LINE\"; tail -n 3 -- *.log; kill -9 $(jobs -p)' EXIT\n";
/// Seconds until something waits in vain.
const PATIENCE: &str = "300";

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE)).unwrap()
}

/// All blocks as one script, which knows the line that each begins at.
fn script(page: &str) -> String {
    let (mut script, mut is_inside) = (FRAME.to_owned(), false);
    for (number, line) in (1..).zip(page.lines()) {
        match line {
            BEGIN => script += &format!("LINE={number}\n"),
            _ if is_inside && line != END => script += &format!("{line}\n"),
            _ => {}
        }
        is_inside = line == BEGIN || is_inside && line != END;
    }
    script + "LINE=end; trap - EXIT; jobs -p | xargs -r kill -9\n"
}

#[test]
fn every_command_of_the_runbook_works_as_written() {
    let (place, database) = (tempfile::tempdir().unwrap(), Database::create());
    let programs = Path::new(env!("CARGO_BIN_EXE_truthfed")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("timeout");
    shell.args([PATIENCE, "bash", "-c", &script(&page())]).current_dir(place.path());
    let output = shell.env("PATH", path).env("STORE", database.address()).output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().rev().take(30).collect::<Vec<_>>().join("\n");
    assert!(
        output.status.success(),
        "{PAGE}, the last lines first:\n{}\n{}",
        said(&output.stderr),
        said(&output.stdout)
    );
}

#[test]
fn no_command_of_the_runbook_stands_outside_of_what_is_run() {
    let page = page();
    let outside: Vec<&str> =
        page.lines().filter(|line| line.starts_with("    ") && line.contains(" truthfed ")).collect();
    let is_run = |line: &str| !line.trim_start().starts_with("truthfed");
    assert!(outside.iter().all(|line| is_run(line)), "{outside:?}");
    assert!(script(&page).matches("truthfed ").count() > 40);
}
