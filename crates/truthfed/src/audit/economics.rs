//! What a mechanism costs: against the cheapest set of clients, and against what that set is paid under `vcg`.

use super::bought::{self, Bought};
use crate::auction::{Outcome, Refusal, Round, Vcg};
use crate::{Total, auction::Mechanism};

#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Economics {
    pub mechanism: String,
    /// Sum of the winners' asks / that of the cheapest set.
    pub social_cost: Option<Spread>,
    /// Payments / the cheapest set's asks.
    pub payments: Option<Spread>,
    /// Payments / those of `vcg`: how frugal it is.
    pub frugality: Option<Spread>,
    /// Winners without whom the target would be missed / winners.
    pub essential: Option<Spread>,
    /// Of rounds with a purse: information bought / the most that the purse could buy at the asks.
    pub information: Option<Spread>,
    /// Of the same rounds: what the proportional-share greedy of the literature buys / that.
    pub proportional: Option<Spread>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Rounds in which it is defined.
    pub rounds: usize,
    pub mean: f64,
    /// Half of the rounds have at most this.
    pub median: f64,
    /// 95 % of the rounds have at most this.
    pub p95: f64,
    pub worst: f64,
}

impl Spread {
    /// Of some values; `None` when there are none.
    fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted[((share * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1];
        let worst = *sorted.last()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Spread { rounds: values.len(), mean, median: at(0.5), p95: at(0.95), worst })
    }
}

/// The cheapest covering set of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Optimum {
    pub(super) cost: Total,
    payments: Total,
}

impl Optimum {
    pub(super) fn of(round: &Round) -> Result<Optimum, Refusal> {
        let outcome = Vcg::default().run(round)?;
        Ok(Optimum { cost: outcome.social_cost(), payments: outcome.payments() })
    }
}

/// The ratios of [`Economics`], in its order, of some rounds.
#[derive(Debug, Clone, Default)]
pub(super) struct Ratios([Vec<f64>; 6]);

impl Ratios {
    /// Where the optimum costs nothing, nothing is compared with it.
    pub(super) fn add(&mut self, round: &Round, outcome: &Outcome, optimum: Option<Optimum>, bought: Option<Bought>) {
        let [social_cost, to_cost, frugality, essential, information, proportional] = &mut self.0;
        if let Some(bought) = bought {
            information.push(bought::information(round, outcome) / bought.best);
            proportional.push(bought.proportional / bought.best);
        }
        if let Some(Optimum { cost, payments }) = optimum {
            social_cost.extend(ratio(outcome.social_cost(), cost));
            to_cost.extend(ratio(outcome.payments(), cost));
            frugality.extend(ratio(outcome.payments(), payments));
        }
        let count = outcome.winners().iter().filter(|winner| winner.essential).count();
        if !outcome.winners().is_empty() {
            essential.push(count as f64 / outcome.winners().len() as f64);
        }
    }

    pub(super) fn merge(&mut self, later: Ratios) {
        self.0.iter_mut().zip(later.0).for_each(|(ratios, later)| ratios.extend(later));
    }

    pub(super) fn economics(&self, mechanism: &str) -> Economics {
        let spreads = self.0.each_ref().map(|ratios| Spread::of(ratios));
        let [social_cost, payments, frugality, essential, information, proportional] = spreads;
        let mechanism = mechanism.to_owned();
        Economics { mechanism, social_cost, payments, frugality, essential, information, proportional }
    }
}

fn ratio(amount: Total, base: Total) -> Option<f64> {
    (base.micros() > 0).then(|| amount.to_f64() / base.to_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_mean_median_and_the_worst() {
        let spread = Spread::of(&[4.0, 1.0, 2.0, 1.0]).unwrap();
        assert_eq!(spread, Spread { rounds: 4, mean: 2.0, median: 1.0, p95: 4.0, worst: 4.0 });
        assert_eq!(Spread::of(&[]), None);
    }
}
