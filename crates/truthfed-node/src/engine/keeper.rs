//! Renews the lease on a thread of its own, over a connection of its own: an auction or a recovery may take the engine's
//! thread for longer than the lease lasts.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::health::Health;
use crate::store::{Lease, Store, StoreError};

/// Longest time between two renewals, whatever the lease: monitoring sees this soon that the store is away, or back.
const LONGEST: Duration = Duration::from_secs(1);

/// Keeps a lease until it is dropped.
pub(super) struct Keeper {
    /// Dropped to end the thread.
    stop: Option<Sender<Infallible>>,
    thread: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Keeper {
    pub(super) fn start(lease: Lease, health: Arc<Health>, store: Box<dyn Store>) -> Result<Keeper, StoreError> {
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new().name("lease".to_owned());
        let thread = thread.spawn(move || keep(lease, &health, store, &stopped));
        let thread = thread.map_err(|error| StoreError::Unavailable(format!("no thread for the lease: {error}")))?;
        Ok(Keeper { stop: Some(stop), thread: Some(thread) })
    }

    /// Fails when the lease is lost.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        match self.thread.take_if(|thread| thread.is_finished()) {
            Some(ended) => ended.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => Ok(()),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop = None;
        // Its connection is closed when this returns. How it ended matters to nobody who gives the lease up.
        self.thread.take().map(JoinHandle::join);
    }
}

fn keep(
    lease: Lease,
    health: &Health,
    mut store: Box<dyn Store>,
    stopped: &Receiver<Infallible>,
) -> Result<(), StoreError> {
    // Two renewals may fail before the lease runs out.
    let pause = Duration::from_millis((health.lease_ms() / 3).max(1)).min(LONGEST);
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
        health.renew(store.as_mut(), lease)?;
    }
    Ok(())
}
