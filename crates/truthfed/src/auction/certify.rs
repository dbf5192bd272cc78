//! The certificate of a payment: the winner wins at it and loses one micro-unit above.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::{ClientId, Mechanism, Outcome, Refusal, Round, Seat, Winner};
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

/// Of a round with more winners, those that are selected anew: so many, from the first to the last.
const SAMPLES: usize = 16;

/// Checks of every winner that it wins asking its payment and loses asking one micro-unit more. Asks above the reserve lose by
/// rule. Every payment that fails is listed. The round's limit of work is for running the mechanism, not for this.
///
/// With few winners the whole selection runs again for each of these asks. With many, [`Mechanism::wins`] answers for all at once,
/// and the whole selection runs again for a sample.
pub fn certify(round: &Round, mechanism: &dyn Mechanism, outcome: &Outcome) -> Result<(), CertificateError> {
    let round = round.without_limit();
    let winners: Vec<&Winner> = outcome.winners().iter().collect();
    let mut violations: Vec<Violation> = Vec::new();
    if winners.len() > SAMPLES {
        violations = check(&round, &winners, |asks| mechanism.wins(&round, asks))?;
    }
    if violations.is_empty() {
        let sample: Vec<&Winner> = winners.iter().step_by(winners.len().div_ceil(SAMPLES).max(1)).copied().collect();
        let select =
            |&(seat, ask): &(Seat, Amount)| Ok(mechanism.select(&round.with_seat_ask(seat, ask))?.contains(&seat));
        violations = check(&round, &sample, |asks| asks.par_iter().map(select).collect())?;
    }
    if violations.is_empty() { Ok(()) } else { Err(CertificateError::NotCritical(violations)) }
}

/// What is wrong with the payments of these winners, by whoever tells who wins at an ask.
fn check(
    round: &Round,
    winners: &[&Winner],
    wins: impl Fn(&[(Seat, Amount)]) -> Result<Vec<bool>, Refusal>,
) -> Result<Vec<Violation>, Refusal> {
    let paid_enough = || winners.iter().filter(|winner| winner.payment >= winner.ask);
    // An ask above the reserve is not admitted.
    let asks = |winner: &&&Winner| {
        let above = (winner.payment < Amount::MAX).then(|| winner.payment.step_above());
        let seat = winner.seat;
        [Some(winner.payment), above].into_iter().flatten().map(move |ask| (seat, ask))
    };
    let admitted: Vec<(Seat, Amount)> =
        paid_enough().flat_map(|winner| asks(&winner)).filter(|(_, ask)| *ask <= round.reserve()).collect();
    let answers = wins(&admitted)?;
    let winning: BTreeSet<(Seat, Amount)> =
        admitted.into_iter().zip(answers).filter(|(_, wins)| *wins).map(|(ask, _)| ask).collect();
    let violation = |winner: &&Winner| {
        let Winner { client, ask, payment, seat, .. } = (*winner).clone();
        match () {
            () if payment < ask => Some(Violation::PaidBelowAsk { client, ask, payment }),
            () if !winning.contains(&(seat, payment)) => Some(Violation::LosesAtPayment { client, payment }),
            () if payment < Amount::MAX && winning.contains(&(seat, payment.step_above())) => {
                Some(Violation::WinsAbovePayment { client, payment })
            }
            () => None,
        }
    };
    Ok(winners.iter().filter_map(violation).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{odd_rounds, one_dimensional, random_rounds};
    use crate::auction::{Clock, Evaluations, IncFedUcb, catalog};
    use crate::generate::federation;

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

    #[test]
    fn of_many_winners_each_payment_that_is_off_is_refuted() {
        let round = federation(80, 4, 1);
        let winners = Clock.run(&round).unwrap().winners().len();
        assert!(winners > 2 * SAMPLES);
        certify(&round, &Clock, &Clock.run(&round).unwrap()).unwrap();
        for shift in [-1, 1] {
            match certify(&round, &Clock, &Shifted(shift).run(&round).unwrap()) {
                Err(CertificateError::NotCritical(violations)) => assert_eq!(violations.len(), winners, "{shift}"),
                other => panic!("not refuted: {other:?}"),
            }
        }
    }

    /// Selects, but takes everyone to win with any ask.
    struct Lenient;

    impl Mechanism for Lenient {
        fn name(&self) -> &str {
            Clock.name()
        }

        fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
            Shifted(1).run(round)
        }

        fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
            Clock.select(round)
        }

        fn wins(&self, _: &Round, asks: &[(Seat, Amount)]) -> Result<Vec<bool>, Refusal> {
            Ok((0..asks.len()).map(|place| place % 2 == 0).collect())
        }
    }

    #[test]
    fn a_short_cut_that_tells_something_else_than_selecting_is_found_out() {
        let round = federation(80, 4, 1);
        assert!(certify(&round, &Lenient, &Lenient.run(&round).unwrap()).is_err());
    }

    #[test]
    fn clients_win_together_exactly_as_when_each_is_selected_anew() {
        let rounds = || random_rounds(100).chain(odd_rounds(12));
        for entry in catalog::entries().iter().filter(|entry| entry.name != "vcg" && entry.name != "truth-fedban") {
            let mechanism = entry.mechanism();
            for (seed, round) in rounds() {
                let outcome = mechanism.run(&round).unwrap();
                let asks: Vec<(Seat, Amount)> = round
                    .seats()
                    .flat_map(|seat| {
                        let paid = outcome.winner(round.client(seat)).map_or(Amount::ZERO, |winner| winner.payment);
                        [round.ask(seat), paid, paid.step_above(), Amount::ZERO, round.reserve()].map(|ask| (seat, ask))
                    })
                    .filter(|(_, ask)| *ask <= round.reserve())
                    .collect();
                let anew = asks
                    .iter()
                    .map(|&(seat, ask)| mechanism.select(&round.with_seat_ask(seat, ask)).unwrap().contains(&seat));
                let together = mechanism.wins(&round, &asks).unwrap();
                assert_eq!(together, anew.collect::<Vec<bool>>(), "{} {seed}", entry.name);
            }
        }
    }
}
