//! Rounds that more than one of these tests looks at.

use truthfed::auction::{Coverage, Round, Seat};

/// The round with a target that these seats meet exactly, if any coverage has it.
pub(crate) fn met_exactly(round: &Round, seats: &[Seat]) -> Option<Round> {
    let slack = round.total_level() - round.required(Coverage::ratio(1.0).unwrap());
    let coverage = Coverage::from_log((round.level(seats) - round.total_level() + slack).to_nats()).ok()?;
    Some(round.with_coverage(coverage))
}
