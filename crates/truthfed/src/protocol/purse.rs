//! What rounds may cost: `terms.purse` a round, and `terms.daily_purse` all rounds of a day.
//!
//! A day is one of UTC, and a round belongs to the day on which it opened: that time is recorded, so everyone who replays the
//! journal counts the same. What is awarded counts, also if it is not delivered and never paid.

use serde::{Deserialize, Serialize};

use super::{Rejection, Terms, Time};
use crate::Amount;

const DAY_MS: u64 = 86_400_000;

/// What was awarded on the last day on which anything was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// Days since 1970.
    pub day: u64,
    pub amount: Amount,
}

impl Spent {
    fn on(&self, day: u64) -> Amount {
        if self.day == day { self.amount } else { Amount::ZERO }
    }

    /// Counts what a round that opened at this time awards.
    pub(super) fn add(&mut self, opened: Time, payments: i128) {
        let day = opened.0 / DAY_MS;
        let amount = Amount::saturating(i128::from(self.on(day).micros()) + payments);
        *self = Spent { day, amount };
    }
}

impl Terms {
    /// What a round that opened at this time may cost.
    pub(super) fn purse_of(&self, spent: &Spent, opened: Time) -> Option<Amount> {
        let left = self.raw().daily_purse.map(|daily| left(daily, spent, opened));
        match (self.raw().purse, left) {
            (Some(purse), Some(left)) => Some(purse.min(left)),
            (purse, left) => purse.or(left),
        }
    }

    /// Whether there is money for a round.
    pub(super) fn check_purse(&self, spent: &Spent, now: Time) -> Result<(), Rejection> {
        #[cfg(feature = "planted-faults")]
        if crate::planted::is(crate::planted::Fault::PurseIgnored) {
            return Ok(());
        }
        match self.raw().daily_purse {
            Some(daily) if left(daily, spent, now) == Amount::ZERO => {
                Err(Rejection::PurseSpent { daily, wait_ms: DAY_MS - now.0 % DAY_MS })
            }
            _ => Ok(()),
        }
    }
}

fn left(daily: Amount, spent: &Spent, at: Time) -> Amount {
    Amount::saturating(i128::from(daily.micros()) - i128::from(spent.on(at.0 / DAY_MS).micros()))
}
