//! An open file as SQLite calls it.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods};

use super::{Boot, code};
use crate::disk::content::SECTOR;
use crate::disk::lock::Level;
use crate::disk::machine::{HandleId, Io, Machine, Opening, Region};

/// What SQLite keeps for an open file.
#[repr(C)]
pub(super) struct Opened {
    base: sqlite3_file,
    /// Until it is closed.
    state: *mut OpenFile,
}

impl Opened {
    /// Tells SQLite of a file that was opened, or that there is none to close.
    ///
    /// # Safety
    /// `file` points to room for this.
    pub(super) unsafe fn write(file: *mut sqlite3_file, opened: Io<OpenFile>) -> Io<()> {
        let (methods, state, outcome) = match opened {
            Ok(state) => (&raw const METHODS, Box::into_raw(Box::new(state)), Ok(())),
            Err(code) => (null(), null_mut(), Err(code)),
        };
        // SAFETY: as the caller says.
        unsafe { file.cast::<Opened>().write(Opened { base: sqlite3_file { pMethods: methods }, state }) };
        outcome
    }
}

pub(super) struct OpenFile {
    boot: Arc<Boot>,
    id: HandleId,
    /// Memory that SQLite may still use, even when the machine has forgotten it.
    mapped: Vec<Region>,
}

impl OpenFile {
    pub(super) fn open(boot: Arc<Boot>, path: Option<&str>, flags: c_int) -> Io<OpenFile> {
        let has = |flag: c_int| flags & flag != 0;
        let journals = ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;
        let opening = Opening {
            create: has(ffi::SQLITE_OPEN_CREATE),
            exclusive: has(ffi::SQLITE_OPEN_EXCLUSIVE),
            is_journal: has(journals),
        };
        let path = path.filter(|_| !has(ffi::SQLITE_OPEN_DELETEONCLOSE));
        let mut machine = boot.alive()?;
        let id = machine.open(path, opening)?;
        if has(ffi::SQLITE_OPEN_MAIN_DB) {
            seed_sqlite(&mut machine);
        }
        drop(machine);
        Ok(OpenFile { boot, id, mapped: Vec::new() })
    }

    fn map(&mut self, index: usize, bytes: usize, extend: bool) -> Io<*mut c_void> {
        let region = self.boot.machine().map(self.id, index, bytes, extend)?;
        let Some(region) = region else { return Ok(null_mut()) };
        let start = region.as_ptr().cast_mut().cast();
        self.mapped.push(region);
        Ok(start)
    }
}

/// SQLite draws salts and the like from one stream for the whole process. It goes on from the disk's whenever a database
/// is opened, so that bytes are the same again, as long as one thread at a time uses SQLite. What happens is the same in
/// any case: nothing follows from salts but that they differ.
fn seed_sqlite(machine: &mut Machine) {
    let mut seed = [0; 4];
    machine.random(&mut seed);
    let seed = c_int::from_ne_bytes(seed) | 1;
    // SAFETY: these are the arguments of this control. It sets a word that others may read at the time, and clears the
    // stream under its lock: at worst they go on from another seed.
    unsafe { ffi::sqlite3_test_control(ffi::SQLITE_TESTCTRL_PRNG_SEED, seed, null_mut::<ffi::sqlite3>()) };
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(map),
    xShmLock: Some(lock_memory),
    xShmBarrier: Some(barrier),
    xShmUnmap: Some(unmap),
    xFetch: None,
    xUnfetch: None,
};

/// The state of an open file.
///
/// # Safety
/// `file` was opened by [`Opened::write`], is not closed, and is used by nobody else as long as the result is.
unsafe fn state<'a>(file: *mut sqlite3_file) -> &'a mut OpenFile {
    // SAFETY: it was written there, and `close` has not freed it.
    unsafe { &mut *(*file.cast::<Opened>()).state }
}

/// Calls the machine about an open file.
///
/// # Safety
/// As for [`state`].
unsafe fn call(file: *mut sqlite3_file, action: impl FnOnce(&mut Machine, HandleId) -> Io<()>) -> c_int {
    // SAFETY: as the caller says.
    let OpenFile { boot, id, .. } = unsafe { state(file) };
    code(action(&mut boot.machine(), *id))
}

/// Bytes to be filled, zeros so far.
///
/// # Safety
/// `start` points to so many bytes that can be written, and that nobody else uses as long as the result is.
pub(super) unsafe fn zeroed<'a>(start: *mut c_void, size: c_int) -> &'a mut [u8] {
    let (start, size) = (start.cast::<u8>(), size as usize);
    // SAFETY: as the caller says; they are written before they are a slice.
    unsafe {
        start.write_bytes(0, size);
        std::slice::from_raw_parts_mut(start, size)
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file that it opened once, and does not use it after.
    let OpenFile { boot, id, .. } = *unsafe { Box::from_raw((*file.cast::<Opened>()).state) };
    boot.machine().close(id);
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(file: *mut sqlite3_file, buffer: *mut c_void, size: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file, and room for so many bytes.
    unsafe {
        let buffer = zeroed(buffer, size);
        call(file, |machine, id| match machine.read(id, offset as usize, buffer)? {
            true => Ok(()),
            false => Err(ffi::SQLITE_IOERR_SHORT_READ),
        })
    }
}

unsafe extern "C" fn write(file: *mut sqlite3_file, bytes: *const c_void, size: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file, and so many bytes.
    unsafe {
        let bytes = std::slice::from_raw_parts(bytes.cast::<u8>(), size as usize);
        call(file, |machine, id| machine.write(id, offset as usize, bytes))
    }
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { call(file, |machine, id| machine.truncate(id, size as usize)) }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { call(file, Machine::sync) }
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut i64) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the size.
    unsafe { call(file, |machine, id| machine.length(id).map(|length| *size = length as i64)) }
}

/// Busy, unless it was granted.
fn granted(is_granted: bool) -> Io<()> {
    if is_granted { Ok(()) } else { Err(ffi::SQLITE_BUSY) }
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    let Some(level) = Level::of(level) else { return ffi::SQLITE_MISUSE };
    // SAFETY: SQLite passes an open file.
    unsafe { call(file, |machine, id| machine.raise(id, level).and_then(granted)) }
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    let Some(level) = Level::of(level) else { return ffi::SQLITE_MISUSE };
    // SAFETY: SQLite passes an open file.
    unsafe { call(file, |machine, id| machine.lower(id, level)) }
}

unsafe extern "C" fn check_reserved(file: *mut sqlite3_file, found: *mut c_int) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the answer.
    unsafe { call(file, |machine, id| machine.is_reserved(id).map(|is_reserved| *found = c_int::from(is_reserved))) }
}

unsafe extern "C" fn file_control(_: *mut sqlite3_file, _: c_int, _: *mut c_void) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_: *mut sqlite3_file) -> c_int {
    SECTOR as c_int
}

unsafe extern "C" fn characteristics(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite passes an open file.
    let is_powersafe = unsafe { state(file) }.boot.machine().is_powersafe;
    if is_powersafe { ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE } else { 0 }
}

unsafe extern "C" fn map(
    file: *mut sqlite3_file,
    index: c_int,
    size: c_int,
    extend: c_int,
    start: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file, and a place for the address.
    unsafe {
        *start = null_mut();
        code(state(file).map(index as usize, size as usize, extend != 0).map(|mapped| *start = mapped))
    }
}

unsafe extern "C" fn lock_memory(file: *mut sqlite3_file, first: c_int, count: c_int, flags: c_int) -> c_int {
    let mask = (((1_u32 << count) - 1) << first) as u8;
    let is_exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
    // SAFETY: SQLite passes an open file.
    unsafe {
        call(file, |machine, id| match flags & ffi::SQLITE_SHM_LOCK != 0 {
            true => machine.hold(id, mask, is_exclusive).and_then(granted),
            false => machine.release(id, mask),
        })
    }
}

unsafe extern "C" fn barrier(_: *mut sqlite3_file) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn unmap(file: *mut sqlite3_file, _: c_int) -> c_int {
    // SAFETY: SQLite passes an open file, and does not use its shared memory after.
    let state = unsafe { state(file) };
    let outcome = state.boot.machine().unmap(state.id);
    state.mapped.clear();
    code(outcome)
}
