//! I19: a round is awarded no more than its purse, and the rounds that open on one day no more than the daily purse.

use truthfed::Amount;
use truthfed::protocol::{RoundId, Time};
use truthfed_node::journal::Award;

use super::Observer;
use crate::chaos::{Verdict, check};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// What was awarded, by the observer's own count.
#[derive(Default)]
pub(crate) struct Spending {
    /// The day on which the last round opened.
    day: u64,
    /// In micro-units, on that day.
    spent: i128,
}

impl Observer {
    /// What the open round may cost, by the record of those before.
    pub(super) fn purse(&self) -> Option<Amount> {
        let left = self.left_today().map(|left| Amount::from_micros(left as i64).expect("at most the daily purse"));
        [self.agreement.raw().purse, left].into_iter().flatten().min()
    }

    /// Whether the day's money is gone. If the day is over since, it is not, but nobody minds being excused.
    pub(crate) fn is_spent(&self) -> bool {
        self.left_today() == Some(0)
    }

    fn left_today(&self) -> Option<i128> {
        self.agreement.raw().daily_purse.map(|daily| (i128::from(daily.micros()) - self.spending.spent).max(0))
    }

    pub(super) fn check_affordable(&mut self, round: RoundId, at: Time) -> Verdict {
        let day = at.0 / DAY_MS;
        if day != self.spending.day {
            self.spending = Spending { day, spent: 0 };
        }
        check(!self.is_spent(), "I19", || format!("round {round} opens although the daily purse is spent"))
    }

    pub(super) fn count_award(&mut self, round: RoundId, awards: &[Award]) -> Verdict {
        let awarded: i128 = awards.iter().map(|award| i128::from(award.payment_micros.micros())).sum();
        let purse = self.purse().map(|purse| i128::from(purse.micros()));
        check(purse.is_none_or(|purse| awarded <= purse), "I19", || {
            format!("round {round} is awarded {awarded} micro-units of {purse:?}")
        })?;
        self.spending.spent += awarded;
        Ok(())
    }
}
