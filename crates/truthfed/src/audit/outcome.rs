//! What can be said of an outcome as a whole, computed from the round, not believed.

use super::finding::Violation;
use super::{Gain, Property};
use crate::auction::{Mechanism, Outcome, Refusal, Round, RoundSpec, Seat};
use crate::{Amount, Total};

/// The winners' seats in the round, ascending.
pub(super) fn winners(round: &Round, outcome: &Outcome) -> Vec<Seat> {
    let mut seats: Vec<Seat> = outcome.winners().iter().filter_map(|winner| round.seat_of(&winner.client)).collect();
    seats.sort();
    seats
}

pub(super) fn cost(round: &Round, outcome: &Outcome) -> Total {
    winners(round, outcome).into_iter().map(|seat| round.ask(seat)).sum::<Total>()
}

pub(super) fn is_covered(round: &Round, outcome: &Outcome) -> bool {
    round.level(&winners(round, outcome)) >= round.required(round.coverage())
}

/// The target is missed, although the purse, if there is one, would have been enough for it.
pub(super) fn missed_target(
    mechanism: &dyn Mechanism,
    round: &Round,
    outcome: &Outcome,
) -> Result<Option<Violation>, Refusal> {
    let excused = |purse: Amount| -> Result<bool, Refusal> {
        let unbound = Round::new(RoundSpec { reserve: round.reserve(), purse: None, ..round.spec() });
        let unbound = mechanism.run(&unbound.expect("the same offers make a round without a purse"))?;
        Ok(unbound.payments().micros() > i128::from(purse.micros()))
    };
    let missed = !is_covered(round, outcome) && !round.purse().map_or(Ok(false), excused)?;
    Ok(missed.then(|| in_round(Property::Coverage, round, Gain::ZERO)))
}

pub(super) fn above_purse(round: &Round, outcome: &Outcome, purse: Amount) -> Option<Violation> {
    let above = outcome.payments().micros() - i128::from(purse.micros());
    (above > 0).then(|| in_round(Property::Purse, round, Gain::from_micros(above)))
}

/// The winners cost something else than the cheapest set: more, or less if they miss the target.
pub(super) fn dearer_than(round: &Round, outcome: &Outcome, optimum: Total) -> Option<Violation> {
    let above = cost(round, outcome).micros() - optimum.micros();
    (above != 0).then(|| in_round(Property::Optimum, round, Gain::from_micros(above)))
}

fn in_round(property: Property, round: &Round, gain: Gain) -> Violation {
    Violation { property, round: round.clone(), lies: Vec::new(), gain }
}
