//! What SQLite finds on a disk.

use rusqlite::ErrorCode;
use truthfed_proof::disk::{Disk, Fault, Lasts, Operation, Plan};

use super::database::{check_whole, count, insert, open};

#[test]
fn what_was_written_outlives_a_crash_and_open_connections_do_not() {
    for (journal, locking) in [("wal", "normal"), ("wal", "exclusive"), ("delete", "normal"), ("delete", "exclusive")] {
        let disk = Disk::new(1);
        let dead = open(&disk, journal, "normal").unwrap();
        dead.pragma_update(None, "locking_mode", locking).unwrap();
        insert(&dead, 10).unwrap();
        disk.crash();
        assert!(insert(&dead, 10).is_err());
        let alive = open(&disk, journal, "normal").unwrap();
        assert_eq!(count(&alive), 1);
        alive.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(insert(&dead, 10).is_err());
        insert(&alive, 10).unwrap();
        drop(dead);
        alive.execute_batch("COMMIT").unwrap();
        assert_eq!(count(&alive), 2);
        check_whole(&alive);
    }
}

#[test]
fn several_connections_see_each_others_commits_and_write_one_at_a_time() {
    for journal in ["wal", "delete"] {
        let disk = Disk::new(1);
        let (one, two) = (open(&disk, journal, "full").unwrap(), open(&disk, journal, "full").unwrap());
        for _ in 0..200 {
            insert(&one, 5000).unwrap();
            insert(&two, 5000).unwrap();
            assert_eq!(count(&one), count(&two));
        }
        one.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(insert(&two, 10).unwrap_err().sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
        one.execute_batch("COMMIT").unwrap();
        assert_eq!(count(&two), 400);
        insert(&two, 10).unwrap();
        check_whole(&one);
    }
}

#[test]
fn threads_share_a_disk() {
    let disk = Disk::new(1);
    drop(open(&disk, "wal", "full").unwrap());
    let write = || {
        let connection = open(&disk, "wal", "full").unwrap();
        // Waiting takes no time on this disk, but others have their turn.
        connection.busy_timeout(std::time::Duration::from_secs(1_000_000)).unwrap();
        (0..50).for_each(|_| insert(&connection, 3000).unwrap());
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(write))));
    let connection = open(&disk, "wal", "full").unwrap();
    assert_eq!(count(&connection), 200);
    check_whole(&connection);
}

#[test]
fn the_clock_is_the_disks_and_waiting_moves_it() {
    let disk = Disk::new(1);
    let connection = open(&disk, "delete", "full").unwrap();
    let now = || -> f64 { connection.query_row("SELECT unixepoch('subsec')", [], |row| row.get(0)).unwrap() };
    disk.set_clock_ms(1_234_567_890_123);
    assert_eq!(now(), 1_234_567_890.123);
    assert_eq!(disk.clock_ms(), 1_234_567_890_123);
    let other = open(&disk, "delete", "full").unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    insert(&connection, 1).unwrap_err();
    assert!((1_234_567_895_000..1_234_567_895_200).contains(&disk.clock_ms()), "{}", disk.clock_ms());
}

#[test]
fn what_does_not_fit_is_refused_until_there_is_room() {
    for (journal, is_planned) in [("wal", false), ("wal", true), ("delete", false), ("delete", true)] {
        let disk = Disk::new(1);
        let connection = open(&disk, journal, "full").unwrap();
        insert(&connection, 10).unwrap();
        match is_planned {
            true => disk.plan(Plan { after: 2, fault: Fault::Full(Lasts::ForEver) }),
            false => disk.set_capacity(Some(disk.used() + 20_000)),
        }
        for _ in 0..3 {
            let error = insert(&connection, 100_000).unwrap_err();
            assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
            assert_eq!(count(&connection), 1);
        }
        disk.set_capacity(None);
        insert(&connection, 100_000).unwrap();
        check_whole(&connection);
    }
}

#[test]
fn what_fails_once_works_the_next_time() {
    for operation in [Operation::Read, Operation::Write, Operation::Change, Operation::Sync] {
        let disk = Disk::new(1);
        let connection = open(&disk, "delete", "full").unwrap();
        let write = || connection.execute("INSERT INTO rows (body) VALUES (1)", []);
        write().unwrap();
        // Nothing is remembered: it has to be read.
        connection.pragma_update(None, "cache_size", 0).unwrap();
        disk.plan(Plan { after: 0, fault: Fault::Failure(operation, Lasts::Once) });
        let error = write().unwrap_err();
        let expected = if operation == Operation::Change { ErrorCode::CannotOpen } else { ErrorCode::SystemIoFailure };
        assert_eq!(error.sqlite_error_code(), Some(expected), "{operation:?}");
        write().unwrap();
        assert_eq!(count(&connection), 2);
    }
}

#[test]
fn what_fails_for_ever_is_mended_at_last() {
    let disk = Disk::new(1);
    let connection = open(&disk, "wal", "full").unwrap();
    disk.plan(Plan { after: 3, fault: Fault::Failure(Operation::Any, Lasts::ForEver) });
    (0..3).for_each(|_| drop(insert(&connection, 10).unwrap_err()));
    disk.mend();
    insert(&connection, 10).unwrap();
    assert_eq!(count(&connection), 1);
    check_whole(&connection);
}

#[test]
fn after_a_planned_crash_everything_fails_until_the_restart() {
    for fault in [Fault::Crash, Fault::PowerLoss] {
        let disk = Disk::new(1);
        let connection = open(&disk, "wal", "full").unwrap();
        let steps = disk.steps();
        disk.plan(Plan { after: 2, fault });
        insert(&connection, 10).unwrap_err();
        assert_eq!((disk.steps(), disk.is_off()), (steps + 3, true));
        open(&disk, "wal", "full").unwrap_err();
        disk.restart();
        assert!(!disk.is_off());
        insert(&connection, 10).unwrap_err();
        insert(&open(&disk, "wal", "full").unwrap(), 10).unwrap();
    }
}

#[test]
fn temporary_files_are_gone_when_they_are_closed() {
    let disk = Disk::new(1);
    let connection = open(&disk, "wal", "full").unwrap();
    connection.execute_batch("CREATE TEMP TABLE large (body); PRAGMA temp.cache_size = 10; BEGIN").unwrap();
    let used = disk.used();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
               INSERT INTO large SELECT randomblob(1000) FROM n";
    connection.execute(sql, []).unwrap();
    assert!(disk.used() > used + 500_000);
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    assert_eq!(disk.files().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["test.db"]);
    assert_eq!(disk.used(), disk.files()[0].1.len() as u64);
}

#[test]
fn a_name_is_used_again_once_nobody_needs_it_and_opens_no_other_disk() {
    let disks: Vec<Disk> = (0..5_000)
        .map(|seed| {
            let disk = Disk::new(seed);
            (0..3).for_each(|_| disk.crash());
            disk
        })
        .skip(4_990)
        .collect();
    let number = |disk: &Disk| disk.vfs().rsplit('-').next().unwrap().parse::<u64>().unwrap();
    assert!(disks.iter().map(number).max().unwrap() < 200);
    let (mine, other) = (&disks[0], &disks[1]);
    let flags = rusqlite::OpenFlags::default();
    let wrong = rusqlite::Connection::open_with_flags_and_vfs(mine.path("test.db"), flags, other.vfs().as_str());
    assert_eq!(wrong.unwrap_err().sqlite_error_code(), Some(ErrorCode::CannotOpen));
}
