//! What the connections to one database share besides its file: the index of its write-ahead log, and locks on it.
//!
//! SQLite reads and writes the memory itself, from several threads, with its own barriers. It is handed out as atomics,
//! which may change at any time, and lives until the last who mapped it has let it go, dead or alive.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A piece of memory.
pub(crate) type Region = Arc<[AtomicU64]>;

/// Zeroed memory of so many bytes.
pub(crate) fn region(bytes: usize) -> Region {
    (0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect()
}

/// Which of the locks on shared memory somebody holds, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Held {
    pub(crate) shared: u8,
    pub(crate) exclusive: u8,
}

impl Held {
    /// Takes locks for reading, unless somebody else writes.
    pub(crate) fn share(&mut self, mask: u8, mut others: impl Iterator<Item = Held>) -> bool {
        let is_free = !others.any(|other| other.exclusive & mask != 0);
        if is_free {
            self.shared |= mask;
        }
        is_free
    }

    /// Takes locks for writing, unless somebody else has them.
    pub(crate) fn exclude(&mut self, mask: u8, mut others: impl Iterator<Item = Held>) -> bool {
        let is_free = !others.any(|other| (other.exclusive | other.shared) & mask != 0);
        if is_free {
            self.exclusive |= mask;
        }
        is_free
    }

    /// Gives locks back.
    pub(crate) fn release(&mut self, mask: u8) {
        self.shared &= !mask;
        self.exclusive &= !mask;
    }
}
