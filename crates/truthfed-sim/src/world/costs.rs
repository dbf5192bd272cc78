//! The true cost of taking part in a round.
//!
//! To use your own cost function, implement [`Cost`] and pass it to [`crate::simulation::Simulation`].

use truthfed::Amount;
use truthfed::statistics::{Factor, Statistics};

use super::{Purpose, stream};
use crate::config::Costs;

/// The true cost of delivering some statistics.
pub trait Cost {
    /// In units of money.
    fn of(&self, client: usize, unshared: &Statistics) -> f64;
}

/// Any function of client and statistics is a cost.
impl<F: Fn(usize, &Statistics) -> f64> Cost for F {
    fn of(&self, client: usize, unshared: &Statistics) -> f64 {
        self(client, unshared)
    }
}

/// `weight * det(gram) + base_i + per_sample * n`. The paper's cost has `per_sample` 0.
#[derive(Debug, Clone)]
pub struct PaperCost {
    weight: f64,
    per_sample: f64,
    bases: Vec<f64>,
}

impl PaperCost {
    /// The base of each client is drawn uniformly from `base_low..base_high`.
    pub fn new(costs: &Costs, clients: usize, seed: u64) -> PaperCost {
        let Costs { weight, per_sample, base_low: low, base_high: high } = *costs;
        let mut drawn = stream(seed, Purpose::Costs, 0);
        let bases = (0..clients).map(|_| low + (high - low) * drawn.uniform()).collect();
        PaperCost { weight, per_sample, bases }
    }
}

impl Cost for PaperCost {
    fn of(&self, client: usize, unshared: &Statistics) -> f64 {
        let information = match self.weight {
            0.0 => 0.0,
            weight => weight * det(unshared),
        };
        information + self.per_sample * unshared.samples() as f64 + self.bases[client]
    }
}

/// The determinant of the Gram matrix; 0 if it is singular.
fn det(statistics: &Statistics) -> f64 {
    Factor::new(statistics.gram()).map_or(0.0, |factor| libm::exp(factor.log_det()))
}

/// The nearest amount: rounded to micro-units and clamped to `0..=Amount::MAX`.
pub(crate) fn to_amount(units: f64) -> Amount {
    let micros = (units.max(0.0) * 1e6).round().min(Amount::MAX.micros() as f64);
    Amount::from_micros(micros as i64).unwrap_or(Amount::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_cost_is_weighted_information_and_a_base() {
        let cost = PaperCost { weight: 0.5, per_sample: 2.0, bases: vec![7.0] };
        let mut statistics = Statistics::new(2).unwrap();
        statistics.observe(&[1.0, 0.0], 0.0).unwrap();
        assert_eq!(cost.of(0, &statistics), 9.0);
        statistics.observe(&[0.0, 3.0], 0.0).unwrap();
        assert!((cost.of(0, &statistics) - (4.5 + 4.0 + 7.0)).abs() < 1e-9);
    }

    #[test]
    fn costs_become_whole_micro_units_within_bounds() {
        assert_eq!(to_amount(1.234_567_8).micros(), 1_234_568);
        assert_eq!(to_amount(-1.0), Amount::ZERO);
        assert_eq!(to_amount(1e30), Amount::MAX);
    }
}
