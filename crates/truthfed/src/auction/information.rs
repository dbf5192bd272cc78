//! Information: log determinants as integers, so that every decision after them is exact.
//!
//! A log determinant is a float. Ratios of floats would make "the largest ask that still wins" a matter
//! of rounding; so each log determinant is rounded once to a multiple of 2^-44 nats (about 6e-14), and
//! gains, losses, comparisons and prices are integer arithmetic from there on. The rounding noise of
//! floats is of the same size: nothing is lost by it.

use std::ops::{Add, Sub};

/// Binary places kept of a nat.
const PLACES: u32 = 44;
const UNITS_PER_NAT: f64 = (1_u64 << PLACES) as f64;

/// An amount of information: a log determinant or a difference of two, in units of 2^-44 nats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Information(i64);

impl Information {
    pub const ZERO: Information = Information(0);

    /// Less than any set of clients has.
    pub(super) const NOTHING: Information = Information(i64::MIN);

    /// More than any set of clients has.
    pub(super) const UNREACHABLE: Information = Information(i64::MAX);

    /// The nearest multiple of 2^-44 nats.
    ///
    /// # Panics
    /// Beyond half a million nats, which no matrix within bounds has; 2^63 units are 524,288 nats.
    pub fn from_nats(nats: f64) -> Information {
        assert!(nats.abs() < 5e5, "bug: {nats} nats are outside of every valid round");
        // As `round`, which is a call into a library where the processor has no instruction for it: half away from zero.
        let units = nats * UNITS_PER_NAT;
        let whole = units as i64;
        let rest = units - whole as f64;
        Information(whole + i64::from(rest >= 0.5) - i64::from(rest <= -0.5))
    }

    pub fn to_nats(self) -> f64 {
        self.0 as f64 / UNITS_PER_NAT
    }

    pub(super) const fn from_units(units: i64) -> Information {
        Information(units)
    }

    pub const fn units(self) -> i64 {
        self.0
    }

    /// The determinant ratio this log ratio stands for.
    pub fn to_ratio(self) -> f64 {
        libm::exp(self.to_nats())
    }
}

impl Add for Information {
    type Output = Information;

    fn add(self, other: Information) -> Information {
        Information(self.0 + other.0)
    }
}

impl Sub for Information {
    type Output = Information;

    fn sub(self, other: Information) -> Information {
        Information(self.0 - other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let mut stream = crate::generate::Stream::new(1, 0);
        let odd = [0.0, 0.5, 1.5, 2.5, 0.499_999_999_999_999_94, 4_503_599_627_370_495.5, 4.6e18, 2e-300];
        let random = std::iter::repeat_with(|| stream.normal() * libm::pow(2.0, 60.0 * stream.uniform() - 2.0));
        for units in odd.into_iter().chain(random.take(100_000)).flat_map(|units| [units, -units]) {
            assert_eq!(Information::from_nats(units / UNITS_PER_NAT).units(), units.round() as i64, "{units}");
        }
    }

    #[test]
    fn nats_survive_the_way_through_integers() {
        for nats in [0.0, 1.0, -0.75, 1e-9, 123.456, -4e5] {
            let there_and_back = Information::from_nats(nats).to_nats();
            assert!((there_and_back - nats).abs() <= 3e-14 + 1e-15 * nats.abs());
        }
        assert_eq!(Information::from_nats(1.0).units(), 1 << 44);
    }
}
