//! The agent's own file: an SQLite database that one agent holds at a time.
//!
//! The last checkpoint of the state and the events since give the state again, bit for bit. Beside them: decisions that
//! wait for their reward, offers as they were signed (a retry sends the very same bytes), the coordinator's receipts, and its heads.
//! What a write said yes to is there after any crash (write-ahead log, full sync).
//!
//! Not here: what events mean ([`super::state`]).

mod error;
#[cfg(feature = "kill-points")]
mod kill;
mod schema;

use std::ops::RangeInclusive;
use std::path::Path;

use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use truthfed::protocol::RoundId;
use truthfed::{Amount, Total};

pub use self::error::FileError;
pub(super) use self::schema::Owner;
use super::decision::DecisionId;
use super::heads::Heads;
use super::state::{Event, State};
use crate::digest::{Digest, Hex, Nonce};
use crate::log::SignedHead;
use crate::wire::{Envelope, ReceiptKind};

/// About how many bytes decisions may take; the oldest are forgotten first. At dimension 512 that is 64,000 decisions.
const DECISION_BYTES: u64 = 256 << 20;
/// Rounds whose offers are kept, far more than can be open or in dispute; their receipts are kept for ever.
const OFFER_ROUNDS: u64 = 1024;

#[derive(Debug, PartialEq)]
pub(super) enum Decision {
    /// It waits for the reward of this arm.
    Open { arm: Vec<f64> },
    /// Its reward came.
    Learned { reward: f64 },
}

#[derive(Debug, Clone)]
pub(super) struct SignedOffer {
    pub(super) envelope: Envelope,
    pub(super) salt: Nonce,
}

/// A receipt that was verified.
#[derive(Debug, Clone)]
pub(super) struct Receipt {
    pub(super) round: RoundId,
    pub(super) kind: ReceiptKind,
    pub(super) payment: Option<Amount>,
    pub(super) envelope: Envelope,
}

/// A receipt of a round as it was signed, and when it came.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) round: RoundId,
    pub(super) envelope: Envelope,
    /// Milliseconds since 1970; none if an earlier program kept it.
    pub(super) heard_ms: Option<u64>,
}

/// What is written together with an event.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Decisions whose rewards came.
    pub(super) learned: Vec<(DecisionId, f64)>,
    pub(super) offer: Option<(RoundId, SignedOffer)>,
    pub(super) receipts: Vec<Receipt>,
    pub(super) head: Option<Heard>,
}

/// A head of the journal.
#[derive(Debug)]
pub(super) enum Heard {
    /// It takes the place of the newest.
    Newer(SignedHead),
    /// It did not grow from the newest; the first such one is kept beside it.
    Other(SignedHead),
}

/// The rows of heads.
const NEWEST: i64 = 1;
const OTHER: i64 = 2;

pub(super) struct AgentStore {
    connection: Connection,
    /// Decisions that are kept.
    decisions: u64,
    last_event: u64,
    /// How many of them are not in the checkpoint.
    pub(super) since_checkpoint: u64,
}

impl AgentStore {
    /// Opens an agent's file, or makes a new one that only its owner can read. `vfs` names a file system of SQLite.
    pub(super) fn open(
        path: &Path,
        vfs: Option<&str>,
        owner: &Owner,
        dimension: usize,
    ) -> Result<AgentStore, FileError> {
        let connection = schema::connect(path, vfs, owner)?;
        let decisions = (DECISION_BYTES / (8 * dimension as u64 + 64)).max(1024);
        Ok(AgentStore { connection, decisions, last_event: 0, since_checkpoint: 0 })
    }

    /// The last checkpoint, if there is one, and the events after it.
    pub(super) fn load(&mut self) -> Result<(Option<State>, Vec<Event>), FileError> {
        let sql = "SELECT event, body, hash FROM checkpoint";
        let row = self.connection.query_row(sql, [], columns3::<i64, String, Vec<u8>>).optional()?;
        let (mut last, checkpoint) = match row {
            None => (0, None),
            Some((event, body, hash)) => (event as u64, Some(read(&format!("checkpoint {event}"), &body, &hash)?)),
        };
        let mut statement = self
            .connection
            .prepare_cached("SELECT number, body, hash FROM events WHERE number > ?1 ORDER BY number")?;
        let mut rows = statement.query([last as i64])?;
        let mut events = Vec::new();
        while let Some(row) = rows.next()? {
            let (number, body, hash) = columns3::<i64, String, Vec<u8>>(row)?;
            last += 1;
            if number as u64 != last {
                return Err(FileError::Damaged(format!("event {last} is missing")));
            }
            events.push(read(&format!("event {number}"), &body, &hash)?);
        }
        (self.last_event, self.since_checkpoint) = (last, events.len() as u64);
        Ok((checkpoint, events))
    }

    /// Writes the whole state, and forgets the events that led to it.
    pub(super) fn checkpoint(&mut self, state: &State) -> Result<(), FileError> {
        let body = serde_json::to_string(state).expect("a state is JSON");
        let event = self.last_event as i64;
        kill_point!(before(&"kept"));
        let transaction = write(&mut self.connection)?;
        let sql = "INSERT INTO checkpoint VALUES (1, ?1, ?2, ?3) \
                   ON CONFLICT (id) DO UPDATE SET event = ?1, body = ?2, hash = ?3";
        let hash = row_hash(&format!("checkpoint {event}"), &body);
        transaction.execute(sql, params![event, body, hash.0])?;
        kill_point!(inside(&"kept"));
        transaction.execute("DELETE FROM events WHERE number <= ?1", [event])?;
        transaction.commit()?;
        kill_point!(committed(&"kept"));
        self.since_checkpoint = 0;
        Ok(())
    }

    /// Keeps decisions until their rewards come, or so many others came that they are forgotten. All are kept, or none.
    pub(super) fn decide(&mut self, arms: &[&[f64]]) -> Result<Vec<DecisionId>, FileError> {
        kill_point!(before(&"decided"));
        let transaction = write(&mut self.connection)?;
        let last: i64 =
            transaction.query_row("SELECT coalesce(max(number), 0) FROM decisions", [], |row| row.get(0))?;
        let ids: Vec<DecisionId> = (1..=arms.len() as u64).map(|next| DecisionId::random(last as u64 + next)).collect();
        for (id, arm) in ids.iter().zip(arms) {
            let arm: Vec<u8> = arm.iter().flat_map(|x| x.to_bits().to_be_bytes()).collect();
            let sql = "INSERT INTO decisions VALUES (?1, ?2, ?3, NULL)";
            transaction.prepare_cached(sql)?.execute(params![id.number as i64, id.tag.0, arm])?;
        }
        kill_point!(inside(&"decided"));
        let oldest = last + arms.len() as i64 - self.decisions as i64;
        transaction.prepare_cached("DELETE FROM decisions WHERE number <= ?1")?.execute([oldest])?;
        transaction.commit()?;
        kill_point!(committed(&"decided"));
        Ok(ids)
    }

    pub(super) fn decision(&self, id: DecisionId) -> Result<Option<Decision>, FileError> {
        let sql = "SELECT arm, reward FROM decisions WHERE number = ?1 AND tag = ?2";
        let Ok(number) = i64::try_from(id.number) else { return Ok(None) };
        let found = self.connection.prepare_cached(sql)?.query_row(params![number, id.tag.0], |row| {
            Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, Option<f64>>(1)?))
        });
        match found.optional()? {
            None => Ok(None),
            Some((_, Some(reward))) => Ok(Some(Decision::Learned { reward })),
            Some((Some(arm), None)) => {
                let entry = |bits: &[u8; 8]| f64::from_bits(u64::from_be_bytes(*bits));
                Ok(Some(Decision::Open { arm: arm.as_chunks().0.iter().map(entry).collect() }))
            }
            Some((None, None)) => Err(FileError::Damaged(format!("decision {id} has no arm"))),
        }
    }

    /// Writes an event and what belongs to it, whole or not at all.
    pub(super) fn record(&mut self, event: Option<&Event>, beside: &Beside) -> Result<(), FileError> {
        let number = self.last_event + 1;
        kill_point!(before(&(event, beside)));
        let transaction = write(&mut self.connection)?;
        if let Some(event) = event {
            let body = serde_json::to_string(event).expect("an event is JSON");
            let hash = row_hash(&format!("event {number}"), &body);
            let mut insert = transaction.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3)")?;
            insert.execute(params![number as i64, body, hash.0])?;
        }
        insert(&transaction, beside)?;
        kill_point!(inside(&(event, beside)));
        transaction.commit()?;
        kill_point!(committed(&(event, beside)));
        if event.is_some() {
            self.last_event = number;
            self.since_checkpoint += 1;
        }
        Ok(())
    }

    pub(super) fn offer(&self, round: RoundId) -> Result<Option<SignedOffer>, FileError> {
        let sql = "SELECT envelope, salt FROM offers WHERE round = ?1";
        let columns = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, [u8; 16]>(1)?));
        let found = self.connection.query_row(sql, [round.0 as i64], columns).optional()?;
        let offer = |(envelope, salt): (String, _)| {
            Ok(SignedOffer { envelope: envelope_of(round, &envelope)?, salt: Hex(salt) })
        };
        found.map(offer).transpose()
    }

    pub(super) fn receipt(&self, round: RoundId, kind: ReceiptKind) -> Result<Option<Receipt>, FileError> {
        let sql = "SELECT envelope, payment FROM receipts WHERE round = ?1 AND kind = ?2";
        let columns = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?));
        let found = self.connection.prepare_cached(sql)?.query_row(params![round.0 as i64, kind.name()], columns);
        let receipt = |(envelope, payment): (String, Option<i64>)| {
            let payment = payment.map(payment_of).transpose()?;
            Ok(Receipt { round, kind, payment, envelope: envelope_of(round, &envelope)? })
        };
        found.optional()?.map(receipt).transpose()
    }

    /// The last receipt of rounds after this one: of the last round, and there of the last step.
    pub(super) fn last_receipt(&self, after: RoundId) -> Result<Option<(RoundId, ReceiptKind)>, FileError> {
        let sql = "SELECT max(round) FROM receipts WHERE round > ?1";
        let last =
            self.connection.prepare_cached(sql)?.query_row([after.0 as i64], |row| row.get::<_, Option<i64>>(0))?;
        let Some(round) = last.map(|round| RoundId(round as u64)) else { return Ok(None) };
        for kind in ReceiptKind::ALL.into_iter().rev() {
            if self.receipt(round, kind)?.is_some() {
                return Ok(Some((round, kind)));
            }
        }
        Err(FileError::Damaged(format!("the receipts of round {round} are of no known kind")))
    }

    /// The first round in which a payment waits, as far as this agent knows.
    pub(super) fn first_waiting(&self) -> Result<Option<RoundId>, FileError> {
        let sql = "SELECT min(round) FROM receipts WHERE kind = ?1 AND round NOT IN \
                   (SELECT round FROM receipts WHERE kind IN (?2, ?3))";
        let names = [ReceiptKind::Waiting, ReceiptKind::Paid, ReceiptKind::Forfeited].map(ReceiptKind::name);
        let first = self.connection.prepare_cached(sql)?.query_row(names, |row| row.get::<_, Option<i64>>(0))?;
        Ok(first.map(|round| RoundId(round as u64)))
    }

    /// How many payments wait.
    pub(super) fn waiting(&self) -> Result<u64, FileError> {
        let sql = "SELECT (SELECT count(*) FROM receipts WHERE kind = ?1) - (SELECT count(*) FROM receipts WHERE \
                   kind IN (?2, ?3) AND round IN (SELECT round FROM receipts WHERE kind = ?1))";
        let names = [ReceiptKind::Waiting, ReceiptKind::Paid, ReceiptKind::Forfeited].map(ReceiptKind::name);
        Ok(self.connection.prepare_cached(sql)?.query_row(names, |row| row.get::<_, i64>(0))? as u64)
    }

    /// The receipts of these rounds, by round.
    pub(super) fn receipts(&self, rounds: RangeInclusive<u64>) -> Result<Vec<Kept>, FileError> {
        let sql = "SELECT round, envelope, heard_ms FROM receipts WHERE round BETWEEN ?1 AND ?2 ORDER BY round, kind";
        let mut statement = self.connection.prepare_cached(sql)?;
        let [first, last] = [*rounds.start(), *rounds.end()].map(|round| i64::try_from(round).unwrap_or(i64::MAX));
        let rows = statement.query_map([first, last], columns3::<i64, String, Option<i64>>)?;
        let kept = |(round, envelope, heard): (i64, String, Option<i64>)| {
            let round = RoundId(round as u64);
            Ok(Kept { round, envelope: envelope_of(round, &envelope)?, heard_ms: heard.map(|at| at as u64) })
        };
        rows.map(|row| row.map_err(FileError::from).and_then(kept)).collect()
    }

    pub(super) fn heads(&self) -> Result<Heads, FileError> {
        let mut statement = self.connection.prepare_cached("SELECT id, note FROM heads")?;
        let mut heads = Heads::default();
        for row in statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))? {
            let (id, note) = row?;
            let damaged = |error| FileError::Damaged(format!("a head cannot be read: {error}"));
            let head = Some(SignedHead::read(&note).map_err(damaged)?);
            if id == NEWEST { heads.newest = head } else { heads.other = head }
        }
        Ok(heads)
    }

    pub(super) fn earned(&self) -> Result<Total, FileError> {
        let mut statement = self.connection.prepare_cached("SELECT payment FROM receipts WHERE kind = ?1")?;
        let rows = statement.query_map([ReceiptKind::Paid.name()], |row| row.get::<_, i64>(0))?;
        let payments: Result<Vec<Amount>, FileError> = rows.map(|micros| payment_of(micros?)).collect();
        Ok(payments?.into_iter().sum())
    }
}

fn insert(transaction: &Transaction<'_>, beside: &Beside) -> Result<(), FileError> {
    let Beside { learned, offer, receipts, head } = beside;
    for (id, reward) in learned {
        let sql = "UPDATE decisions SET arm = NULL, reward = ?2 WHERE number = ?1 AND tag = ?3 AND reward IS NULL";
        let changed = transaction.prepare_cached(sql)?.execute(params![id.number as i64, reward, id.tag.0])?;
        assert_eq!(changed, 1, "a reward is learned once, of a decision that was looked up");
    }
    if let Some((round, SignedOffer { envelope, salt })) = offer {
        let round = round.0 as i64;
        let sql = "INSERT INTO offers VALUES (?1, ?2, ?3)";
        transaction.execute(sql, params![round, json(envelope), salt.0])?;
        transaction.execute("DELETE FROM offers WHERE round <= ?1", [round - OFFER_ROUNDS as i64])?;
    }
    for Receipt { round, kind, payment, envelope } in receipts {
        // The first stands: the coordinator gives the same again.
        let sql = "INSERT INTO receipts VALUES (?1, ?2, ?3, ?4, CAST(unixepoch('subsec') * 1000 AS INTEGER)) \
                   ON CONFLICT DO NOTHING";
        let payment = payment.map(Amount::micros);
        transaction.execute(sql, params![round.0 as i64, kind.name(), json(envelope), payment])?;
    }
    let (id, note, otherwise) = match head {
        None => return Ok(()),
        Some(Heard::Newer(head)) => (NEWEST, head, "UPDATE SET note = excluded.note, heard_ms = excluded.heard_ms"),
        Some(Heard::Other(head)) => (OTHER, head, "NOTHING"),
    };
    let sql = format!(
        "INSERT INTO heads VALUES (?1, ?2, CAST(unixepoch('subsec') * 1000 AS INTEGER)) ON CONFLICT (id) DO {otherwise}"
    );
    transaction.prepare_cached(&sql)?.execute(params![id, note.to_string()])?;
    Ok(())
}

fn write(connection: &mut Connection) -> Result<Transaction<'_>, FileError> {
    Ok(connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

fn columns3<A: FromSql, B: FromSql, C: FromSql>(row: &Row<'_>) -> rusqlite::Result<(A, B, C)> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?))
}

fn row_hash(what: &str, body: &str) -> Digest {
    Digest::of_parts([what.as_bytes(), body.as_bytes()])
}

fn read<T: serde::de::DeserializeOwned>(what: &str, body: &str, hash: &[u8]) -> Result<T, FileError> {
    if row_hash(what, body).0 != hash {
        return Err(FileError::Damaged(format!("{what} is not what was written")));
    }
    serde_json::from_str(body).map_err(|error| FileError::Damaged(format!("{what} cannot be read: {error}")))
}

fn envelope_of(round: RoundId, text: &str) -> Result<Envelope, FileError> {
    let problem = |error| FileError::Damaged(format!("a message of round {round} cannot be read: {error}"));
    serde_json::from_str(text).map_err(problem)
}

fn payment_of(micros: i64) -> Result<Amount, FileError> {
    Amount::from_micros(micros).ok_or_else(|| FileError::Damaged(format!("a payment is {micros} micro-units")))
}

fn json(envelope: &Envelope) -> String {
    serde_json::to_string(envelope).expect("an envelope is JSON")
}

#[cfg(test)]
mod tests;
