//! The tables, by version.

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::error::store_error;
use crate::sqlite_file::{self, Mark};
use crate::store::StoreError;

/// Marks a file as a store of this program: `tfed`.
const APPLICATION: i64 = 0x7466_6564;
/// What brings a file from each version to the next, from an empty one on.
const MIGRATIONS: [&str; 1] = [include_str!("../../../migrations/sqlite/0001_journal.sql")];
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

/// Whether a file is a store of this version.
pub(super) fn check_current(connection: &Connection) -> Result<(), StoreError> {
    check(connection)?;
    match version(connection)? {
        CURRENT => Ok(()),
        0 => Err(StoreError::Unusable("the file is empty".to_owned())),
        found => Err(StoreError::Version { found, expected: CURRENT }),
    }
}

/// Brings a checked file up to date, whole or not at all.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    if version(connection)? == CURRENT {
        return Ok(());
    }
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

fn version(connection: &Connection) -> Result<i64, StoreError> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(store_error)
}
