//! The coordinator's engine: the one writer of a federation.
//!
//! A [`Core`] owns the protocol's [`Coordinator`](truthfed::protocol::Coordinator), the store and the lease: it hands what
//! is asked to the machine, commits everything that follows in one transaction, and only then answers. If the commit
//! fails, nothing of it happened: the core takes up the state of the store again. It knows no threads and no waiting, so
//! that a simulation drives the same core by hand.
//!
//! [`start`] runs a core where requests queue up, and takes what is there at once; beside it, `keeper` renews the lease. What
//! needs no writing is read from [`Published`], which is renewed after every commit.
//!
//! Not here: HTTP, TLS and limits ([`crate::net`], [`crate::coordinator`]).

mod ahead;
mod checks;
mod clock;
mod command;
mod core;
mod draft;
mod drive;
mod health;
mod intake;
mod keeper;
mod narration;
mod office;
mod pause;
mod payout;
mod published;
mod receipts;
mod recovery;
mod refusals;
mod reply;
mod state;
#[cfg(test)]
mod tests;
mod witness;

use std::sync::Arc;

use truthfed::auction::ClientId;

pub use self::ahead::Ahead;
pub use self::clock::Clock;
pub use self::command::Command;
pub use self::core::{Answer, Core};
pub use self::drive::{Handle, Running, start};
pub use self::office::{Office, OfficeError};
pub use self::payout::PaidOut;
pub use self::published::{Counts, MemberInfo, Published};
pub use self::reply::Reply;
pub use self::witness::{Witness, read_checkpoint};
use crate::digest::{Digest, PublicKey};
use crate::journal::JournalError;
use crate::signature::Signer;
use crate::store::{Store, StoreError};
use crate::terms::Agreement;

/// Opens the store of a federation, once for every connection.
pub type OpenStore = Arc<dyn Fn() -> Result<Box<dyn Store>, StoreError> + Send + Sync>;

pub struct Setup {
    pub federation: Digest,
    pub agreement: Agreement,
    pub signer: Signer,
    /// Who takes part from the beginning; once the federation has begun, members come and go by requests.
    pub members: Vec<(ClientId, PublicKey, Digest)>,
    /// Where signed checkpoints are kept, outside of the store.
    pub checkpoint: Arc<dyn Witness>,
    /// How long the lease lasts without renewal.
    pub lease_ms: u64,
    pub clock: Clock,
    pub place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On a thread of its own, which a store may hold up.
    Thread,
    /// As a task of the runtime that it is started in, which every commit holds up: where the runtime's time is not real.
    Task,
}

/// Why an engine does not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Operator: the folder and the store belong to different federations, or one is older than the other.
    #[error("the store does not belong to this folder: {0}: put the right one back, and do not change the terms")]
    Foreign(String),
    /// Operator: two members of the roster have one name, key or certificate. Take those that were issued.
    #[error("the federation cannot be founded with member {member}: {problem}")]
    Founding { member: ClientId, problem: String },
    /// Operator: an old backup was put back. Entries that members hold receipts for are missing.
    #[error(
        "the store ends at entry {head}, but entry {checkpoint} was vouched for: it is older than its checkpoint, so restore a later backup"
    )]
    CheckpointAhead { head: u64, checkpoint: u64 },
    /// Operator: what is recorded is not what this program computes from it.
    #[error("entry {entry} of the journal does not follow from those before: {problem}")]
    Inconsistent { entry: u64, problem: String },
    /// Operator: the standing was altered, or put back from another copy. Restore the whole store from one backup.
    #[error(
        "the standing is not the one that entry {0} of the journal vouches for: restore the whole store from a backup"
    )]
    Standing(u64),
    /// Operator: the checkpoint cannot be read or written.
    #[error("checkpoint {path}: {problem}: put the last one back, or free its disk")]
    Checkpoint { path: String, problem: String },
    #[error(transparent)]
    Journal(#[from] JournalError),
}
