//! What was transferred to members, and what only seems to be.

use truthfed::Amount;

use super::*;
use crate::calendar::Period;
use crate::ledger::{Accounts, Cause};

/// Rounds, and a member that received some of what it earned in the middle of one more; and the place of that payout.
fn paid_out() -> (Played, String, usize) {
    let mut played = Played::new(&["a", "b", "c"]);
    played.wait(5_000);
    played.full_round();
    let accounts = Accounts::read(&mut played.store(), Period::ALWAYS).unwrap();
    let (name, owed) = accounts.members.iter().find(|(_, it)| it.owed_micros > 1).unwrap();
    played.begin();
    played.offer("a", 3);
    played.wait(1_000);
    played.pay_out(name.as_str(), owed.owed_micros as i64 - 1, "bank 1");
    played.offers(&[("b", 4), ("c", 5)]);
    let winners = played.winners();
    played.deliver_all(&winners);
    let place = position(&played.entries, 0, |entry| matches!(entry, Entry::PaidOut { .. }));
    (played, name.to_string(), place)
}

#[test]
fn a_payout_in_the_middle_of_a_round_is_right_at_every_end() {
    let (played, ..) = paid_out();
    for mut store in played.history {
        let report = verify(&mut store, &Trust::default()).unwrap();
        assert!(report.is_right(), "{report}");
    }
}

#[test]
fn an_altered_payout_is_found_although_the_coordinator_signs_it_again() {
    let (played, name, place) = paid_out();
    let changed = |change: fn(&mut Amount, &mut ClientId, &mut Time)| {
        move |entries: &mut Vec<Entry>| {
            let Entry::PaidOut { member, amount_micros, at_ms, .. } = &mut entries[place] else { panic!("a payout") };
            change(amount_micros, member, at_ms);
        }
    };
    let member = Some(name.as_str());
    let more = |amount: &mut Amount, _: &mut ClientId, _: &mut Time| {
        *amount = Amount::from_micros(amount.micros() + 2).unwrap();
    };
    let problem = check_fraud(&played, changed(more), Fault::Payout, 0, member);
    assert!(problem.expected.starts_with("at least 1 and at most"), "{problem}");
    check_fraud(&played, changed(|amount, _, _| *amount = Amount::ZERO), Fault::Payout, 0, member);
    check_fraud(&played, changed(|_, _, at| *at = Time(0)), Fault::Time, 0, member);
    check_fraud(&played, changed(|_, member, _| *member = id("nobody")), Fault::Membership, 0, Some("nobody"));
    // The time of a later entry may not be before it either.
    let early = changed(|_, _, at| *at = Time(1_000_000_000));
    check_fraud(&played, early, Fault::Time, 2, None);
}

#[test]
fn a_payout_that_is_recorded_twice_or_vouched_for_by_nobody_is_found() {
    let (played, name, place) = paid_out();
    let again = |entries: &mut Vec<Entry>| {
        let Entry::PaidOut { amount_micros, .. } = &mut entries[place] else { panic!("a payout") };
        *amount_micros = Amount::from_micros(1).unwrap();
        let [payout, checkpoint] = [place, place + 1].map(|place| entries[place].clone());
        entries.splice(place + 2..place + 2, [payout, checkpoint]);
    };
    let problem = check_fraud(&played, again, Fault::Payout, 0, Some(&name));
    assert_eq!(problem.expected, "a new reference");
    let entries = played.federation.sign_again(&played.entries[..=place]);
    check(&find(&entries), Fault::Unsigned, 0, None);
}

#[test]
fn a_posting_of_a_payout_that_was_altered_or_removed_is_found() {
    let (played, name, _) = paid_out();
    let whole = played.store().postings;
    let of_payout = |posting: &Posting| matches!(posting.cause, Cause::Payout(_));
    let places: Vec<usize> = (0..whole.len()).filter(|&place| of_payout(&whole[place])).collect();
    assert_eq!(places.len(), 2);
    for place in places {
        let changes: [fn(&mut Posting); 3] = [
            |posting| posting.micros += 1,
            |posting| posting.cause = Cause::Payout("another".parse().unwrap()),
            |posting| posting.account = Account::Escrow,
        ];
        for change in changes {
            let mut store = played.store();
            change(&mut store.postings[place]);
            check(&problem_of(&mut store, &Trust::default()), Fault::Posting, 0, Some(&name));
        }
        let mut store = played.store();
        store.postings.remove(place);
        assert_eq!(problem_of(&mut store, &Trust::default()).fault, Fault::Posting);
    }
}
