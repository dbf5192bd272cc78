//! The same seed gives the same disk. Alone in its process: SQLite draws salts from one stream for all threads.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

#[path = "disk/database.rs"]
mod database;

use truthfed_proof::disk::{Disk, Fault, Plan, Statistics};

use crate::database::{check_whole, count, insert, open};

/// A disk after a life with many losses of power.
#[derive(Debug, PartialEq)]
struct Remains {
    files: Vec<(String, Vec<u8>)>,
    statistics: Statistics,
    steps: u64,
    reads: u64,
    rows: u64,
}

fn life(seed: u64) -> Remains {
    let disk = Disk::new(seed);
    for loss in 0..20 {
        disk.plan(Plan { after: 10 + loss * 7, fault: if loss % 3 == 0 { Fault::Crash } else { Fault::PowerLoss } });
        let journal = ["wal", "delete"][loss as usize / 10];
        let connection = open(&disk, journal, "normal");
        while connection.as_ref().is_ok_and(|connection| insert(connection, 2_000).is_ok()) {}
        disk.restart();
    }
    let connection = open(&disk, "delete", "normal").unwrap();
    check_whole(&connection);
    let (rows, files, statistics) = (count(&connection), disk.files(), disk.statistics());
    Remains { files, statistics, steps: disk.steps(), reads: disk.reads(), rows }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    for seed in 0..10 {
        let first = life(seed);
        assert!(first.rows > 50, "{}", first.rows);
        assert_eq!(first, life(seed));
        assert_ne!(first.files, life(seed + 10).files);
    }
}
