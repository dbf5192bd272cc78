//! Bounds by which the lazy searches order their candidates.

use std::cmp::Ordering;

/// Relative widening of float bounds: 4,500 times the rounding of one operation, and a bound takes a few. Too wide only
/// costs evaluations.
pub(super) const WIDER: f64 = 1.0 + 1e-12;

/// A float in its total order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound(pub(super) f64);

impl Ord for Bound {
    fn cmp(&self, other: &Bound) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Bound) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Bound) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Bound {}
