//! The tables, by version.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::store_error;
use crate::sqlite_file::{self, Mark};
use crate::store::StoreError;
use crate::store::batch::check_same;

/// Marks a file as a store of this program: `tfed`.
const APPLICATION: i64 = 0x7466_6564;
/// What brings a file from each version to the next, from an empty one on.
const MIGRATIONS: [&str; 2] = [
    include_str!("../../../migrations/sqlite/0001_journal.sql"),
    include_str!("../../../migrations/sqlite/0002_payouts.sql"),
];
const CURRENT: i64 = MIGRATIONS.len() as i64;

/// Whether a file is empty, or a store of a version that can be brought up to date.
pub(super) fn check(connection: &Connection) -> Result<(), StoreError> {
    // All of it is read at one moment: somebody else may be making the tables.
    let transaction = connection.unchecked_transaction().map_err(store_error)?;
    check_within(&transaction)
}

fn check_within(connection: &Transaction<'_>) -> Result<(), StoreError> {
    match sqlite_file::mark(connection, APPLICATION).map_err(store_error)? {
        Mark::Empty | Mark::Ours(1..=CURRENT) => Ok(()),
        Mark::Ours(found) => Err(StoreError::Version { found, expected: CURRENT }),
        Mark::Foreign => Err(StoreError::Unusable("the file belongs to another program".to_owned())),
    }
}

/// Whether a file is a store of this version, and its tables are as they were made.
pub(super) fn check_current(connection: &Connection) -> Result<(), StoreError> {
    check(connection)?;
    match version(connection)? {
        CURRENT => check_unaltered(connection),
        0 => Err(StoreError::Unusable("the file is empty".to_owned())),
        found => Err(StoreError::Version { found, expected: CURRENT }),
    }
}

/// Brings a checked file up to date, whole or not at all. Fails when its tables were changed.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if version(connection)? != CURRENT {
        make(connection)?;
    }
    check_unaltered(connection)
}

fn make(connection: &mut Connection) -> Result<(), StoreError> {
    kill_point!(before(&"maintenance"));
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(store_error)?;
    // Somebody else may have been faster.
    check_within(&transaction)?;
    let found = version(&transaction)?;
    for migration in MIGRATIONS.iter().skip(found as usize) {
        transaction.execute_batch(migration).map_err(store_error)?;
    }
    sqlite_file::set_mark(&transaction, APPLICATION, CURRENT).map_err(store_error)?;
    kill_point!(inside(&"maintenance"));
    transaction.commit().map_err(store_error)?;
    kill_point!(committed(&"maintenance"));
    Ok(())
}

fn check_unaltered(connection: &Connection) -> Result<(), StoreError> {
    let new = Connection::open_in_memory().map_err(store_error)?;
    MIGRATIONS.iter().try_for_each(|migration| new.execute_batch(migration)).map_err(store_error)?;
    let [made, found] = [&new, connection].map(|connection| describe(connection).map_err(store_error));
    check_same(made?, found?)
}

/// How everything in a file was created. SQLite's own indexes and statistics follow from that, or change no row.
fn describe(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn version(connection: &Connection) -> Result<i64, StoreError> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(store_error)
}
