//! What is served beside the journal, changed behind its back: the standing and the replies.

use serde_json::Value;

use super::stores::write;
use super::*;
use crate::digest::Nonce;
use crate::engine::{Core, EngineError};
use crate::store::{RequestKey, RequestKind, StandingRow, StoredReply};
use crate::testing::{Database, File, Place, Stepwise};
use crate::wire::{RECEIPT_SCHEMA, ReceiptContent};

/// The standing with every shared moment negated: whoever trusts it chooses the worst arm.
fn flipped(StandingRow { entry, body }: StandingRow) -> StandingRow {
    let mut body: Value = serde_json::from_str(&body).unwrap();
    for share in body["standing"]["shares"].as_object_mut().unwrap().values_mut() {
        for entry in share["confirmed"]["moment"].as_array_mut().unwrap() {
            *entry = Value::from(-entry.as_f64().unwrap());
        }
    }
    StandingRow { entry, body: body.to_string() }
}

fn check_flipped(place: &dyn Place) {
    let played = Played::with_rounds();
    write(place, &played);
    let StandingRow { body, .. } = flipped(played.store().standing.unwrap());
    place.execute(&format!("UPDATE {}standing SET body = '{body}'", place.dialect().schema)).unwrap();
    let problem = problem_of(place.try_open_existing().unwrap().as_mut(), &Trust::default());
    assert_eq!(problem.fault, Fault::Standing);
    let refused = Core::start(played.federation.setup(), place.open()).err().expect("it is not taken up");
    assert!(matches!(refused, EngineError::Standing(_)), "{refused}");
}

#[test]
fn a_moment_flipped_in_the_standing_of_a_file_is_found_and_not_served() {
    check_flipped(&File::create());
}

#[test]
fn a_moment_flipped_in_the_standing_of_a_database_is_found_and_not_served() {
    check_flipped(&Database::create());
}

#[test]
fn whatever_is_changed_in_the_standing_is_found_and_not_served() {
    let played = Played::with_rounds();
    let honest = played.store().standing.unwrap();
    let older = played.history.iter().find_map(|store| store.standing.clone());
    let with = |from: &str, to: &str| {
        assert!(honest.body.contains(from), "{from}: {}", honest.body);
        Some(StandingRow { entry: honest.entry, body: honest.body.replacen(from, to, 1) })
    };
    let changes = [
        with("\"closed\":4", "\"closed\":3"),
        with("\"postings\":", "\"postings\":1"),
        with("\"is_revoked\":true", "\"is_revoked\":false"),
        with("\"samples\":", "\"samples\":1"),
        with("{", "{ "),
        Some(StandingRow { entry: honest.entry - 1, ..honest.clone() }),
        older,
        None,
    ];
    for standing in changes {
        let mut store = played.store();
        store.standing = standing.clone();
        let problem = problem_of(&mut store, &Trust::default());
        assert_eq!(problem.fault, Fault::Standing, "{standing:?}");
        assert!(Stepwise::start(played.federation.setup(), store).is_err(), "{standing:?}");
    }
}

#[test]
fn a_standing_that_does_not_follow_from_the_journal_is_found_although_the_coordinator_signed_its_hash() {
    let played = Played::with_rounds();
    let is_taken = |entry: &Entry| matches!(entry, Entry::Checkpoint(Checkpoint { standing: Some(_), .. }));
    let first = position(&played.entries, 0, is_taken);
    for standing in [None, Some(Digest::of(b"other"))] {
        let mut entries = played.entries.clone();
        let Entry::Checkpoint(vouched) = &mut entries[first] else { panic!("a checkpoint") };
        vouched.standing = standing;
        let mut store = played.store();
        store.rows = Memory::of(&played.federation.sign_again(&entries)).rows;
        assert_eq!(problem_of(&mut store, &Trust::default()).fault, Fault::Standing, "{standing:?}");
    }
}

fn check_reply(replies: Vec<StoredReply>, played: &Played) -> Problem {
    let mut store = played.store();
    store.replies = replies;
    let problem = problem_of(&mut store, &Trust::default());
    assert_eq!(problem.fault, Fault::Reply, "{problem}");
    problem
}

#[test]
fn a_changed_or_missing_reply_is_found_by_its_member_and_round() {
    let played = Played::with_doubts();
    let whole = played.store().replies;
    assert!(RequestKind::ALL.iter().all(|kind| whole.iter().any(|reply| reply.key.kind == *kind)));
    type Change = fn(&mut StoredReply);
    let changes: [Change; 3] = [
        |reply| reply.request = Digest::of(b"other"),
        |reply| reply.body.insert(1, ' '),
        // The signature, or the round of a decline.
        |reply| {
            let place = reply.body.rfind(|c: char| c.is_ascii_digit()).unwrap();
            let other = if &reply.body[place..=place] == "1" { "2" } else { "1" };
            reply.body.replace_range(place..=place, other);
        },
    ];
    for (index, reply) in whole.iter().enumerate() {
        for change in changes {
            let mut replies = whole.clone();
            change(&mut replies[index]);
            check(&check_reply(replies, &played), Fault::Reply, reply.key.round.0, Some(reply.key.member.as_str()));
        }
        let mut replies = whole.clone();
        replies.remove(index);
        check_reply(replies, &played);
    }
}

#[test]
fn an_added_reply_is_found_whoever_it_is_for() {
    let played = Played::with_rounds();
    let whole = played.store().replies;
    for member in ["a", "z"] {
        let mut added = whole[0].clone();
        (added.key.member, added.key.round) = (id(member), RoundId(9));
        check_reply([whole.clone(), vec![added]].concat(), &played);
    }
}

#[test]
fn a_receipt_signed_again_that_says_something_else_is_found() {
    let played = Played::with_rounds();
    let amount = truthfed::Amount::from_units(1);
    type Change = fn(&mut ReceiptContent, truthfed::Amount);
    let changes: [(RequestKind, Change); 4] = [
        (RequestKind::Settlement, |content, amount| content.payment_micros = Some(amount)),
        (RequestKind::Settlement, |content, _| content.salt = Some(Nonce::random())),
        (RequestKind::Decision, |content, amount| content.promise.as_mut().unwrap().least_micros = amount),
        // Found when the payment does not keep it.
        (RequestKind::Decision, |content, _| content.promise.as_mut().unwrap().commitment = Digest::of(b"other")),
    ];
    for (kind, change) in changes {
        let mut replies = played.store().replies;
        let paid = replies.iter().find(|reply| reply.key.kind == RequestKind::Settlement).unwrap().key.clone();
        let key = RequestKey { kind, ..paid };
        let StoredReply { body, .. } = replies.iter_mut().find(|reply| reply.key == key).unwrap();
        let receipt: Envelope = serde_json::from_str(body).unwrap();
        let mut content: ReceiptContent = serde_json::from_str(receipt.content.get()).unwrap();
        change(&mut content, amount);
        *body = serde_json::to_string(&played.federation.coordinator.seal(RECEIPT_SCHEMA, &content)).unwrap();
        check(&check_reply(replies, &played), Fault::Reply, key.round.0, Some(key.member.as_str()));
    }
}

#[test]
fn a_revocation_that_no_signature_covers_is_found_and_not_taken_up() {
    let played = Played::with_rounds();
    let mut store = played.store();
    let mut head = store.head().unwrap();
    store.rows.push(head.append(&Entry::Revoked { member: id("a") }));
    let problem = problem_of(&mut store, &Trust::default());
    check(&problem, Fault::Unsigned, 0, None);
    assert!(Stepwise::start(played.federation.setup(), store).is_err());
}
