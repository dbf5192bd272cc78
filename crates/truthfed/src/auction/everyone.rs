//! `everyone`: all clients take part and nobody is paid.
//!
//! The protocol of DisLinUCB, which takes willing clients for granted. The upper bound of what a round
//! can learn, and the lower bound of what it pays.

use super::{Evaluations, Mechanism, Outcome, PaymentRule, Refusal, Round};
use crate::Amount;

/// Everyone takes part, unpaid (DisLinUCB).
#[derive(Debug, Clone, Copy, Default)]
pub struct Everyone;

impl Mechanism for Everyone {
    fn name(&self) -> &'static str {
        "everyone"
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        let paid = round.seats().map(|seat| (seat, Amount::ZERO)).collect();
        Ok(Outcome::new(round, self.name(), PaymentRule::Unpaid, round.coverage(), paid, Evaluations::default()))
    }
}
