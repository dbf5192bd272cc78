//! When rounds opened and ended, and why.

use super::*;
use crate::terms::RawTerms;
use crate::testing::terms;

/// A round that not all answered and nobody delivered in, and one that opens as soon as it may.
fn slow_rounds() -> Played {
    let mut played = Played::under(RawTerms { gap_ms: 1000, ..terms(2) }, &["a", "b", "c"]);
    played.wait(5_000);
    played.begin();
    played.offers(&[("a", 3), ("b", 4)]);
    played.pass_time();
    played.pass_time();
    played.wait(1_000);
    played.begin();
    played.offer("a", 3);
    played
}

#[test]
fn a_phase_that_ends_early_or_a_time_that_goes_back_is_found() {
    let played = slow_rounds();
    let is_opening = |entry: &Entry| matches!(entry, Entry::Opened { .. });
    let places = [position(&played.entries, 0, is_seal), position(&played.entries, 0, is_settlement)];
    let opened = [0, 1].map(|nth| position(&played.entries, nth, is_opening));
    let mut entries = played.entries.clone();
    let mut times = [opened[0], places[0], places[1], opened[1]].map(|place| time_of(&mut entries[place]).0);
    assert_eq!(times, [5_000, 65_000, 125_000, 126_000]);
    for (place, at, fault, round) in [
        (places[0], 64_999, Fault::Time, 1),
        (places[0], 4_999, Fault::Time, 1),
        (places[1], 124_999, Fault::Time, 1),
        (places[1], 64_999, Fault::Time, 1),
        // Too soon after the round before.
        (opened[1], 125_999, Fault::Refused, 2),
        (opened[1], 124_999, Fault::Time, 2),
    ] {
        let fraud = |entries: &mut Vec<Entry>| *time_of(&mut entries[place]) = Time(at);
        let member = (round == 2).then_some("a");
        check_fraud(&played, fraud, fault, round, member);
    }
    // The time of a seal is signed by itself.
    times[1] += 1;
    *time_of(&mut entries[places[0]]) = Time(times[1]);
    check(&find(&entries), Fault::Signature, 1, None);
}

#[test]
fn a_round_that_was_opened_for_no_reason_is_found() {
    let played = slow_rounds();
    let mut raw = played.federation.agreement.raw().clone();
    raw.trigger.threshold = 1e6;
    let problem = find(&played.pretending(&raw));
    check(&problem, Fault::Refused, 1, Some("a"));
    assert!(problem.found.contains("is not worth a round"), "{problem:?}");
    // Nor is one that somebody else opened than it says.
    let another = |entries: &mut Vec<Entry>| {
        let opened = position(entries, 0, |entry| matches!(entry, Entry::Opened { .. }));
        let Entry::Opened { asked_by, .. } = &mut entries[opened] else { panic!("an opening") };
        *asked_by = id("b");
    };
    let problem = check_fraud(&played, another, Fault::OutOfTurn, 1, Some("a"));
    assert_eq!(problem.expected, "the offer that opens the round");
}
