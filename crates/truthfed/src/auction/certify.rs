//! The certificate of a payment: the winner wins at it and loses one micro-unit above.

use rayon::prelude::*;

use super::{ClientId, Mechanism, Outcome, Refusal, Round, Winner};
use crate::Amount;

/// What is wrong with a payment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    #[error("{client} asked {ask} and is paid only {payment}")]
    PaidBelowAsk { client: ClientId, ask: Amount, payment: Amount },
    /// The payment is above the critical value.
    #[error("{client} is paid {payment}, but would lose if it asked that")]
    LosesAtPayment { client: ClientId, payment: Amount },
    /// The payment is below the critical value.
    #[error("{client} is paid {payment}, but would still win if it asked {}", payment.step_above())]
    WinsAbovePayment { client: ClientId, payment: Amount },
}

/// Why an outcome could not be certified.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CertificateError {
    #[error("{} of the payments are not critical values; the first: {}", .0.len(), .0[0])]
    NotCritical(Vec<Violation>),
    /// Mechanism: it gave up on a round with a changed ask.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// Runs the selection again for every winner, asking its payment and one micro-unit more: it must win,
/// then lose. Asks above the reserve lose by rule. Every payment that fails is listed. The round's limit of work is for
/// running the mechanism, not for this.
pub fn certify(round: &Round, mechanism: &dyn Mechanism, outcome: &Outcome) -> Result<(), CertificateError> {
    let round = round.without_limit();
    let checked: Vec<Option<Violation>> =
        outcome.winners().par_iter().map(|winner| check(&round, mechanism, winner)).collect::<Result<_, _>>()?;
    let violations: Vec<Violation> = checked.into_iter().flatten().collect();
    if violations.is_empty() { Ok(()) } else { Err(CertificateError::NotCritical(violations)) }
}

fn check(round: &Round, mechanism: &dyn Mechanism, winner: &Winner) -> Result<Option<Violation>, Refusal> {
    let Winner { client, ask, payment, .. } = winner;
    let (client, ask, payment) = (client.clone(), *ask, *payment);
    if payment < ask {
        return Ok(Some(Violation::PaidBelowAsk { client, ask, payment }));
    }
    let wins_at = |ask: Amount| -> Result<bool, Refusal> {
        if ask > round.reserve() {
            return Ok(false);
        }
        Ok(mechanism.select(&round.with_ask(&client, ask))?.contains(&winner.seat))
    };
    if !wins_at(payment)? {
        return Ok(Some(Violation::LosesAtPayment { client, payment }));
    }
    if payment < Amount::MAX && wins_at(payment.step_above())? {
        return Ok(Some(Violation::WinsAbovePayment { client, payment }));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::one_dimensional;
    use crate::auction::{Clock, Evaluations, IncFedUcb};

    /// The clock with payments that are off by some micro-units.
    struct Shifted(i64);

    impl Mechanism for Shifted {
        fn name(&self) -> &str {
            Clock.name()
        }

        fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
            let outcome = Clock.run(round)?;
            let shift = |payment: Amount| Amount::from_micros(payment.micros() + self.0).unwrap();
            let paid = outcome.winners().iter().map(|winner| (winner.seat, shift(winner.payment))).collect();
            let (rule, evaluations) = (outcome.rule(), Evaluations::default());
            Ok(Outcome::new(round, self.name(), rule, round.coverage(), paid, evaluations))
        }
    }

    fn round() -> Round {
        one_dimensional(0.6, &[("a", "3", 1.0), ("b", "5", 1.0), ("c", "9", 1.0)])
    }

    fn check_violations(mechanism: &dyn Mechanism, expected: &str) {
        let outcome = mechanism.run(&round()).unwrap();
        match certify(&round(), mechanism, &outcome) {
            Err(CertificateError::NotCritical(violations)) => assert_eq!(violations[0].to_string(), expected),
            other => panic!("not refuted: {other:?}"),
        }
    }

    #[test]
    fn payments_a_micro_unit_off_are_refuted() {
        certify(&round(), &Clock, &Clock.run(&round()).unwrap()).unwrap();
        check_violations(&Shifted(1), "a is paid 9.000001, but would lose if it asked that");
        check_violations(&Shifted(-1), "a is paid 8.999999, but would still win if it asked 9");
        check_violations(&Shifted(-7_000_000), "a asked 3 and is paid only 2");
    }

    #[test]
    fn paying_the_ask_is_refuted() {
        check_violations(&IncFedUcb::default(), "a is paid 3, but would still win if it asked 3.000001");
    }
}
