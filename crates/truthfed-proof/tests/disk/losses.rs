//! What a loss of power does to databases: it proves that the disk can fail them.

use truthfed_proof::disk::{Disk, Fault, Plan, Statistics};

use super::database::{check_whole, count, insert, open};

/// Losses of power for each way to keep a database.
const LOSSES: u64 = 1_000;

/// What became of commits that were acknowledged.
#[derive(Debug, Default)]
struct Outcome {
    acknowledged: u64,
    lost: u64,
    statistics: Vec<Statistics>,
}

/// Loses the power at all kinds of moments, and checks that the database is whole each time.
fn losses(journal: &str, synchronous: &str, disk: fn(u64) -> Disk) -> Outcome {
    let mut outcome = Outcome::default();
    for seed in 0..LOSSES / 10 {
        let disk = disk(seed);
        let mut rows = 0;
        for loss in 0..10 {
            disk.plan(Plan { after: (seed * 37 + loss * 11) % 150, fault: Fault::PowerLoss });
            // The last is in doubt.
            let mut acknowledged = 0;
            if let Ok(connection) = open(&disk, journal, synchronous) {
                let sizes = (0..).map(|row| [10, 3_000, 30_000][row % 3]);
                acknowledged = sizes.take_while(|size| insert(&connection, *size).is_ok()).count() as u64;
            }
            assert!(disk.is_off());
            disk.restart();
            let connection = open(&disk, journal, synchronous).unwrap();
            check_whole(&connection);
            let found = count(&connection);
            assert!(found <= rows + acknowledged + 1, "{journal} {synchronous}, seed {seed}, loss {loss}");
            outcome.acknowledged += acknowledged;
            outcome.lost += (rows + acknowledged).saturating_sub(found);
            rows = found;
        }
        outcome.statistics.push(disk.statistics());
    }
    outcome
}

fn check_nothing_lost(journal: &str, synchronous: &str) {
    for disk in [Disk::new, Disk::powersafe] {
        let outcome = losses(journal, synchronous, disk);
        assert!(outcome.acknowledged > 1_000, "{}", outcome.acknowledged);
        assert_eq!(outcome.lost, 0, "{journal} {synchronous}");
    }
}

fn check_something_lost(journal: &str, synchronous: &str) {
    for disk in [Disk::new, Disk::powersafe] {
        let Outcome { acknowledged, lost, .. } = losses(journal, synchronous, disk);
        assert!(lost > 50, "{journal} {synchronous}: {lost} of {acknowledged}");
    }
}

#[test]
fn a_write_ahead_log_that_is_synced_at_every_commit_loses_nothing() {
    check_nothing_lost("wal", "full");
}

#[test]
fn a_write_ahead_log_that_is_synced_now_and_then_loses_commits_but_stays_whole() {
    check_something_lost("wal", "normal");
}

#[test]
fn a_rollback_journal_loses_nothing_if_its_deletion_is_synced_too() {
    check_nothing_lost("delete", "extra");
    check_nothing_lost("persist", "full");
}

/// SQLite says so: it comes back, and undoes what was committed.
#[test]
fn a_rollback_journal_whose_deletion_is_not_synced_loses_commits_but_stays_whole() {
    check_something_lost("delete", "full");
}

#[test]
fn changes_are_kept_dropped_and_torn() {
    let sum = losses("wal", "normal", Disk::new).statistics.into_iter().fold([0; 5], |sum, s| {
        let Statistics { losses, syncs, kept, dropped, torn } = s;
        [sum[0] + losses, sum[1] + syncs, sum[2] + kept, sum[3] + dropped, sum[4] + torn]
    });
    assert_eq!(sum[0], LOSSES);
    assert!(sum[1..].iter().all(|count| *count > 1_000), "{sum:?}");
}
