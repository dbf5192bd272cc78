//! The ways to tamper with a federation's records that somebody tried, one after the other: each is found, and named.
//!
//! Somebody with access to the store changes rows and what is kept beside them. A coordinator that cheats chains, seals and signs
//! everything again. Whoever restores an old copy has all signatures right. An auditor has the journal alone, and finds whatever
//! is wrong with that.

use truthfed::Amount;

use super::*;
use crate::digest::Hex;

/// Who tampers, and so what fits again afterwards.
#[derive(Clone, Copy, PartialEq)]
enum Thief {
    /// Changes the store, and nothing fits.
    Outsider,
    /// Has the coordinator's key: chain, seals and checkpoints fit again, and what stands beside the journal follows from it.
    Coordinator,
}

use Thief::{Coordinator, Outsider};

/// What is tampered with.
enum Change {
    Entries(fn(&mut Vec<Entry>)),
    Rows(fn(&mut Vec<Row>)),
    /// Beside the journal.
    Store(fn(&mut Memory)),
}

use Change::{Entries, Rows, Store as Beside};

fn award_of(entries: &mut [Entry], nth: usize) -> &mut Vec<crate::journal::Award> {
    let place = position(entries, nth, is_award);
    let Entry::Awarded { winners, .. } = &mut entries[place] else { panic!("an award") };
    winners
}

fn body(row: &mut Row, from: &str, to: &str) {
    assert!(row.body.contains(from), "{}", row.body);
    row.body = row.body.replacen(from, to, 1);
}

/// Each with a name, who does it, and what is found first.
fn ways() -> Vec<(&'static str, Thief, Change, Fault)> {
    let of = |name, thief, change, fault| (name, thief, change, fault);
    vec![
        of(
            "an ask is raised",
            Outsider,
            Rows(|rows| body(&mut rows[8], "ask_micros", "ask_micrOs")),
            Fault::BrokenChain,
        ),
        of("an entry is removed", Outsider, Rows(|rows| drop(rows.remove(9))), Fault::MissingEntry),
        of("two entries change places", Outsider, Rows(|rows| rows.swap(8, 9)), Fault::MissingEntry),
        of("an entry is written twice", Outsider, Rows(|rows| rows.insert(9, rows[8].clone())), Fault::MissingEntry),
        of("a hash is changed", Outsider, Rows(|rows| rows[8].hash.0[0] ^= 1), Fault::BrokenChain),
        of("the last entries are cut off", Outsider, Rows(|rows| rows.truncate(rows.len() - 1)), Fault::Unsigned),
        of(
            "an entry is added at the end",
            Outsider,
            Rows(|rows| {
                let last = rows.last().map(|row| Head { number: row.number, hash: row.hash });
                let mut head = last.expect("there are rows");
                rows.push(head.append(&Entry::Revoked { member: id("a") }));
            }),
            Fault::Unsigned,
        ),
        of("a posting is doubled", Outsider, Beside(|store| store.postings[1].micros *= 2), Fault::Posting),
        of("a posting is removed", Outsider, Beside(|store| drop(store.postings.pop())), Fault::Posting),
        of(
            "the standing is changed",
            Outsider,
            Beside(|store| {
                let standing = store.standing.as_mut().expect("rounds have ended");
                standing.body = standing.body.replacen("\"samples\":", "\"samples\":1", 1);
            }),
            Fault::Standing,
        ),
        of("the standing is removed", Outsider, Beside(|store| store.standing = None), Fault::Standing),
        of("a receipt is changed", Outsider, Beside(|store| store.replies[0].body.push(' ')), Fault::Reply),
        of("a receipt is removed", Outsider, Beside(|store| drop(store.replies.remove(0))), Fault::Reply),
        of(
            "a payment is raised",
            Coordinator,
            Entries(|entries| {
                let award = &mut award_of(entries, 0)[0];
                award.payment_micros = Amount::from_micros(award.payment_micros.micros() + 1).unwrap();
            }),
            Fault::Payment,
        ),
        of(
            "a winner is left out",
            Coordinator,
            Entries(|entries| drop(award_of(entries, 0).remove(0))),
            Fault::Winners,
        ),
        of(
            "an offer is turned into a decline",
            Coordinator,
            Entries(|entries| {
                let place = position(entries, 1, is_offer);
                let Entry::Offered { round, member, .. } = entries[place].clone() else { panic!("an offer") };
                entries[place] = Entry::Declined { round, member };
            }),
            Fault::Winners,
        ),
        of(
            "an offer is ignored",
            Coordinator,
            Entries(|entries| {
                let place = position(entries, 1, is_offer);
                entries.remove(place);
            }),
            Fault::Time,
        ),
        of(
            "an offer is forged",
            Coordinator,
            Entries(|entries| {
                let place = position(entries, 1, is_offer);
                offer_of(&mut entries[place]).signature = Hex([7; 64]);
            }),
            Fault::Signature,
        ),
        of(
            "who delivered is not paid",
            Coordinator,
            Entries(|entries| {
                let place = position(entries, 0, is_settlement);
                let Entry::Settled { paid, defaulted, .. } = &mut entries[place] else { panic!("a settlement") };
                defaulted.push(paid.remove(0));
            }),
            Fault::Settlement,
        ),
        of(
            "the shared data is another",
            Coordinator,
            Entries(|entries| {
                let place = position(entries, 0, is_settlement);
                let Entry::Settled { aggregate, .. } = &mut entries[place] else { panic!("a settlement") };
                *aggregate = Digest::of(b"other");
            }),
            Fault::Aggregate,
        ),
        of(
            "a phase ends early",
            Coordinator,
            Entries(|entries| {
                let place = position(entries, 1, is_settlement);
                *time_of(&mut entries[place]) = Time(time_of(&mut entries[place]).0 - 1);
            }),
            Fault::Time,
        ),
        of(
            "the terms are changed",
            Coordinator,
            Entries(|entries| {
                let Entry::Genesis { terms, .. } = &mut entries[0] else { panic!("a genesis") };
                terms.reserve = Amount::from_units(1);
            }),
            Fault::Context,
        ),
    ]
}

#[test]
fn every_way_to_tamper_that_was_tried_is_found() {
    let played = Played::with_rounds();
    let honest = played.store();
    let trust = Trust { checkpoint: None, ..Trust::default() };
    assert!(verify(&mut honest.clone(), &trust).unwrap().is_right());
    assert!(verify_journal(&mut honest.clone(), &trust).unwrap().is_right());
    for (name, thief, change, fault) in ways() {
        let (mut store, is_beside) = (honest.clone(), matches!(change, Beside(_)));
        match change {
            Rows(change) => change(&mut store.rows),
            Beside(change) => change(&mut store),
            Entries(change) => {
                let mut entries = played.entries.clone();
                change(&mut entries);
                assert!(thief == Coordinator, "{name}: nobody else can sign");
                store = Memory::of(&played.federation.sign_again(&entries));
            }
        }
        let found = verify(&mut store.clone(), &trust).unwrap().problem.map(|problem| problem.fault);
        assert_eq!(found, Some(fault), "{name}");
        // An auditor has no postings, receipts and standing, and finds all else.
        let found = verify_journal(&mut store, &trust).unwrap().problem.map(|problem| problem.fault);
        assert_eq!(found, (!is_beside).then_some(fault), "{name}, by an auditor");
    }
}

#[test]
fn an_older_copy_is_found_by_the_checkpoint_that_somebody_kept() {
    let played = Played::with_rounds();
    let kept = played.store().checkpoint();
    let trust = Trust { checkpoint: kept, ..Trust::default() };
    assert!(verify_journal(&mut played.store(), &trust).unwrap().is_right());
    for older in played.history.iter().take_while(|older| older.checkpoint() != kept) {
        for problem in [verify(&mut older.clone(), &trust), verify_journal(&mut older.clone(), &trust)] {
            assert_eq!(problem.unwrap().problem.map(|problem| problem.fault), Some(Fault::CheckpointAhead));
        }
    }
}
