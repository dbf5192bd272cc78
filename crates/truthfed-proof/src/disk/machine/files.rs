//! What is done with the folder and with files.

use rand::RngExt;
use rusqlite::ffi;

use super::{File, Handle, HandleId, Io, Machine, Opening};
use crate::disk::fault::Operation;
use crate::disk::folder::FileId;
use crate::disk::lock::{Held, Level};

impl Machine {
    /// Opens a file; without a name, one that is gone when it is closed.
    pub(crate) fn open(&mut self, path: Option<&str>, opening: Opening) -> Io<HandleId> {
        let found = match path {
            Some(path) if !path.starts_with(&self.path("")) => return Err(ffi::SQLITE_CANTOPEN),
            Some(path) => self.folder.find(path),
            None => None,
        };
        let file = match (found, path) {
            (Some(_), _) if opening.create && opening.exclusive => return Err(ffi::SQLITE_CANTOPEN),
            (Some(file), _) => file,
            (None, Some(path)) if opening.create => self.create(path)?,
            (None, Some(_)) => return Err(ffi::SQLITE_CANTOPEN),
            (None, None) => self.new_file(),
        };
        let (id, syncs_folder) = (self.id(), opening.create && opening.is_journal);
        let (level, held, is_mapped) = (Level::None, Held::default(), false);
        self.handles.insert(id, Handle { file, syncs_folder, level, held, is_mapped });
        Ok(id)
    }

    fn create(&mut self, path: &str) -> Io<FileId> {
        let file = self.new_file();
        let created =
            self.step(Operation::Change, ffi::SQLITE_CANTOPEN, |machine| machine.folder.set(path, Some(file)));
        self.forget(file);
        created.map(|()| file)
    }

    fn new_file(&mut self) -> FileId {
        let file = self.id();
        self.files.insert(file, File::default());
        file
    }

    pub(crate) fn close(&mut self, id: HandleId) {
        if let Some(Handle { file, is_mapped, .. }) = self.handles.remove(&id) {
            if is_mapped {
                self.release_memory(file);
            }
            self.forget(file);
        }
    }

    /// Removes a file that nobody can ever reach again.
    fn forget(&mut self, file: FileId) {
        if !self.folder.holds(file) && !self.handles.values().any(|handle| handle.file == file) {
            self.files.remove(&file);
        }
    }

    pub(crate) fn delete(&mut self, path: &str, sync: bool) -> Io<()> {
        let file = self.folder.find(path).ok_or(ffi::SQLITE_IOERR_DELETE_NOENT)?;
        self.step(Operation::Change, ffi::SQLITE_IOERR_DELETE, |machine| machine.folder.set(path, None))?;
        if sync {
            self.sync_folder()?;
        }
        self.forget(file);
        Ok(())
    }

    fn sync_folder(&mut self) -> Io<()> {
        self.step(Operation::Sync, ffi::SQLITE_IOERR_DIR_FSYNC, |machine| {
            machine.statistics.syncs += 1;
            machine.folder.sync();
            let Machine { files, folder, handles, .. } = machine;
            files.retain(|file, _| folder.holds(*file) || handles.values().any(|handle| handle.file == *file));
        })
    }

    /// Whether there is a file with anything in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.folder.find(path).is_some_and(|file| !self.files[&file].content.bytes().is_empty())
    }

    /// Fills a buffer, with zeros past the end of the file. Whether all of it was there.
    pub(crate) fn read(&mut self, id: HandleId, offset: usize, buffer: &mut [u8]) -> Io<bool> {
        self.handle(id)?;
        self.step(Operation::Read, ffi::SQLITE_IOERR_READ, |_| ())?;
        Ok(self.file(id)?.content.read(offset, buffer))
    }

    pub(crate) fn write(&mut self, id: HandleId, offset: usize, bytes: &[u8]) -> Io<()> {
        let content = &self.file(id)?.content;
        let growth = content.length_after(offset, bytes.len()) - content.bytes().len();
        let put = |bytes: &[u8], machine: &mut Machine| {
            machine.file(id).expect("it was found").content.write(offset, bytes);
        };
        let is_full = growth > 0 && self.capacity.is_some_and(|capacity| self.used() + growth as u64 > capacity);
        let outcome = self.step(Operation::Write, ffi::SQLITE_IOERR_WRITE, |machine| {
            if !is_full {
                put(bytes, machine);
            }
        });
        let outcome = if is_full { outcome.and(Err(ffi::SQLITE_FULL)) } else { outcome };
        // A write that fails may have come some way.
        if outcome == Err(ffi::SQLITE_IOERR_WRITE) {
            let written = self.random.random_range(0..=bytes.len() as u64) as usize;
            put(&bytes[..written], self);
        }
        outcome
    }

    pub(crate) fn truncate(&mut self, id: HandleId, length: usize) -> Io<()> {
        self.handle(id)?;
        self.step(Operation::Change, ffi::SQLITE_IOERR_TRUNCATE, |machine| {
            machine.file(id).expect("it was found").content.resize(length);
        })
    }

    pub(crate) fn sync(&mut self, id: HandleId) -> Io<()> {
        self.handle(id)?;
        self.step(Operation::Sync, ffi::SQLITE_IOERR_FSYNC, |machine| {
            machine.statistics.syncs += 1;
            machine.file(id).expect("it was found").content.sync();
        })?;
        if self.handle(id)?.syncs_folder {
            self.sync_folder()?;
            self.handle(id)?.syncs_folder = false;
        }
        Ok(())
    }

    pub(crate) fn length(&mut self, id: HandleId) -> Io<usize> {
        Ok(self.file(id)?.content.bytes().len())
    }
}
