//! Whether an engine can work: it holds its lease, and its store answers. Both are seen at every renewal, so nobody has to
//! send a request before it is known that the store is away, or that it is back.

use std::sync::{Mutex, MutexGuard, PoisonError};

use truthfed::protocol::Time;

use super::{Clock, Setup};
use crate::seldom::Seldom;
use crate::store::{Lease, Store, StoreError};

pub(super) struct Health {
    clock: Clock,
    lease_ms: u64,
    seen: Mutex<Seen>,
    seldom: Mutex<Seldom>,
}

struct Seen {
    /// When the last renewal or commit that worked began.
    renewed: Time,
    /// What was wrong with a renewal or a commit since.
    problem: Option<String>,
    /// What the engine waits for, while it waits for its store.
    waits_for: Option<String>,
}

impl Health {
    /// Of an engine whose lease was granted just now.
    pub(super) fn new(setup: &Setup) -> Health {
        let (clock, lease_ms) = (setup.clock.clone(), setup.lease_ms);
        let seen = Mutex::new(Seen { renewed: clock.now(), problem: None, waits_for: None });
        Health { clock, lease_ms, seen, seldom: Mutex::default() }
    }

    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(super) fn lease_ms(&self) -> u64 {
        self.lease_ms
    }

    /// How long the lease has not been renewed.
    pub(super) fn age_ms(&self) -> u64 {
        self.age_of(&self.seen())
    }

    fn age_of(&self, seen: &Seen) -> u64 {
        self.clock.now().0.saturating_sub(seen.renewed.0)
    }

    /// Holds the lease for longer. Fails when another coordinator has taken over, or the store is damaged.
    pub(super) fn renew(&self, store: &mut dyn Store, lease: Lease) -> Result<(), StoreError> {
        let began = self.clock.now();
        match store.renew(lease, self.lease_ms) {
            Ok(()) => self.held(began),
            // The store may come back before the lease runs out; every commit checks the lease anyway.
            Err(error @ (StoreError::Unavailable(_) | StoreError::Full)) => {
                let mut seldom = self.seldom.lock().unwrap_or_else(PoisonError::into_inner);
                seldom.tell("renew", |times| tracing::warn!(%error, times, "the lease was not renewed"));
                self.failed(&error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The lease was held for longer, by a renewal or a commit that began then. They may end in another order.
    pub(super) fn held(&self, began: Time) {
        let mut seen = self.seen();
        (seen.renewed, seen.problem) = (seen.renewed.max(began), None);
    }

    /// Something was not written. The next renewal that works makes it good.
    pub(super) fn failed(&self, error: &StoreError) {
        self.seen().problem = Some(error.to_string());
    }

    pub(super) fn waits_for(&self, problem: Option<&str>) {
        self.seen().waits_for = problem.map(str::to_owned);
    }

    /// Why the engine cannot work, if it cannot.
    pub(super) fn problem(&self) -> Option<String> {
        let seen = self.seen();
        let age_ms = self.age_of(&seen);
        let is_late = || (age_ms >= self.lease_ms).then(|| format!("the lease was not renewed for {age_ms} ms"));
        seen.waits_for.clone().or_else(|| seen.problem.clone()).or_else(is_late)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
