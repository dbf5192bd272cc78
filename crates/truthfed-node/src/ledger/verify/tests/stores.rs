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

fn written(place: &dyn Place, played: &Played) {
    let Memory { rows, postings, .. } = played.store();
    let mut store = place.open();
    let lease = store.acquire(0).unwrap();
    store.commit(lease, &Batch { rows, postings, ..Batch::default() }).unwrap();
}

fn check_tampered(place: &dyn Place, lift: &[&str], sql: &str, fault: Fault) {
    let played = Played::with_rounds();
    written(place, &played);
    let report = |place: &dyn Place| verify(place.try_open_existing().unwrap().as_mut(), &Trust::default()).unwrap();
    assert!(report(place).is_right());
    for guard in lift {
        place.execute(guard).unwrap();
    }
    place.execute(sql).unwrap();
    assert_eq!(report(place).problem.map(|problem| problem.fault), Some(fault));
}

#[test]
fn fraud_behind_the_back_of_a_file_is_found() {
    let lift =
        ["DROP TRIGGER postings_keeps_rows", "DROP TRIGGER journal_keeps_rows", "DROP TRIGGER journal_loses_none"];
    let sql = "UPDATE postings SET micros = micros * 2 WHERE account = 'member'";
    check_tampered(&File::create(), &lift, sql, Fault::Posting);
    let sql = "UPDATE journal SET body = replace(body, 'payment_micros\":', 'payment_micros\":1')";
    check_tampered(&File::create(), &lift, sql, Fault::BrokenChain);
    check_tampered(&File::create(), &lift, "DELETE FROM journal WHERE number = 9", Fault::MissingEntry);
}

#[test]
fn fraud_behind_the_back_of_a_database_is_found() {
    let lift =
        ["ALTER TABLE truthfed.postings DISABLE TRIGGER ALL", "ALTER TABLE truthfed.journal DISABLE TRIGGER ALL"];
    let sql = "UPDATE truthfed.postings SET micros = micros * 2 WHERE account = 'member'";
    check_tampered(&Database::create(), &lift, sql, Fault::Posting);
    check_tampered(&Database::create(), &lift, "DELETE FROM truthfed.journal WHERE number = 9", Fault::MissingEntry);
}
