//! A store around another: copies share it, and a hook can fail, delay, count or lose each step.

use std::sync::{Arc, Mutex, MutexGuard};

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use crate::journal::{Head, Row};
use crate::ledger::{Posting, Reference};
use crate::store::{
    Batch, Extent, Lease, Recorded, RequestKey, RequestKind, StandingRow, Store, StoreError, StoredReply,
};

pub enum Step<'a> {
    Renew,
    Commit(&'a Batch),
    /// Reads rows after an entry; the hook may lower how many.
    Rows(u64, &'a mut usize),
    Other,
}

/// What becomes of a step.
pub enum Fate {
    Pass,
    /// It does not happen.
    Fail(StoreError),
    /// It happens, and its answer is lost. A batch lost this way is not written again when it is repeated.
    Lose(StoreError),
}

type Hook = dyn FnMut(Step<'_>) -> Fate + Send;

/// A store that copies share: one of them can look at it while an engine has another.
pub struct Forwarding<S> {
    inner: Arc<Mutex<Inner<S>>>,
}

struct Inner<S> {
    store: S,
    hook: Box<Hook>,
    /// The end of the journal with the batch whose answer was lost.
    lost: Option<Head>,
}

impl<S> Forwarding<S> {
    pub fn new(store: S) -> Forwarding<S> {
        Forwarding::with(store, |_| Fate::Pass)
    }

    pub fn with(store: S, hook: impl FnMut(Step<'_>) -> Fate + Send + 'static) -> Forwarding<S> {
        Forwarding { inner: Arc::new(Mutex::new(Inner { store, hook: Box::new(hook), lost: None })) }
    }

    pub fn look<T>(&self, look: impl FnOnce(&mut S) -> T) -> T {
        look(&mut self.lock().store)
    }

    fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.inner.lock().unwrap()
    }

    fn take<T>(&self, step: Step<'_>, work: impl FnOnce(&mut S) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut inner = self.lock();
        match (inner.hook)(step) {
            Fate::Pass => work(&mut inner.store),
            Fate::Fail(error) => Err(error),
            Fate::Lose(error) => work(&mut inner.store).and(Err(error)),
        }
    }
}

impl<S> Clone for Forwarding<S> {
    fn clone(&self) -> Forwarding<S> {
        Forwarding { inner: self.inner.clone() }
    }
}

impl<S: Store> Store for Forwarding<S> {
    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError> {
        self.take(Step::Other, |store| store.acquire(lease_ms))
    }

    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError> {
        self.take(Step::Renew, |store| store.renew(lease, lease_ms))
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.take(Step::Other, |store| store.release(lease))
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        let mut inner = self.lock();
        let end = batch.end();
        match (inner.hook)(Step::Commit(batch)) {
            Fate::Fail(error) => Err(error),
            // It was in doubt, and is found to be written.
            _ if end.is_some() && inner.lost.take() == end => Ok(()),
            Fate::Pass => inner.store.commit(lease, batch),
            Fate::Lose(error) => {
                inner.store.commit(lease, batch)?;
                inner.lost = end;
                Err(error)
            }
        }
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        self.take(Step::Other, Store::head)
    }

    fn extent(&mut self) -> Result<Extent, StoreError> {
        self.take(Step::Other, Store::extent)
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        self.take(Step::Other, Store::standing)
    }

    fn rows(&mut self, after: u64, mut most: usize) -> Result<Vec<Row>, StoreError> {
        let mut inner = self.lock();
        match (inner.hook)(Step::Rows(after, &mut most)) {
            Fate::Pass => inner.store.rows(after, most),
            Fate::Fail(error) | Fate::Lose(error) => Err(error),
        }
    }

    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        self.take(Step::Other, |store| store.reply(key))
    }

    fn replies_to(&mut self, keys: &[RequestKey]) -> Result<Vec<StoredReply>, StoreError> {
        self.take(Step::Other, |store| store.replies_to(keys))
    }

    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        self.take(Step::Other, |store| store.replies(member, kind, after))
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        self.take(Step::Other, |store| store.postings(after, most))
    }

    fn owed(&mut self, member: &ClientId) -> Result<i128, StoreError> {
        self.take(Step::Other, |store| store.owed(member))
    }

    fn payout(&mut self, member: &ClientId, reference: &Reference) -> Result<Option<Recorded>, StoreError> {
        self.take(Step::Other, |store| store.payout(member, reference))
    }
}
