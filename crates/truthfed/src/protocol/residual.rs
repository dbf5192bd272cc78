//! How surprising a delivery is, given what others delivered. It compares, and does not punish: a member whose
//! world differs from the others' is surprising too, and honest.
//!
//! With `A = V + lambda I` and `theta = A^-1 b` of what is settled, a delivery (G, b) of rewards `x.theta* + noise`
//! has the residual `r = b - G theta`. If the noise has scale sigma, r is at most as scattered as
//! `sigma^2 M` with `M = G + G A^-1 G`: its own noise, and what is not known of theta* yet. So `r' M^+ r / sigma^2` is
//! at most chi-square with as many degrees of freedom as G has rank, beside what the ridge pulls theta towards 0.

use crate::statistics::{Factor, Gram, Statistics, dot};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Surprise {
    /// The squared residual, in units of what scatter is expected.
    pub statistic: f64,
    /// Above this it is flagged: an honest delivery gets there less often than once in a million.
    pub threshold: f64,
    /// What the statistic would be of rewards that are all zero, or twice what is expected.
    pub power: f64,
}

/// -log of how often an honest delivery may be flagged: one in a million.
const RARITY_NATS: f64 = 13.815_510_557_964_274;
/// Rewards so wrong must show before others' data confirms anything. With 1, one in four clients whose rewards are of a world they made
/// up was confirmed and paid before it was found; with less, honest clients wait longer.
const WRONG_BY: f64 = 0.25;
/// Share of the trace added to M, far above rounding: it can only make a delivery less surprising.
const RIDGE: f64 = 1e-12;

impl Surprise {
    /// How surprising a moment is beside what is settled, given the Gram matrix of its `samples` contexts, for rewards with
    /// noise of scale `sigma` and a parameter of norm at most 1. `None` without noise, or where sizes leave the range of floats.
    ///
    /// # Panics
    /// When the dimensions differ.
    pub fn of(
        settled: &Statistics,
        lambda: f64,
        sigma: f64,
        (gram, samples): (&Gram, u64),
        moment: &[f64],
    ) -> Option<Surprise> {
        let known = Factor::new(&settled.gram().ridge(lambda)).ok()?;
        let theta = known.solve(settled.moment());
        let rows = gram.rows();
        let expected: Vec<f64> = rows.iter().map(|row| dot(row, &theta)).collect();
        let residual: Vec<f64> = moment.iter().zip(&expected).map(|(b, expected)| b - expected).collect();
        // G A^-1 G is W' W, where the columns of W solve L w = g.
        let columns: Vec<Vec<f64>> = rows.iter().map(|row| known.solve_lower(row)).collect();
        let scatter = (0..rows.len()).flat_map(|i| {
            let (rows, columns) = (&rows, &columns);
            (0..=i).map(move |j| rows[i][j] + dot(&columns[i], &columns[j]))
        });
        let scatter = Gram::from_sums(scatter.collect()).ok()?;
        let scatter = Factor::new(&scatter.ridge(RIDGE * scatter.trace() + f64::MIN_POSITIVE)).ok()?;
        let in_units_of_noise = |residual: &[f64]| scatter.quadratic_form(residual) / (sigma * sigma);
        let (statistic, power) = (in_units_of_noise(&residual), in_units_of_noise(&expected));
        let degrees = (samples as f64).min(rows.len() as f64);
        // A chi-square number exceeds the first with a probability of at most exp(-nats); the ridge adds at most the
        // second to its root.
        let noise = degrees + 2.0 * (degrees * RARITY_NATS).sqrt() + 2.0 * RARITY_NATS;
        let root = noise.sqrt() + lambda.sqrt() / sigma;
        let threshold = root * root;
        let is_finite = [statistic, threshold, power].iter().all(|value| value.is_finite());
        is_finite.then_some(Surprise { statistic, threshold, power })
    }

    /// Whether someone should have a look.
    pub fn is_flagged(&self) -> bool {
        #[cfg(feature = "planted-faults")]
        if crate::planted::is(crate::planted::Fault::AnythingBelieved) {
            return false;
        }
        self.statistic > self.threshold
    }

    /// Whether the others' data says anything: rewards of zero would have been flagged.
    pub fn is_telling(&self) -> bool {
        self.power > self.threshold
    }

    /// Whether the others' data says enough to confirm: rewards that are wrong by a quarter of what is expected would have been flagged.
    pub fn is_decisive(&self) -> bool {
        WRONG_BY * WRONG_BY * self.power > self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Stream;

    const LAMBDA: f64 = 0.1;
    const SIGMA: f64 = 0.1;

    /// What a member observes whose rewards follow `theta`.
    fn observed(stream: &mut Stream, theta: &[f64], samples: usize) -> Statistics {
        let mut statistics = Statistics::new(theta.len()).unwrap();
        for _ in 0..samples {
            let x = stream.context(theta.len());
            let reward = dot(&x, theta) + SIGMA * stream.normal();
            statistics.observe(&x, reward).unwrap();
        }
        statistics
    }

    fn surprise(settled: &Statistics, delivered: &Statistics, moment: &[f64]) -> Surprise {
        Surprise::of(settled, LAMBDA, SIGMA, (delivered.gram(), delivered.samples()), moment).unwrap()
    }

    #[test]
    fn honest_deliveries_are_not_flagged_and_scatter_as_expected() {
        let (mut sum, mut degrees) = (0.0, 0.0);
        for seed in 0..3000 {
            let mut stream = Stream::new(seed, 0);
            let dimension = stream.between(1, 8);
            let theta = stream.context(dimension);
            let (before, after) = (stream.between(0, 300), stream.between(0, 60));
            let settled = observed(&mut stream, &theta, before);
            let delivered = observed(&mut stream, &theta, after);
            let found = surprise(&settled, &delivered, delivered.moment());
            assert!(!found.is_flagged(), "seed {seed}: {found:?}");
            if before > 100 {
                sum += found.statistic;
                degrees += after.min(dimension) as f64;
            }
        }
        assert!((0.9..1.1).contains(&(sum / degrees)), "{sum} over {degrees} degrees of freedom");
    }

    /// A = 10 and theta = 1/2; the residual is 3 - 4/2, and scatters by 4 + 4 * 4 / 10.
    #[test]
    fn in_one_dimension_it_is_what_a_hand_computes() {
        let mut settled = Statistics::new(1).unwrap();
        settled.observe(&[3.0], 5.0 / 3.0).unwrap();
        let gram = Gram::from_rows(&[[4.0]]).unwrap();
        let Surprise { statistic, threshold, power } = Surprise::of(&settled, 1.0, 0.5, (&gram, 7), &[3.0]).unwrap();
        assert!((statistic - 1.0 / (5.6 * 0.25)).abs() < 1e-9, "{statistic}");
        assert!((power - 4.0 / (5.6 * 0.25)).abs() < 1e-9, "{power}");
        let noise = 1.0 + 2.0 * RARITY_NATS.sqrt() + 2.0 * RARITY_NATS;
        assert!((threshold.sqrt() - (noise.sqrt() + 2.0)).abs() < 1e-9, "{threshold}");
    }

    #[test]
    fn a_delivery_of_nothing_surprises_nobody() {
        let nothing = Statistics::new(2).unwrap();
        assert_eq!(surprise(&nothing, &nothing, &[0.0, 0.0]).statistic, 0.0);
    }

    #[test]
    fn rewards_of_another_world_are_flagged() {
        let mut stream = Stream::new(1, 0);
        let theta = stream.context(4);
        let settled = observed(&mut stream, &theta, 200);
        let delivered = observed(&mut stream, &theta, 50);
        for change in [-1.0, 0.0, 1.8] {
            let moment: Vec<f64> = delivered.moment().iter().map(|b| change * b).collect();
            assert!(surprise(&settled, &delivered, &moment).is_flagged(), "times {change}");
        }
    }

    /// What is confirmed is not wrong by a quarter, nor by more; what only fits may be.
    #[test]
    fn what_would_be_confirmed_is_flagged_when_it_is_wrong_by_a_quarter() {
        let (mut telling, mut decisive) = (0, 0);
        for seed in 0..300 {
            let mut stream = Stream::new(seed, 2);
            let dimension = stream.between(1, 8);
            let theta = stream.context(dimension);
            let settled = observed(&mut stream, &theta, 2000);
            let samples = stream.between(1, 400);
            let delivered = observed(&mut stream, &theta, samples);
            let believed = Factor::new(&settled.gram().ridge(LAMBDA)).unwrap().solve(settled.moment());
            let rows = delivered.gram().rows();
            let times = |factor: f64| rows.iter().map(|row| factor * dot(row, &believed)).collect::<Vec<f64>>();
            let right = surprise(&settled, &delivered, &times(1.0));
            telling += u32::from(right.is_telling());
            decisive += u32::from(right.is_decisive());
            for wrong in [0.75, 1.25] {
                assert_eq!(
                    surprise(&settled, &delivered, &times(wrong)).is_flagged(),
                    right.is_decisive(),
                    "seed {seed}"
                );
            }
            assert_eq!(surprise(&settled, &delivered, &times(0.0)).is_flagged(), right.is_telling(), "seed {seed}");
        }
        assert!(decisive > 20 && telling > decisive + 20, "{decisive} decisive of {telling} telling");
    }

    #[test]
    fn without_noise_nothing_is_said() {
        let nothing = Statistics::new(1).unwrap();
        assert_eq!(Surprise::of(&nothing, LAMBDA, 0.0, (nothing.gram(), 0), &[0.0]), None);
        // The statistic alone leaves the range.
        let gram = Gram::from_rows(&[[1.0]]).unwrap();
        assert_eq!(Surprise::of(&nothing, 1e-20, 1e-160, (&gram, 1), &[1e6]), None);
    }
}
