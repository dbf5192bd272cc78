//! A token bucket: so many requests at once, so many per second in the long run.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::digest::Digest;

const SECOND: u128 = 1_000_000_000;
/// From this many buckets on, full ones are dropped: a full one is the same as a new one.
const MANY: usize = 1024;

/// Fills at a steady rate up to its size; every request takes one token. The clock is the caller's.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    per_second: u32,
    burst: u32,
    /// Tokens in billionths, so that nothing is lost to rounding.
    level: u128,
    at: Duration,
}

impl TokenBucket {
    /// A full bucket. Rate and size are at least 1.
    pub fn new(per_second: u32, burst: u32, now: Duration) -> TokenBucket {
        let (per_second, burst) = (per_second.max(1), burst.max(1));
        TokenBucket { per_second, burst, level: u128::from(burst) * SECOND, at: now }
    }

    /// Takes a token. The error says how long to wait until there is one.
    pub fn take(&mut self, now: Duration) -> Result<(), Duration> {
        self.fill(now);
        if self.level < SECOND {
            let nanos = (SECOND - self.level).div_ceil(u128::from(self.per_second));
            return Err(Duration::from_nanos(nanos as u64));
        }
        self.level -= SECOND;
        Ok(())
    }

    pub fn is_full(&mut self, now: Duration) -> bool {
        self.fill(now);
        self.level == self.size()
    }

    /// Has this rate and size from now on; what is above a smaller size is lost.
    pub fn adjust(&mut self, per_second: u32, burst: u32, now: Duration) {
        self.fill(now);
        (self.per_second, self.burst) = (per_second.max(1), burst.max(1));
        self.level = self.level.min(self.size());
    }

    fn size(&self) -> u128 {
        u128::from(self.burst) * SECOND
    }

    fn fill(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.at);
        self.at = self.at.max(now);
        self.level = (self.level + passed.as_nanos() * u128::from(self.per_second)).min(self.size());
    }
}

/// A bucket for each certificate. Rate and size come with each request, as they may change.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    buckets: Mutex<BTreeMap<Digest, TokenBucket>>,
}

impl Buckets {
    pub(super) fn take(&self, who: Digest, per_second: u32, burst: u32, now: Duration) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MANY && !buckets.contains_key(&who) {
            buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        let bucket = buckets.entry(who).or_insert_with(|| TokenBucket::new(per_second, burst, now));
        bucket.adjust(per_second, burst, now);
        bucket.take(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_burst_is_taken_at_once_and_then_one_at_a_time() {
        let mut bucket = TokenBucket::new(10, 3, at(0));
        assert_eq!([0, 0, 0, 0].map(|ms| bucket.take(at(ms)).is_ok()), [true, true, true, false]);
        assert_eq!(bucket.take(at(40)), Err(at(60)), "says how long to wait");
        assert_eq!(bucket.take(at(100)), Ok(()));
        assert_eq!(bucket.take(at(100)), Err(at(100)));
    }

    #[test]
    fn an_idle_bucket_fills_up_to_its_size_only() {
        let mut bucket = TokenBucket::new(10, 3, at(0));
        bucket.take(at(0)).unwrap();
        assert!(!bucket.is_full(at(99)) && bucket.is_full(at(100)));
        let taken = (0..100).filter(|_| bucket.take(at(1_000_000)).is_ok()).count();
        assert_eq!(taken, 3);
    }

    #[test]
    fn in_the_long_run_the_rate_is_exact_and_an_older_time_gives_nothing() {
        let mut bucket = TokenBucket::new(7, 1, at(0));
        let taken = (0..10_000).filter(|&ms| bucket.take(at(ms)).is_ok()).count();
        assert!((69..=71).contains(&taken), "{taken}");
        assert!(bucket.take(at(0)).is_err());
    }

    #[test]
    fn buckets_of_different_certificates_do_not_share_and_full_ones_are_dropped() {
        let buckets = Buckets::default();
        let who = |number: usize| Digest::of(&number.to_be_bytes());
        for number in 0..MANY {
            assert!(buckets.take(who(number), 1, 1, at(0)).is_ok());
            assert!(buckets.take(who(number), 1, 1, at(0)).is_err());
        }
        assert!(buckets.take(who(MANY), 1, 1, at(2000)).is_ok());
        assert_eq!(buckets.buckets.lock().unwrap().len(), 1);
    }

    #[test]
    fn a_rate_that_was_changed_counts_from_then_on() {
        let (buckets, who) = (Buckets::default(), Digest::of(b"a"));
        let taken = |burst, ms| (0..10).filter(|_| buckets.take(who, 1, burst, at(ms)).is_ok()).count();
        assert_eq!(taken(5, 0), 5);
        assert_eq!(taken(2, 60_000), 2, "what was saved above the new size is lost");
        assert_eq!(taken(5, 62_000), 2, "and a larger size fills at the rate");
    }
}
