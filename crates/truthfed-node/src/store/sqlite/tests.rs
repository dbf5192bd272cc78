//! What only files can suffer.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::journal::Entry;
use crate::testing::{File, Place};

fn batch(head: &mut Head, size: usize) -> Batch {
    let row = head.append(&Entry::Aborted {
        round: RoundId(1),
        reason: "x".repeat(size),
        at_ms: truthfed::protocol::Time(0),
        by_operator: false,
    });
    Batch { rows: vec![row], ..Batch::default() }
}

fn written() -> File {
    let (file, mut store, lease) = leased();
    let mut head = Head::START;
    for _ in 0..20 {
        store.commit(lease, &batch(&mut head, 5_000)).unwrap();
    }
    file
}

/// A store of a new file, with a lease.
fn leased() -> (File, Sqlite, Lease) {
    let file = File::create();
    let mut store = Sqlite::open(Path::new(file.address())).unwrap();
    let lease = store.acquire(0).unwrap();
    (file, store, lease)
}

/// Opens a file that was tampered with, and follows all of its journal.
fn read_all(opened: Result<Box<dyn Store>, StoreError>) -> Result<(), StoreError> {
    let mut head = Head::START;
    for row in opened?.rows(0, usize::MAX)? {
        head.follow(&row)?;
    }
    Ok(())
}

fn check_found(change: impl FnOnce(&mut Vec<u8>), expected: fn(&StoreError) -> bool) {
    let file = written();
    let mut bytes = std::fs::read(file.address()).unwrap();
    change(&mut bytes);
    std::fs::write(file.address(), bytes).unwrap();
    for opened in [file.try_open_existing(), file.try_open()] {
        let error = read_all(opened).unwrap_err();
        assert!(expected(&error), "{error:?}");
    }
}

/// The change to a log and the look at the tables fall into each other's way only now and then.
#[test]
fn those_that_make_files_at_once_all_can() {
    for _ in 0..100 {
        crate::store::suite::two_that_open_a_new_store_at_once_both_can(&File::create());
    }
}

#[test]
fn a_truncated_file_and_garbage_are_damaged() {
    let changes: [fn(&mut Vec<u8>); 6] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.truncate(bytes.len() - 4096),
        |bytes| bytes.truncate(50),
        |bytes| bytes.fill(0x5a),
        |bytes| bytes[..16].fill(b'x'),
        |bytes| bytes[4096..].fill(0xff),
    ];
    for change in changes {
        check_found(change, |error| matches!(error, StoreError::Damaged(_)));
    }
}

/// SQLite itself does not notice.
#[test]
fn a_changed_byte_breaks_the_chain() {
    let change = |bytes: &mut Vec<u8>| {
        // Wherever it stands: pages keep remnants of what was moved.
        bytes.chunks_exact_mut(8).filter(|bytes| **bytes == *b"xxxxxxxx").for_each(|bytes| bytes[0] = b'y');
    };
    check_found(change, |error| matches!(error, StoreError::Journal(_)));
}

#[test]
fn the_file_of_another_program_is_left_alone() {
    let file = File::create();
    file.execute("CREATE TABLE theirs (a); PRAGMA user_version = 1").unwrap();
    let before = std::fs::read(file.address()).unwrap();
    assert!(matches!(file.try_open(), Err(StoreError::Unusable(_))));
    assert_eq!(std::fs::read(file.address()).unwrap(), before);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = Sqlite::open(Path::new("no/such/folder/ledger.db")).unwrap_err();
    assert!(error.to_string().contains("no/such/folder/ledger.db"), "{error}");
}

#[test]
fn a_new_file_and_those_beside_it_are_for_their_owner_only() {
    let file = File::create();
    let mut store = file.open();
    store.acquire(1).unwrap();
    for name in [file.address().to_owned(), format!("{}-wal", file.address()), format!("{}-shm", file.address())] {
        let mode = std::fs::metadata(&name).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn every_commit_is_synced() {
    let store = Sqlite::open(Path::new(File::create().address())).unwrap();
    let pragma = |name: &str| store.connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((pragma("synchronous"), pragma("foreign_keys")), (2, 1));
    let mode: String = store.connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn a_full_store_takes_nothing_of_a_batch_and_goes_on_when_there_is_room() {
    let (_file, mut store, lease) = leased();
    let mut head = Head::START;
    store.commit(lease, &batch(&mut head, 10)).unwrap();
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let limit = |store: &Sqlite, pages: i64| {
        store.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    };
    limit(&store, pages);
    let before = store.head().unwrap();
    let mut large = batch(&mut head, 10);
    large.rows.extend(batch(&mut head, 1_000_000).rows);
    assert!(matches!(store.commit(lease, &large), Err(StoreError::Full)));
    assert_eq!(store.head().unwrap(), before);
    assert_eq!(store.rows(0, 10).unwrap().len(), 1);
    limit(&store, 1_000_000);
    store.commit(lease, &large).unwrap();
    assert_eq!(store.head().unwrap(), head);
}

#[test]
fn a_batch_in_doubt_that_was_written_is_not_written_again() {
    let (_file, mut store, lease) = leased();
    let mut head = Head::START;
    let first = batch(&mut head, 10);
    store.commit(lease, &first).unwrap();
    store.in_doubt = first.end();
    store.commit(lease, &first).unwrap();
    assert_eq!(store.head().unwrap(), head);
    // No longer in doubt.
    assert!(matches!(store.commit(lease, &first), Err(StoreError::OutOfOrder { .. })));
    let second = batch(&mut head, 10);
    store.in_doubt = second.end();
    store.commit(lease, &second).unwrap();
    assert_eq!(store.head().unwrap(), head);
}

#[test]
fn a_lease_ends_with_its_holder_and_not_with_anybody_else() {
    let file = File::create();
    let (mut first, mut second) = (file.open(), file.open());
    let lease = first.acquire(600_000).unwrap();
    assert!(matches!(second.acquire(600_000), Err(StoreError::Held)), "its holder lives");
    drop(file.open());
    assert!(matches!(second.acquire(600_000), Err(StoreError::Held)), "somebody else went");
    drop(first);
    let taken = second.acquire(600_000).unwrap();
    assert!(taken.epoch > lease.epoch);
    let mut third = file.open();
    assert!(matches!(third.acquire(600_000), Err(StoreError::Held)));
    second.release(taken).unwrap();
    assert!(third.acquire(600_000).unwrap().epoch > taken.epoch);
}

#[test]
fn whoever_took_over_from_one_that_was_not_heard_of_is_not_taken_for_gone_when_that_one_goes() {
    let file = File::create();
    let (mut unheard, mut heir) = (file.open(), file.open());
    unheard.acquire(0).unwrap();
    let lease = heir.acquire(600_000).unwrap();
    drop(unheard);
    heir.renew(lease, 600_000).unwrap();
    assert!(matches!(file.open().acquire(600_000), Err(StoreError::Held)));
}
