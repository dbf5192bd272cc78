//! What every store must do, tried on each of them.

use truthfed::protocol::RoundId;

use super::postgres::place::Database;
use super::sqlite::place::File;
use super::{
    Batch, CopyError, Extent, Lease, Recorded, RequestKey, RequestKind, StandingRow, Store, StoreError, StoredReply,
    copy,
};
use crate::digest::Digest;
use crate::journal::{Entry, Head, JournalError, Row};
use crate::ledger::{Account, Cause, Posting, Reference, Trust, verify};
use crate::testing::{Place, Played, id};

/// Longer than any test takes.
const LONG_MS: u64 = 600_000;

/// A store runs the suite once its place is in the first line.
macro_rules! suite {
    ($($store:ident: $place:ident),* => $tests:tt) => { $(suite!(@ $store $place $tests);)* };
    (@ $store:ident $place:ident { $($name:ident)* }) => {
        mod $store {
            $(#[test] fn $name() { super::$name(&super::$place::create()); })*
        }
    };
}

suite! { sqlite: File, postgres: Database => {
    what_was_committed_is_there_after_opening_again
    a_batch_is_written_whole_or_not_at_all
    one_entry_pays_a_member_for_several_rounds_and_for_each_once
    a_batch_that_does_not_follow_the_journal_is_refused
    a_batch_must_chain_and_its_postings_must_follow
    rows_and_postings_come_in_order_and_in_pieces
    the_extent_is_how_far_everything_reaches
    a_reply_is_kept_once_and_found_by_its_request
    receipts_come_by_round_for_one_member_and_kind
    requests_beyond_all_numbers_find_nothing
    the_standing_is_replaced
    a_lease_is_held_until_it_expires_or_is_given_back
    a_commit_holds_the_lease_as_long_again
    whoever_lost_the_lease_cannot_write
    a_lease_from_before_the_clock_was_set_back_does_not_last
    nothing_kept_can_be_changed_or_removed
    of_two_writers_at_once_one_is_refused
    others_read_while_one_writes
    another_schema_version_is_refused
    tables_of_an_unknown_version_are_refused
    tables_and_triggers_that_were_changed_are_refused
    readers_make_nothing_and_cannot_write
    two_that_open_a_new_store_at_once_both_can
    a_batch_without_entries_checks_the_lease_and_carries_no_replies
    what_is_owed_is_the_sum_and_a_payout_is_found_by_its_reference
    a_store_from_before_payouts_is_brought_up_to_date_with_all_its_postings
    a_copy_has_all_that_was_kept_and_is_right
    who_reads_one_moment_does_not_see_what_comes_after
}}

fn open(place: &dyn Place) -> (Box<dyn Store>, Lease) {
    let mut store = place.open();
    let lease = store.acquire(LONG_MS).unwrap();
    (store, lease)
}

/// The next rows after a head, which moves on.
fn rows(head: &mut Head, count: usize) -> Vec<Row> {
    (0..count).map(|i| head.append(&Entry::Revoked { member: id(&format!("m{i} \u{1f41d} \"'\\")) })).collect()
}

fn first_rows(count: usize) -> Vec<Row> {
    let mut head = Head::START;
    rows(&mut head, count)
}

fn reply(member: &str, round: u64, kind: RequestKind) -> StoredReply {
    let key = RequestKey { member: id(member), round: RoundId(round), kind };
    StoredReply { key, request: Digest::of(member.as_bytes()), body: format!("{{\"round\":{round}}}") }
}

fn posting(number: u64, entry: u64, member: &str, account: Account, micros: i64) -> Posting {
    Posting { number, entry, cause: Cause::Round(RoundId(entry)), member: id(member), account, micros }
}

/// A batch of two rows with one of everything.
fn full_batch(head: &mut Head) -> Batch {
    let entry = head.number + 1;
    Batch {
        rows: rows(head, 2),
        replies: vec![reply("a", entry, RequestKind::Offer)],
        postings: vec![
            posting(entry, entry, "a", Account::Treasury, -7),
            posting(entry + 1, entry, "a", Account::Member(id("a")), 7),
        ],
        standing: Some(StandingRow { entry, body: format!("{{\"entry\":{entry}}}") }),
    }
}

fn first_batch() -> Batch {
    let mut head = Head::START;
    full_batch(&mut head)
}

fn only_rows(rows: Vec<Row>) -> Batch {
    Batch { rows, ..Batch::default() }
}

fn contents(store: &mut dyn Store) -> (Head, Vec<Row>, Vec<Posting>, Option<StandingRow>) {
    (
        store.head().unwrap(),
        store.rows(0, usize::MAX).unwrap(),
        store.postings(0, usize::MAX).unwrap(),
        store.standing().unwrap(),
    )
}

type Change = fn(&mut Batch);
type Expected = fn(&StoreError) -> bool;

fn is_conflict(error: &StoreError) -> bool {
    matches!(error, StoreError::Conflict(_))
}

fn check_nothing_written(store: &mut dyn Store, lease: Lease, batch: &Batch, expected: Expected) {
    let before = contents(store);
    let error = store.commit(lease, batch).unwrap_err();
    assert!(expected(&error), "{error:?}");
    assert_eq!(contents(store), before);
}

/// Batches that differ from a good one, and why each is refused.
fn check_refused(store: &mut dyn Store, lease: Lease, good: &Batch, changes: &[(Change, Expected)]) {
    for (change, expected) in changes {
        let mut batch = good.clone();
        change(&mut batch);
        check_nothing_written(store, lease, &batch, *expected);
    }
}

fn what_was_committed_is_there_after_opening_again(place: &dyn Place) {
    let (mut head, mut batches) = (Head::START, Vec::new());
    {
        let mut store = place.open();
        assert_eq!(contents(store.as_mut()), (Head::START, vec![], vec![], None));
        let lease = store.acquire(LONG_MS).unwrap();
        for _ in 0..3 {
            let batch = full_batch(&mut head);
            store.commit(lease, &batch).unwrap();
            batches.push(batch);
        }
    }
    let mut store = place.open();
    let expected = (
        head,
        batches.iter().flat_map(|batch| batch.rows.clone()).collect(),
        batches.iter().flat_map(|batch| batch.postings.clone()).collect(),
        batches[2].standing.clone(),
    );
    assert_eq!(contents(store.as_mut()), expected);
    for batch in &batches {
        assert_eq!(store.reply(&batch.replies[0].key).unwrap().as_ref(), Some(&batch.replies[0]));
    }
}

fn a_batch_is_written_whole_or_not_at_all(place: &dyn Place) {
    let (mut store, lease) = open(place);
    let mut head = Head::START;
    store.commit(lease, &full_batch(&mut head)).unwrap();
    let good = full_batch(&mut head);
    let changes: [(Change, Expected); 4] = [
        (|batch| batch.replies.push(first_batch().replies[0].clone()), is_conflict),
        (|batch| batch.postings[1].entry = 99, is_conflict),
        (|batch| batch.standing = Some(StandingRow { entry: 99, body: String::new() }), is_conflict),
        // Paid twice in one round.
        (|batch| batch.postings.iter_mut().for_each(|posting| posting.cause = Cause::Round(RoundId(1))), is_conflict),
    ];
    check_refused(store.as_mut(), lease, &good, &changes);
    assert_eq!(store.reply(&good.replies[0].key).unwrap(), None);
    store.commit(lease, &good).unwrap();
    assert_eq!(store.head().unwrap(), head);
}

/// Payments that waited are made together.
fn one_entry_pays_a_member_for_several_rounds_and_for_each_once(place: &dyn Place) {
    let (mut store, lease) = open(place);
    let paid = |number: u64, round: u64| {
        let of = |number, account, micros| Posting {
            cause: Cause::Round(RoundId(round)),
            ..posting(number, 1, "a", account, micros)
        };
        [of(number, Account::Escrow, -7), of(number + 1, Account::Member(id("a")), 7)]
    };
    let batch = |rounds: [u64; 2]| {
        let postings = [paid(1, rounds[0]), paid(3, rounds[1])].concat();
        Batch { postings, ..only_rows(first_rows(1)) }
    };
    check_nothing_written(store.as_mut(), lease, &batch([1, 1]), is_conflict);
    store.commit(lease, &batch([1, 2])).unwrap();
    assert_eq!(store.postings(0, usize::MAX).unwrap(), batch([1, 2]).postings);
}

fn a_batch_that_does_not_follow_the_journal_is_refused(place: &dyn Place) {
    let (mut store, lease) = open(place);
    let all = first_rows(5);
    store.commit(lease, &only_rows(all[..2].to_vec())).unwrap();
    for start in [0, 1, 3] {
        let expected = |error: &StoreError| matches!(error, StoreError::OutOfOrder { head: 2, .. });
        check_nothing_written(store.as_mut(), lease, &only_rows(all[start..].to_vec()), expected);
    }
    store.commit(lease, &only_rows(all[2..].to_vec())).unwrap();
}

fn a_batch_must_chain_and_its_postings_must_follow(place: &dyn Place) {
    let (mut store, lease) = open(place);
    let is_broken: Expected = |error| matches!(error, StoreError::Journal(JournalError::BrokenChain(_)));
    let is_late: Expected = |error| matches!(error, StoreError::PostingOutOfOrder { got: 2, last: 0 });
    let changes: [(Change, Expected); 5] = [
        (|batch| batch.rows[1].hash = Digest::of(b"other"), is_broken),
        (|batch| batch.rows[0].body.push(' '), is_broken),
        (|batch| batch.rows.swap(0, 1), |error| matches!(error, StoreError::OutOfOrder { .. })),
        (|batch| drop(batch.postings.remove(0)), is_late),
        (|batch| batch.postings[1].account = Account::Member(id("b")), is_conflict),
    ];
    check_refused(store.as_mut(), lease, &first_batch(), &changes);
}

fn rows_and_postings_come_in_order_and_in_pieces(place: &dyn Place) {
    let (mut store, lease) = open(place);
    let mut head = Head::START;
    for _ in 0..5 {
        store.commit(lease, &full_batch(&mut head)).unwrap();
    }
    let (_, all, postings, _) = contents(store.as_mut());
    let numbers: Vec<u64> = all.iter().map(|row| row.number).collect();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    assert_eq!(store.rows(3, 4).unwrap(), all[3..7]);
    assert_eq!(store.rows(8, 4).unwrap(), all[8..]);
    assert_eq!(store.postings(9, 4).unwrap(), postings[9..]);
    assert_eq!(store.postings(2, 3).unwrap(), postings[2..5]);
    assert_eq!((store.rows(10, 4).unwrap(), store.rows(0, 0).unwrap()), (vec![], vec![]));
}

fn the_extent_is_how_far_everything_reaches(place: &dyn Place) {
    let (mut store, lease) = open(place);
    assert_eq!(store.extent().unwrap(), Extent { head: Head::START, standing: None, replies: 0 });
    let mut head = Head::START;
    store.commit(lease, &only_rows(rows(&mut head, 1))).unwrap();
    assert_eq!(store.extent().unwrap(), Extent { head, standing: None, replies: 0 });
    for replies in 1..=3 {
        let mut batch = full_batch(&mut head);
        batch.postings.clear();
        store.commit(lease, &batch).unwrap();
        assert_eq!(store.extent().unwrap(), Extent { head, standing: batch.standing, replies });
    }
}

fn a_reply_is_kept_once_and_found_by_its_request(place: &dyn Place) {
    let (mut store, lease) = open(place);
    let mut head = Head::START;
    let kept = reply("a", 1, RequestKind::Offer);
    let batch = Batch { rows: rows(&mut head, 1), replies: vec![kept.clone()], ..Batch::default() };
    store.commit(lease, &batch).unwrap();
    for other in [StoredReply { body: "{}".to_owned(), ..kept.clone() }, kept.clone()] {
        let batch = Batch { rows: rows(&mut head.clone(), 1), replies: vec![other], ..Batch::default() };
        check_nothing_written(store.as_mut(), lease, &batch, is_conflict);
    }
    for _ in 0..2 {
        assert_eq!(store.reply(&kept.key).unwrap().as_ref(), Some(&kept));
    }
    for (member, round, kind) in
        [("b", 1, RequestKind::Offer), ("a", 2, RequestKind::Offer), ("a", 1, RequestKind::Delivery)]
    {
        assert_eq!(store.reply(&reply(member, round, kind).key).unwrap(), None);
    }
}

fn receipts_come_by_round_for_one_member_and_kind(place: &dyn Place) {
    let (mut store, lease) = open(place);
    let mut head = Head::START;
    let mut replies = Vec::new();
    for round in [3, 10, 2, 1] {
        for kind in RequestKind::ALL {
            replies.extend(["a", "b"].map(|member| reply(member, round, kind)));
        }
    }
    store.commit(lease, &Batch { rows: rows(&mut head, 1), replies, ..Batch::default() }).unwrap();
    let expected: Vec<StoredReply> =
        [2, 3, 10].iter().map(|&round| reply("a", round, RequestKind::Settlement)).collect();
    assert_eq!(store.replies(&id("a"), RequestKind::Settlement, RoundId(1)).unwrap(), expected);
    assert_eq!(store.replies(&id("c"), RequestKind::Settlement, RoundId(0)).unwrap(), []);
    let asked = [reply("b", 3, RequestKind::Offer), reply("a", 10, RequestKind::Decision)];
    let keys = [asked[0].key.clone(), reply("c", 1, RequestKind::Offer).key, asked[1].key.clone()];
    let mut found = store.replies_to(&keys).unwrap();
    found.sort_by_key(|reply| reply.key.round);
    assert_eq!(found, asked);
}

fn requests_beyond_all_numbers_find_nothing(place: &dyn Place) {
    let (mut store, lease) = open(place);
    let endless = reply("a", u64::MAX, RequestKind::Offer);
    let batch = Batch { rows: first_rows(1), replies: vec![endless.clone()], ..Batch::default() };
    check_nothing_written(store.as_mut(), lease, &batch, is_conflict);
    assert_eq!(store.reply(&endless.key).unwrap(), None);
    assert_eq!(store.replies(&id("a"), RequestKind::Offer, RoundId(u64::MAX)).unwrap(), []);
    assert_eq!(store.rows(u64::MAX, 1).unwrap(), []);
    assert_eq!(store.postings(u64::MAX, 1).unwrap(), []);
}

fn the_standing_is_replaced(place: &dyn Place) {
    let (mut store, lease) = open(place);
    store.commit(lease, &only_rows(first_rows(3))).unwrap();
    for entry in 1..=3 {
        let standing = Some(StandingRow { entry, body: format!("[{entry}]") });
        store.commit(lease, &Batch { standing: standing.clone(), ..Batch::default() }).unwrap();
        assert_eq!(store.standing().unwrap(), standing);
    }
}

fn a_lease_is_held_until_it_expires_or_is_given_back(place: &dyn Place) {
    let (mut one, mut other) = (place.open(), place.open());
    let first = one.acquire(LONG_MS).unwrap();
    assert!(matches!(other.acquire(LONG_MS), Err(StoreError::Held)));
    assert!(matches!(one.acquire(LONG_MS), Err(StoreError::Held)));
    one.release(first).unwrap();
    let second = other.acquire(LONG_MS).unwrap();
    assert!(second.epoch > first.epoch);
    assert!(matches!(one.renew(first, LONG_MS), Err(StoreError::NotLeader(_))));
    // Giving back what somebody else holds by now takes nothing from them.
    one.release(first).unwrap();
    other.renew(second, 0).unwrap();
    let third = one.acquire(LONG_MS).unwrap();
    assert!(third.epoch > second.epoch);
    assert!(matches!(other.renew(second, LONG_MS), Err(StoreError::NotLeader(_))));
    one.renew(third, LONG_MS).unwrap();
}

fn a_commit_holds_the_lease_as_long_again(place: &dyn Place) {
    let (mut one, mut other) = (place.open(), place.open());
    let lease = one.acquire(LONG_MS).unwrap();
    place.execute(place.dialect().age_lease).unwrap();
    one.commit(lease, &only_rows(first_rows(1))).unwrap();
    let standby = other.acquire(LONG_MS);
    assert!(matches!(standby, Err(StoreError::Held)), "{standby:?}");
}

fn whoever_lost_the_lease_cannot_write(place: &dyn Place) {
    let (mut one, mut other) = (place.open(), place.open());
    let old = one.acquire(0).unwrap();
    let mut head = Head::START;
    // Nobody took it yet: what nobody else can have written may be written.
    one.commit(old, &full_batch(&mut head)).unwrap();
    let new = other.acquire(LONG_MS).unwrap();
    let batch = full_batch(&mut head);
    let fenced = |error: &StoreError| matches!(error, StoreError::NotLeader(_));
    check_nothing_written(one.as_mut(), old, &batch, fenced);
    other.commit(new, &batch).unwrap();
    other.release(new).unwrap();
    check_nothing_written(other.as_mut(), new, &full_batch(&mut head), fenced);
}

fn a_lease_from_before_the_clock_was_set_back_does_not_last(place: &dyn Place) {
    let (mut store, first) = open(place);
    place.execute(place.dialect().move_lease).unwrap();
    assert!(store.acquire(LONG_MS).unwrap().epoch > first.epoch);
}

fn nothing_kept_can_be_changed_or_removed(place: &dyn Place) {
    let (mut store, lease) = open(place);
    store.commit(lease, &first_batch()).unwrap();
    let before = contents(store.as_mut());
    for (table, column) in [("journal", "body"), ("postings", "member"), ("replies", "body")] {
        let name = format!("{}{table}", place.dialect().schema);
        for sql in [format!("UPDATE {name} SET {column} = 'x'"), format!("DELETE FROM {name}")] {
            let refused = place.execute(&sql).unwrap_err();
            assert!(refused.contains(&format!("{table} is append-only")), "{sql}: {refused}");
        }
    }
    assert_eq!(contents(store.as_mut()), before);
}

fn of_two_writers_at_once_one_is_refused(place: &dyn Place) {
    let lease = place.open().acquire(LONG_MS).unwrap();
    let outcomes: Vec<Result<(), StoreError>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|_| scope.spawn(|| place.open().commit(lease, &first_batch()))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    let late = |outcome: &&Result<(), StoreError>| matches!(outcome, Err(StoreError::OutOfOrder { got: 1, head: 2 }));
    assert_eq!(outcomes.iter().filter(late).count(), 3, "{outcomes:?}");
}

fn others_read_while_one_writes(place: &dyn Place) {
    let (mut store, lease) = open(place);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut store = place.try_open_existing().unwrap();
            let (mut head, mut seen) = (Head::START, 0);
            while seen < 100 {
                let rows = store.rows(seen, 7).unwrap();
                rows.iter().for_each(|row| drop(head.follow(row).unwrap()));
                seen = head.number;
                assert_eq!(store.head().unwrap().number % 2, 0, "batches of two are seen whole");
            }
        });
        let mut head = Head::START;
        for _ in 0..50 {
            store.commit(lease, &full_batch(&mut head)).unwrap();
        }
        reader.join().unwrap();
    });
}

fn another_schema_version_is_refused(place: &dyn Place) {
    drop(place.open());
    let set_version = |version| place.execute(&format!("{} {version}", place.dialect().set_version)).unwrap();
    for found in [3, 99, -1] {
        set_version(found);
        for opened in [place.try_open(), place.try_open_existing()] {
            let error = opened.err().expect("refused");
            let named = matches!(error, StoreError::Version { found: named, expected: 2 } if named == found);
            assert!(named, "{error:?}");
        }
    }
    set_version(2);
    drop(place.open());
}

fn tables_of_an_unknown_version_are_refused(place: &dyn Place) {
    place.execute(place.dialect().unknown_tables).unwrap();
    for opened in [place.try_open(), place.try_open_existing()] {
        let error = opened.err().expect("refused");
        assert!(matches!(error, StoreError::Version { found: 0, .. } | StoreError::Unusable(_)), "{error:?}");
    }
}

fn tables_and_triggers_that_were_changed_are_refused(place: &dyn Place) {
    drop(place.open());
    for (alter, undo) in place.dialect().alterations {
        place.execute(alter).unwrap();
        for opened in [place.try_open(), place.try_open_existing()] {
            let error = opened.err().unwrap_or_else(|| panic!("not noticed: {alter}"));
            assert!(matches!(error, StoreError::Altered(_)), "{alter}: {error:?}");
        }
        place.execute(undo).unwrap();
        drop(place.open());
    }
}

fn readers_make_nothing_and_cannot_write(place: &dyn Place) {
    for _ in 0..2 {
        let missing = place.try_open_existing().err().expect("refused");
        assert!(matches!(missing, StoreError::Unusable(_)), "{missing:?}");
    }
    let lease = place.open().acquire(LONG_MS).unwrap();
    let mut reader = place.try_open_existing().unwrap();
    let refused = reader.commit(lease, &first_batch()).unwrap_err();
    assert!(matches!(refused, StoreError::Unusable(_)), "{refused:?}");
    assert!(matches!(reader.acquire(1), Err(StoreError::Unusable(_))));
    assert_eq!(reader.head().unwrap(), Head::START);
}

pub(super) fn two_that_open_a_new_store_at_once_both_can(place: &dyn Place) {
    std::thread::scope(|scope| {
        let openers: Vec<_> = (0..4).map(|_| scope.spawn(|| place.open().head().unwrap())).collect();
        openers.into_iter().for_each(|opener| assert_eq!(opener.join().unwrap(), Head::START));
    });
}

fn what_is_owed_is_the_sum_and_a_payout_is_found_by_its_reference(place: &dyn Place) {
    let (mut store, lease) = open(place);
    let mut head = Head::START;
    let reference = |text: &str| -> Reference { text.parse().unwrap() };
    let mut batch = Batch { rows: rows(&mut head, 12), ..Batch::default() };
    // More than 64 bits hold.
    for entry in 1..=11 {
        batch.postings.push(posting(entry, entry, "a", Account::Member(id("a")), 1_000_000_000_000_000_000));
    }
    let paid_out = |number, name: &str, account, micros| Posting {
        cause: Cause::Payout(reference("bank, \"7\"")),
        ..posting(number, 12, name, account, micros)
    };
    batch.postings.push(paid_out(12, "a", Account::Member(id("a")), -5));
    batch.postings.push(paid_out(13, "a", Account::PaidOut, 5));
    store.commit(lease, &batch).unwrap();
    assert_eq!(store.postings(11, 9).unwrap(), batch.postings[11..]);
    assert_eq!(store.owed(&id("a")).unwrap(), 10_999_999_999_999_999_995);
    assert_eq!(store.owed(&id("b")).unwrap(), 0);
    let found = Recorded { entry: 12, micros: 5 };
    assert_eq!(store.payout(&id("a"), &reference("bank, \"7\"")).unwrap(), Some(found));
    assert_eq!(store.payout(&id("a"), &reference("bank")).unwrap(), None);
    assert_eq!(store.payout(&id("b"), &reference("bank, \"7\"")).unwrap(), None);
    // The same reference again, under another entry.
    let again = |name: &str| Posting { entry: 13, ..paid_out(14, name, Account::PaidOut, 5) };
    let next = rows(&mut head, 1);
    let twice = Batch { rows: next.clone(), postings: vec![again("a")], ..Batch::default() };
    check_nothing_written(store.as_mut(), lease, &twice, is_conflict);
    store.commit(lease, &Batch { rows: next, postings: vec![again("b")], ..Batch::default() }).unwrap();
}

fn a_store_from_before_payouts_is_brought_up_to_date_with_all_its_postings(place: &dyn Place) {
    place.execute(place.dialect().before_payouts).unwrap();
    let named = |error: StoreError| matches!(error, StoreError::Version { found: 1, expected: 2 });
    assert!(place.try_open_existing().err().is_some_and(named), "readers bring nothing up to date");
    let mut store = place.open();
    let kept: Vec<(u64, Cause, Account, i64)> =
        store.postings(0, 9).unwrap().into_iter().map(|it| (it.number, it.cause, it.account, it.micros)).collect();
    let cause = Cause::Round(RoundId(3));
    assert_eq!(kept, [(1, cause.clone(), Account::Treasury, -7), (2, cause, Account::Escrow, 7)]);
    drop(store);
    drop(place.try_open_existing().unwrap());
    let changed = place.execute(&format!("UPDATE {}postings SET micros = 8", place.dialect().schema)).unwrap_err();
    assert!(changed.contains("append-only"), "{changed}");
}

fn a_batch_without_entries_checks_the_lease_and_carries_no_replies(place: &dyn Place) {
    let (mut store, lease) = open(place);
    store.commit(lease, &Batch::default()).unwrap();
    let batch = Batch { replies: vec![reply("a", 1, RequestKind::Offer)], ..Batch::default() };
    check_nothing_written(store.as_mut(), lease, &batch, is_conflict);
    store.release(lease).unwrap();
    assert!(matches!(store.commit(lease, &Batch::default()), Err(StoreError::NotLeader(_))));
}

/// Extent, journal, postings, replies.
type All = (Extent, Vec<Row>, Vec<Posting>, Vec<StoredReply>);

/// All that a store keeps, of these members.
fn all_of(store: &mut dyn Store, members: &[&str]) -> All {
    let kinds = |member: &&str| RequestKind::ALL.map(|kind| (id(member), kind));
    let replies =
        members.iter().flat_map(kinds).flat_map(|(member, kind)| store.replies(&member, kind, RoundId(0)).unwrap());
    let replies = replies.collect();
    let (mut rows, mut postings) = (Vec::<Row>::new(), Vec::<Posting>::new());
    // A store may give less at once than it is asked for.
    loop {
        let more = store.rows(rows.len() as u64, 99_999).unwrap();
        let paid = store.postings(postings.len() as u64, 99_999).unwrap();
        if more.is_empty() && paid.is_empty() {
            return (store.extent().unwrap(), rows, postings, replies);
        }
        rows.extend(more);
        postings.extend(paid);
    }
}

/// Says which part differs, and not by how much: that is long.
fn check_same(store: &mut dyn Store, members: &[&str], expected: &All) {
    let got = all_of(store, members);
    assert!(got.0 == expected.0, "the extent: {:?} {:?}", got.0.head, expected.0.head);
    assert!(got.1 == expected.1, "the journal");
    assert!(got.2 == expected.2, "the postings");
    assert!(got.3 == expected.3, "the replies: {} {}", got.3.len(), expected.3.len());
}

fn a_copy_has_all_that_was_kept_and_is_right(place: &dyn Place) {
    let (mut played, other) = (Played::with_doubts(), File::create());
    let members = ["a", "b", "c"];
    let owed = |name: &&str| played.store().owed(&id(name)).unwrap();
    let creditor = members.into_iter().max_by_key(owed).unwrap();
    // More entries than are written at once.
    for number in 0..300 {
        played.pay_out(creditor, 1, &format!("bank {number}"));
    }
    let mut first = played.store();
    assert!(first.rows.len() > 600);
    let expected = all_of(&mut first, &members);
    assert!(!expected.2.is_empty() && !expected.3.is_empty() && expected.0.standing.is_some());
    let mut heard = Vec::new();
    let mut second = place.open();
    let end = copy(&mut first, second.as_mut(), |done, all| heard.push((done, all))).unwrap();
    assert_eq!(heard.last(), Some(&(end.number, end.number)));
    assert!(heard.len() > 2 && heard.is_sorted());
    check_same(second.as_mut(), &members, &expected);
    // Whoever comes next need not wait, and can write.
    let lease = second.acquire(LONG_MS).unwrap();
    assert!(matches!(copy(&mut first, second.as_mut(), |_, _| {}), Err(CopyError::NotEmpty(_))));
    second.release(lease).unwrap();
    let mut third = other.open();
    copy(place.location().open_frozen().unwrap().as_mut(), third.as_mut(), |_, _| {}).unwrap();
    check_same(third.as_mut(), &members, &expected);
    for store in [&mut second, &mut third] {
        let report = verify(store.as_mut(), &Trust::default()).unwrap();
        assert!(report.is_right(), "{report}");
    }
}

fn who_reads_one_moment_does_not_see_what_comes_after(place: &dyn Place) {
    assert!(place.location().open_frozen().is_err(), "there is nothing yet");
    let (mut store, lease) = open(place);
    let mut head = Head::START;
    store.commit(lease, &Batch { rows: rows(&mut head, 2), ..Batch::default() }).unwrap();
    let mut frozen = place.location().open_frozen().unwrap();
    store.commit(lease, &Batch { rows: rows(&mut head, 1), ..Batch::default() }).unwrap();
    assert_eq!((store.head().unwrap().number, frozen.head().unwrap().number), (3, 2));
    assert_eq!((frozen.rows(0, 9).unwrap().len(), frozen.extent().unwrap().head.number), (2, 2));
    assert!(frozen.acquire(1).is_err(), "to read only");
    drop(frozen);
    assert_eq!(place.location().open_frozen().unwrap().head().unwrap().number, 3);
}
