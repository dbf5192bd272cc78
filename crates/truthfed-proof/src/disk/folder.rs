//! The names of files: as programs see them, as the medium has them, and the changes in between.

use std::collections::BTreeMap;

use crate::disk::fate::{Fate, Fates};

/// A file, whatever its name.
pub(crate) type FileId = u64;

#[derive(Debug, Default)]
pub(crate) struct Folder {
    now: BTreeMap<String, FileId>,
    synced: BTreeMap<String, FileId>,
    /// What leads from `synced` to `now`: a name and its file, or that it has none.
    unsynced: Vec<(String, Option<FileId>)>,
}

impl Folder {
    pub(crate) fn find(&self, name: &str) -> Option<FileId> {
        self.now.get(name).copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, FileId)> {
        self.now.iter().map(|(name, file)| (name.as_str(), *file))
    }

    /// Whether a file has a name, or could have one again after a loss of power.
    pub(crate) fn holds(&self, file: FileId) -> bool {
        let unsynced = self.unsynced.iter().filter_map(|(_, file)| *file);
        self.now.values().chain(self.synced.values()).copied().chain(unsynced).any(|held| held == file)
    }

    /// Gives a name to a file, or takes it away.
    pub(crate) fn set(&mut self, name: &str, file: Option<FileId>) {
        put(&mut self.now, name.to_owned(), file);
        self.unsynced.push((name.to_owned(), file));
    }

    pub(crate) fn sync(&mut self) {
        self.unsynced.clear();
        self.synced.clone_from(&self.now);
    }

    /// Goes back to what was synced, and what survives of the changes since.
    pub(crate) fn lose_power(&mut self, fates: &mut Fates<'_>) {
        for (name, file) in std::mem::take(&mut self.unsynced) {
            if fates.draw() != Fate::Dropped {
                put(&mut self.synced, name, file);
            }
        }
        self.now.clone_from(&self.synced);
    }
}

fn put(names: &mut BTreeMap<String, FileId>, name: String, file: Option<FileId>) {
    match file {
        Some(file) => names.insert(name, file),
        None => names.remove(&name),
    };
}
