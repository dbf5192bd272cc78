//! `truthfed backup`, `restore` and `migrate`: copies of a federation with its ledger, and another store for it.

use anyhow::Context;
use serde::Serialize;
use truthfed_node::engine::read_checkpoint;
use truthfed_node::federation::{BackupError, back_up, migrate, restore};
use truthfed_node::ledger::Report as Verified;

use super::args::{BackupArgs, MigrateArgs, RestoreArgs};
use crate::progress::Progress;
use crate::report::{Report, json};

pub(super) fn run_backup(BackupArgs { folder, out, json: as_json }: &BackupArgs) -> anyhow::Result<Report> {
    let report = with_progress("entries", |done| back_up(folder, out, done))?;
    Ok(told(
        &report,
        *as_json,
        &format!("{} is a copy of {}, and can be served as it is", out.display(), folder.display()),
    ))
}

pub(super) fn run_restore(args: &RestoreArgs) -> anyhow::Result<Report> {
    let RestoreArgs { backup, folder, checkpoint, behind, json: as_json } = args;
    let reached = match checkpoint.as_deref().filter(|_| !behind) {
        None => None,
        Some(path) => Some(read_checkpoint(path)?.with_context(|| {
            format!(
                "{} is missing: name the checkpoint.json of what was lost, or leave --checkpoint out",
                path.display()
            )
        })?),
    };
    let restored = with_progress("entries", |done| restore(backup, folder, reached, done));
    let report = restored.map_err(|error| match error {
        BackupError::Behind(_) => anyhow::Error::from(error).context(
            "take a later backup, or go back all the same with --behind: members hold receipts of what is then lost",
        ),
        error => error.into(),
    })?;
    Ok(told(&report, *as_json, &format!("{} is {} again", folder.display(), backup.display())))
}

pub(super) fn run_migrate(MigrateArgs { folder, to, json: as_json }: &MigrateArgs) -> anyhow::Result<Report> {
    let report = with_progress("entries", |done| migrate(folder, to, done))?;
    let what = format!(
        "The ledger of {0} is in the new store, and {0}/federation.toml names it; the old one is left as it was",
        folder.display()
    );
    Ok(told(&report, *as_json, &what))
}

#[derive(Serialize)]
struct Copied<'a> {
    entries: u64,
    ledger: &'a Verified,
}

fn told(report: &Verified, as_json: bool, what: &str) -> Report {
    Report::done(match as_json {
        true => json(&Copied { entries: report.entries, ledger: report }),
        false => format!("{what}: {} entries.\n{report}\n", report.entries),
    })
}

fn with_progress<T>(
    what: &'static str,
    work: impl FnOnce(&mut dyn FnMut(u64, u64)) -> Result<T, BackupError>,
) -> Result<T, BackupError> {
    let mut bar: Option<Progress> = None;
    work(&mut |done, all| bar.get_or_insert_with(|| Progress::new(what, all)).reach(done))
}
