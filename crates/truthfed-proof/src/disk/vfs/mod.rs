//! The file system as SQLite calls it: C functions around [`Machine`], and the only `unsafe` code.
//!
//! Each start of a machine, a [`Boot`], is registered under a name of its own, so that whatever was opened before is cut
//! off with all its calls. Names are never taken from SQLite again, which may still hold them: they live as long as the
//! process, and serve the next boot once nobody uses them. There are as many as boots were alive at once.
#![allow(unsafe_code, reason = "SQLite is C")]

mod file;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use rusqlite::ffi::{self, sqlite3_file, sqlite3_vfs};

use self::file::{OpenFile, Opened};
use crate::disk::machine::{self, Io, Machine};

/// Milliseconds from the day that SQLite counts from, in 4714 BC, to 1970.
const JULIAN_MS: i64 = 210_866_760_000_000;
const LONGEST_PATH: c_int = 512;

/// A machine between two starts.
#[derive(Debug)]
pub(crate) struct Boot {
    machine: Arc<Mutex<Machine>>,
    pub(crate) number: u64,
    slot: &'static Slot,
}

/// A name that SQLite knows, and the boot that has it now.
#[derive(Debug)]
struct Slot {
    name: CString,
    boot: Mutex<Weak<Boot>>,
}

/// All names, and those that nobody uses.
static SLOTS: Mutex<(usize, Vec<&'static Slot>)> = Mutex::new((0, Vec::new()));

impl Boot {
    pub(crate) fn new(machine: Arc<Mutex<Machine>>, number: u64) -> Arc<Boot> {
        let slot = Slot::take();
        let boot = Arc::new(Boot { machine, number, slot });
        *locked(&slot.boot) = Arc::downgrade(&boot);
        boot
    }

    pub(crate) fn name(&self) -> &str {
        self.slot.name.to_str().expect("names are ASCII")
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        machine::lock(&self.machine)
    }

    /// The machine, unless it was started again since.
    fn alive(&self) -> Io<MutexGuard<'_, Machine>> {
        let machine = self.machine();
        if machine.boot == self.number { Ok(machine) } else { Err(ffi::SQLITE_IOERR) }
    }
}

impl Drop for Boot {
    fn drop(&mut self) {
        locked(&SLOTS).1.push(self.slot);
    }
}

impl Slot {
    /// A name that is free, or a new one.
    fn take() -> &'static Slot {
        let mut slots = locked(&SLOTS);
        if let Some(slot) = slots.1.pop() {
            return slot;
        }
        slots.0 += 1;
        let name = CString::new(format!("truthfed-disk-{}", slots.0)).expect("no zero is in it");
        let slot: &'static Slot = Box::leak(Box::new(Slot { name, boot: Mutex::default() }));
        let vfs = Box::leak(Box::new(slot.describe()));
        // SAFETY: the description is whole, and neither it nor what it points to is ever freed or moved.
        let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
        assert_eq!(code, ffi::SQLITE_OK, "SQLite takes any file system while there is memory");
        slot
    }

    fn describe(&'static self) -> sqlite3_vfs {
        sqlite3_vfs {
            iVersion: 2,
            szOsFile: size_of::<Opened>() as c_int,
            mxPathname: LONGEST_PATH,
            pNext: null_mut(),
            zName: self.name.as_ptr(),
            pAppData: std::ptr::from_ref(self).cast_mut().cast(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_path),
            xDlOpen: Some(no_library),
            xDlError: Some(no_words),
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: None,
            xGetLastError: None,
            xCurrentTimeInt64: Some(current_time),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while it holds the lock")
}

/// What SQLite is told.
fn code(outcome: Io<()>) -> c_int {
    outcome.err().unwrap_or(ffi::SQLITE_OK)
}

/// The boot that a call to a file system is for.
///
/// # Safety
/// `vfs` is one that [`Slot::take`] registered.
unsafe fn boot(vfs: *mut sqlite3_vfs) -> Io<Arc<Boot>> {
    // SAFETY: a registered file system is never freed, and its data is a slot that is never freed.
    let slot = unsafe { &*(*vfs).pAppData.cast::<Slot>() };
    let boot = locked(&slot.boot).upgrade();
    boot.ok_or(ffi::SQLITE_IOERR)
}

/// A path as SQLite hands it over.
///
/// # Safety
/// `name` points to a string that ends with a zero and stays while the result is used.
unsafe fn path<'a>(name: *const c_char) -> Io<&'a str> {
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| ffi::SQLITE_CANTOPEN)
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let opened = || {
        // SAFETY: SQLite passes the file system itself, and a name or nothing.
        let (boot, path) = unsafe { (boot(vfs)?, (!name.is_null()).then(|| path(name)).transpose()?) };
        OpenFile::open(boot, path, flags)
    };
    let opened = opened();
    // SAFETY: SQLite passes room for as many bytes as `szOsFile` says, aligned for pointers; and a place for flags, or
    // null.
    unsafe {
        if !flags_out.is_null() {
            *flags_out = flags;
        }
        code(Opened::write(file, opened))
    }
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite passes the file system itself, and a name.
    let (boot, path) = unsafe { (boot(vfs), path(name)) };
    code(boot.and_then(|boot| boot.alive()?.delete(path?, sync != 0)))
}

unsafe extern "C" fn access(vfs: *mut sqlite3_vfs, name: *const c_char, _: c_int, found: *mut c_int) -> c_int {
    // SAFETY: SQLite passes the file system itself, and a name.
    let (boot, path) = unsafe { (boot(vfs), path(name)) };
    let has = boot.and_then(|boot| Ok(boot.alive()?.has(path?)));
    // SAFETY: SQLite passes a place for the answer.
    code(has.map(|has| unsafe { *found = c_int::from(has) }))
}

/// Paths on a disk are whole already.
unsafe extern "C" fn full_path(_: *mut sqlite3_vfs, name: *const c_char, size: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite passes a name, and room for so many bytes, which are enough when the name is not longer.
    unsafe {
        let bytes = CStr::from_ptr(name).to_bytes_with_nul();
        if bytes.len() > size as usize {
            return ffi::SQLITE_CANTOPEN;
        }
        out.copy_from_nonoverlapping(bytes.as_ptr().cast(), bytes.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn no_library(_: *mut sqlite3_vfs, _: *const c_char) -> *mut c_void {
    null_mut()
}

unsafe extern "C" fn no_words(_: *mut sqlite3_vfs, size: c_int, out: *mut c_char) {
    if size > 0 {
        // SAFETY: SQLite passes room for so many bytes.
        unsafe { *out = 0 };
    }
}

unsafe extern "C" fn randomness(vfs: *mut sqlite3_vfs, size: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite passes the file system itself, and room for so many bytes.
    let (boot, out) = unsafe { (boot(vfs), file::zeroed(out.cast(), size)) };
    boot.map_or(0, |boot| {
        boot.machine().random(out);
        size
    })
}

/// Nobody sleeps: the clock goes on, and other threads have their turn.
unsafe extern "C" fn sleep(vfs: *mut sqlite3_vfs, microseconds: c_int) -> c_int {
    // SAFETY: SQLite passes the file system itself.
    if let Ok(boot) = unsafe { boot(vfs) } {
        boot.machine().clock_us += i64::from(microseconds);
    }
    std::thread::yield_now();
    microseconds
}

unsafe extern "C" fn current_time(vfs: *mut sqlite3_vfs, now: *mut i64) -> c_int {
    // SAFETY: SQLite passes the file system itself, and a place for the time.
    code(unsafe { boot(vfs).map(|boot| *now = boot.machine().clock_us.div_euclid(1000) + JULIAN_MS) })
}
