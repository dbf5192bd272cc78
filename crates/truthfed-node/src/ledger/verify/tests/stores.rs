//! Stores that cannot be read, and that were changed behind our back.

use truthfed::auction::ClientId;

use super::*;
use crate::store::{Batch, Lease, RequestKey, RequestKind, StandingRow, StoredReply};
use crate::testing::{Database, File, Place};

/// A store whose rows can be read up to some entry only.
struct Torn {
    memory: Memory,
    after: u64,
}

impl Store for Torn {
    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        match after < self.after {
            true => self.memory.rows(after, most.min((self.after - after) as usize)),
            false => Err(StoreError::Damaged("torn".to_owned())),
        }
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        self.memory.head()
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        self.memory.postings(after, most)
    }

    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError> {
        self.memory.acquire(lease_ms)
    }

    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError> {
        self.memory.renew(lease, lease_ms)
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.memory.release(lease)
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        self.memory.commit(lease, batch)
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        self.memory.standing()
    }

    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        self.memory.reply(key)
    }

    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        self.memory.replies(member, kind, after)
    }
}

#[test]
fn a_store_that_cannot_be_read_to_its_end_tells_so_after_the_fraud_before() {
    let federation = Federation::with_rounds();
    let mut entries = federation.entries.clone();
    let forged = position(&entries, 2, is_offer);
    offer_of(&mut entries[forged]).signature.0[7] ^= 1;
    let entries = federation.sign_again(&entries);
    for after in 0..entries.len() as u64 {
        match verify(&mut Torn { memory: Memory::of(&entries), after }, &Trust::default()) {
            Ok(report) => {
                assert!(after > forged as u64, "{report}");
                assert_eq!(report.problem.unwrap().entry, forged as u64 + 1);
            }
            Err(error) => assert!(after <= forged as u64, "{error}: {after} {forged}"),
        }
    }
}

/// Writes a journal into a real store.
fn written(place: &dyn Place, federation: &Federation) {
    let Memory { rows, postings } = federation.store();
    let mut store = place.open();
    let lease = store.acquire(0).unwrap();
    store.commit(lease, &Batch { rows, postings, ..Batch::default() }).unwrap();
}

fn check_tampered(place: &dyn Place, lift: &[&str], sql: &str, fault: Fault) {
    let federation = Federation::with_rounds();
    written(place, &federation);
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
    check_tampered(&File::new(), &lift, sql, Fault::Posting);
    let sql = "UPDATE journal SET body = replace(body, 'payment_micros\":', 'payment_micros\":1')";
    check_tampered(&File::new(), &lift, sql, Fault::BrokenChain);
    check_tampered(&File::new(), &lift, "DELETE FROM journal WHERE number = 9", Fault::MissingEntry);
}

#[test]
fn fraud_behind_the_back_of_a_database_is_found() {
    let lift =
        ["ALTER TABLE truthfed.postings DISABLE TRIGGER ALL", "ALTER TABLE truthfed.journal DISABLE TRIGGER ALL"];
    let sql = "UPDATE truthfed.postings SET micros = micros * 2 WHERE account = 'member'";
    check_tampered(&Database::new(), &lift, sql, Fault::Posting);
    check_tampered(&Database::new(), &lift, "DELETE FROM truthfed.journal WHERE number = 9", Fault::MissingEntry);
}
