//! What those who have one file open do about each other: locks, and the memory they share besides the file, which is the
//! index of a write-ahead log.
//!
//! SQLite reads and writes the memory itself, from several threads, with its own barriers. It is handed out as atomics,
//! which may change at any time, and lives until the last who mapped it has let it go, dead or alive.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::{Handle, HandleId, Io, Machine};
use crate::disk::folder::FileId;
use crate::disk::lock::{Held, Level};

/// A piece of memory.
pub(crate) type Region = Arc<[AtomicU64]>;

impl Machine {
    /// Raises a lock. Whether it is as high as wanted.
    pub(crate) fn raise(&mut self, id: HandleId, wanted: Level) -> Io<bool> {
        let file = self.handle(id)?.file;
        let others = self.others(id, file).map(|other| other.level).max().unwrap_or_default();
        let handle = self.handle(id)?;
        handle.level = handle.level.raise(wanted, others);
        Ok(handle.level >= wanted)
    }

    pub(crate) fn lower(&mut self, id: HandleId, wanted: Level) -> Io<()> {
        let handle = self.handle(id)?;
        handle.level = handle.level.min(wanted);
        Ok(())
    }

    pub(crate) fn is_reserved(&mut self, id: HandleId) -> Io<bool> {
        let file = self.handle(id)?.file;
        let handles = self.handles.values();
        Ok(handles.filter(|handle| handle.file == file).any(|handle| handle.level >= Level::Reserved))
    }

    /// A piece of the memory that those share who have the file open; made new on demand.
    pub(crate) fn map(&mut self, id: HandleId, index: usize, bytes: usize, extend: bool) -> Io<Option<Region>> {
        self.handle(id)?.is_mapped = true;
        let memory = &mut self.file(id)?.memory;
        while extend && memory.len() <= index {
            memory.push((0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect());
        }
        Ok(memory.get(index).cloned())
    }

    pub(crate) fn unmap(&mut self, id: HandleId) -> Io<()> {
        let handle = self.handle(id)?;
        (handle.is_mapped, handle.held) = (false, Held::default());
        let file = handle.file;
        self.release_memory(file);
        Ok(())
    }

    /// The memory is gone when the last lets it go.
    pub(super) fn release_memory(&mut self, file: FileId) {
        if !self.handles.values().any(|handle| handle.file == file && handle.is_mapped) {
            self.files.get_mut(&file).expect("what is open is there").memory.clear();
        }
    }

    /// Takes locks on shared memory. Whether they were free.
    pub(crate) fn hold(&mut self, id: HandleId, mask: u8, exclusive: bool) -> Io<bool> {
        let Handle { file, held, .. } = self.handle(id)?;
        let (file, mut held) = (*file, *held);
        let others = self.others(id, file).map(|other| other.held);
        let is_free = held.take(mask, exclusive, others);
        self.handle(id)?.held = held;
        Ok(is_free)
    }

    pub(crate) fn release(&mut self, id: HandleId, mask: u8) -> Io<()> {
        self.handle(id)?.held.release(mask);
        Ok(())
    }
}
