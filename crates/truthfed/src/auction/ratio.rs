//! Information for money: exact comparisons, and the ask at which one turns.
//!
//! A client is worth its gain per ask. Comparing two is a product of integers, so it is exact, and the
//! largest ask with which a client still beats a rival is a division rounded down. Both follow one rule
//! for ties (the smaller seat, that is the smaller client id, goes first) and for zeros: a gain of zero
//! is the worst ratio whatever is asked, a gain at ask zero the best.

use super::{Information, Seat};
use crate::Amount;

/// What a client adds (or what is lost without it), and its ask for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ratio {
    pub(super) seat: Seat,
    pub(super) gain: Information,
    pub(super) ask: Amount,
}

impl Ratio {
    pub(super) fn beats(&self, other: &Ratio) -> bool {
        match (self.gain.units() > 0, other.gain.units() > 0) {
            (true, false) => true,
            (false, true) => false,
            (false, false) => self.seat < other.seat,
            (true, true) => {
                let (own, others) = (product(self.gain, other.ask), product(other.gain, self.ask));
                own > others || (own == others && self.seat < other.seat)
            }
        }
    }
}

/// The largest ask, in micro-units, with which a client beats `rival`: -1 when none does, `i128::MAX` when any does.
pub(super) fn highest_ask_to_beat(rival: &Ratio, seat: Seat, gain: Information) -> i128 {
    match (gain.units() > 0, rival.gain.units() > 0) {
        (true, false) => i128::MAX,
        (false, false) if seat < rival.seat => i128::MAX,
        (false, _) => -1,
        (true, true) => {
            let lost_tie = i128::from(seat > rival.seat);
            (product(gain, rival.ask) - lost_tie).div_euclid(i128::from(rival.gain.units()))
        }
    }
}

/// At most 2^63 * 2^60: far inside 128 bits.
fn product(gain: Information, ask: Amount) -> i128 {
    i128::from(gain.units()) * i128::from(ask.micros())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(seat: usize, gain: i64, micros: i64) -> Ratio {
        // 2^-44 nats are exact in a float.
        let gain = Information::from_nats(gain as f64 / (1_u64 << 44) as f64);
        Ratio { seat: Seat(seat), gain, ask: Amount::from_micros(micros).unwrap() }
    }

    #[test]
    fn more_gain_per_ask_wins_zeros_are_extreme_and_ties_go_to_the_smaller_seat() {
        for (better, worse) in [
            (ratio(1, 3, 10), ratio(0, 2, 10)),
            (ratio(0, 2, 4), ratio(1, 1, 2)),
            (ratio(0, 1, 2), ratio(1, 2, 4)),
            (ratio(1, 1, 0), ratio(0, 5, 1)),
            (ratio(1, 1, 100), ratio(0, 0, 0)),
            (ratio(0, 1, 0), ratio(1, 9, 0)),
            (ratio(0, 0, 9), ratio(1, 0, 0)),
        ] {
            assert!(better.beats(&worse) && !worse.beats(&better), "{better:?} {worse:?}");
        }
    }

    #[test]
    fn the_highest_ask_beats_and_one_more_does_not() {
        for gain in 0..6 {
            for (rival_gain, rival_ask) in [(0, 0), (0, 5), (1, 0), (1, 7), (3, 7), (5, 1)] {
                for (seat, rival_seat) in [(0, 1), (1, 0)] {
                    let rival = ratio(rival_seat, rival_gain, rival_ask);
                    let beats = |ask: i64| ratio(seat, gain, ask).beats(&rival);
                    match highest_ask_to_beat(&rival, Seat(seat), ratio(seat, gain, 0).gain) {
                        -1 => assert!(!beats(0)),
                        i128::MAX => assert!(beats(Amount::MAX.micros())),
                        ask => assert!(beats(ask as i64) && !beats(ask as i64 + 1)),
                    }
                }
            }
        }
    }
}
