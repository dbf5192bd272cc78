//! Where a coordinator keeps what must survive: the journal, the replies it gave, and what follows from both.
//!
//! One trait, two stores: [`Sqlite`] (a file, the default) and PostgreSQL; a [`Location`] opens either. A [`Batch`] is
//! committed whole or not at all, and only by the coordinator that holds the lease: every transaction compares its epoch.
//! Once `commit` returns `Ok`, the batch survives any crash.
//!
//! Tables are append-only except for the standing and the lease; triggers in the database enforce it.
//!
//! Not here: what the entries mean ([`crate::journal`]), what the postings come to ([`crate::ledger`]).

mod batch;
mod copy;
mod location;
pub(crate) mod postgres;
pub(crate) mod sqlite;

#[cfg(test)]
mod suite;

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

pub use self::copy::{CopyError, copy};
use self::location::Server;
pub use self::location::{Location, LocationError};
use self::postgres::Postgres;
pub use self::sqlite::Sqlite;
use crate::digest::Digest;
use crate::journal::{Head, JournalError, Row};
use crate::ledger::{Posting, Reference};

/// The stores that have a URL. To add one, write its module, list it here, and run the suite on it (`suite.rs`).
static SERVERS: [Server; 1] = [Server {
    schemes: &["postgres", "postgresql"],
    open: |url| Ok(Box::new(Postgres::open(url)?)),
    open_existing: |url| Ok(Box::new(Postgres::open_existing(url)?)),
    open_frozen: |url| Ok(Box::new(Postgres::open_frozen(url)?)),
}];

/// What a coordinator needs of a database. Every call fails when the database does not answer.
pub trait Store: Send {
    /// Takes the lease if nobody holds it, or its holder has not renewed it in time. Every grant has a higher epoch.
    /// [`StoreError::Held`] while somebody else holds it.
    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError>;

    /// Holds the lease for longer. [`StoreError::NotLeader`] when somebody else has taken it meanwhile.
    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError>;

    /// Gives the lease back, so that the next coordinator need not wait.
    fn release(&mut self, lease: Lease) -> Result<(), StoreError>;

    /// Writes a batch in one transaction, and holds the lease for as long again: while many commits follow each other, nobody
    /// else may come to renew it.
    ///
    /// # Errors
    /// Nothing of it was written then, but for [`StoreError::InDoubt`]: commit the very same batch again, and nothing
    /// else before, until the answer is another one. Where the answer of the database to the commit is lost, this first
    /// tries to find out by reading.
    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError>;

    /// The end of the journal.
    fn head(&mut self) -> Result<Head, StoreError>;

    /// How far everything that is kept reaches, at one moment.
    fn extent(&mut self) -> Result<Extent, StoreError>;

    /// The last standing, if a round has ended.
    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError>;

    /// At most `most` rows of the journal, those after entry `after`, in order.
    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError>;

    /// The reply that was given to a request, if it was taken.
    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError>;

    /// The replies to these requests, in any order, of those that were taken.
    fn replies_to(&mut self, keys: &[RequestKey]) -> Result<Vec<StoredReply>, StoreError> {
        keys.iter().filter_map(|key| self.reply(key).transpose()).collect()
    }

    /// All replies of one kind to one member for rounds above `after`, by round: its receipts.
    fn replies(&mut self, member: &ClientId, kind: RequestKind, after: RoundId)
    -> Result<Vec<StoredReply>, StoreError>;

    /// At most `most` postings of the ledger, those after number `after`, in order.
    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError>;

    /// What is owed to a member: the sum of its postings, in micro-units.
    fn owed(&mut self, member: &ClientId) -> Result<i128, StoreError>;

    /// The payout to a member under that reference, if it is recorded.
    fn payout(&mut self, member: &ClientId, reference: &Reference) -> Result<Option<Recorded>, StoreError>;
}

/// A payout that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The entry of the journal.
    pub entry: u64,
    pub micros: i64,
}

impl From<&Posting> for Recorded {
    fn from(Posting { entry, micros, .. }: &Posting) -> Recorded {
        Recorded { entry: *entry, micros: *micros }
    }
}

/// The right to write, until somebody with a higher epoch has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Grows with every grant.
    pub epoch: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Next rows of the journal; the first must follow the end of the journal.
    pub rows: Vec<Row>,
    pub replies: Vec<StoredReply>,
    pub postings: Vec<Posting>,
    /// The standing after a round ended; replaces the one before.
    pub standing: Option<StandingRow>,
}

/// How far a store reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    pub head: Head,
    pub standing: Option<StandingRow>,
    /// How many there are.
    pub replies: u64,
}

/// What a coordinator is after a round ended, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingRow {
    /// The last entry of the journal that is in it.
    pub entry: u64,
    pub body: String,
}

/// Names a request: repeated, it gets the same reply.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKey {
    pub member: ClientId,
    pub round: RoundId,
    pub kind: RequestKind,
}

/// Kinds of requests, and of receipts, that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestKind {
    /// An offer, or that there is none.
    Offer,
    Delivery,
    /// Won or lost: not a request, but kept the same way.
    Decision,
    /// Paid or void, or that the payment waits: not a request, but kept the same way.
    Settlement,
    /// Paid or forfeited after it waited: not a request, but kept the same way.
    Resolution,
}

impl RequestKind {
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Offer => "offer",
            RequestKind::Delivery => "delivery",
            RequestKind::Decision => "decision",
            RequestKind::Settlement => "settlement",
            RequestKind::Resolution => "resolution",
        }
    }

    pub const ALL: [RequestKind; 5] = [
        RequestKind::Offer,
        RequestKind::Delivery,
        RequestKind::Decision,
        RequestKind::Settlement,
        RequestKind::Resolution,
    ];
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReply {
    pub key: RequestKey,
    /// The hash of its body.
    pub request: Digest,
    pub body: String,
}

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Operator: another coordinator is at work; wait, or stop it.
    #[error("another coordinator holds the lease: stop it, or wait until it ends")]
    Held,
    /// Another coordinator took over; this one must stop.
    #[error("another coordinator took over with a later epoch than {0}")]
    NotLeader(u64),
    /// Operator: make room; nothing was written.
    #[error("the store is full: nothing was written, make room")]
    Full,
    /// Passing: the database is busy or away; nothing was written, try again.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    /// Passing: the link broke, or the disk failed, while a batch was committed. Commit the same batch again.
    #[error("the store did not answer to a commit: {0}")]
    InDoubt(String),
    /// Operator: the address is wrong, or the database is not one this program can use.
    #[error("the store cannot be used: {0}")]
    Unusable(String),
    /// Operator: the file or a row is not what was written.
    #[error("the store is damaged: {0}: keep it as it is, and restore a backup")]
    Damaged(String),
    /// Operator: somebody changed the tables, or the triggers that protect them.
    #[error("the tables are not as this program made them: {0}: undo it, or restore a backup")]
    Altered(String),
    /// Operator: take the version of truthfed that wrote it, or upgrade it.
    #[error("the store has schema version {found}, this program reads {expected}")]
    Version { found: i64, expected: i64 },
    /// The batch does not follow the end of the journal: a bug, or another writer.
    #[error("entry {got} does not follow the end of the journal, {head}")]
    OutOfOrder { got: u64, head: u64 },
    /// A posting does not follow the last one: a bug, or another writer.
    #[error("posting {got} does not follow the last one, {last}")]
    PostingOutOfOrder { got: u64, last: u64 },
    /// The batch contradicts what is kept, such as a second reply to one request: a bug, or another writer.
    #[error("the batch contradicts what is kept: {0}")]
    Conflict(String),
    #[error(transparent)]
    Journal(#[from] JournalError),
}
