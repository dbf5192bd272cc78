//! A coordinator's core over memory: one request after the other, and time passes when it is told to.

use std::sync::{Arc, Mutex, MutexGuard};

use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Time};
use truthfed_node::digest::{Digest, PublicKey};
use truthfed_node::engine::{Answer, Clock, Command, Core, EngineError, Published, Setup, Witness};
use truthfed_node::journal::{Head, Row};
use truthfed_node::ledger::{Checkpoint, Posting};
use truthfed_node::store::{Batch, Lease, RequestKey, RequestKind, StandingRow, Store, StoreError, StoredReply};
use truthfed_node::wire::Call;

use crate::memory::Memory;

/// An engine that stands still between two requests.
pub(crate) struct Stepwise {
    core: Core,
    store: Shared,
    clock: Clock,
    published: Published,
}

impl Stepwise {
    /// The engine of a store; of an empty one, after its first entries are written.
    pub(crate) fn start(setup: Setup, store: Memory) -> Result<Stepwise, EngineError> {
        let store = Shared(Arc::new(Mutex::new(store)));
        let clock = setup.clock.clone();
        let core = Core::start(setup, Box::new(store.clone()))?;
        Ok(Stepwise { published: core.published(), core, store, clock })
    }

    /// The store as it is now.
    pub(crate) fn store(&self) -> MutexGuard<'_, Memory> {
        self.store.lock()
    }

    /// The store, as a crash leaves it.
    pub(crate) fn stop(self) -> Memory {
        self.store.lock().clone()
    }

    /// What is public since the last commit.
    pub(crate) fn published(&self) -> &Published {
        &self.published
    }

    /// Time passes until the phase of the open round ends.
    pub(crate) fn pass_time(&mut self) {
        let Time(now) = self.clock.now();
        let left = self.core.until_deadline().map_or(0, |left| left.as_millis() as u64);
        self.clock.set(Time(now + left));
        self.work(Vec::new());
    }

    pub(crate) fn enrol(&mut self, member: ClientId, key: PublicKey, certificate: Digest) -> Answer {
        self.take(Command::enrol(member, key, certificate))
    }

    pub(crate) fn revoke(&mut self, member: ClientId) -> Answer {
        self.take(Command::revoke(member))
    }

    pub(crate) fn call(&mut self, member: &ClientId, call: Call) -> Answer {
        self.take(Command::of(&self.published, member, call)?)
    }

    fn take(&mut self, command: Command) -> Answer {
        self.work(vec![command]).pop().expect("one answer to one command")
    }

    fn work(&mut self, commands: Vec<Command>) -> Vec<Answer> {
        let answers = self.core.work(commands, &mut |_| false).expect("memory takes every commit");
        self.published = self.core.published();
        answers
    }
}

/// Keeps no checkpoint.
pub(crate) struct Nowhere;

impl Witness for Nowhere {
    fn read(&self) -> Result<Option<Checkpoint>, EngineError> {
        Ok(None)
    }

    fn write(&self, _: &Checkpoint) -> Result<(), EngineError> {
        Ok(())
    }
}

/// A store that can be looked at while an engine has it.
#[derive(Clone)]
struct Shared(Arc<Mutex<Memory>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().expect("whoever panics here ends the run")
    }
}

impl Store for Shared {
    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError> {
        self.lock().acquire(lease_ms)
    }

    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError> {
        self.lock().renew(lease, lease_ms)
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.lock().release(lease)
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        self.lock().commit(lease, batch)
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        self.lock().head()
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        self.lock().standing()
    }

    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        self.lock().rows(after, most)
    }

    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        self.lock().reply(key)
    }

    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        self.lock().replies(member, kind, after)
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        self.lock().postings(after, most)
    }
}
