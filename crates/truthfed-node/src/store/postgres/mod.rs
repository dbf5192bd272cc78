//! PostgreSQL, 13 or later: for those who have one, and for a standby coordinator.
//!
//! Every commit is one transaction that locks the row of the lease first: writers come one after another, and one that
//! was fenced finds out before it writes. Each commit renews the lease, too: a large one may take longer than the lease
//! lasts, and the lock keeps out whoever would renew it. A lost connection is made again at the next call. When it is lost at the commit
//! itself, the next connection waits for that same lock, and so for the fate of the transaction, before it looks whether
//! the row is there. The lease runs on the clock of the database.
//!
//! Calls block: not for use inside an asynchronous runtime.

mod connect;
mod error;
mod insert;
mod schema;
mod tls;

#[cfg(any(test, feature = "testing"))]
pub(crate) mod place;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use ::postgres::types::{FromSql, ToSql, Type};
use ::postgres::{Client, GenericClient, IsolationLevel, Row as Columns};
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use self::connect::Address;
use self::error::Failure;
use self::insert::insert;
use super::batch::{count, digest, extent, lease_column, posting, round, to_column};
use super::{Batch, Extent, Lease, Recorded, RequestKey, RequestKind, StandingRow, Store, StoreError, StoredReply};
use crate::journal::{Head, Row};
use crate::ledger::{Posting, Reference};

/// How often a call is tried when the connection is lost, or another transaction is in the way.
const ATTEMPTS: u32 = 4;

/// A store in the schema `truthfed` of a database.
pub(crate) struct Postgres {
    address: Address,
    client: Option<Client>,
    /// Where the journal ends if the last commit, whose answer is not known, was written.
    in_doubt: Option<Head>,
    /// All that is read is of one moment, which a new connection could not see.
    is_frozen: bool,
}

impl Postgres {
    /// Connects, and brings the tables up to date. With `sslmode=verify-full` all is encrypted. Fails
    /// when the database does not answer or cannot be used, or its schema has another version.
    pub(crate) fn open(url: &str) -> Result<Postgres, StoreError> {
        Postgres::prepare(Address::for_writing(url)?, schema::migrate)
    }

    /// Connects to a database whose tables are there already, to read only. Fails as [`Postgres::open`], and when there
    /// are no tables.
    pub(crate) fn open_existing(url: &str) -> Result<Postgres, StoreError> {
        Postgres::prepare(Address::for_reading(url)?, schema::check_current)
    }

    /// As [`Postgres::open_existing`], and all that is read is of this moment.
    pub(crate) fn open_frozen(url: &str) -> Result<Postgres, StoreError> {
        let mut store = Postgres::open_existing(url)?;
        // The first thing that is read fixes the moment. Between two reads it may wait for whoever writes the copy.
        let sql = "SET idle_in_transaction_session_timeout = '10min'; \
                   BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT epoch FROM truthfed.lease";
        store.attempt(|client| Ok(client.batch_execute(sql)?))?;
        store.is_frozen = true;
        Ok(store)
    }

    fn prepare(address: Address, schema: fn(&mut Client) -> Result<(), Failure>) -> Result<Postgres, StoreError> {
        let mut store = Postgres { address, client: None, in_doubt: None, is_frozen: false };
        store.attempt(schema)?;
        kill_point!(replied());
        Ok(store)
    }

    fn client(&mut self) -> Result<&mut Client, StoreError> {
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None if self.is_frozen => return Err(StoreError::Unavailable("the connection was lost".to_owned())),
            None => self.address.connect()?,
        };
        Ok(self.client.insert(client))
    }

    /// Does something that may be done again as long as it has not succeeded.
    fn attempt<T>(&mut self, mut work: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, StoreError> {
        let mut why = String::new();
        for attempt in 0..ATTEMPTS {
            why = match work(self.client()?) {
                Ok(done) => return Ok(done),
                Err(Failure::Store(error)) => return Err(error),
                Err(Failure::Lost(why)) => {
                    self.client = None;
                    why
                }
                Err(Failure::Raced(why)) => {
                    std::thread::sleep(Duration::from_millis(10 << attempt));
                    why
                }
            };
        }
        Err(StoreError::Unavailable(why))
    }

    fn query(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Columns>, StoreError> {
        self.attempt(|client| Ok(client.query_typed(sql, parameters)?))
    }
}

impl Store for Postgres {
    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError> {
        // A lease from the future was granted before the clock was set back: it must not last until then.
        let sql = "UPDATE truthfed.lease SET epoch = epoch + 1, granted = clock_timestamp(), \
                       expires = clock_timestamp() + $1 * interval '1 millisecond' \
                   WHERE NOT (granted <= clock_timestamp() AND clock_timestamp() < expires) RETURNING epoch";
        let granted = self.query(sql, &[(&lease_column(lease_ms), Type::INT8)])?;
        let row = granted.first().ok_or(StoreError::Held)?;
        Ok(Lease { epoch: count(get(row, 0)?)? })
    }

    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError> {
        let sql = "UPDATE truthfed.lease SET granted = clock_timestamp(), \
                       expires = clock_timestamp() + $2 * interval '1 millisecond' WHERE epoch = $1";
        let (epoch, lease_ms) = (to_column(lease.epoch), lease_column(lease_ms));
        let parameters: [Parameter<'_>; 2] = [(&epoch, Type::INT8), (&lease_ms, Type::INT8)];
        match self.attempt(|client| Ok(client.execute_typed(sql, &parameters)?))? {
            0 => Err(StoreError::NotLeader(lease.epoch)),
            _ => Ok(()),
        }
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        // The epoch grows here too: whoever gave the lease back cannot write any more.
        let sql = "UPDATE truthfed.lease SET epoch = epoch + 1, granted = 'epoch', expires = 'epoch' WHERE epoch = $1";
        let epoch = to_column(lease.epoch);
        self.attempt(|client| Ok(client.execute_typed(sql, &[(&epoch, Type::INT8)])?))?;
        Ok(())
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        let mut in_doubt = self.in_doubt.take().filter(|end| batch.end() == Some(*end));
        let outcome = self.attempt(|client| write(client, lease, batch, &mut in_doubt));
        self.in_doubt = in_doubt;
        match outcome {
            Err(error) if in_doubt.is_some() => Err(StoreError::InDoubt(error.to_string())),
            outcome => outcome,
        }
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        self.attempt(head)
    }

    fn extent(&mut self) -> Result<Extent, StoreError> {
        // One statement sees one moment.
        let sql = "SELECT number, hash, entry, standing.body, (SELECT count(*) FROM truthfed.replies) \
                   FROM (SELECT 1) AS one \
                   LEFT JOIN (SELECT number, hash FROM truthfed.journal ORDER BY number DESC LIMIT 1) AS last ON true \
                   LEFT JOIN truthfed.standing ON true";
        let rows = self.query(sql, &[])?;
        let row = rows.first().ok_or_else(|| StoreError::Damaged("a query of one row has none".to_owned()))?;
        let number: Option<i64> = get(row, 0)?;
        let entry: Option<i64> = get(row, 2)?;
        let head = number.map(|number| Ok::<_, StoreError>((number, get(row, 1)?))).transpose()?;
        let standing = entry.map(|entry| Ok::<_, StoreError>((entry, get(row, 3)?))).transpose()?;
        extent(head, standing, get(row, 4)?)
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        let rows = self.query("SELECT entry, body FROM truthfed.standing", &[])?;
        let standing = |row: &Columns| Ok(StandingRow { entry: count(get(row, 0)?)?, body: get(row, 1)? });
        rows.first().map(standing).transpose()
    }

    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        let sql = "SELECT number, body, hash FROM truthfed.journal WHERE number > $1 ORDER BY number LIMIT $2";
        let rows = self.query(sql, &[(&to_column(after), Type::INT8), (&to_column(most as u64), Type::INT8)])?;
        let row = |row| Ok(Row { number: count(get(row, 0)?)?, body: get(row, 1)?, hash: digest(get(row, 2)?)? });
        rows.iter().map(row).collect()
    }

    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        let sql = "SELECT request, body FROM truthfed.replies WHERE member = $1 AND kind = $2 AND round = $3";
        let (member, kind, round) = (key.member.as_str(), key.kind.name(), to_column(key.round.0));
        let rows = self.query(sql, &[(&member, Type::TEXT), (&kind, Type::TEXT), (&round, Type::INT8)])?;
        let reply = |row| Ok(StoredReply { key: key.clone(), request: digest(get(row, 0)?)?, body: get(row, 1)? });
        rows.first().map(reply).transpose()
    }

    fn replies_to(&mut self, keys: &[RequestKey]) -> Result<Vec<StoredReply>, StoreError> {
        let sql = "SELECT place, request, body FROM truthfed.replies \
                   JOIN unnest($1, $2, $3) WITH ORDINALITY AS asked (member, kind, round, place) \
                   USING (member, kind, round)";
        let members: Vec<&str> = keys.iter().map(|key| key.member.as_str()).collect();
        let kinds: Vec<&str> = keys.iter().map(|key| key.kind.name()).collect();
        let rounds: Vec<i64> = keys.iter().map(|key| to_column(key.round.0)).collect();
        let (texts, numbers) = (Type::TEXT_ARRAY, Type::INT8_ARRAY);
        let rows = self.query(sql, &[(&members, texts.clone()), (&kinds, texts), (&rounds, numbers)])?;
        let reply = |row| {
            let place: i64 = get(row, 0)?;
            let key = keys[place as usize - 1].clone();
            Ok(StoredReply { key, request: digest(get(row, 1)?)?, body: get(row, 2)? })
        };
        rows.iter().map(reply).collect()
    }

    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        let sql = "SELECT round, request, body FROM truthfed.replies \
                   WHERE member = $1 AND kind = $2 AND round > $3 ORDER BY round";
        let (whose, name, after) = (member.as_str(), kind.name(), to_column(after.0));
        let rows = self.query(sql, &[(&whose, Type::TEXT), (&name, Type::TEXT), (&after, Type::INT8)])?;
        let reply = |row| {
            let key = RequestKey { member: member.clone(), round: round(get(row, 0)?)?, kind };
            Ok(StoredReply { key, request: digest(get(row, 1)?)?, body: get(row, 2)? })
        };
        rows.iter().map(reply).collect()
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        let sql = "SELECT number, entry, round, member, account, micros, reference FROM truthfed.postings \
                   WHERE number > $1 ORDER BY number LIMIT $2";
        let rows = self.query(sql, &[(&to_column(after), Type::INT8), (&to_column(most as u64), Type::INT8)])?;
        let read = |row| {
            let (member, account, reference) = (get(row, 3)?, get(row, 4)?, get(row, 6)?);
            posting((get(row, 0)?, get(row, 1)?, get(row, 2)?, member, account, get(row, 5)?, reference))
        };
        rows.iter().map(read).collect()
    }

    fn owed(&mut self, member: &ClientId) -> Result<i128, StoreError> {
        let sql =
            "SELECT coalesce(sum(micros), 0)::text FROM truthfed.postings WHERE account = 'member' AND member = $1";
        let rows = self.query(sql, &[(&member.as_str(), Type::TEXT)])?;
        let sum: &str = rows.first().map_or(Ok("0"), |row| get(row, 0))?;
        sum.parse().map_err(|_| StoreError::Damaged(format!("{sum} is owed to {member}")))
    }

    fn payout(&mut self, member: &ClientId, reference: &Reference) -> Result<Option<Recorded>, StoreError> {
        let sql = "SELECT entry, micros FROM truthfed.postings \
                   WHERE account = 'paid-out' AND member = $1 AND reference = $2";
        let rows = self.query(sql, &[(&member.as_str(), Type::TEXT), (&reference.as_str(), Type::TEXT)])?;
        let recorded = |row| Ok(Recorded { entry: count(get(row, 0)?)?, micros: get(row, 1)? });
        rows.first().map(recorded).transpose()
    }
}

type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// One transaction. Leaves in `in_doubt` where the journal ends if it was written and nobody knows.
fn write(client: &mut Client, lease: Lease, batch: &Batch, in_doubt: &mut Option<Head>) -> Result<(), Failure> {
    let mut transaction = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start()?;
    // The lock first, and alone: what is read after it is what the writers before left.
    let epoch = transaction.query_typed("SELECT epoch FROM truthfed.lease FOR UPDATE", &[])?;
    let epoch: i64 =
        epoch.first().map_or(Err(StoreError::Damaged("there is no lease".to_owned())), |row| get(row, 0))?;
    if let Some(end) = *in_doubt {
        let is_written = has_row(&mut transaction, end)?;
        *in_doubt = None;
        if is_written {
            return Ok(());
        }
    }
    if epoch != to_column(lease.epoch) {
        return Err(StoreError::NotLeader(lease.epoch).into());
    }
    batch.check(head(&mut transaction)?, last_posting(&mut transaction)?)?;
    insert(&mut transaction, batch)?;
    // Nobody could renew the lease meanwhile. If it ran out, whoever waited for the lock would take it.
    let sql = "UPDATE truthfed.lease SET granted = now, expires = now + (expires - granted) \
               FROM (SELECT clock_timestamp() AS now) AS clock";
    transaction.execute_typed(sql, &[])?;
    transaction.commit().map_err(|error| {
        let failure = Failure::from(error);
        if matches!(failure, Failure::Lost(_)) {
            *in_doubt = batch.end();
        }
        failure
    })
}

fn head(client: &mut impl GenericClient) -> Result<Head, Failure> {
    let sql = "SELECT number, hash FROM truthfed.journal ORDER BY number DESC LIMIT 1";
    let rows = client.query_typed(sql, &[])?;
    let head = |row| Ok(Head { number: count(get(row, 0)?)?, hash: digest(get(row, 1)?)? });
    rows.first().map_or(Ok(Head::START), head)
}

/// Whether the journal has a row of that number and that hash.
fn has_row(client: &mut impl GenericClient, Head { number, hash }: Head) -> Result<bool, Failure> {
    let sql = "SELECT 1 FROM truthfed.journal WHERE number = $1 AND hash = $2";
    let (number, hash) = (to_column(number), hash.0.as_slice());
    Ok(!client.query_typed(sql, &[(&number, Type::INT8), (&hash, Type::BYTEA)])?.is_empty())
}

fn last_posting(client: &mut impl GenericClient) -> Result<u64, Failure> {
    let row = client.query_typed_one("SELECT coalesce(max(number), 0) FROM truthfed.postings", &[])?;
    Ok(count(get(&row, 0)?)?)
}

fn get<'a, T: FromSql<'a>>(row: &'a Columns, index: usize) -> Result<T, StoreError> {
    row.try_get(index).map_err(|error| StoreError::Damaged(error::words(&error)))
}

/// The address may hold a password.
impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("in_doubt", &self.in_doubt).finish_non_exhaustive()
    }
}
