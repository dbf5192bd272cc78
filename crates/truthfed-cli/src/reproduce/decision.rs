//! The one rule that decides claims.
//!
//! A claim says on which side of a bound a quantity lies, and the 95 % interval of the quantity decides: the claim holds if
//! the whole interval is on its side, is not reproduced if the whole interval is on the other side, and is undecided
//! otherwise, at any number of seeds. That an interval includes a bound proves nothing, so a claim that something is absent or
//! the same names a tolerance and is decided against that. What is exact has an interval without width; where a claim is about
//! every case, one case on the other side is a counterexample.

use serde::Serialize;
use truthfed_report::page::VerdictKind;

use super::interval::Interval;

/// The rule, for readers of the report.
pub(super) const RULE: &str = "A statistical statement is decided by the 95 % interval over the seeds of each quantity that it is \
                               about, against 0 or the tolerance that it names: + if the whole interval is on its side, - if the \
                               whole interval is on the other side, ? otherwise, at any number of seeds. Of several quantities, + \
                               needs all and - needs one. A statement about every case is refuted by one counterexample. \
                               \"Nothing\" and \"the same\" are up to 5 %: an interval around 0 proves no absence.";

/// Up to this many percent, a gain counts as nothing, a change as none, and a cost as back at its start.
pub(super) const SAME: f64 = 5.0;

/// Where a claim says a quantity lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Side {
    Above(f64),
    Below(f64),
    AtMost(f64),
    AtLeast(f64),
    /// At most so far from 0.
    Within(f64),
}

impl Side {
    pub(super) fn decide(self, quantity: Interval) -> VerdictKind {
        let (low, high) = (quantity.low(), quantity.high());
        let (is_on_it, is_off_it) = match self {
            Side::Above(bound) => (low > bound, high <= bound),
            Side::Below(bound) => (high < bound, low >= bound),
            Side::AtMost(bound) => (high <= bound, low > bound),
            Side::AtLeast(bound) => (low >= bound, high < bound),
            Side::Within(bound) => (low >= -bound && high <= bound, low > bound || high < -bound),
        };
        match (is_on_it, is_off_it) {
            (true, _) => VerdictKind::Reproduced,
            (_, true) => VerdictKind::NotReproduced,
            _ => VerdictKind::Undecided,
        }
    }
}

/// The verdict on a claim from those on its quantities.
pub(super) fn together(quantities: impl IntoIterator<Item = VerdictKind>) -> VerdictKind {
    let all: Vec<VerdictKind> = quantities.into_iter().collect();
    let has = |kind| all.contains(&kind);
    if has(VerdictKind::Refuted) {
        VerdictKind::Refuted
    } else if has(VerdictKind::NotReproduced) {
        VerdictKind::NotReproduced
    } else if has(VerdictKind::Undecided) || all.is_empty() {
        VerdictKind::Undecided
    } else {
        VerdictKind::Reproduced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use VerdictKind::{NotReproduced, Refuted, Reproduced, Undecided};

    fn check(side: Side, low: f64, high: f64, expected: VerdictKind) {
        let quantity = Interval { mean: f64::midpoint(low, high), half: (high - low) / 2.0 };
        assert_eq!(side.decide(quantity), expected, "{side:?} of {low} to {high}");
    }

    #[test]
    fn an_interval_decides_only_if_it_is_wholly_on_one_side() {
        check(Side::Above(0.0), 0.5, 1.5, Reproduced);
        check(Side::Above(0.0), -0.5, 1.5, Undecided);
        check(Side::Above(0.0), -1.5, -0.5, NotReproduced);
        check(Side::Below(0.0), -1.5, -0.5, Reproduced);
        check(Side::Below(0.0), 0.5, 1.5, NotReproduced);
        check(Side::AtMost(10.0), 7.6, 11.7, Undecided);
        check(Side::AtMost(10.0), -20.0, 10.0, Reproduced);
        check(Side::AtMost(10.0), 10.5, 11.5, NotReproduced);
        check(Side::AtLeast(1.0), 0.5, 0.9, NotReproduced);
        check(Side::Within(5.0), -2.5, 5.0, Reproduced);
        check(Side::Within(5.0), -2.6, 8.2, Undecided);
        check(Side::Within(5.0), -8.0, -6.0, NotReproduced);
    }

    #[test]
    fn no_difference_at_all_is_on_the_side_of_no_difference() {
        check(Side::Above(0.0), 0.0, 0.0, NotReproduced);
        check(Side::Below(0.0), 0.0, 0.0, NotReproduced);
        check(Side::AtMost(0.0), 0.0, 0.0, Reproduced);
        check(Side::AtLeast(0.0), 0.0, 0.0, Reproduced);
    }

    #[test]
    fn one_seed_decides_nothing() {
        for side in [Side::Above(0.0), Side::Below(0.0), Side::AtMost(1e9), Side::Within(1e9)] {
            assert_eq!(side.decide(Interval::of([7.0])), Undecided, "{side:?}");
        }
    }

    #[test]
    fn a_claim_holds_if_every_part_does_and_fails_if_one_does() {
        assert_eq!(together([Reproduced, Reproduced]), Reproduced);
        assert_eq!(together([Reproduced, Undecided]), Undecided);
        assert_eq!(together([Undecided, NotReproduced, Reproduced]), NotReproduced);
        assert_eq!(together([Undecided, NotReproduced, Refuted]), Refuted);
        assert_eq!(together([]), Undecided);
    }
}
