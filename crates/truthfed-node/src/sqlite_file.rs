//! What the SQLite files of coordinator and agent have in common.

use std::path::Path;

use rusqlite::Connection;

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
/// When the change could not be written. SQLite answers before it writes it: the statement must be run to its end.
pub(crate) fn use_write_ahead_log(connection: &Connection) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare("PRAGMA journal_mode = wal")?;
    let mut rows = statement.query([])?;
    let mut is_used = false;
    while let Some(row) = rows.next()? {
        is_used = row.get::<_, String>(0)? == "wal";
    }
    Ok(is_used)
}
