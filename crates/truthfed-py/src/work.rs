//! Work outside of Python's lock: on a pool of threads per process, stopped by Ctrl-C, and with no panic that reaches Python.
//!
//! A process that forks has no threads of its pool in the child. So the pool belongs to a process id, and a child starts its own.
//!
//! The thread that calls from Python only waits, and looks for signals meanwhile. After a signal it returns at once: the work ends
//! by itself, as soon as it looks at its [`Stop`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::ThreadPool;
use truthfed::Stop;

use crate::error;

/// How often the waiting thread looks for signals: people notice a tenth of a second.
const LOOK_EVERY: Duration = Duration::from_millis(50);

static POOL: Mutex<Option<(u32, &'static ThreadPool)>> = Mutex::new(None);

/// The pool of this process. It is never freed: the threads of a parent cannot be joined in its child.
fn pool() -> PyResult<&'static ThreadPool> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match *pool {
        Some((owner, pool)) if owner == process => Ok(pool),
        _ => {
            let started =
                rayon::ThreadPoolBuilder::new().build().map_err(|error| error::internal(&error.to_string()))?;
            let started: &'static ThreadPool = Box::leak(Box::new(started));
            *pool = Some((process, started));
            Ok(started)
        }
    }
}

/// Some work, and what Python code that it calls has to say about it.
#[derive(Debug, Default)]
pub(crate) struct Job {
    pub(crate) stop: Stop,
    failure: Mutex<Option<PyErr>>,
}

impl Job {
    pub(crate) fn new() -> Arc<Job> {
        Arc::default()
    }

    /// Stops the work because of an error in Python code; the first one is raised.
    pub(crate) fn fail(&self, error: PyErr) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.set();
    }

    fn check(&self) -> PyResult<()> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Runs something on the pool, with Python's lock released. Raises what stopped it.
    pub(crate) fn run<T: Send + 'static>(
        self: &Arc<Job>,
        py: Python<'_>,
        work: impl FnOnce(&Job) -> T + Send + 'static,
    ) -> PyResult<T> {
        let job = Arc::clone(self);
        let work = move || catch_unwind(AssertUnwindSafe(|| work(&job)));
        // A thread of the pool that waited for the pool could wait for itself.
        let done = if rayon::current_thread_index().is_some() { py.detach(work) } else { self.wait(py, work)? };
        self.check()?;
        done.map_err(|panic| panicked(&*panic))
    }

    fn wait<T: Send + 'static>(&self, py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
        let (sender, mut receiver) = sync_channel(1);
        // Nobody listens after a signal.
        pool()?.spawn(move || drop(sender.send(work())));
        loop {
            let (still, received) = py.detach(move || {
                let received = receiver.recv_timeout(LOOK_EVERY);
                (receiver, received)
            });
            receiver = still;
            match received {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| self.stop.set())?,
                Err(RecvTimeoutError::Disconnected) => return Err(error::internal("a thread of the pool is gone")),
            }
        }
    }
}

/// Runs something short, which starts no threads, with Python's lock released.
pub(crate) fn quick<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| panicked(&*panic))
}

fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    error::internal(&text.unwrap_or_else(|| "a panic without words".to_owned()))
}
