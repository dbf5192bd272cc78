//! What a lie earns: a signed amount of money.

use std::fmt;
use std::iter::Sum;
use std::ops::Sub;

use crate::Amount;
use crate::money::write_decimal;

/// A difference of amounts in micro-units, below zero for a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Gain(i128);

impl Gain {
    pub const ZERO: Gain = Gain(0);

    /// What is left of `received` after `spent`.
    pub fn between(received: Amount, spent: Amount) -> Gain {
        Gain(i128::from(received.micros()) - i128::from(spent.micros()))
    }

    pub(super) const fn from_micros(micros: i128) -> Gain {
        Gain(micros)
    }

    pub const fn micros(self) -> i128 {
        self.0
    }
}

impl Sub for Gain {
    type Output = Gain;

    fn sub(self, other: Gain) -> Gain {
        Gain(self.0 - other.0)
    }
}

impl Sum for Gain {
    fn sum<I: Iterator<Item = Gain>>(gains: I) -> Gain {
        Gain(gains.map(|gain| gain.0).sum())
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(f, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_and_losses_print_as_exact_decimals() {
        for (micros, text) in [(0, "0"), (1, "0.000001"), (-1, "-0.000001"), (10_000_000, "10"), (-2_500_000, "-2.5")] {
            assert_eq!(Gain(micros).to_string(), text);
        }
    }
}
