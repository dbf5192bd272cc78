//! The machine behind a file system: files, who has them open, and every step that can go wrong.
//!
//! All that SQLite asks for ends up here, as a method that returns SQLite's own code when it fails.

mod files;
mod sharing;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rusqlite::ffi;

pub(crate) use self::sharing::Region;
use crate::disk::content::Content;
use crate::disk::fate::{Fates, Statistics};
use crate::disk::fault::{Fault, Faults, Lasts, Operation};
use crate::disk::folder::{FileId, Folder};
use crate::disk::lock::{Held, Level};

/// What SQLite is told: nothing but a code when something failed.
pub(crate) type Io<T> = Result<T, c_int>;
pub(crate) type HandleId = u64;

/// Where the clock begins: the first day of 2020.
const START_US: i64 = 1_577_836_800_000_000;
/// Tells disks apart in their paths.
static DISKS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) struct Machine {
    number: u64,
    random: ChaCha8Rng,
    /// Whether no write damages the bytes beside it.
    pub(crate) is_powersafe: bool,
    pub(crate) clock_us: i64,
    /// How often it was started. What was opened before the last start is dead.
    pub(crate) boot: u64,
    pub(crate) capacity: Option<u64>,
    pub(crate) faults: Faults,
    pub(crate) statistics: Statistics,
    folder: Folder,
    files: BTreeMap<FileId, File>,
    handles: BTreeMap<HandleId, Handle>,
    /// The last number that was given to a file or handle.
    last_id: u64,
}

#[derive(Debug, Default)]
struct File {
    content: Content,
    memory: Vec<Region>,
}

#[derive(Debug)]
struct Handle {
    file: FileId,
    /// A journal that may be new: its first sync is to sync its name too.
    syncs_folder: bool,
    level: Level,
    held: Held,
    is_mapped: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) create: bool,
    /// Only if there is no such file.
    pub(crate) exclusive: bool,
    pub(crate) is_journal: bool,
}

pub(crate) fn lock(machine: &Mutex<Machine>) -> MutexGuard<'_, Machine> {
    machine.lock().expect("nothing panics while it holds the lock")
}

impl Machine {
    pub(crate) fn new(seed: u64, is_powersafe: bool) -> Machine {
        Machine {
            number: DISKS.fetch_add(1, Ordering::Relaxed),
            random: ChaCha8Rng::seed_from_u64(seed),
            is_powersafe,
            clock_us: START_US,
            boot: 0,
            capacity: None,
            faults: Faults::default(),
            statistics: Statistics::default(),
            folder: Folder::default(),
            files: BTreeMap::new(),
            handles: BTreeMap::new(),
            last_id: 0,
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        format!("/disk-{}/{name}", self.number)
    }

    /// Bytes of files that have a name or are open.
    pub(crate) fn used(&self) -> u64 {
        let open = self.handles.values().map(|handle| handle.file);
        let taken: BTreeSet<FileId> = self.folder.iter().map(|(_, file)| file).chain(open).collect();
        taken.iter().map(|file| self.files[file].content.bytes().len() as u64).sum()
    }

    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let start = self.path("").len();
        let named =
            |(path, file): (&str, FileId)| (path[start..].to_owned(), self.files[&file].content.bytes().to_vec());
        self.folder.iter().map(named).collect()
    }

    pub(crate) fn random(&mut self, bytes: &mut [u8]) {
        self.random.fill_bytes(bytes);
    }

    pub(crate) fn lose_power(&mut self) {
        let mut fates = Fates::new(&mut self.random, &mut self.statistics, self.is_powersafe);
        self.folder.lose_power(&mut fates);
        for file in self.files.values_mut() {
            file.content.lose_power(&mut fates);
        }
        self.crash();
    }

    pub(crate) fn crash(&mut self) {
        self.boot += 1;
        self.handles.clear();
        self.files.retain(|file, _| self.folder.holds(*file));
        self.files.values_mut().for_each(|file| file.memory.clear());
    }

    /// Takes a step, unless it goes wrong. What ends everything comes after a change, and before a sync.
    fn step(&mut self, operation: Operation, failure: c_int, change: impl FnOnce(&mut Machine)) -> Io<()> {
        let fault = self.faults.strike(operation);
        let is_end = matches!(fault, Some(Fault::PowerLoss | Fault::Crash));
        if fault.is_none() || is_end && operation != Operation::Sync {
            change(self);
        }
        match fault {
            None => return Ok(()),
            Some(Fault::PowerLoss) => self.lose_power(),
            Some(Fault::Crash) => self.crash(),
            Some(Fault::Full(Lasts::Once)) => return Err(ffi::SQLITE_FULL),
            Some(Fault::Full(Lasts::ForEver)) => {
                self.capacity = Some(self.used());
                return Err(ffi::SQLITE_FULL);
            }
            Some(Fault::Failure(..)) => return Err(failure),
        }
        Err(ffi::SQLITE_IOERR)
    }

    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn handle(&mut self, id: HandleId) -> Io<&mut Handle> {
        self.handles.get_mut(&id).ok_or(ffi::SQLITE_IOERR)
    }

    fn file(&mut self, id: HandleId) -> Io<&mut File> {
        let file = self.handle(id)?.file;
        Ok(self.files.get_mut(&file).expect("what is open is there"))
    }

    fn others(&self, id: HandleId, file: FileId) -> impl Iterator<Item = &Handle> {
        self.handles.iter().filter(move |(other, handle)| **other != id && handle.file == file).map(|(_, other)| other)
    }
}
