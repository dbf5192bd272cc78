//! What a simulated member does: how it sets its price, round after round, and whether it delivers the truth.
//!
//! A member knows the terms, its own data and what that data costs it; no price here depends on anything else.

use truthfed::Amount;

use crate::config::Behaviour;
use crate::forgery::Forgery;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Role {
    pub pricing: Pricing,
    pub share: Share,
    /// Whether it opens rounds, and does not wait for others to.
    pub opens: bool,
    /// How it lies about its data, if it does.
    pub forgery: Option<Forgery>,
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
    /// Asks its true cost times a factor that changes with the number of the round: see [`Pricing::STAGES`].
    Schedule([f64; Pricing::STAGES.len()]),
    /// Asks its true cost times this for 4 d samples, and less the more it has, down to its true cost.
    Falling(f64),
}

/// How much of its data a member offers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Share {
    #[default]
    All,
    /// This share, in every round.
    Part(f64),
    /// Everything in each round of a number divisible by this, nothing in the others.
    Every(u64),
    /// Everything from its round of this number on, nothing before.
    From(u64),
}

impl Share {
    /// The most of so many samples in its `nth` round, from 1; none if that is not bounded.
    pub(crate) fn most(self, samples: u64, nth: u64) -> Option<u64> {
        match self {
            Share::Part(share) => Some((samples as f64 * share).ceil() as u64),
            Share::Every(rounds) if !nth.is_multiple_of(rounds) => Some(0),
            Share::From(first) if nth < first => Some(0),
            Share::All | Share::Every(_) | Share::From(_) => None,
        }
    }
}

impl Role {
    /// Of a behaviour, with the factor of those that have one.
    pub fn of(behaviour: Behaviour, factor: f64) -> Role {
        let pricing = match behaviour {
            Behaviour::Truthful | Behaviour::Poisoner => Pricing::Multiple(1.0),
            Behaviour::Over | Behaviour::Under | Behaviour::Coalition => Pricing::Multiple(factor),
            Behaviour::LongRun => Pricing::Reserve,
            // Whatever they are paid, it cost them nothing.
            Behaviour::Inverter | Behaviour::Echo | Behaviour::Amplifier | Behaviour::Random | Behaviour::Turncoat => {
                Pricing::Multiple(0.0)
            }
        };
        Role { forgery: Role::forgery(behaviour), ..Role::asking(pricing) }
    }

    fn forgery(behaviour: Behaviour) -> Option<Forgery> {
        match behaviour {
            Behaviour::Poisoner => Some(Forgery::Negate),
            Behaviour::Inverter => Some(Forgery::Invert),
            Behaviour::Echo => Some(Forgery::Echo),
            Behaviour::Amplifier => Some(Forgery::Amplify(10)),
            Behaviour::Random => Some(Forgery::Random),
            Behaviour::Turncoat => Some(Forgery::Turn(10)),
            Behaviour::Truthful | Behaviour::Over | Behaviour::Under | Behaviour::Coalition | Behaviour::LongRun => {
                None
            }
        }
    }

    /// Of one that sets its price so, and is honest about all else.
    pub fn asking(pricing: Pricing) -> Role {
        Role { pricing, share: Share::All, opens: true, forgery: None }
    }
}

impl Pricing {
    /// The first rounds of the stages of a schedule.
    pub const STAGES: [u64; 6] = [1, 2, 3, 5, 9, 17];

    /// The ask for data of that cost in the member's `nth` round, from 1.
    pub(crate) fn ask(self, true_cost: f64, nth: u64, reserve: Amount, (samples, dimension): (u64, usize)) -> Amount {
        match self {
            Pricing::Multiple(factor) => Amount::nearest(true_cost * factor),
            Pricing::Reserve => reserve,
            Pricing::Schedule(factors) => {
                let stage = Pricing::STAGES.iter().rposition(|first| *first <= nth).unwrap_or(0);
                Amount::nearest(true_cost * factors[stage])
            }
            // To decline would not count as taking part: its trigger would ask for a round at every step.
            Pricing::Withhold(rounds) if nth <= rounds => Amount::MAX,
            Pricing::Withhold(_) => Amount::nearest(true_cost),
            Pricing::Falling(factor) => {
                let typical = 4.0 * dimension as f64 / samples.max(1) as f64;
                Amount::nearest(true_cost * (factor * typical).clamp(1.0, factor))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_asks(pricing: Pricing, expected: [i64; 3]) {
        let reserve = Amount::from_units(500);
        let asks = [1, 2, 3].map(|nth| pricing.ask(40.0, nth, reserve, (8 * nth, 2)).micros());
        assert_eq!(asks, expected.map(|units| units * 1_000_000), "{pricing:?}");
    }

    #[test]
    fn a_share_of_the_data_is_offered_now_or_later() {
        let most = |share: Share| [1, 2, 3].map(|nth| share.most(10, nth));
        assert_eq!(most(Share::All), [None; 3]);
        assert_eq!(most(Share::Part(0.25)), [Some(3); 3]);
        assert_eq!(most(Share::Every(2)), [Some(0), None, Some(0)]);
        assert_eq!(most(Share::From(3)), [Some(0), Some(0), None]);
    }

    #[test]
    fn asks_follow_the_cost_the_reserve_or_the_number_of_the_round() {
        check_asks(Pricing::Multiple(1.0), [40, 40, 40]);
        check_asks(Pricing::Multiple(1.5), [60, 60, 60]);
        check_asks(Pricing::Reserve, [500, 500, 500]);
        check_asks(Pricing::Falling(3.0), [120, 60, 40]);
        check_asks(Pricing::Schedule([2.0, 1.0, 0.5, 0.0, 0.0, 0.0]), [80, 40, 20]);
        check_asks(Pricing::Schedule([1.0, f64::INFINITY, 1.0, 0.0, 0.0, 0.0]), [40, 1_000_000_000_000, 40]);
        check_asks(Pricing::Withhold(2), [1_000_000_000_000, 1_000_000_000_000, 40]);
    }
}
