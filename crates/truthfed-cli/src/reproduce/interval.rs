//! Means over seeds with confidence intervals, and differences seed by seed.

use truthfed_sim::experiment::Spread;

/// A mean with half the width of its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) mean: f64,
    pub(super) half: f64,
}

impl Interval {
    /// Of values that are independent and roughly normal: Student's t.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Interval {
        let values: Vec<f64> = values.into_iter().collect();
        let Spread { mean, sd } = Spread::of(values.iter().copied());
        let half = match values.len() {
            0 | 1 => 0.0,
            n => student(n - 1) * sd / (n as f64).sqrt(),
        };
        Interval { mean, half }
    }

    /// Of the differences between two figures under the same seeds.
    pub(super) fn paired(ours: &[f64], theirs: &[f64]) -> Interval {
        assert_eq!(ours.len(), theirs.len(), "a pair for each seed");
        Interval::of(ours.iter().zip(theirs).map(|(a, b)| a - b))
    }

    pub(super) fn low(self) -> f64 {
        self.mean - self.half
    }

    pub(super) fn high(self) -> f64 {
        self.mean + self.half
    }

    pub(super) fn is_above(self, bound: f64) -> bool {
        self.low() > bound
    }

    pub(super) fn is_below(self, bound: f64) -> bool {
        self.high() < bound
    }

    /// Whether the interval lies on one side of a bound.
    pub(super) fn excludes(self, bound: f64) -> bool {
        self.is_above(bound) || self.is_below(bound)
    }

    /// Mean ± half, with more decimals the smaller the interval.
    pub(super) fn words(self) -> String {
        let digits = digits(self);
        format!("{:.digits$} ± {:.digits$}", self.mean, self.half)
    }

    /// The same with a sign, for differences.
    pub(super) fn signed(self) -> String {
        let digits = digits(self);
        format!("{:+.digits$} ± {:.digits$}", self.mean, self.half)
    }
}

fn digits(interval: Interval) -> usize {
    match interval.mean.abs().max(interval.half) {
        1000.0.. => 0,
        10.0.. => 1,
        _ => 2,
    }
}

/// The 97.5 % quantile of Student's t with so many degrees of freedom: exact for one and two, otherwise the expansion of
/// Cornish and Fisher, which is within 0.01 from three on.
fn student(freedom: usize) -> f64 {
    const Z: f64 = 1.959_964;
    match freedom {
        0 | 1 => 12.706,
        2 => 4.303,
        _ => {
            let (n, z2) = (freedom as f64, Z * Z);
            let first = Z * (z2 + 1.0) / 4.0;
            let second = Z * (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / 96.0;
            let third = Z * (3.0 * z2 * z2 * z2 + 19.0 * z2 * z2 + 17.0 * z2 - 15.0) / 384.0;
            let fourth = Z * (79.0 * z2 * z2 * z2 * z2 + 776.0 * z2 * z2 * z2 + 1482.0 * z2 * z2 - 1920.0 * z2 - 945.0)
                / 92_160.0;
            Z + (first + (second + (third + fourth / n) / n) / n) / n
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        for (freedom, expected) in [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (29, 2.045), (99, 1.984)] {
            assert!((student(freedom) - expected).abs() < 0.005, "{freedom}: {}", student(freedom));
        }
    }

    #[test]
    fn a_paired_difference_has_the_spread_of_the_differences() {
        let difference = Interval::paired(&[11.0, 21.0, 31.0], &[10.0, 20.0, 30.0]);
        assert_eq!((difference.mean, difference.half), (1.0, 0.0));
        assert!(difference.is_above(0.9) && !difference.is_above(1.0) && difference.is_below(1.1));
        assert_eq!(difference.signed(), "+1.00 ± 0.00");
    }
}
