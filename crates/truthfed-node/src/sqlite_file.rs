//! What the SQLite files of coordinator and agent have in common.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};

/// Before the change to a log is tried again.
const PAUSE: Duration = Duration::from_millis(5);

/// Makes an empty file that only its owner can read, unless there is one. The files beside it take over its mode.
///
/// # Errors
/// Why it cannot be made, in words.
pub(crate) fn create(path: &Path) -> Result<(), String> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

/// Turns to a write-ahead log. Whether the file can have one.
///
/// # Errors
/// When the change could not be written, or others have kept the file busy for so long.
pub(crate) fn use_write_ahead_log(connection: &Connection, busy: Duration) -> rusqlite::Result<bool> {
    let started = Instant::now();
    loop {
        match try_write_ahead_log(connection) {
            // Of two that change a file at once SQLite tells one so without any wait, lest each waits for the other.
            Err(error) if is_busy(&error) && started.elapsed() < busy => std::thread::sleep(PAUSE),
            changed => return changed,
        }
    }
}

/// SQLite answers before it writes the change: the statement must be run to its end.
fn try_write_ahead_log(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare("PRAGMA journal_mode = wal")?;
    let mut rows = statement.query([])?;
    let mut is_used = false;
    while let Some(row) = rows.next()? {
        is_used = row.get::<_, String>(0)? == "wal";
    }
    Ok(is_used)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}
