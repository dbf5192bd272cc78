//! The time by which an engine's deadlines and its renewals of the lease run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use truthfed::protocol::Time;

/// Milliseconds since 1970, or since the beginning of a simulation.
#[derive(Debug, Clone)]
pub enum Clock {
    /// As they pass, since a start at that time. Whoever sets the clock of the host changes nothing until the next start.
    Real { start: Instant, start_ms: u64 },
    /// As a simulation says; all clones show the same.
    Simulated(Arc<AtomicU64>),
}

impl Clock {
    pub fn real() -> Clock {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock::beginning_at(Time(since_1970.as_millis() as u64))
    }

    /// It is this time now.
    pub fn beginning_at(Time(start_ms): Time) -> Clock {
        Clock::Real { start: Instant::now(), start_ms }
    }

    /// Begins at zero, and passes by [`Clock::set`] only.
    pub fn simulated() -> Clock {
        Clock::Simulated(Arc::default())
    }

    pub fn now(&self) -> Time {
        Time(match self {
            Clock::Real { start, start_ms } => start_ms + start.elapsed().as_millis() as u64,
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
