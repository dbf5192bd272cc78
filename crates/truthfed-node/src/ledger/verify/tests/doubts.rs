//! What is in doubt is decided as the protocol decides it, and what is forgotten is gone, on both stores.

use truthfed::protocol::{Judgement, Ruling};

use super::stores::write;
use super::*;
use crate::testing::{Database, File, Place};

/// With data in doubt, and then a member revoked and forgotten.
fn forgotten() -> Played {
    let mut played = Played::with_doubts();
    played.revoke("a");
    played.rule("a", Ruling::Forget);
    played
}

fn judgement_of(entry: &mut Entry) -> &mut Judgement {
    match entry {
        Entry::Settled { judgement, .. } | Entry::Ruled { judgement, .. } => judgement,
        _ => panic!("nothing is decided there"),
    }
}

fn is_ruling(entry: &Entry) -> bool {
    matches!(entry, Entry::Ruled { .. })
}

/// The place of the first settlement that makes payments of earlier rounds.
fn late_payment(entries: &[Entry]) -> usize {
    position(entries, 0, |entry| matches!(entry, Entry::Settled { judgement, .. } if !judgement.paid.is_empty()))
}

#[test]
fn a_payment_that_is_made_before_others_confirm_what_it_is_for_is_found() {
    let played = Played::with_doubts();
    let pay_at_once = |entries: &mut Vec<Entry>| {
        let at = position(entries, 0, is_settlement);
        let Entry::Settled { paid, waiting, .. } = &mut entries[at] else { unreachable!() };
        std::mem::swap(paid, waiting);
    };
    check_fraud(&played, pay_at_once, Fault::Settlement, 1, Some("a"));
}

#[test]
fn a_payment_that_waited_and_is_kept_back_or_changed_is_found() {
    let played = Played::with_doubts();
    let keep_back = |entries: &mut Vec<Entry>| {
        let at = late_payment(entries);
        judgement_of(&mut entries[at]).paid.pop();
    };
    check_fraud(&played, keep_back, Fault::Judgement, 2, None);
    let void_instead = |entries: &mut Vec<Entry>| {
        let at = late_payment(entries);
        let judgement = judgement_of(&mut entries[at]);
        judgement.void = judgement.paid.split_off(1);
    };
    check_fraud(&played, void_instead, Fault::Judgement, 2, None);
}

#[test]
fn a_ruling_that_does_something_else_than_it_says_is_found() {
    let played = forgotten();
    let first = |entries: &[Entry]| position(entries, 0, is_ruling);
    let name = played.entries.iter().find_map(|entry| match entry {
        Entry::Ruled { member, .. } => Some(member.to_string()),
        _ => None,
    });
    let name = name.as_deref();
    let released = |entries: &mut Vec<Entry>| {
        let at = first(entries);
        let Entry::Ruled { ruling, .. } = &mut entries[at] else { unreachable!() };
        *ruling = Ruling::Release;
    };
    check_fraud(&played, released, Fault::Judgement, 3, name);
    let pays = |entries: &mut Vec<Entry>| {
        let at = first(entries);
        let judgement = judgement_of(&mut entries[at]);
        judgement.paid = std::mem::take(&mut judgement.void);
    };
    check_fraud(&played, pays, Fault::Judgement, 3, name);
}

#[test]
fn data_that_is_said_to_be_forgotten_and_is_still_shared_is_found() {
    let played = forgotten();
    let before = played.entries.iter().rev().find_map(|entry| match entry {
        Entry::Settled { aggregate, .. } => Some(*aggregate),
        _ => None,
    });
    let last = |entries: &[Entry]| entries.iter().rposition(is_ruling).expect("a member is forgotten");
    let Entry::Ruled { round, aggregate, .. } = &played.entries[last(&played.entries)] else { unreachable!() };
    assert_ne!(Some(*aggregate), before, "it had delivered something");
    let keep = |entries: &mut Vec<Entry>| {
        let at = last(entries);
        let Entry::Ruled { aggregate, .. } = &mut entries[at] else { unreachable!() };
        *aggregate = before.expect("rounds were settled");
    };
    check_fraud(&played, keep, Fault::Aggregate, round.0, Some("a"));
}

fn check_forgotten(place: &dyn Place) {
    let played = forgotten();
    write(place, &played);
    let report = verify(place.try_open_existing().unwrap().as_mut(), &Trust::default()).unwrap();
    assert!(report.is_right(), "{report}");
}

#[test]
fn a_forgotten_member_is_verified_in_a_file() {
    check_forgotten(&File::create());
}

#[test]
fn a_forgotten_member_is_verified_in_a_database() {
    check_forgotten(&Database::create());
}
