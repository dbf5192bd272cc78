//! The real stores on a disk that fails, fills up and loses power.
#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod agent;
mod agents;
mod coordinator;
mod life;

use std::ops::Range;

use truthfed_disk::Disk;

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
fn each(range: Range<u64>, check: impl Fn(u64)) {
    struct Now(u64);
    impl Drop for Now {
        #[expect(clippy::print_stdout, reason = "tests print where they failed")]
        fn drop(&mut self) {
            if std::thread::panicking() {
                println!("failed at {}", self.0);
            }
        }
    }
    for number in range {
        let _now = Now(number);
        check(number);
    }
}
