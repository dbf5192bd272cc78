//! The coordinator's store, of which the observer has a copy to read from, and its notary.

use std::sync::{Arc, Mutex, MutexGuard};

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::engine::{EngineError, Witness};
use truthfed_node::journal::{Head, Row};
use truthfed_node::ledger::{Checkpoint, Posting};
use truthfed_node::store::{
    Batch, Lease, RequestKey, RequestKind, Sqlite, StandingRow, Store, StoreError, StoredReply,
};

/// A real store; a copy is the same one.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Sqlite>>);

impl Shared {
    pub(crate) fn new(store: Sqlite) -> Shared {
        Shared(Arc::new(Mutex::new(store)))
    }

    fn inner(&self) -> MutexGuard<'_, Sqlite> {
        self.0.lock().expect("one thread has it")
    }
}

impl Store for Shared {
    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError> {
        self.inner().acquire(lease_ms)
    }

    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError> {
        self.inner().renew(lease, lease_ms)
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.inner().release(lease)
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        self.inner().commit(lease, batch)
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        self.inner().head()
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        self.inner().standing()
    }

    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        self.inner().rows(after, most)
    }

    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        self.inner().reply(key)
    }

    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        self.inner().replies(member, kind, after)
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        self.inner().postings(after, most)
    }
}

/// Keeps the last checkpoint, and the one before: a loss of power may bring that back.
#[derive(Debug, Default)]
pub(crate) struct Notary(Mutex<(Option<Checkpoint>, Option<Checkpoint>)>);

impl Notary {
    /// The last one.
    pub(crate) fn last(&self) -> Option<Checkpoint> {
        self.0.lock().expect("one thread has it").0
    }

    /// The last one was not synced.
    pub(crate) fn forget_last(&self) {
        let mut kept = self.0.lock().expect("one thread has it");
        kept.0 = kept.1;
    }
}

impl Witness for Notary {
    fn read(&self) -> Result<Option<Checkpoint>, EngineError> {
        Ok(self.last())
    }

    fn write(&self, checkpoint: &Checkpoint) -> Result<(), EngineError> {
        let mut kept = self.0.lock().expect("one thread has it");
        *kept = (Some(*checkpoint), kept.0);
        Ok(())
    }
}
