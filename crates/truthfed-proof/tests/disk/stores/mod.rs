//! The real stores on a disk that fails, fills up and loses power.

mod agent;
mod coordinator;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use truthfed_proof::disk::{Disk, Fault, Lasts, Operation, Plan};

/// Both kinds of disks, in turn.
fn disk(seed: u64) -> Disk {
    if seed.is_multiple_of(2) { Disk::new(seed) } else { Disk::powersafe(seed) }
}

/// Ends everything, in one way or the other.
fn fall(disk: &Disk) {
    match disk.steps() % 2 {
        0 => disk.crash(),
        _ => disk.lose_power(),
    }
}

/// Tries all of these, and says at which it failed.
#[expect(clippy::print_stdout, reason = "tests print where they failed")]
fn each(range: Range<u64>, mut check: impl FnMut(u64)) {
    for number in range {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| check(number))) {
            println!("failed at {number}");
            resume_unwind(panic);
        }
    }
}

/// Opens a file with a failure at each step in turn: what opens all the same has a write-ahead log, by byte 18 of its
/// header. Commits to any other journal are not synced whole.
fn check_opens_with_a_log_or_not_at_all(file: &str, is_opened: impl Fn(&Disk) -> bool) {
    let mut refused = 0;
    each(0..60, |after| {
        let disk = disk(after);
        disk.plan(Plan { after: after / 2, fault: Fault::Failure(Operation::Any, Lasts::Once) });
        if is_opened(&disk) {
            let (_, bytes) = disk.files().into_iter().find(|(name, _)| name == file).unwrap();
            assert_eq!(bytes[18], 2, "{file}");
        } else {
            refused += 1;
        }
    });
    assert!(refused > 20, "{refused} refused");
}
