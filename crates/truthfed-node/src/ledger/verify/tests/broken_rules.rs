//! Entries that no round could have.

use super::*;
use crate::digest::{Hex, Nonce};
use crate::signature::Signer;
use crate::wire::{DeliveryContent, OFFER_SCHEMA};

#[test]
fn wrong_signatures_are_found() {
    let played = Played::with_rounds();
    let mut entries = played.entries.clone();
    let first = position(&entries, 0, is_offer);
    offer_of(&mut entries[first]).signature.0[7] ^= 1;
    check(&find(&played.federation.sign_again(&entries)), Fault::Signature, 1, Some("a"));
    // Signed by another member, in the name of this one.
    let mut entries = played.entries.clone();
    let offer = offer_of(&mut entries[first]);
    offer.signature = played.federation.members[&id("b")].sign(OFFER_SCHEMA, offer.content.get().as_bytes());
    check(&find(&played.federation.sign_again(&entries)), Fault::Signature, 1, Some("a"));
    // With the other member's key enrolled in its place.
    let enrolment = position(&entries, 0, |entry| matches!(entry, Entry::Enrolled { .. }));
    let mut entries = played.entries.clone();
    let Entry::Enrolled { key, .. } = &mut entries[enrolment] else { panic!("an enrolment") };
    *key = played.federation.members[&id("b")].public();
    check(&find(&played.federation.sign_again(&entries)), Fault::Signature, 1, Some("a"));
    let mut entries = played.entries.clone();
    let seal = position(&entries, 0, |entry| matches!(entry, Entry::Sealed { .. }));
    let Entry::Sealed { signature, .. } = &mut entries[seal] else { panic!("a seal") };
    signature.0[0] ^= 1;
    check(&find(&entries), Fault::Signature, 1, None);
    let mut entries = played.entries.clone();
    let checkpoint = position(&entries, 0, |entry| matches!(entry, Entry::Checkpoint { .. }));
    let Entry::Checkpoint { signature, .. } = &mut entries[checkpoint] else { panic!("a checkpoint") };
    *signature = Hex([1; 64]);
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
    let mut entries = played.entries.clone();
    let (old, new) = (position(&entries, 0, is_offer), position(&entries, 5, is_offer));
    let before = offer_of(&mut entries[old]).clone();
    *offer_of(&mut entries[new]) = before;
    let problem = find(&played.federation.sign_again(&entries));
    check(&problem, Fault::Context, 2, Some("a"));
    assert_eq!((problem.expected.as_str(), problem.found.as_str()), ("2", "1"));
}

#[test]
fn a_delivery_that_does_not_match_its_offer_is_found() {
    let mut played = Played::new(&["a", "b"]);
    played.ask("a");
    played.offer("a", 3);
    played.offer("b", 4);
    let winner = played.winners()[0].clone();
    let honest = played.delivery_content(&winner);
    let signed = |change: fn(&mut DeliveryContent)| {
        let mut content = honest.clone();
        change(&mut content);
        played.federation.sign_delivery(&content)
    };
    let other_moment = signed(|content| content.moment[0] += 1e-9);
    let other_salt = signed(|content| content.salt = Nonce::random());
    let other_offer = signed(|content| content.offer = Digest::of(b"other"));
    let winners = played.winners();
    played.deliver_all(&winners);
    let place = position(&played.entries, 0, |entry| matches!(entry, Entry::Delivered { .. }));
    for (planted, fault) in
        [(other_moment, Fault::Commitment), (other_salt, Fault::Commitment), (other_offer, Fault::OtherOffer)]
    {
        let mut entries = played.entries.clone();
        let Entry::Delivered { delivery, .. } = &mut entries[place] else { panic!("a delivery") };
        *delivery = planted;
        check(&find(&played.federation.sign_again(&entries)), fault, 1, Some(&winner));
    }
}

#[test]
fn a_second_settlement_award_or_genesis_is_found() {
    let played = Played::with_rounds();
    let settlement = position(&played.entries, 0, is_settlement);
    let mut entries = played.entries.clone();
    entries.insert(settlement + 1, entries[settlement].clone());
    let problem = find(&played.federation.sign_again(&entries));
    check(&problem, Fault::OutOfTurn, 1, None);
    assert_eq!(problem.entry, settlement as u64 + 2);
    let award = position(&played.entries, 0, is_award);
    let mut entries = played.entries.clone();
    entries.insert(award + 1, entries[award].clone());
    check(&find(&played.federation.sign_again(&entries)), Fault::OutOfTurn, 1, None);
    let mut entries = played.entries.clone();
    entries.insert(3, entries[0].clone());
    check(&find(&entries), Fault::Genesis, 0, None);
    check(&find(&played.entries[1..]), Fault::Genesis, 0, None);
    check(&find(&[]), Fault::Genesis, 0, None);
}

#[test]
fn a_settlement_of_others_than_delivered_is_found() {
    let played = Played::with_rounds();
    // In the second round one did not deliver.
    let place = position(&played.entries, 1, is_settlement);
    let mut entries = played.entries.clone();
    let Entry::Settled { paid, defaulted, .. } = &mut entries[place] else { panic!("a settlement") };
    let member = defaulted.remove(0);
    paid.insert(0, member.clone());
    check(&find(&played.federation.sign_again(&entries)), Fault::Settlement, 2, Some(member.as_str()));
    // One that delivered is not paid.
    let mut entries = played.entries.clone();
    let Entry::Settled { paid, defaulted, .. } = &mut entries[place] else { panic!("a settlement") };
    let member = paid.remove(0);
    defaulted.push(member.clone());
    check(&find(&played.federation.sign_again(&entries)), Fault::Settlement, 2, Some(member.as_str()));
    // One vanishes from both lists.
    let mut entries = played.entries.clone();
    let Entry::Settled { paid, .. } = &mut entries[place] else { panic!("a settlement") };
    let member = paid.remove(0);
    check(&find(&played.federation.sign_again(&entries)), Fault::Settlement, 2, Some(member.as_str()));
    let mut entries = played.entries.clone();
    let Entry::Settled { aggregate, .. } = &mut entries[place] else { panic!("a settlement") };
    *aggregate = Digest::of(b"other");
    check(&find(&played.federation.sign_again(&entries)), Fault::Aggregate, 2, None);
}

#[test]
fn a_round_that_ends_otherwise_is_found() {
    let played = Played::with_rounds();
    let seal = position(&played.entries, 0, |entry| matches!(entry, Entry::Sealed { .. }));
    let aborted = Entry::Aborted { round: RoundId(1), reason: "no wish to pay".to_owned() };
    // Instead of an auction all had offered for.
    let mut entries = played.entries[..seal].to_vec();
    entries.push(aborted.clone());
    check(&find(&entries), Fault::OutOfTurn, 1, None);
    // Instead of a settlement.
    let mut entries = played.entries[..seal + 2].to_vec();
    entries.push(aborted);
    check(&find(&entries), Fault::Ending, 1, None);
    // Before the last of them was heard, time may have run out, but the auction is due.
    let mut entries = played.entries[..seal - 1].to_vec();
    entries.push(Entry::Aborted { round: RoundId(1), reason: String::new() });
    check(&find(&entries), Fault::Ending, 1, None);
    // The journal ends where the seal is due.
    check(&find(&played.entries[..seal]), Fault::OutOfTurn, 0, None);
}

#[test]
fn members_that_are_none_take_no_part() {
    let mut played = Played::new(&["a", "b", "c"]);
    played.ask("a");
    played.offer("a", 3);
    let offer = played.offer_entry("b", 4);
    played.revoke("b");
    let mut entries = played.entries.clone();
    entries.push(offer);
    check(&find(&entries), Fault::Membership, 1, Some("b"));
    for name in ["a", "b"] {
        let mut entries = played.entries.clone();
        let (key, certificate) = (Signer::random().public(), Digest::of(b""));
        entries.push(Entry::Enrolled { member: id(name), key, certificate });
        check(&find(&entries), Fault::Membership, 0, Some(name));
    }
    let mut entries = played.entries.clone();
    entries.push(Entry::Revoked { member: id("b") });
    check(&find(&entries), Fault::Membership, 0, Some("b"));
    let mut entries = played.entries.clone();
    entries.push(Entry::Opened { round: RoundId(2), nonce: Nonce::random(), asked_by: id("a") });
    check(&find(&entries), Fault::OutOfTurn, 2, Some("a"));
}

#[test]
fn a_second_offer_of_one_member_is_found() {
    let mut played = Played::new(&["a", "b"]);
    played.ask("a");
    played.offer("a", 3);
    let mut entries = played.entries.clone();
    entries.push(played.offer_entry("a", 2));
    check(&find(&entries), Fault::Refused, 1, Some("a"));
    let mut entries = played.entries.clone();
    entries.push(Entry::Declined { round: RoundId(1), member: id("a") });
    check(&find(&entries), Fault::Refused, 1, Some("a"));
    let mut entries = played.entries.clone();
    entries.push(Entry::Declined { round: RoundId(2), member: id("b") });
    check(&find(&entries), Fault::Round, 2, Some("b"));
}
