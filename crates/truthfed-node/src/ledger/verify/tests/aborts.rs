//! Rounds that the operator ended, on both stores.

use super::stores::write;
use super::*;
use crate::error::Code;
use crate::testing::{Database, File, Place, Stepwise};

/// A round, one that the operator ends after two offers, and a round of the same members.
fn aborted() -> Played {
    let mut played = Played::new(&["a", "b", "c"]);
    played.wait(5_000);
    played.full_round();
    played.begin();
    played.offers(&[("a", 3), ("b", 4)]);
    played.wait(500);
    played.abort("a mistake").unwrap();
    assert_eq!(played.abort("a mistake").unwrap_err().code, Code::NoOpenRound);
    played.begin();
    played.offers(&[("a", 3), ("b", 4), ("c", 5)]);
    assert_eq!(played.abort("too dear").unwrap_err().code, Code::RoundAwarded);
    let winners = played.winners();
    played.deliver_all(&winners);
    played
}

fn is_abort(entry: &Entry) -> bool {
    matches!(entry, Entry::Aborted { .. })
}

fn check_aborted(place: &dyn Place) {
    let played = aborted();
    write(place, &played);
    let report = verify(place.try_open_existing().unwrap().as_mut(), &Trust::default()).unwrap();
    assert!(report.is_right() && report.rounds == 3, "{report}");
}

#[test]
fn a_round_that_the_operator_ended_is_verified_in_a_file() {
    check_aborted(&File::create());
}

#[test]
fn a_round_that_the_operator_ended_is_verified_in_a_database() {
    check_aborted(&Database::create());
}

#[test]
fn an_operators_end_is_right_at_every_committed_end_and_taken_up_there() {
    let played = aborted();
    for mut store in played.history {
        let report = verify(&mut store, &Trust::default()).unwrap();
        assert!(report.is_right(), "{report}");
        Stepwise::start(played.federation.setup(), store).unwrap();
    }
}

#[test]
fn an_end_that_the_operator_did_not_order_or_that_comes_after_the_seal_is_found() {
    let played = aborted();
    let place = position(&played.entries, 0, is_abort);
    // Not everyone had answered, and time was left.
    let unordered = |entries: &mut Vec<Entry>| {
        let Entry::Aborted { by_operator, .. } = &mut entries[place] else { panic!("an end") };
        *by_operator = false;
    };
    check_fraud(&played, unordered, Fault::Time, 2, None);
    let other = |entries: &mut Vec<Entry>| {
        let Entry::Aborted { at_ms, .. } = &mut entries[place] else { panic!("an end") };
        *at_ms = Time(0);
    };
    check_fraud(&played, other, Fault::Time, 2, None);
    // The winners of the last round were promised a payment.
    let end = position(&played.entries, 1, is_settlement);
    let broken = |entries: &mut Vec<Entry>| {
        let Entry::Settled { round, at_ms, .. } = entries[end] else { panic!("a settlement") };
        entries[end] = Entry::Aborted { round, reason: "too dear".to_owned(), at_ms, by_operator: true };
    };
    check_fraud(&played, broken, Fault::Ending, 3, None);
    // All had answered: the auction was due.
    let seal = position(&played.entries, 1, is_seal);
    let early = |entries: &mut Vec<Entry>| {
        let Entry::Sealed { round, at_ms, .. } = entries[seal] else { panic!("a seal") };
        entries[seal] = Entry::Aborted { round, reason: "too dear".to_owned(), at_ms, by_operator: true };
    };
    check_fraud(&played, early, Fault::OutOfTurn, 3, None);
}
