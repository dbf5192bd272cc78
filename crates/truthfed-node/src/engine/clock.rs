//! The time by which an engine's deadlines and its renewals of the lease run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;
use truthfed::protocol::Time;

/// Milliseconds since some beginning.
#[derive(Debug, Clone)]
pub enum Clock {
    /// As they pass, since then.
    Real(Instant),
    /// As a simulation says; all clones show the same.
    Simulated(Arc<AtomicU64>),
}

impl Clock {
    pub fn real() -> Clock {
        Clock::Real(Instant::now())
    }

    /// Begins at zero, and passes by [`Clock::set`] only.
    pub fn simulated() -> Clock {
        Clock::Simulated(Arc::default())
    }

    pub fn now(&self) -> Time {
        Time(match self {
            Clock::Real(beginning) => beginning.elapsed().as_millis() as u64,
            Clock::Simulated(now) => now.load(Ordering::Relaxed),
        })
    }

    /// Sets a simulated clock; a real one passes by itself.
    pub fn set(&self, Time(ms): Time) {
        if let Clock::Simulated(now) = self {
            now.store(ms, Ordering::Relaxed);
        }
    }
}
