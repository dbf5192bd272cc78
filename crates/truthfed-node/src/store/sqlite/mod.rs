//! SQLite: one file beside the coordinator.
//!
//! The journal of the file itself is a write-ahead log that is synced at every commit (`synchronous = FULL`): what was
//! acknowledged survives a loss of power. Others may read while the coordinator writes. The lease runs on the clock that
//! SQLite reads: that of the machine, or of the file system (VFS) the file is on. It also ends with the process that holds
//! it ([`Presence`]): a coordinator that was killed is followed at once.

mod error;
mod presence;
mod schema;

#[cfg(any(test, feature = "testing"))]
pub(crate) mod place;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row as Columns, Transaction, TransactionBehavior, params};
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use self::error::{commit_error, store_error};
use self::presence::Presence;
use super::batch::{count, digest, extent, lease_column, posting, round, to_column};
use super::{Batch, Extent, Lease, Recorded, RequestKey, RequestKind, StandingRow, Store, StoreError, StoredReply};
use crate::journal::{Head, Row};
use crate::ledger::{Posting, Reference};
use crate::sqlite_file;

/// How long to wait while somebody else writes.
const BUSY: Duration = Duration::from_secs(5);
/// A table of one row: SQLite's clock, in milliseconds since 1970, the same all through a statement.
const CLOCK: &str = "(SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now) AS clock";

#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    /// Where the journal ends if the last commit, whose answer is not known, was written.
    in_doubt: Option<Head>,
    /// Only of those who may hold the lease, and of processes of this machine.
    presence: Option<Presence>,
}

impl Sqlite {
    /// Opens a file, readable by its owner only when it is made new, and brings its tables up to date. Fails when it is
    /// damaged, is no store, or has a schema of another version.
    pub fn open(path: &Path) -> Result<Sqlite, StoreError> {
        sqlite_file::create(path).map_err(StoreError::Unusable)?;
        let store = Sqlite::start(path, connect(path, None)?)?;
        Ok(Sqlite { presence: Some(Presence::beside(path)?), ..store })
    }

    /// As [`Sqlite::open`], on a file system (VFS) that is registered with SQLite under that name. Fails as
    /// [`Sqlite::open`], and when no file system has that name.
    pub fn open_on(path: &Path, vfs: &str) -> Result<Sqlite, StoreError> {
        Sqlite::start(path, connect(path, Some(vfs))?)
    }

    fn start(path: &Path, mut connection: Connection) -> Result<Sqlite, StoreError> {
        schema::check(&connection)?;
        if !sqlite_file::use_write_ahead_log(&connection, BUSY).map_err(store_error)? {
            return Err(StoreError::Unusable(format!("{} cannot have a write-ahead log", path.display())));
        }
        schema::migrate(&mut connection)?;
        kill_point!(replied());
        Ok(Sqlite { connection, in_doubt: None, presence: None })
    }

    /// Opens a file that is there already, to read only. Fails as [`Sqlite::open`], and when there is no file or it is
    /// empty.
    pub fn open_existing(path: &Path) -> Result<Sqlite, StoreError> {
        if !path.try_exists().unwrap_or(false) {
            return Err(StoreError::Unusable(format!("there is no file {}", path.display())));
        }
        let connection = connect(path, None)?;
        schema::check_current(&connection)?;
        connection.pragma_update(None, "query_only", true).map_err(store_error)?;
        Ok(Sqlite { connection, in_doubt: None, presence: None })
    }

    /// As [`Sqlite::open_existing`], and all that is read is of this moment.
    pub(super) fn open_frozen(path: &Path) -> Result<Sqlite, StoreError> {
        let store = Sqlite::open_existing(path)?;
        // The first thing that is read fixes the moment.
        store.connection.execute_batch("BEGIN; SELECT epoch FROM lease;").map_err(store_error)?;
        Ok(store)
    }

    /// Commits a batch, unless it was written before, when its answer was not known.
    fn try_commit(&mut self, lease: Lease, batch: &Batch, in_doubt: Option<Head>) -> Result<(), StoreError> {
        let transaction = self.write()?;
        if let Some(end) = in_doubt
            && has_row(&transaction, end)?
        {
            return Ok(());
        }
        let epoch: i64 = transaction.query_row("SELECT epoch FROM lease", [], |row| row.get(0)).map_err(store_error)?;
        if epoch != to_column(lease.epoch) {
            return Err(StoreError::NotLeader(lease.epoch));
        }
        batch.check(head(&transaction)?, last_posting(&transaction)?)?;
        insert(&transaction, batch).map_err(store_error)?;
        let sql =
            format!("UPDATE lease SET granted_ms = now, expires_ms = now + (expires_ms - granted_ms) FROM {CLOCK}");
        transaction.execute(&sql, []).map_err(store_error)?;
        transaction.commit().map_err(commit_error)
    }

    /// Takes the lease in a transaction of its own, since a query that returns a row does not say whether its commit
    /// failed: two would be granted the same epoch.
    fn grant(&mut self, sql: &str, lease_ms: u64, is_deserted: bool) -> Result<Lease, StoreError> {
        let transaction = self.write()?;
        let granted = params![lease_column(lease_ms), is_deserted];
        let epoch: Option<i64> =
            transaction.query_row(sql, granted, |row| row.get(0)).optional().map_err(store_error)?;
        let epoch = count(epoch.ok_or(StoreError::Held)?)?;
        transaction.commit().map_err(store_error)?;
        Ok(Lease { epoch })
    }

    fn write(&mut self) -> Result<Transaction<'_>, StoreError> {
        self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(store_error)
    }

    /// All rows of a query, each read by `read`.
    fn query<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        mut read: impl FnMut(&Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql).map_err(store_error)?;
        let mut rows = statement.query(parameters).map_err(store_error)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(store_error)? {
            all.push(read(row)?);
        }
        Ok(all)
    }
}

fn connect(path: &Path, vfs: Option<&str>) -> Result<Connection, StoreError> {
    let connection = sqlite_file::connect(path, vfs, BUSY, &[("foreign_keys", "on")]).map_err(store_error)?;
    #[cfg(feature = "planted-faults")]
    if truthfed::planted::is(truthfed::planted::Fault::SyncNormal) {
        connection.pragma_update(None, "synchronous", "normal").map_err(store_error)?;
    }
    Ok(connection)
}

impl Store for Sqlite {
    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError> {
        // A lease from the future was granted before the clock was set back: it must not last until then.
        let sql = format!(
            "UPDATE lease SET epoch = epoch + 1, granted_ms = now, expires_ms = now + ?1 FROM {CLOCK} \
             WHERE ?2 OR NOT (granted_ms <= now AND now < expires_ms) RETURNING epoch"
        );
        let is_deserted = self.presence.as_mut().is_some_and(Presence::take);
        let granted = self.grant(&sql, lease_ms, is_deserted);
        if let (Some(presence), true, Err(_)) = (&mut self.presence, is_deserted, &granted) {
            presence.give_up();
        }
        granted
    }

    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError> {
        let sql = format!("UPDATE lease SET granted_ms = now, expires_ms = now + ?2 FROM {CLOCK} WHERE epoch = ?1");
        let renewed = [to_column(lease.epoch), lease_column(lease_ms)];
        match self.connection.execute(&sql, renewed).map_err(store_error)? {
            0 => Err(StoreError::NotLeader(lease.epoch)),
            _ => {
                // It may have taken over from one that was not heard of, and is gone only now.
                self.presence.as_mut().map(Presence::take);
                Ok(())
            }
        }
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        // The epoch grows here too: whoever gave the lease back cannot write any more.
        let sql = "UPDATE lease SET epoch = epoch + 1, granted_ms = 0, expires_ms = 0 WHERE epoch = ?1";
        self.connection.execute(sql, [to_column(lease.epoch)]).map_err(store_error)?;
        self.presence.as_mut().map(Presence::give_up);
        Ok(())
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        let in_doubt = self.in_doubt.take().filter(|end| batch.end() == Some(*end));
        let outcome = self.try_commit(lease, batch, in_doubt).map_err(|error| match error {
            // What was tried before may be on the disk all the same.
            StoreError::Full | StoreError::Unavailable(_) if in_doubt.is_some() => {
                StoreError::InDoubt(error.to_string())
            }
            error => error,
        });
        if matches!(outcome, Err(StoreError::InDoubt(_))) {
            self.in_doubt = batch.end();
        }
        outcome
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        head(&self.connection)
    }

    fn extent(&mut self) -> Result<Extent, StoreError> {
        // One statement sees one moment.
        let sql = "SELECT number, hash, entry, standing.body, (SELECT count(*) FROM replies) FROM (SELECT 1) \
                   LEFT JOIN (SELECT number, hash FROM journal ORDER BY number DESC LIMIT 1) LEFT JOIN standing";
        let read = |row: &Columns<'_>| {
            let (number, entry): (Option<i64>, Option<i64>) = (get(row, 0)?, get(row, 2)?);
            let head = number.map(|number| Ok::<_, StoreError>((number, bytes(row, 1)?))).transpose()?;
            let standing = entry.map(|entry| Ok::<_, StoreError>((entry, get(row, 3)?))).transpose()?;
            extent(head, standing, get(row, 4)?)
        };
        self.query(sql, [], read)?.pop().ok_or_else(|| StoreError::Damaged("a query of one row has none".to_owned()))
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        let standing = |row: &Columns<'_>| Ok(StandingRow { entry: count(get(row, 0)?)?, body: get(row, 1)? });
        Ok(self.query("SELECT entry, body FROM standing", [], standing)?.pop())
    }

    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        let sql = "SELECT number, body, hash FROM journal WHERE number > ?1 ORDER BY number LIMIT ?2";
        self.query(sql, params![to_column(after), to_column(most as u64)], |row| {
            Ok(Row { number: count(get(row, 0)?)?, body: get(row, 1)?, hash: digest(bytes(row, 2)?)? })
        })
    }

    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        let sql = "SELECT request, body FROM replies WHERE member = ?1 AND kind = ?2 AND round = ?3";
        let parameters = params![key.member.as_str(), key.kind.name(), to_column(key.round.0)];
        let found = self.query(sql, parameters, |row| {
            Ok(StoredReply { key: key.clone(), request: digest(bytes(row, 0)?)?, body: get(row, 1)? })
        });
        Ok(found?.pop())
    }

    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        let sql =
            "SELECT round, request, body FROM replies WHERE member = ?1 AND kind = ?2 AND round > ?3 ORDER BY round";
        self.query(sql, params![member.as_str(), kind.name(), to_column(after.0)], |row| {
            let key = RequestKey { member: member.clone(), round: round(get(row, 0)?)?, kind };
            Ok(StoredReply { key, request: digest(bytes(row, 1)?)?, body: get(row, 2)? })
        })
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        let sql = "SELECT number, entry, round, member, account, micros, reference FROM postings \
                   WHERE number > ?1 ORDER BY number LIMIT ?2";
        self.query(sql, params![to_column(after), to_column(most as u64)], |row| {
            let (member, account, reference) = (text(row, 3)?, text(row, 4)?, optional_text(row, 6)?);
            posting((get(row, 0)?, get(row, 1)?, get(row, 2)?, member, account, get(row, 5)?, reference))
        })
    }

    fn owed(&mut self, member: &ClientId) -> Result<i128, StoreError> {
        // Added up here: a sum in the database is of 64 bits.
        let sql = "SELECT micros FROM postings WHERE account = 'member' AND member = ?1";
        let postings = self.query(sql, [member.as_str()], |row| get::<i64>(row, 0))?;
        Ok(postings.into_iter().map(i128::from).sum())
    }

    fn payout(&mut self, member: &ClientId, reference: &Reference) -> Result<Option<Recorded>, StoreError> {
        let sql = "SELECT entry, micros FROM postings WHERE account = 'paid-out' AND member = ?1 AND reference = ?2";
        let recorded = |row: &Columns<'_>| Ok(Recorded { entry: count(get(row, 0)?)?, micros: get(row, 1)? });
        Ok(self.query(sql, [member.as_str(), reference.as_str()], recorded)?.pop())
    }
}

fn head(connection: &Connection) -> Result<Head, StoreError> {
    let sql = "SELECT number, hash FROM journal ORDER BY number DESC LIMIT 1";
    let columns = |row: &Columns<'_>| Ok((row.get(0)?, row.get(1)?));
    let last: Option<(i64, Vec<u8>)> = connection.query_row(sql, [], columns).optional().map_err(store_error)?;
    last.map_or(Ok(Head::START), |(number, hash)| Ok(Head { number: count(number)?, hash: digest(&hash)? }))
}

/// Whether the journal has a row of that number and that hash.
fn has_row(connection: &Connection, Head { number, hash }: Head) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM journal WHERE number = ?1 AND hash = ?2)";
    connection.query_row(sql, params![to_column(number), hash.0], |row| row.get(0)).map_err(store_error)
}

fn last_posting(connection: &Connection) -> Result<u64, StoreError> {
    let sql = "SELECT coalesce(max(number), 0) FROM postings";
    connection.query_row(sql, [], |row| row.get(0)).map_err(store_error).and_then(count)
}

fn insert(transaction: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<()> {
    let Batch { rows, replies, postings, standing } = batch;
    let mut statement = transaction.prepare_cached("INSERT INTO journal VALUES (?1, ?2, ?3)")?;
    for row in rows {
        statement.execute(params![to_column(row.number), row.body, row.hash.0])?;
        kill_point!(inside(std::slice::from_ref(row)));
    }
    let mut statement = transaction.prepare_cached("INSERT INTO replies VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for StoredReply { key, request, body } in replies {
        let (member, round) = (key.member.as_str(), to_column(key.round.0));
        statement.execute(params![member, round, key.kind.name(), request.0, body])?;
    }
    let mut statement = transaction.prepare_cached("INSERT INTO postings VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for Posting { number, entry, cause, member, account, micros } in postings {
        let (number, entry) = (to_column(*number), to_column(*entry));
        let (round, reference) = (cause.round_column(), cause.reference_column());
        statement.execute(params![number, entry, round, member.as_str(), account.column(), micros, reference])?;
    }
    if let Some(StandingRow { entry, body }) = standing {
        let sql = "INSERT INTO standing VALUES (1, ?1, ?2) \
                   ON CONFLICT (id) DO UPDATE SET entry = excluded.entry, body = excluded.body";
        transaction.execute(sql, params![to_column(*entry), body])?;
    }
    Ok(())
}

fn get<T: rusqlite::types::FromSql>(row: &Columns<'_>, index: usize) -> Result<T, StoreError> {
    row.get(index).map_err(store_error)
}

/// A text or a blob where it lies: they are read by the million.
fn text<'a>(row: &'a Columns<'_>, index: usize) -> Result<&'a str, StoreError> {
    row.get_ref(index).and_then(|column| Ok(column.as_str()?)).map_err(store_error)
}

fn optional_text<'a>(row: &'a Columns<'_>, index: usize) -> Result<Option<&'a str>, StoreError> {
    row.get_ref(index).and_then(|column| Ok(column.as_str_or_null()?)).map_err(store_error)
}

fn bytes<'a>(row: &'a Columns<'_>, index: usize) -> Result<&'a [u8], StoreError> {
    row.get_ref(index).and_then(|column| Ok(column.as_blob()?)).map_err(store_error)
}
