//! The tables of an agent's file, and whether a file is one.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Transaction, params};
use truthfed::auction::ClientId;

use super::{FileError, columns3, write};
use crate::digest::Digest;
use crate::sqlite_file::{self, Mark};

/// Marks a file as an agent's: `tfag`.
const APPLICATION: i64 = 0x7466_6167;
const VERSION: i64 = 3;
const TABLES: &str = "
    CREATE TABLE owner (id INTEGER PRIMARY KEY CHECK (id = 1), federation TEXT NOT NULL, member TEXT NOT NULL,
        terms TEXT NOT NULL) STRICT;
    CREATE TABLE checkpoint (id INTEGER PRIMARY KEY CHECK (id = 1), event INTEGER NOT NULL, body TEXT NOT NULL,
        hash BLOB NOT NULL) STRICT;
    CREATE TABLE events (number INTEGER PRIMARY KEY, body TEXT NOT NULL, hash BLOB NOT NULL) STRICT;
    CREATE TABLE decisions (number INTEGER PRIMARY KEY, tag BLOB NOT NULL, arm BLOB, reward REAL,
        CHECK ((arm IS NULL) = (reward IS NOT NULL))) STRICT;
    CREATE TABLE offers (round INTEGER PRIMARY KEY, envelope TEXT NOT NULL, salt BLOB NOT NULL) STRICT;
    CREATE TABLE receipts (round INTEGER NOT NULL, kind TEXT NOT NULL, envelope TEXT NOT NULL, payment INTEGER,
        heard_ms INTEGER, PRIMARY KEY (round, kind)) STRICT, WITHOUT ROWID;
    CREATE TABLE heads (id INTEGER PRIMARY KEY CHECK (id IN (1, 2)), note TEXT NOT NULL, heard_ms INTEGER NOT NULL) STRICT;
";
/// From version 1, which did not keep when a receipt came.
const SINCE_1: &str = "ALTER TABLE receipts ADD COLUMN heard_ms INTEGER";
/// From version 2, which kept no heads.
const SINCE_2: &str = "CREATE TABLE heads (id INTEGER PRIMARY KEY CHECK (id IN (1, 2)), note TEXT NOT NULL,
    heard_ms INTEGER NOT NULL) STRICT";
/// How long another agent is waited for that may just be ending.
const BUSY: Duration = Duration::from_secs(1);

/// Whose file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agent) struct Owner {
    pub(in crate::agent) federation: Digest,
    pub(in crate::agent) member: ClientId,
    pub(in crate::agent) terms: Digest,
}

/// Opens an agent's file, or makes a new one that only its owner can read.
pub(super) fn connect(path: &Path, vfs: Option<&str>, owner: &Owner) -> Result<Connection, FileError> {
    if vfs.is_none() {
        sqlite_file::create(path).map_err(FileError::Unusable)?;
    }
    // Held until the connection ends: what is in memory is what is in the file.
    let mut connection = sqlite_file::connect(path, vfs, BUSY, &[("locking_mode", "exclusive")])?;
    if !sqlite_file::use_write_ahead_log(&connection, BUSY)? {
        return Err(FileError::Unusable(format!("{} cannot have a write-ahead log", path.display())));
    }
    prepare(&mut connection, owner)?;
    Ok(connection)
}

/// Makes the tables of an empty file, or checks that a file is of this version, whole, and this agent's.
fn prepare(connection: &mut Connection, owner: &Owner) -> Result<(), FileError> {
    kill_point!(before(&"begun"));
    let transaction = write(connection)?;
    match sqlite_file::mark(&transaction, APPLICATION)? {
        Mark::Empty => {
            transaction.execute_batch(TABLES)?;
            sqlite_file::set_mark(&transaction, APPLICATION, VERSION)?;
            let Owner { federation, member, terms } = owner;
            let columns = params![federation.to_string(), member.as_str(), terms.to_string()];
            transaction.execute("INSERT INTO owner VALUES (1, ?1, ?2, ?3)", columns)?;
        }
        Mark::Ours(version @ 1..=VERSION) => {
            check_whole(&transaction, owner)?;
            for since in [SINCE_1, SINCE_2].iter().skip(version as usize - 1) {
                transaction.execute_batch(since)?;
                sqlite_file::set_mark(&transaction, APPLICATION, VERSION)?;
            }
            // A killed process may have left in the log what it had not synced yet. Before anything is built on it, this
            // write, which changes nothing, has it synced.
            transaction.execute("UPDATE owner SET id = id", [])?;
        }
        Mark::Ours(found) => return Err(FileError::Version { found, expected: VERSION }),
        Mark::Foreign => return Err(FileError::Unusable("the file belongs to another program".to_owned())),
    }
    kill_point!(inside(&"begun"));
    transaction.commit()?;
    kill_point!(committed(&"begun"));
    kill_point!(replied());
    Ok(())
}

fn check_whole(transaction: &Transaction<'_>, owner: &Owner) -> Result<(), FileError> {
    let problem: String = transaction.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    match problem.as_str() {
        "ok" => {}
        // It could not be read: nothing is known about it.
        _ if is_unread(&problem) => return Err(FileError::Unavailable(problem)),
        _ => return Err(FileError::Damaged(problem)),
    }
    let sql = "SELECT member, federation, terms FROM owner";
    let (member, federation, terms) = transaction.query_row(sql, [], columns3::<String, String, String>)?;
    let words = |member: &str, federation: &str, terms: &str| {
        format!("{member} of federation {} under terms {}", short(federation), short(terms))
    };
    let expected = (owner.member.as_str(), &owner.federation.to_string(), &owner.terms.to_string());
    if (member.as_str(), &federation, &terms) == expected {
        return Ok(());
    }
    Err(FileError::Foreign {
        found: words(&member, &federation, &terms),
        expected: words(expected.0, expected.1, expected.2),
    })
}

/// Whether a check of the file found that the disk failed, of which SQLite tells in words only. A page that is got wrongly,
/// because the file is damaged, has other words.
fn is_unread(problem: &str) -> bool {
    let code = problem.rsplit_once("error code=").and_then(|(_, code)| code.parse::<i32>().ok());
    problem.contains("failed to get page") || code.is_some_and(|code| code & 0xff == rusqlite::ffi::SQLITE_IOERR)
}

/// Enough of a hash to tell it from another.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
