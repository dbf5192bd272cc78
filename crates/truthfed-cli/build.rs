//! Says which commit is built, if that is known: from `TRUTHFED_COMMIT`, or else from git. Without both nothing fails.

#![allow(clippy::print_stdout)] // how a build script speaks to cargo

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=TRUTHFED_COMMIT");
    let given = std::env::var("TRUTHFED_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = given.or_else(|| {
        // It grows with every commit and checkout.
        let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
        println!("cargo::rerun-if-changed={log}");
        git(&["rev-parse", "--short=12", "HEAD"])
    });
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=TRUTHFED_VERSION={version}");
}

/// What git prints; none if there is no git, or this is no clone of the repository.
fn git(args: &[&str]) -> Option<String> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let output = Command::new("git").current_dir(folder).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
