//! Backups of a federation, putting one back, and moving to another store.
//!
//! A backup is the folder of a federation with the whole ledger in it, as an SQLite file, wherever the ledger was: it can be
//! verified, and served, as it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::certified::RENEWALS;
use super::create::{Scratch, is_taken};
use super::lines;
use super::open::{AUTHORITY, Federation, MEMBERS, OPERATOR, OpenError, ROSTER, SERVER, SETTINGS, open, read_text};
use crate::coordinator::CHECKPOINT;
use crate::engine::{EngineError, read_checkpoint};
use crate::identity::{create_private_folder, write_private};
use crate::ledger::{Checkpoint, Report, Trust, verify};
use crate::store::{CopyError, Location, LocationError, Store, StoreError, copy};

/// The ledger in a backup.
const LEDGER: &str = "ledger.db";
/// Long enough to copy some entries; it is renewed with them.
const LEASE_MS: u64 = 60_000;

/// Why there is no backup, none was put back, or the store stays where it is. The operator's to mend.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{} exists already: name a new folder, or move it away", .0.display())]
    Exists(PathBuf),
    #[error("cannot write {}: {error}: name a place that exists and can be written to", path.display())]
    Io { path: PathBuf, error: io::Error },
    /// While a coordinator runs, what is copied would not be all.
    #[error("a coordinator runs on the old store: stop it first")]
    Running,
    #[error("the new store {0}")]
    Location(LocationError),
    #[error("the federation's store is this one already: name another")]
    Same,
    #[error("there is no ledger yet: {} is missing (has `truthfed serve` run yet?)", .0.display())]
    NoLedger(PathBuf),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Checkpoint(#[from] EngineError),
    /// What was copied is not right, as what it was copied from is not.
    #[error("the ledger is not right, so nothing was changed: {0}")]
    Wrong(Box<Report>),
    /// Members hold receipts for what would be lost.
    #[error("the backup ends before the checkpoint at entry {0}: what came after it would be lost")]
    Behind(u64),
}

/// Copies a federation, which may be running, into a new folder, and verifies the copy.
pub fn back_up(folder: &Path, target: &Path, done: impl FnMut(u64, u64)) -> Result<Report, BackupError> {
    duplicate(folder, target, None, done)
}

/// Puts a backup in the place of a federation that is not there any more. It must reach the checkpoint, if one is given.
pub fn restore(
    backup: &Path,
    target: &Path,
    reached: Option<Checkpoint>,
    done: impl FnMut(u64, u64),
) -> Result<Report, BackupError> {
    duplicate(backup, target, reached, done)
}

fn duplicate(
    folder: &Path,
    target: &Path,
    reached: Option<Checkpoint>,
    done: impl FnMut(u64, u64),
) -> Result<Report, BackupError> {
    if is_taken(target) {
        return Err(BackupError::Exists(target.to_owned()));
    }
    let federation = open(folder)?;
    // Before the ledger: what it vouches for is then in what is read.
    let own = read_checkpoint(&folder.join(CHECKPOINT))?;
    check_begun(&federation)?;
    let mut from = federation.store().open_frozen()?;
    let end = from.head()?.number;
    if let Some(Checkpoint { entry, .. }) = reached.filter(|reached| reached.entry > end) {
        return Err(BackupError::Behind(entry));
    }
    let scratch = write_folder(&federation, own.as_ref(), target)?;
    let mut to = Location::file(scratch.path.join(LEDGER)).open()?;
    copy(from.as_mut(), to.as_mut(), done)?;
    let report = check(to.as_mut(), &federation, reached.or(own))?;
    drop(to);
    scratch.move_to(target).map_err(|error| BackupError::Io { path: target.to_owned(), error })?;
    Ok(report)
}

/// Copies the ledger of a federation that is not running into another store, verifies it, and changes the settings. The old
/// store is left as it is.
pub fn migrate(folder: &Path, to: &str, mut done: impl FnMut(u64, u64)) -> Result<Report, BackupError> {
    let federation = open(folder)?;
    let location: Location = to.parse().map_err(BackupError::Location)?;
    let location = location.within(folder);
    check_begun(&federation)?;
    if location == federation.store() {
        return Err(BackupError::Same);
    }
    let settings = folder.join(SETTINGS);
    let changed = lines::set(&read_text(&settings)?, "store", &toml::Value::from(to).to_string())
        .ok_or_else(|| OpenError::content(&settings, "has no line `store`"))?;
    let checkpoint = read_checkpoint(&folder.join(CHECKPOINT))?;
    // Whoever holds the lease keeps every coordinator away.
    let mut old = federation.store().open()?;
    let lease = old.acquire(LEASE_MS).map_err(|error| match error {
        StoreError::Held => BackupError::Running,
        error => error.into(),
    })?;
    let moved = (|| {
        let (mut from, mut new) = (federation.store().open_existing()?, location.open()?);
        let mut renewed = Ok(());
        copy(from.as_mut(), new.as_mut(), |entry, end| {
            renewed = old.renew(lease, LEASE_MS);
            done(entry, end);
        })?;
        renewed?;
        let report = check(new.as_mut(), &federation, checkpoint)?;
        replace_private(&settings, &changed).map_err(|error| BackupError::Io { path: settings.clone(), error })?;
        Ok(report)
    })();
    let released = old.release(lease);
    moved.and_then(|report| released.map(|()| report).map_err(BackupError::from))
}

/// Before anything is opened for writing: that would make a ledger.
fn check_begun(federation: &Federation) -> Result<(), BackupError> {
    match federation.store().path().filter(|path| !path.exists()) {
        Some(path) => Err(BackupError::NoLedger(path.to_owned())),
        None => Ok(()),
    }
}

fn check(
    store: &mut dyn Store,
    federation: &Federation,
    checkpoint: Option<Checkpoint>,
) -> Result<Report, BackupError> {
    let coordinator = Some(federation.server.signer().public());
    let report = verify(store, &Trust { federation: Some(federation.id()), coordinator, checkpoint })?;
    if report.is_right() { Ok(report) } else { Err(BackupError::Wrong(Box::new(report))) }
}

/// All of a folder but its ledger and the members' bundles, beside its place; the store is a file in it.
fn write_folder(
    federation: &Federation,
    checkpoint: Option<&Checkpoint>,
    target: &Path,
) -> Result<Scratch, BackupError> {
    let (folder, settings) = (&federation.folder, federation.folder.join(SETTINGS));
    let text = lines::set(&read_text(&settings)?, "store", &toml::Value::from(LEDGER).to_string())
        .ok_or_else(|| OpenError::content(&settings, "has no line `store`"))?;
    let write = || {
        let scratch = Scratch::beside(target)?;
        create_private_folder(&scratch.path)?;
        write_private(&scratch.path.join(SETTINGS), &text)?;
        let parents = [AUTHORITY, SERVER, OPERATOR].map(|stem| Path::new(stem).parent().expect("a stem has a folder"));
        for inner in parents.into_iter().chain([Path::new(ROSTER)]) {
            copy_folder(&folder.join(inner), &scratch.path.join(inner))?;
        }
        // After the roster and the ledger: what they have was there before.
        if folder.join(RENEWALS).exists() {
            copy_folder(&folder.join(RENEWALS), &scratch.path.join(RENEWALS))?;
        }
        create_private_folder(&scratch.path.join(MEMBERS))?;
        if let Some(checkpoint) = checkpoint {
            let text = serde_json::to_string(checkpoint).expect("our own structs are JSON");
            write_private(&scratch.path.join(CHECKPOINT), &text)?;
        }
        Ok(scratch)
    };
    write().map_err(|error| BackupError::Io { path: target.to_owned(), error })
}

/// The files of a folder, with their permissions; what begins with a dot was not finished.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    create_private_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Writes a private file in one step, over what is there.
fn replace_private(path: &Path, text: &str) -> io::Result<()> {
    let scratch = Scratch::beside(path)?;
    write_private(&scratch.path, text)?;
    scratch.move_to(path)
}
