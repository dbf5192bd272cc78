//! A database of one table, for the tests of the disk.

use rusqlite::{Connection, OpenFlags};
use truthfed_proof::disk::Disk;

/// Opens the database of a disk, made new when there is none.
pub(crate) fn open(disk: &Disk, journal: &str, synchronous: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::default();
    let connection = Connection::open_with_flags_and_vfs(disk.path("test.db"), flags, disk.vfs().as_str())?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update_and_check(None, "journal_mode", journal, |_| Ok(()))?;
    connection.execute_batch("CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY, body BLOB)")?;
    Ok(connection)
}

pub(crate) fn insert(connection: &Connection, bytes: u32) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO rows (body) VALUES (zeroblob(?1))", [bytes])?;
    Ok(())
}

pub(crate) fn count(connection: &Connection) -> u64 {
    connection.query_row("SELECT count(*) FROM rows", [], |row| row.get::<_, i64>(0)).unwrap() as u64
}

/// Whether SQLite finds nothing wrong.
pub(crate) fn check_whole(connection: &Connection) {
    let found: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
}
