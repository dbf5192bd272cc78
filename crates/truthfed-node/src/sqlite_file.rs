//! What the SQLite files of coordinator and agent have in common: how they are created, opened, synced and marked.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// Between two tries to switch to a write-ahead log.
const PAUSE: Duration = Duration::from_millis(5);
/// One connection is used by one thread at a time.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Nobody's yet: it has no tables.
    Empty,
    Ours(i64),
    Foreign,
}

/// Creates an empty file that only its owner can read, if missing. SQLite gives the files beside it the same mode.
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

/// Opens an existing file; on a file system (VFS) registered with SQLite under a name, also a new one. Every commit
/// will be synced. `pragmas` are set before the file is first read. Fails when SQLite cannot open it.
pub(crate) fn connect(
    path: &Path,
    vfs: Option<&str>,
    busy: Duration,
    pragmas: &[(&str, &str)],
) -> rusqlite::Result<Connection> {
    let connection = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, FLAGS | OpenFlags::SQLITE_OPEN_CREATE, vfs)?,
        // An absolute path has none of the meanings that SQLite gives to names such as `:memory:`. There is none only
        // without a working directory, and then SQLite says that it cannot open the file.
        None => Connection::open_with_flags(std::path::absolute(path).unwrap_or_default(), FLAGS)?,
    };
    connection.busy_timeout(busy)?;
    for (name, value) in pragmas.iter().chain(&[("synchronous", "full"), ("fullfsync", "on")]) {
        connection.pragma_update(None, name, value)?;
    }
    Ok(connection)
}

/// Reads the mark of a file. Call it inside a transaction: somebody else may be creating the tables.
pub(crate) fn mark(connection: &Connection, application: i64) -> rusqlite::Result<Mark> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (found, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (found, version) {
        (0, 0) if tables == 0 => Mark::Empty,
        _ if found == application => Mark::Ours(version),
        _ => Mark::Foreign,
    })
}

/// Marks a file as one of an application, with this schema version. Fails when it cannot be written.
pub(crate) fn set_mark(connection: &Connection, application: i64, version: i64) -> rusqlite::Result<()> {
    connection.pragma_update(None, "application_id", application)?;
    connection.pragma_update(None, "user_version", version)
}

/// Switches to a write-ahead log. Returns whether the file can have one.
pub(crate) fn use_write_ahead_log(connection: &Connection, busy: Duration) -> rusqlite::Result<bool> {
    let started = Instant::now();
    loop {
        match try_write_ahead_log(connection) {
            // When two switch a file at once, SQLite fails one of them at once, lest each waits for the other.
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
