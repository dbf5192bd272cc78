//! What a simulated member does: how it sets its price, round after round, and whether it delivers the truth.
//!
//! A member knows the terms, its own data and what that data costs it; no price here depends on anything else.

use truthfed::Amount;

use crate::config::Behaviour;
use crate::world::to_amount;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Role {
    pub pricing: Pricing,
    /// Whether it delivers moments of the wrong sign.
    pub poisons: bool,
}

/// How a member sets its price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pricing {
    /// Asks its true cost times this, in every round; 1 is the truth.
    Multiple(f64),
    /// Asks the reserve in every round, so that it sells only when it is essential.
    Reserve,
    /// Asks more than the reserve in its first so many rounds, which sells nothing, and its true cost from then on.
    Withhold(u64),
}

impl Role {
    /// Of a behaviour, with the factor of those that have one.
    pub fn of(behaviour: Behaviour, factor: f64) -> Role {
        let pricing = match behaviour {
            Behaviour::Truthful | Behaviour::Poisoner => Pricing::Multiple(1.0),
            Behaviour::Over | Behaviour::Under | Behaviour::Coalition => Pricing::Multiple(factor),
            Behaviour::LongRun => Pricing::Reserve,
        };
        Role { pricing, poisons: behaviour == Behaviour::Poisoner }
    }
}

impl Pricing {
    /// The ask for data of that cost in the member's `nth` round, from 1.
    pub(crate) fn ask(self, true_cost: f64, nth: u64, reserve: Amount) -> Amount {
        match self {
            Pricing::Multiple(factor) => to_amount(true_cost * factor),
            Pricing::Reserve => reserve,
            // To decline would not count as taking part: its trigger would ask for a round at every step.
            Pricing::Withhold(rounds) if nth <= rounds => Amount::MAX,
            Pricing::Withhold(_) => to_amount(true_cost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_asks(pricing: Pricing, expected: [i64; 3]) {
        let reserve = Amount::from_units(500);
        let asks = [1, 2, 3].map(|nth| pricing.ask(40.0, nth, reserve).micros());
        assert_eq!(asks, expected.map(|units| units * 1_000_000), "{pricing:?}");
    }

    #[test]
    fn asks_follow_the_cost_the_reserve_or_the_number_of_the_round() {
        check_asks(Pricing::Multiple(1.0), [40, 40, 40]);
        check_asks(Pricing::Multiple(1.5), [60, 60, 60]);
        check_asks(Pricing::Reserve, [500, 500, 500]);
        check_asks(Pricing::Withhold(2), [1_000_000_000_000, 1_000_000_000_000, 40]);
    }
}
