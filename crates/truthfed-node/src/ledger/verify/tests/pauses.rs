//! Rounds that the operator paused, on both stores.

use super::stores::write;
use super::*;
use crate::error::Code;
use crate::testing::{Database, File, Place, Stepwise};

/// A round, a pause in the middle of the next, which goes on to its end, and a round after the pause.
fn paused() -> Played {
    let mut played = Played::new(&["a", "b", "c"]);
    played.wait(5_000);
    played.full_round();
    played.begin();
    played.offer("a", 3);
    played.wait(1_000);
    played.pause("a new disk");
    played.offers(&[("b", 4), ("c", 5)]);
    let winners = played.winners();
    played.deliver_all(&winners);
    played.begin();
    let refusal = played.refused_offer("a", 3);
    assert_eq!(refusal.code, Code::Paused);
    assert!(refusal.message.ends_with("UTC: a new disk"), "{refusal}");
    played.wait(1_000);
    played.resume();
    played.full_round();
    played
}

fn is_pause(entry: &Entry) -> bool {
    matches!(entry, Entry::Paused { .. })
}

fn is_end(entry: &Entry) -> bool {
    matches!(entry, Entry::Resumed { .. })
}

fn check_paused(place: &dyn Place) {
    let played = paused();
    write(place, &played);
    let report = verify(place.try_open_existing().unwrap().as_mut(), &Trust::default()).unwrap();
    assert!(report.is_right() && report.rounds == 3, "{report}");
}

#[test]
fn paused_rounds_are_verified_in_a_file() {
    check_paused(&File::create());
}

#[test]
fn paused_rounds_are_verified_in_a_database() {
    check_paused(&Database::create());
}

#[test]
fn a_journal_with_a_pause_is_right_at_every_committed_end_and_taken_up_there() {
    let played = paused();
    let mut pauses = 0;
    for mut store in played.history {
        let report = verify(&mut store, &Trust::default()).unwrap();
        assert!(report.is_right(), "{report}");
        let last = store.entries().into_iter().rfind(|entry| is_pause(entry) || is_end(entry));
        let engine = Stepwise::start(played.federation.setup(), store).unwrap();
        let is_paused = last.as_ref().is_some_and(is_pause);
        assert_eq!(engine.published().paused().is_some(), is_paused);
        pauses += usize::from(is_paused);
    }
    assert!(pauses > 4, "some of them while the round goes on, some after its standing was kept");
}

#[test]
fn the_first_reason_stands_and_to_resume_twice_changes_nothing() {
    let mut played = Played::new(&["a", "b"]);
    played.resume();
    played.pause("one");
    let entries = played.entries.len();
    played.pause("two");
    assert_eq!(played.entries.len(), entries);
    played.resume();
    played.resume();
    assert_eq!(played.entries.len(), entries + 2, "the end of the pause and a checkpoint");
}

#[test]
fn a_round_in_a_pause_and_a_pause_that_does_not_follow_are_found() {
    let played = paused();
    let [pause, end] = [is_pause, is_end].map(|is_it| position(&played.entries, 0, is_it));
    // Without the end, the round after it is opened in the pause.
    let problem = check_fraud(&played, |entries| drop(entries.drain(end..end + 2)), Fault::OutOfTurn, 3, Some("a"));
    assert_eq!((problem.expected.as_str(), problem.found.as_str()), ("the end of the pause", "a round is opened"));
    // What is kept at the end of the round says that they are paused, and why.
    check_fraud(&played, |entries| drop(entries.drain(pause..pause + 2)), Fault::Standing, 0, None);
    let other = |entries: &mut Vec<Entry>| {
        let Entry::Paused { reason, .. } = &mut entries[pause] else { panic!("a pause") };
        *reason = "another".parse().unwrap();
    };
    check_fraud(&played, other, Fault::Standing, 0, None);
    let twice = |entries: &mut Vec<Entry>| {
        let pair = [pause, pause + 1].map(|place| entries[place].clone());
        entries.splice(pause + 2..pause + 2, pair);
    };
    check_fraud(&played, twice, Fault::OutOfTurn, 0, None);
    let early = |entries: &mut Vec<Entry>| {
        let Entry::Paused { at_ms, .. } = &mut entries[pause] else { panic!("a pause") };
        *at_ms = Time(0);
    };
    check_fraud(&played, early, Fault::Time, 0, None);
    let entries = played.federation.sign_again(&played.entries[..=pause]);
    check(&find(&entries), Fault::Unsigned, 0, None);
}
