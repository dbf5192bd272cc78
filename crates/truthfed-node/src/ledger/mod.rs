//! The ledger: double entry, in whole micro-units, derived from the journal.
//!
//! A payment is pending at the award (treasury to escrow), then posted (escrow to the member) or voided (escrow back to the
//! treasury) when the round is settled, or later if it waits for others' data: once each. What a member has earned is owed to
//! it until the operator transfers it and records that (the member to paid out). Every movement is two postings that sum to zero.
//!
//! - [`Ledger`] follows the journal and gives the postings; [`Accounts`] is what they come to for all members, and
//!   [`Statement`] for one.
//! - [`verify`] recomputes everything a journal says; [`receipts`] is the same from the side of one member.

mod accounts;
mod book;
mod moved;
pub mod receipts;
mod reference;
mod statement;
mod verify;
mod vouch;

use serde::Serialize;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

pub(crate) use self::accounts::MovementReader;
pub use self::accounts::{Accounts, Balance, Movement, movements};
pub use self::book::{Ledger, LedgerError};
pub use self::moved::{Moved, csv, decimal_units};
pub use self::reference::{Reason, ReasonError, Reference, ReferenceError};
pub use self::statement::{Line, LineState, Payout, Statement, StatementError, Totals};
pub(crate) use self::verify::Search;
pub use self::verify::{
    Auctioned, Fault, Followed, Follower, Problem, RecordedError, Report, Trust, recorded_round, verify, verify_journal,
};
pub use self::vouch::{Checkpoint, Pause, aggregate_digest};
pub(crate) use self::vouch::{Seal, StandingBody, Waiting};

/// Whose money.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Account {
    /// The operator's funds.
    Treasury,
    /// Promised, and not yet delivered for or not yet confirmed.
    Escrow,
    /// Earned by a member, and owed to it.
    Member(ClientId),
    /// Transferred to members, outside of the federation.
    PaidOut,
}

/// What a movement of money is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The data of a member in that round.
    Round(RoundId),
    /// A transfer to a member.
    Payout(Reference),
}

/// One side of a movement of money.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Posting {
    /// Its number; the first is 1.
    pub number: u64,
    /// The journal entry it follows from.
    pub entry: u64,
    pub cause: Cause,
    /// Whose payment it is about.
    pub member: ClientId,
    pub account: Account,
    /// By how much, in micro-units; negative when it loses.
    pub micros: i64,
}
