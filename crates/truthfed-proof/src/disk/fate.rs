//! What becomes of changes that were not synced when the power is lost.

use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt};

/// How often a change is kept, dropped and torn: one of these in each loss, so that all, nothing and all between is seen.
const MOODS: [(u32, u32, u32); 6] = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1), (6, 1, 1), (1, 6, 1)];

/// Counts over the life of a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    pub losses: u64,
    pub syncs: u64,
    /// Changes that were not synced and survived.
    pub kept: u64,
    pub dropped: u64,
    /// Writes that survived in part.
    pub torn: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Kept,
    Dropped,
    Torn,
}

/// The fates of all changes in one loss of power.
pub(crate) struct Fates<'a> {
    random: &'a mut ChaCha8Rng,
    statistics: &'a mut Statistics,
    mood: (u32, u32, u32),
    /// Whether no write damages the bytes beside it.
    pub(crate) is_powersafe: bool,
}

impl<'a> Fates<'a> {
    pub(crate) fn new(random: &'a mut ChaCha8Rng, statistics: &'a mut Statistics, is_powersafe: bool) -> Fates<'a> {
        let mood = MOODS[random.random_range(0..MOODS.len())];
        statistics.losses += 1;
        Fates { random, statistics, mood, is_powersafe }
    }

    pub(crate) fn draw(&mut self) -> Fate {
        let (kept, dropped, torn) = self.mood;
        let drawn = self.random.random_range(0..kept + dropped + torn);
        if drawn < kept {
            self.statistics.kept += 1;
            Fate::Kept
        } else if drawn < kept + dropped {
            self.statistics.dropped += 1;
            Fate::Dropped
        } else {
            self.statistics.torn += 1;
            Fate::Torn
        }
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.random.random()
    }

    pub(crate) fn between(&mut self, low: usize, high: usize) -> usize {
        self.random.random_range(low as u64..=high as u64) as usize
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        self.random.fill_bytes(bytes);
    }
}
