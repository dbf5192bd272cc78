//! Who holds the lease is there: a lock that the operating system takes away with the process.
//!
//! Whoever gets it knows that no process of this machine holds the lease by it, and need not wait until the lease runs out. It
//! does not grant anything: that is the lease's, whose epoch every commit compares.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::sqlite_file;
use crate::store::StoreError;

/// A lock on a file beside the store.
#[derive(Debug)]
pub(super) struct Presence {
    file: File,
    is_taken: bool,
}

impl Presence {
    pub(super) fn beside(store: &Path) -> Result<Presence, StoreError> {
        let path = PathBuf::from([store.as_os_str(), "-lock".as_ref()].into_iter().collect::<OsString>());
        sqlite_file::create(&path).map_err(StoreError::Unusable)?;
        let unusable = |error| StoreError::Unusable(format!("{}: {error}", path.display()));
        Ok(Presence { file: File::options().write(true).open(&path).map_err(unusable)?, is_taken: false })
    }

    /// Takes the lock, and says whether it was free. Never on a file system without locks: there the lease runs out.
    pub(super) fn take(&mut self) -> bool {
        let is_new = !self.is_taken && self.file.try_lock().is_ok();
        self.is_taken |= is_new;
        is_new
    }

    /// Lets others have it.
    pub(super) fn give_up(&mut self) {
        // A lock that cannot be given back ends with the process.
        self.is_taken = self.is_taken && self.file.unlock().is_err();
    }
}
