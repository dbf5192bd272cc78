//! What every store checks of a batch, and how values become columns.

use std::collections::BTreeSet;

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::{Batch, Extent, StandingRow, StoreError};
use crate::digest::{Digest, Hex};
use crate::journal::Head;
use crate::ledger::{Account, Cause, Posting};

impl Batch {
    /// Whether its rows follow the end of the journal, each the one before, and its postings the last posting.
    pub(crate) fn check(&self, mut head: Head, mut last_posting: u64) -> Result<(), StoreError> {
        if let Some(first) = self.rows.first().filter(|first| first.number != head.number + 1) {
            return Err(StoreError::OutOfOrder { got: first.number, head: head.number });
        }
        for row in &self.rows {
            head.pass(row)?;
        }
        if self.rows.is_empty() && !(self.replies.is_empty() && self.postings.is_empty()) {
            return Err(StoreError::Conflict("replies or postings follow from no entry".to_owned()));
        }
        for posting in &self.postings {
            if matches!(&posting.account, Account::Member(whose) if *whose != posting.member) {
                let Posting { number, member, .. } = posting;
                return Err(StoreError::Conflict(format!("posting {number} pays another member than {member}")));
            }
            if posting.number != last_posting + 1 {
                return Err(StoreError::PostingOutOfOrder { got: posting.number, last: last_posting });
            }
            last_posting = posting.number;
        }
        Ok(())
    }

    /// The end of the journal once it is written, if it adds to the journal.
    pub(crate) fn end(&self) -> Option<Head> {
        self.rows.last().map(|row| Head { number: row.number, hash: row.hash })
    }
}

/// That tables, indexes and triggers are those that the migrations make, each described by a line.
pub(super) fn check_same(
    made: impl IntoIterator<Item = String>,
    found: impl IntoIterator<Item = String>,
) -> Result<(), StoreError> {
    let (made, found): (BTreeSet<String>, BTreeSet<String>) = (made.into_iter().collect(), found.into_iter().collect());
    let missing = made.difference(&found).next().map(|line| format!("`{line}` is missing"));
    let added = || found.difference(&made).next().map(|line| format!("`{line}` was added"));
    missing.or_else(added).map_or(Ok(()), |what| Err(StoreError::Altered(what)))
}

/// A count as the databases keep it. What is beyond them is in no table: the tables refuse the largest number.
pub(super) fn to_column(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The length of a lease in milliseconds, at most a day.
pub(super) fn lease_column(lease_ms: u64) -> i64 {
    to_column(lease_ms.min(86_400_000))
}

pub(super) fn count(column: i64) -> Result<u64, StoreError> {
    u64::try_from(column).map_err(|_| StoreError::Damaged(format!("{column} where a count is expected")))
}

pub(super) fn round(column: i64) -> Result<RoundId, StoreError> {
    count(column).map(RoundId)
}

pub(super) fn digest(column: &[u8]) -> Result<Digest, StoreError> {
    let length = || StoreError::Damaged(format!("a hash of {} bytes", column.len()));
    Ok(Hex(column.try_into().map_err(|_| length())?))
}

pub(super) fn member(column: &str) -> Result<ClientId, StoreError> {
    column.parse().map_err(|error| StoreError::Damaged(format!("{error}")))
}

/// An extent from its columns: number and hash of the last row, entry and body of the standing, how many replies.
pub(super) fn extent(
    head: Option<(i64, &[u8])>,
    standing: Option<(i64, String)>,
    replies: i64,
) -> Result<Extent, StoreError> {
    let head = match head {
        Some((number, hash)) => Head { number: count(number)?, hash: digest(hash)? },
        None => Head::START,
    };
    let standing = match standing {
        Some((entry, body)) => Some(StandingRow { entry: count(entry)?, body }),
        None => None,
    };
    Ok(Extent { head, standing, replies: count(replies)? })
}

impl Account {
    /// Which kind, as it is kept; whose is in the column of the member.
    pub(super) fn column(&self) -> &'static str {
        match self {
            Account::Treasury => "treasury",
            Account::Escrow => "escrow",
            Account::Member(_) => "member",
            Account::PaidOut => "paid-out",
        }
    }
}

impl Cause {
    /// The round, as it is kept, if it is one.
    pub(super) fn round_column(&self) -> Option<i64> {
        match self {
            Cause::Round(round) => Some(to_column(round.0)),
            Cause::Payout(_) => None,
        }
    }

    /// The reference of a payout, if it is one.
    pub(super) fn reference_column(&self) -> Option<&str> {
        match self {
            Cause::Round(_) => None,
            Cause::Payout(reference) => Some(reference.as_str()),
        }
    }

    fn read(in_round: Option<i64>, reference: Option<&str>) -> Result<Cause, StoreError> {
        match (in_round, reference) {
            (Some(in_round), None) => Ok(Cause::Round(round(in_round)?)),
            (None, Some(reference)) => {
                Ok(Cause::Payout(reference.parse().map_err(|error| StoreError::Damaged(format!("{error}")))?))
            }
            _ => Err(StoreError::Damaged("a posting must be of a round or of a payout".to_owned())),
        }
    }
}

/// Number, entry, round, member, account, micros and reference of a posting.
pub(super) type PostingColumns<'a> = (i64, i64, Option<i64>, &'a str, &'a str, i64, Option<&'a str>);

pub(super) fn posting(columns: PostingColumns<'_>) -> Result<Posting, StoreError> {
    let (number, entry, in_round, whose, account, micros, reference) = columns;
    let member = member(whose)?;
    let account = match account {
        "treasury" => Account::Treasury,
        "escrow" => Account::Escrow,
        "member" => Account::Member(member.clone()),
        "paid-out" => Account::PaidOut,
        other => return Err(StoreError::Damaged(format!("an account `{other}`"))),
    };
    let cause = Cause::read(in_round, reference)?;
    Ok(Posting { number: count(number)?, entry: count(entry)?, cause, member, account, micros })
}
