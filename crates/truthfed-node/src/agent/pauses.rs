//! How long an agent waits after a failure before it tries again.

use std::time::Duration;

use truthfed::auction::ClientId;

use crate::digest::{Digest, Hex};

/// The first pause after a failure, and the longest: short enough that a restart is hardly noticed, and so long that a
/// coordinator which is away for an hour is not flooded when it returns.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));

/// Each twice as long as the one before, and cut differently for each member and time: not all agents come at once.
#[derive(Debug)]
pub(super) struct Pauses {
    member: ClientId,
    made: u64,
    longest: Duration,
}

impl Pauses {
    pub(super) fn of(member: &ClientId) -> Pauses {
        Pauses { member: member.clone(), made: 0, longest: PAUSES.0 }
    }

    pub(super) fn begin_anew(&mut self) {
        self.longest = PAUSES.0;
    }

    pub(super) fn next(&mut self) -> Duration {
        let longest = self.longest;
        self.longest = (2 * longest).min(PAUSES.1);
        self.made += 1;
        let Hex([a, b, ..]) = Digest::of(format!("{} {}", self.member, self.made).as_bytes());
        let share = f64::from(u16::from_be_bytes([a, b])) / f64::from(u16::MAX);
        longest.mul_f64(0.5 + 0.5 * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_are_cut_by_at_most_half() {
        let mut pauses = Pauses::of(&"m1".parse().unwrap());
        let mut longest = PAUSES.0;
        for _ in 0..20 {
            let pause = pauses.next();
            assert!(pause >= longest / 2 && pause <= longest, "{pause:?} of {longest:?}");
            longest = (2 * longest).min(PAUSES.1);
        }
        assert_eq!(longest, PAUSES.1);
        pauses.begin_anew();
        assert!(pauses.next() <= PAUSES.0);
    }

    #[test]
    fn pauses_of_different_members_and_of_one_member_at_different_times_differ() {
        let mut first = Pauses::of(&"m1".parse().unwrap());
        let mut cuts: Vec<Duration> = (0..5)
            .map(|_| {
                first.begin_anew();
                first.next()
            })
            .collect();
        cuts.extend((2..10).map(|number| Pauses::of(&format!("m{number}").parse().unwrap()).next()));
        cuts.sort();
        cuts.dedup();
        assert_eq!(cuts.len(), 13);
    }
}
