//! Locks between those who have one file open: the five levels of a database file, and those on shared memory.

use std::ffi::c_int;

/// How far somebody has locked a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Level {
    #[default]
    None,
    /// Reads, as others may.
    Shared,
    /// Will write; others may still read.
    Reserved,
    /// Waits for readers to end; no new ones.
    Pending,
    /// Alone.
    Exclusive,
}

impl Level {
    /// As SQLite numbers them.
    pub(crate) fn of(number: c_int) -> Option<Level> {
        [Level::None, Level::Shared, Level::Reserved, Level::Pending, Level::Exclusive].get(number as usize).copied()
    }

    /// What somebody at this level has after asking for a higher one, while the highest level of the others is this.
    pub(crate) fn raise(self, wanted: Level, others: Level) -> Level {
        match wanted {
            _ if wanted <= self => self,
            Level::Shared if others < Level::Pending => Level::Shared,
            Level::Reserved if others < Level::Reserved => Level::Reserved,
            Level::Exclusive if others == Level::None => Level::Exclusive,
            // Those who read may end, nobody else may begin.
            Level::Exclusive if others == Level::Shared => Level::Pending,
            _ => self,
        }
    }
}

/// Which of the locks on shared memory somebody holds, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Held {
    pub(crate) shared: u8,
    pub(crate) exclusive: u8,
}

impl Held {
    /// Takes locks for reading unless somebody else writes, or for writing unless somebody else has them. Whether it did.
    pub(crate) fn take(&mut self, mask: u8, is_exclusive: bool, mut others: impl Iterator<Item = Held>) -> bool {
        let in_the_way = |other: Held| if is_exclusive { other.exclusive | other.shared } else { other.exclusive };
        let is_free = !others.any(|other| in_the_way(other) & mask != 0);
        if is_free {
            *(if is_exclusive { &mut self.exclusive } else { &mut self.shared }) |= mask;
        }
        is_free
    }

    pub(crate) fn release(&mut self, mask: u8) {
        self.shared &= !mask;
        self.exclusive &= !mask;
    }
}

#[cfg(test)]
mod tests {
    use super::Level::{self, *};

    fn check(mine: Level, wanted: Level, others: Level, expected: Level) {
        assert_eq!(mine.raise(wanted, others), expected, "{mine:?} to {wanted:?} beside {others:?}");
    }

    #[test]
    fn many_read_one_waits_to_write_and_writes_alone() {
        check(None, Shared, Shared, Shared);
        check(None, Shared, Reserved, Shared);
        check(None, Shared, Pending, None);
        check(None, Shared, Exclusive, None);
        check(Shared, Reserved, Shared, Reserved);
        check(Shared, Reserved, Reserved, Shared);
        check(Reserved, Exclusive, Shared, Pending);
        check(Pending, Exclusive, Shared, Pending);
        check(Pending, Exclusive, None, Exclusive);
        check(Shared, Exclusive, None, Exclusive);
        check(Shared, Exclusive, Reserved, Shared);
        check(Exclusive, Shared, None, Exclusive);
    }
}
