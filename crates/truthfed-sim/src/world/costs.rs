//! The true cost of taking part in a round.
//!
//! To use your own cost function, implement [`Cost`] and pass it to [`crate::simulation::Simulation`].

use truthfed::statistics::Statistics;

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
            weight => weight * unshared.gram().det(),
        };
        information + self.per_sample * unshared.samples() as f64 + self.bases[client]
    }
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
}
