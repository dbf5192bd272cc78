//! Log lines that would repeat many times a second: each cause is told once, then at most once a minute with a count.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

const PAUSE: Duration = Duration::from_secs(60);

/// For each cause, when it was last told and how often it came up since.
#[derive(Debug, Default)]
pub(crate) struct Seldom(BTreeMap<&'static str, (Instant, u64)>);

impl Seldom {
    /// Calls `tell` if the cause was not told within the last minute, with how often it came up since it was told: 1 at first.
    pub(crate) fn tell(&mut self, cause: &'static str, tell: impl FnOnce(u64)) {
        let now = Instant::now();
        match self.0.get_mut(cause) {
            Some((told, times)) if now < *told + PAUSE => *times += 1,
            known => {
                tell(1 + known.map_or(0, |(_, times)| *times));
                self.0.insert(cause, (now, 0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_repeats_is_told_once_and_then_once_a_minute_with_a_count() {
        let (mut seldom, mut told) = (Seldom::default(), Vec::new());
        for second in 0..=120 {
            seldom.tell("away", |times| told.push((second, "away", times)));
            if second >= 100 {
                seldom.tell("full", |times| told.push((second, "full", times)));
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!(told, [(0, "away", 1), (60, "away", 60), (100, "full", 1), (120, "away", 60)]);
    }
}
