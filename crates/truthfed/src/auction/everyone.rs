//! `everyone`: all clients take part and nobody is paid.
//!
//! The protocol of DisLinUCB, which takes willing clients for granted. The upper bound of what a round
//! can learn, and the lower bound of what it pays.

use super::catalog::{Claim, Claims, Entry};
use super::meter::within_limit;
use super::{Evaluations, Mechanism, Outcome, PaymentRule, Refusal, Round};
use crate::Amount;

/// Everyone takes part, unpaid (DisLinUCB).
#[derive(Debug, Clone, Copy, Default)]
pub struct Everyone;

pub(super) const ENTRY: Entry = Entry {
    name: "everyone",
    summary: "DisLinUCB: all take part, nobody is paid",
    target: "none",
    parameters: &[],
    claims: |_| Claims { truthful: Claim::NotApplicable, collusion_proof: Claim::NotApplicable, ..Claims::NONE },
    build: |_| Box::new(Everyone),
};

impl Mechanism for Everyone {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        within_limit(round, |round| {
            let paid = round.seats().map(|seat| (seat, Amount::ZERO)).collect();
            Ok(Outcome::new(round, self.name(), PaymentRule::Unpaid, round.coverage(), paid, Evaluations::default()))
        })
    }
}
