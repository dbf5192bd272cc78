//! Entries that no round could have.

use super::*;
use crate::digest::{Hex, Nonce};
use crate::signature::Signer;
use crate::wire::{DeliveryContent, OFFER_SCHEMA};

fn settlement_of(entry: &mut Entry) -> (&mut Vec<ClientId>, &mut Vec<ClientId>, &mut Digest) {
    let Entry::Settled { paid, defaulted, aggregate, .. } = entry else { panic!("a settlement") };
    (paid, defaulted, aggregate)
}

#[test]
fn wrong_signatures_are_found() {
    let played = Played::with_rounds();
    let (first, other) = (position(&played.entries, 0, is_offer), &played.federation.members[&id("b")]);
    let flipped = |entries: &mut Vec<Entry>| offer_of(&mut entries[first]).signature.0[7] ^= 1;
    check_fraud(&played, flipped, Fault::Signature, 1, Some("a"));
    let signed_by_another_member = |entries: &mut Vec<Entry>| {
        let offer = offer_of(&mut entries[first]);
        offer.signature = other.sign(OFFER_SCHEMA, offer.content.get().as_bytes());
    };
    check_fraud(&played, signed_by_another_member, Fault::Signature, 1, Some("a"));
    let another_key_enrolled = |entries: &mut Vec<Entry>| {
        let enrolment = position(entries, 0, |entry| matches!(entry, Entry::Enrolled { .. }));
        let Entry::Enrolled { key, .. } = &mut entries[enrolment] else { panic!("an enrolment") };
        *key = Signer::random().public();
    };
    check_fraud(&played, another_key_enrolled, Fault::Signature, 1, Some("a"));
    let mut entries = played.entries.clone();
    let seal = position(&entries, 0, is_seal);
    let Entry::Sealed { signature, .. } = &mut entries[seal] else { panic!("a seal") };
    signature.0[0] ^= 1;
    check(&find(&entries), Fault::Signature, 1, None);
    let mut entries = played.entries.clone();
    let checkpoint = position(&entries, 0, |entry| matches!(entry, Entry::Checkpoint { .. }));
    let Entry::Checkpoint(vouched) = &mut entries[checkpoint] else { panic!("a checkpoint") };
    vouched.signature = Hex([1; 64]);
    check(&find(&entries), Fault::Signature, 0, None);
    // All of it signed by another coordinator than the one that is known.
    let trust = Trust { coordinator: Some(Signer::random().public()), ..Trust::default() };
    check(&problem_of(&mut played.store(), &trust), Fault::Foreign, 0, None);
    let trust = Trust { federation: Some(Digest::of(b"other")), ..Trust::default() };
    check(&problem_of(&mut played.store(), &trust), Fault::Foreign, 0, None);
}

#[test]
fn an_offer_of_another_round_is_found() {
    let played = Played::with_rounds();
    let (old, new) = (position(&played.entries, 0, is_offer), position(&played.entries, 5, is_offer));
    let replay = |entries: &mut Vec<Entry>| *offer_of(&mut entries[new]) = offer_of(&mut entries[old].clone()).clone();
    let problem = check_fraud(&played, replay, Fault::Context, 2, Some("a"));
    assert_eq!((problem.expected.as_str(), problem.found.as_str()), ("2", "1"));
}

#[test]
fn a_delivery_that_does_not_match_its_offer_is_found() {
    let mut played = Played::new(&["a", "b"]);
    played.begin();
    played.offers(&[("a", 3), ("b", 4)]);
    let winners = played.winners();
    let honest = played.delivery_content(&winners[0]);
    played.deliver_all(&winners);
    let place = position(&played.entries, 0, |entry| matches!(entry, Entry::Delivered { .. }));
    type Change = fn(&mut DeliveryContent);
    let changes: [(Change, Fault); 3] = [
        (|content| content.moment[0] += 1e-9, Fault::Commitment),
        (|content| content.salt = Nonce::random(), Fault::Commitment),
        (|content| content.offer = Digest::of(b"other"), Fault::OtherOffer),
    ];
    for (change, fault) in changes {
        let mut content = honest.clone();
        change(&mut content);
        let planted = played.federation.sign_delivery(&content);
        let plant = |entries: &mut Vec<Entry>| {
            let Entry::Delivered { delivery, .. } = &mut entries[place] else { panic!("a delivery") };
            *delivery = planted;
        };
        check_fraud(&played, plant, fault, 1, Some(&winners[0]));
    }
}

#[test]
fn a_second_settlement_award_or_genesis_is_found() {
    let played = Played::with_rounds();
    for is_it in [is_settlement, is_award] {
        let place = position(&played.entries, 0, is_it);
        let repeat = |entries: &mut Vec<Entry>| entries.insert(place + 1, entries[place].clone());
        let problem = check_fraud(&played, repeat, Fault::OutOfTurn, 1, None);
        assert_eq!(problem.entry, place as u64 + 2);
    }
    check_fraud(&played, |entries| entries.insert(3, entries[0].clone()), Fault::Genesis, 0, None);
    check(&find(&played.entries[1..]), Fault::Genesis, 0, None);
    check(&find(&[]), Fault::Genesis, 0, None);
}

#[test]
fn a_settlement_of_others_than_delivered_is_found() {
    let played = Played::with_rounds();
    // In the second round one did not deliver.
    let place = position(&played.entries, 1, is_settlement);
    let Entry::Settled { paid, defaulted, .. } = &played.entries[place] else { panic!("a settlement") };
    let (payee, defaulter) = (Some(paid[0].as_str()), Some(defaulted[0].as_str()));
    let paid_without_delivery = |entries: &mut Vec<Entry>| {
        let (paid, defaulted, _) = settlement_of(&mut entries[place]);
        paid.insert(0, defaulted.remove(0));
    };
    check_fraud(&played, paid_without_delivery, Fault::Settlement, 2, defaulter);
    let delivered_and_not_paid = |entries: &mut Vec<Entry>| {
        let (paid, defaulted, _) = settlement_of(&mut entries[place]);
        defaulted.push(paid.remove(0));
    };
    check_fraud(&played, delivered_and_not_paid, Fault::Settlement, 2, payee);
    let in_neither_list = |entries: &mut Vec<Entry>| drop(settlement_of(&mut entries[place]).0.remove(0));
    check_fraud(&played, in_neither_list, Fault::Settlement, 2, payee);
    let other_sum = |entries: &mut Vec<Entry>| *settlement_of(&mut entries[place]).2 = Digest::of(b"other");
    check_fraud(&played, other_sum, Fault::Aggregate, 2, None);
}

#[test]
fn a_round_that_ends_otherwise_is_found() {
    let played = Played::with_rounds();
    let seal = position(&played.entries, 0, is_seal);
    for (end, fault) in [
        // Instead of an auction all had offered for.
        (seal, Fault::OutOfTurn),
        // Instead of a settlement.
        (seal + 2, Fault::Ending),
        // Before the last of them was heard, time may have run out, but the auction is due.
        (seal - 1, Fault::Ending),
    ] {
        let mut entries = played.entries[..end].to_vec();
        entries.push(Entry::Aborted {
            round: RoundId(1),
            reason: "no wish to pay".to_owned(),
            at_ms: Time(60_000),
            by_operator: false,
        });
        check(&find(&entries), fault, 1, None);
    }
    // The journal ends where the seal is due.
    check(&find(&played.entries[..seal]), Fault::OutOfTurn, 0, None);
}

#[test]
fn members_that_are_none_take_no_part() {
    let mut played = Played::new(&["a", "b", "c"]);
    played.begin();
    played.offer("a", 3);
    let offer = played.offer_entry("b", 4);
    let keys = ["a", "b"].map(|name| played.federation.members[&id(name)].public());
    played.revoke("b");
    check_fraud(&played, |entries| entries.push(offer), Fault::Membership, 1, Some("b"));
    for name in ["a", "b"] {
        let (key, certificate) = (Signer::random().public(), Digest::of(b""));
        let enrolled = Entry::Enrolled { member: id(name), key, certificate };
        check_fraud(&played, |entries| entries.push(enrolled), Fault::Membership, 0, Some(name));
    }
    for key in keys {
        let enrolled = Entry::Enrolled { member: id("d"), key, certificate: Digest::of(b"") };
        check_fraud(&played, |entries| entries.push(enrolled), Fault::Membership, 0, Some("d"));
    }
    let revoked = Entry::Revoked { member: id("b") };
    check_fraud(&played, |entries| entries.push(revoked), Fault::Membership, 0, Some("b"));
    let opened = Entry::Opened { round: RoundId(2), nonce: Nonce::random(), asked_by: id("a"), at_ms: Time(0) };
    check_fraud(&played, |entries| entries.push(opened), Fault::OutOfTurn, 2, Some("a"));
}

#[test]
fn a_second_offer_of_one_member_is_found() {
    let mut played = Played::new(&["a", "b"]);
    played.begin();
    played.offer("a", 3);
    let declined = |round, name| Entry::Declined { round: RoundId(round), member: id(name) };
    for (entry, fault, round, member) in [
        (played.offer_entry("a", 2), Fault::Refused, 1, "a"),
        (declined(1, "a"), Fault::Refused, 1, "a"),
        (declined(2, "b"), Fault::Round, 2, "b"),
    ] {
        check_fraud(&played, |entries| entries.push(entry), fault, round, Some(member));
    }
}
