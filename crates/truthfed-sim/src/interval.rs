//! Confidence intervals of means, at any confidence.

use crate::experiment::Spread;

/// Halvings of the range in which a quantile lies: enough for every bit of a float.
const HALVINGS: u32 = 200;
/// Terms of the continued fraction; it takes some dozens.
const MOST_TERMS: u32 = 10_000;

/// A mean with half the width of its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub mean: f64,
    /// 0 for a single value.
    pub half: f64,
}

impl Interval {
    /// Of values that are independent and roughly normal, by Student's t. `confidence` lies in (0, 1), such as 0.95.
    ///
    /// # Panics
    /// When the confidence does not.
    pub fn of(values: impl IntoIterator<Item = f64>, confidence: f64) -> Interval {
        assert!(confidence > 0.0 && confidence < 1.0, "a confidence lies between 0 and 1");
        let values: Vec<f64> = values.into_iter().collect();
        let Spread { mean, sd } = Spread::of(values.iter().copied());
        let half = match values.len() {
            0 | 1 => 0.0,
            n => student((n - 1) as f64, confidence) * sd / (n as f64).sqrt(),
        };
        Interval { mean, half }
    }

    /// Of the differences between two figures under the same seeds.
    ///
    /// # Panics
    /// When there is not a pair for each seed, or the confidence is not in (0, 1).
    pub fn paired(ours: &[f64], theirs: &[f64], confidence: f64) -> Interval {
        assert_eq!(ours.len(), theirs.len(), "a pair for each seed");
        Interval::of(ours.iter().zip(theirs).map(|(a, b)| a - b), confidence)
    }
}

/// The t within whose distance from 0 a Student variable lies with this probability.
fn student(freedom: f64, confidence: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while within(high, freedom) < confidence && high < f64::MAX / 4.0 {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if within(middle, freedom) < confidence { low = middle } else { high = middle }
    }
    high
}

/// The probability that a Student variable lies within `t` of 0.
fn within(t: f64, freedom: f64) -> f64 {
    1.0 - incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The regularised incomplete beta function, by its continued fraction (Lentz).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side; the other is its mirror.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log1p(-x) - log_beta) / a;
    let not_zero = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    let (mut fraction, mut c, mut d) = (1.0, 1.0, 0.0);
    for term in 0..MOST_TERMS {
        let m = f64::from(term / 2);
        let numerator = match term {
            0 => 1.0,
            term if term % 2 == 0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        d = 1.0 / not_zero(1.0 + numerator * d);
        c = not_zero(1.0 + numerator / c);
        let change = c * d;
        fraction *= change;
        if (change - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    front * (fraction - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        let table = [
            (1.0, 0.95, 12.706_205),
            (2.0, 0.95, 4.302_653),
            (4.0, 0.90, 2.131_847),
            (9.0, 0.99, 3.249_836),
            (29.0, 0.95, 2.045_230),
            (99.0, 0.5, 0.676_976),
            (10_000.0, 0.95, 1.960_201),
        ];
        for (freedom, confidence, expected) in table {
            let found = student(freedom, confidence);
            assert!((found - expected).abs() < 2e-6 * expected, "{freedom}, {confidence}: {found}");
        }
    }

    #[test]
    fn a_paired_difference_has_the_spread_of_the_differences() {
        let same = Interval::paired(&[11.0, 21.0, 31.0], &[10.0, 20.0, 30.0], 0.95);
        assert_eq!(same, Interval { mean: 1.0, half: 0.0 });
        let differing = Interval::paired(&[3.0, 4.0, 5.0], &[1.0, 1.0, 1.0], 0.95);
        assert!((differing.mean - 3.0).abs() < 1e-12 && (differing.half - 4.302_653 / 3_f64.sqrt()).abs() < 1e-6);
        assert_eq!(Interval::of([7.0], 0.99), Interval { mean: 7.0, half: 0.0 });
    }
}
