//! A folder that one experiment writes, file by file, each whole or not at all.
//!
//! A file appears under its name only when all of it is there, so a process that is killed leaves no half of one.
//! `manifest.json` marks a folder as ours from the first file on, and as complete at the end. A folder with
//! anything else in it is refused: nothing that we did not write is ever replaced or removed.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::digest::hash;
use super::kind::{Head, Kind, manifest};

pub type Writer<'f> = dyn Write + 'f;

pub(super) const MANIFEST: &str = "manifest.json";
/// Held while a process writes; this prefix is that of unfinished files too.
const LOCK: &str = ".truthfed-lock";
pub(super) const UNFINISHED: &str = ".truthfed-";

/// Why a folder cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// User: the system refuses.
    #[error("cannot {verb} {path}: {error}")]
    Io { verb: &'static str, path: String, error: io::Error },
    /// User: choose another folder.
    #[error("{folder} holds {name}, which `{command}` did not write: choose another folder, or empty it")]
    Foreign { folder: String, name: String, command: &'static str },
    /// User: wait for the other, or choose another folder.
    #[error("{0} is being written by another process")]
    Busy(String),
}

impl OutputError {
    pub(super) fn io(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OutputError {
        move |error| OutputError::Io { verb, path: path.display().to_string(), error }
    }
}

/// A folder that is being written; no other process writes it meanwhile.
#[derive(Debug)]
pub struct OutputFolder {
    path: PathBuf,
    kind: &'static Kind,
    /// What was written, with its hash.
    files: Mutex<BTreeMap<String, String>>,
    /// Held, never read.
    _lock: File,
    access: Access,
}

/// Who else may write a folder meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Alone,
    /// Others that write parts of the same.
    Shared,
}

impl OutputFolder {
    /// The folder of that path, made if it is not there. Fails when it cannot be made or written, holds something else,
    /// or is being written already.
    pub fn open(path: &Path, kind: &'static Kind) -> Result<OutputFolder, OutputError> {
        OutputFolder::open_as(path, kind, Access::Alone)
    }

    /// The same for processes that each write a part: they may do so at the same time, but not while another has it alone.
    pub fn share(path: &Path, kind: &'static Kind) -> Result<OutputFolder, OutputError> {
        OutputFolder::open_as(path, kind, Access::Shared)
    }

    fn open_as(path: &Path, kind: &'static Kind, access: Access) -> Result<OutputFolder, OutputError> {
        fs::create_dir_all(path).map_err(OutputError::io("make the folder", path))?;
        kind.refuse_foreign(path)?;
        let lock = lock(path, access)?;
        Ok(OutputFolder { path: path.to_owned(), kind, files: Mutex::default(), _lock: lock, access })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Marks the folder as ours, and not complete. Comes before the first file.
    pub fn begin(&self) -> Result<(), OutputError> {
        self.replace(MANIFEST, |out| out.write_all(&manifest(&self.kind.head(false)))).map(drop)
    }

    /// Writes one file, and notes its hash. Folders on the way are made. Fails when it cannot be written; what stood
    /// there before still does.
    pub fn write(&self, name: &str, fill: impl FnOnce(&mut Writer<'_>) -> io::Result<()>) -> Result<(), OutputError> {
        let hash = self.replace(name, fill)?;
        self.keep(name, hash);
        Ok(())
    }

    /// Notes a file that is there already.
    pub(crate) fn keep(&self, name: &str, hash: String) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), hash);
    }

    /// Names in a folder inside, sorted; none when there is no such folder.
    pub(crate) fn inner_names(&self, inner: &str) -> Result<Vec<String>, OutputError> {
        list(&self.path.join(inner))
    }

    /// Removes what an earlier experiment left, and completes the manifest: `details`, and every file with its hash.
    /// Returns how many files there are.
    pub fn finish(self, details: impl Serialize) -> Result<usize, OutputError> {
        #[derive(Serialize)]
        struct Complete<'a, D> {
            #[serde(flatten)]
            head: Head<'a>,
            #[serde(flatten)]
            details: D,
            files: &'a BTreeMap<String, String>,
        }
        let files = std::mem::take(&mut *self.files.lock().unwrap_or_else(PoisonError::into_inner));
        self.remove_stale(&files)?;
        let complete = manifest(&Complete { head: self.kind.head(true), details, files: &files });
        self.replace(MANIFEST, |out| out.write_all(&complete))?;
        Ok(files.len() + 1)
    }

    /// Puts a whole file in place, and returns its hash.
    fn replace(&self, name: &str, fill: impl FnOnce(&mut Writer<'_>) -> io::Result<()>) -> Result<String, OutputError> {
        let path = self.path.join(name);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&self.path))?;
            let mut file = unfinished(&self.path)?;
            let mut out = BufWriter::new(file.as_file_mut());
            fill(&mut out)?;
            out.into_inner().map_err(io::IntoInnerError::into_error)?.rewind()?;
            let hash = hash(file.as_file())?;
            file.persist(&path).map_err(|failed| failed.error)?;
            Ok(hash)
        };
        write().map_err(OutputError::io("write", &path))
    }

    fn remove_stale(&self, files: &BTreeMap<String, String>) -> Result<(), OutputError> {
        let mut names = list(&self.path)?;
        names.retain(|name| name != LOCK && name != MANIFEST && self.kind.inner().all(|inner| name != inner));
        for inner in self.kind.inner() {
            names.extend(self.inner_names(inner)?.into_iter().map(|name| format!("{inner}/{name}")));
        }
        let mut stale = names.iter().filter(|name| !files.contains_key(*name));
        stale.try_for_each(|name| self.remove(name))
    }

    fn remove(&self, name: &str) -> Result<(), OutputError> {
        let path = self.path.join(name);
        fs::remove_file(&path).map_err(OutputError::io("remove", &path))
    }
}

impl Drop for OutputFolder {
    fn drop(&mut self) {
        // Others may share the lock: it stays for them. Whoever comes next takes it over, also where removing fails.
        if self.access == Access::Alone {
            let _ = self.remove(LOCK);
        }
    }
}

/// Names in a folder, sorted; none when it is not there.
pub(super) fn list(path: &Path) -> Result<Vec<String>, OutputError> {
    let read = || -> io::Result<Vec<String>> {
        let mut names: Vec<String> = fs::read_dir(path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<_>>()?;
        names.sort();
        Ok(names)
    };
    match read() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        result => result.map_err(OutputError::io("read the folder", path)),
    }
}

fn lock(path: &Path, access: Access) -> Result<File, OutputError> {
    let file = File::create(path.join(LOCK)).map_err(OutputError::io("write to the folder", path))?;
    let locked = match access {
        Access::Alone => file.try_lock(),
        Access::Shared => file.try_lock_shared(),
    };
    match locked {
        Err(TryLockError::WouldBlock) => Err(OutputError::Busy(path.display().to_string())),
        // Where the file system has no locks, we go on without.
        _ => Ok(file),
    }
}

/// A file that goes away unless it is finished, with the permissions of any new file.
fn unfinished(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
