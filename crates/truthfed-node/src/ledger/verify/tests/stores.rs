//! Stores that cannot be read, and that were changed behind our back.

use super::*;
use crate::store::Batch;
use crate::testing::{Database, Fate, File, Forwarding, Place, Step};

/// A store whose rows can be read only up to some entry.
fn torn(entries: &[Entry], end: u64) -> Forwarding<Memory> {
    Forwarding::with(Memory::of(entries), move |step| match step {
        Step::Rows(after, _) if after >= end => Fate::Fail(StoreError::Damaged("torn".to_owned())),
        Step::Rows(after, most) => {
            *most = (*most).min((end - after) as usize);
            Fate::Pass
        }
        _ => Fate::Pass,
    })
}

#[test]
fn a_store_that_cannot_be_read_to_its_end_tells_so_after_the_fraud_before() {
    let played = Played::with_rounds();
    let mut entries = played.entries.clone();
    let forged = position(&entries, 2, is_offer);
    offer_of(&mut entries[forged]).signature.0[7] ^= 1;
    let entries = played.federation.sign_again(&entries);
    for after in 0..entries.len() as u64 {
        match verify(&mut torn(&entries, after), &Trust::default()) {
            Ok(report) => {
                assert!(after > forged as u64, "{report}");
                assert_eq!(report.problem.unwrap().entry, forged as u64 + 1);
            }
            Err(error) => assert!(after <= forged as u64, "{error}: {after} {forged}"),
        }
    }
}

/// Writes all that an engine wrote into a place.
pub(super) fn write(place: &dyn Place, played: &Played) {
    let Memory { rows, replies, postings, standing, .. } = played.store();
    let mut store = place.open();
    let lease = store.acquire(0).unwrap();
    store.commit(lease, &Batch { rows, replies, postings, standing }).unwrap();
}

/// What is found after somebody lifted the guards of a table, changed it, and put the guards back.
fn check_tampered(place: &dyn Place, (lift, back): (&str, &str), sql: &str, fault: Fault) {
    let played = Played::with_rounds();
    write(place, &played);
    let report = |place: &dyn Place| verify(place.try_open_existing().unwrap().as_mut(), &Trust::default()).unwrap();
    assert!(report(place).is_right());
    for sql in [lift, sql, back] {
        place.execute(sql).unwrap();
    }
    assert_eq!(report(place).problem.map(|problem| problem.fault), Some(fault));
}

#[test]
fn fraud_behind_the_back_of_a_file_is_found() {
    // All triggers of a migration, one on each line.
    let migration = include_str!("../../../../migrations/sqlite/0001_journal.sql");
    let back: String = migration.lines().filter(|line| line.starts_with("CREATE TRIGGER")).collect();
    let names = back.split("CREATE TRIGGER ").filter_map(|rest| rest.split(' ').next()).filter(|it| !it.is_empty());
    let lift: String = names.map(|name| format!("DROP TRIGGER {name};")).collect();
    let guards = (lift.as_str(), back.as_str());
    let sql = "UPDATE postings SET micros = micros * 2 WHERE account = 'member'";
    check_tampered(&File::create(), guards, sql, Fault::Posting);
    let sql = "UPDATE journal SET body = replace(body, 'payment_micros\":', 'payment_micros\":1')";
    check_tampered(&File::create(), guards, sql, Fault::BrokenChain);
    check_tampered(&File::create(), guards, "DELETE FROM journal WHERE number = 9", Fault::MissingEntry);
    let sql = "UPDATE replies SET body = replace(body, 'payment_micros\":', 'payment_micros\":1')";
    check_tampered(&File::create(), guards, sql, Fault::Reply);
    check_tampered(&File::create(), guards, "DELETE FROM replies WHERE round = 3", Fault::Reply);
}

#[test]
fn fraud_behind_the_back_of_a_database_is_found() {
    let guards = |change: &str| {
        ["postings", "journal", "replies"]
            .map(|table| format!("ALTER TABLE truthfed.{table} {change} TRIGGER ALL;"))
            .concat()
    };
    let (lift, back) = (guards("DISABLE"), guards("ENABLE"));
    let guards = (lift.as_str(), back.as_str());
    let sql = "UPDATE truthfed.postings SET micros = micros * 2 WHERE account = 'member'";
    check_tampered(&Database::create(), guards, sql, Fault::Posting);
    check_tampered(&Database::create(), guards, "DELETE FROM truthfed.journal WHERE number = 9", Fault::MissingEntry);
    let sql = "UPDATE truthfed.replies SET body = replace(body, 'payment_micros\":', 'payment_micros\":1')";
    check_tampered(&Database::create(), guards, sql, Fault::Reply);
    check_tampered(&Database::create(), guards, "DELETE FROM truthfed.replies WHERE round = 3", Fault::Reply);
}
