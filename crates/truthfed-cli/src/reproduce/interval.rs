//! Means over seeds with 95 % confidence intervals, and differences seed by seed.

use truthfed_sim::interval::Interval as AnyInterval;

const CONFIDENCE: f64 = 0.95;

/// A mean with half the width of its 95 % confidence interval, which is infinite for a single value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub(super) mean: f64,
    pub(super) half: f64,
}

impl Interval {
    /// Of values that are independent and roughly normal: Student's t.
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Interval {
        let values: Vec<f64> = values.into_iter().collect();
        let AnyInterval { mean, half } = AnyInterval::of(values.iter().copied(), CONFIDENCE);
        Interval { mean, half: if values.len() > 1 { half } else { f64::INFINITY } }
    }

    /// Of the differences between two figures under the same seeds.
    pub(super) fn paired(ours: &[f64], theirs: &[f64]) -> Interval {
        assert_eq!(ours.len(), theirs.len(), "a pair for each seed");
        Interval::of(ours.iter().zip(theirs).map(|(a, b)| a - b))
    }

    /// [`Interval::paired`] in percent of the mean of the second figure.
    pub(super) fn percent_more(ours: &[f64], theirs: &[f64]) -> Interval {
        Interval::paired(ours, theirs).percent_of(Interval::of(theirs.iter().copied()).mean)
    }

    pub(super) fn percent_of(self, whole: f64) -> Interval {
        let scale = 100.0 / whole.abs().max(1e-9);
        Interval { mean: scale * self.mean, half: scale * self.half }
    }

    pub(super) fn low(self) -> f64 {
        self.mean - self.half
    }

    pub(super) fn high(self) -> f64 {
        self.mean + self.half
    }

    /// Mean ± half, with more decimals the smaller the interval.
    pub(super) fn words(self) -> String {
        let digits = self.digits();
        format!("{:.digits$}{}", self.mean, self.reach())
    }

    /// The same with a sign, for differences.
    pub(super) fn signed(self) -> String {
        let digits = self.digits();
        format!("{:+.digits$}{}", self.mean, self.reach())
    }

    fn reach(self) -> String {
        let digits = self.digits();
        if self.half.is_finite() { format!(" ± {:.digits$}", self.half) } else { String::new() }
    }

    fn digits(self) -> usize {
        let half = if self.half.is_finite() { self.half } else { 0.0 };
        match self.mean.abs().max(half) {
            1000.0.. => 0,
            10.0.. => 1,
            _ => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paired_difference_has_the_spread_of_the_differences() {
        let difference = Interval::paired(&[11.0, 21.0, 31.0], &[10.0, 20.0, 30.0]);
        assert_eq!((difference.mean, difference.half), (1.0, 0.0));
        assert_eq!(difference.signed(), "+1.00 ± 0.00");
    }

    #[test]
    fn percents_are_of_the_mean_of_the_second_figure() {
        let more = Interval::percent_more(&[1.0, 4.0, 7.0], &[1.0, 2.0, 3.0]);
        let difference = Interval::of([0.0, 2.0, 4.0]);
        assert_eq!((more.mean, more.half), (100.0, 50.0 * difference.half));
    }

    #[test]
    fn one_value_has_no_bounds() {
        let one = Interval::of([7.0]);
        assert_eq!((one.low(), one.high(), one.words()), (f64::NEG_INFINITY, f64::INFINITY, "7.00".to_owned()));
    }
}
