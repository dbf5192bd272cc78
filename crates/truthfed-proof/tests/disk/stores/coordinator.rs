//! What a coordinator's store keeps, whatever the disk does.

use truthfed_node::store::{Batch, Sqlite, Store, StoreError};
use truthfed_proof::disk::Operation::{Any, Read, Sync};
use truthfed_proof::disk::{Disk, Fault, Lasts, Plan};

use super::life::Action::{self, Checkpoint, Commit, Renew, Start, Stop};
use super::life::Life;
use super::{check_opens_with_a_log_or_not_at_all, disk, each, fall};

/// Short enough to go wrong at every step.
const SHORT: &[Action] = &[
    Start,
    Commit(10),
    Commit(3_000),
    Renew,
    Commit(30_000),
    Checkpoint,
    Commit(10),
    Commit(9_000),
    Stop,
    Start,
    Commit(10),
    Checkpoint,
    Commit(100),
    // Another takes over.
    Start,
    Commit(5_000),
    Commit(10),
    Stop,
];
/// Long enough that SQLite moves the write-ahead log into the file by itself, and begins it anew, several times.
const LONG: &[Action] = &[
    Start,
    Commit(10),
    Commit(3_000_000),
    Commit(2_000_000),
    Commit(10),
    Renew,
    Commit(100_000),
    Commit(4_000_000),
    Commit(10),
    Commit(5_000_000),
    Commit(10),
    Stop,
];

/// Follows a script until something goes wrong. What did, and the batch whose answer did not come.
fn follow(life: &mut Life, script: &[Action]) -> Option<(StoreError, Option<Batch>)> {
    for action in script {
        let batch = if let Commit(size) = action { Some(life.batch(*size)) } else { None };
        if let Err(error) = life.act(*action) {
            return Some((error, batch));
        }
    }
    None
}

/// Follows a script to its end, whatever goes wrong on the way.
fn follow_through(life: &mut Life, script: &[Action], mut on_error: impl FnMut(&mut Life, StoreError)) {
    for action in script {
        for attempt in 0.. {
            assert!(attempt < 4, "{action:?} never succeeds");
            match life.act(*action) {
                Ok(()) => break,
                Err(error) => on_error(life, error),
            }
        }
    }
    let commits = script.iter().filter(|action| matches!(action, Commit(_)));
    assert_eq!(life.kept.len(), commits.count());
}

/// Takes up what is there after a crash or loss of power, and goes on.
fn check_goes_on(life: &mut Life, doubtful: Option<Batch>) {
    life.die();
    life.disk.mend();
    life.disk.set_capacity(None);
    let mut store = life.open().unwrap();
    life.check(&mut store, doubtful);
    drop(store);
    life.act(Start).unwrap();
    life.act(Commit(2_000)).unwrap();
    life.disk.lose_power();
    life.die();
    let mut store = life.open().unwrap();
    life.check(&mut store, None);
}

/// Steps and reads of a script when nothing goes wrong.
fn length(script: &[Action], disk: Disk) -> (u64, u64) {
    let mut life = Life::new(disk);
    assert!(follow(&mut life, script).is_none());
    (life.disk.steps(), life.disk.reads())
}

fn check_loss(script: &[Action], disk: Disk, after: u64) {
    let mut life = Life::new(disk);
    life.disk.plan(Plan { after, fault: Fault::PowerLoss });
    let doubtful = follow(&mut life, script).and_then(|(_, doubtful)| doubtful);
    life.die();
    assert!(life.disk.is_off());
    life.disk.restart();
    check_goes_on(&mut life, doubtful);
}

#[test]
fn the_power_may_be_lost_at_every_step() {
    each(0..2, |seed| {
        let (steps, _) = length(SHORT, disk(seed));
        each(0..steps, |step| check_loss(SHORT, disk(2 * step + seed), step));
    });
}

#[test]
fn the_power_may_be_lost_while_the_log_is_moved_into_the_file() {
    let steps = length(LONG, disk(0)).0.min(length(LONG, disk(1)).0);
    each(0..50, |seed| check_loss(LONG, disk(seed), (seed * 7_919) % steps));
}

/// The power is lost many times in one life, now and then while the store recovers from the time before.
#[test]
fn the_power_may_be_lost_again_and_again() {
    each(0..30, |seed| {
        let mut life = Life::new(disk(seed));
        for loss in 0..25 {
            life.disk.plan(Plan { after: (seed * 31 + loss * 17) % 97, fault: Fault::PowerLoss });
            let doubtful = follow(&mut life, SHORT).and_then(|(_, doubtful)| doubtful);
            life.die();
            assert!(life.disk.is_off());
            life.disk.restart();
            let mut store = life.open().unwrap();
            life.check(&mut store, doubtful);
        }
    });
}

#[test]
fn a_store_that_is_full_reads_on_and_goes_on_when_there_is_room() {
    each(0..2, |seed| {
        let (steps, _) = length(SHORT, disk(seed));
        for lasts in [Lasts::Once, Lasts::ForEver] {
            each(0..steps, |step| check_full(disk(2 * step + seed), step, lasts));
        }
    });
}

fn check_full(disk: Disk, after: u64, lasts: Lasts) {
    let mut life = Life::new(disk);
    life.disk.plan(Plan { after, fault: Fault::Full(lasts) });
    follow_through(&mut life, SHORT, |life, error| {
        assert!(matches!(error, StoreError::Full), "{error:?}");
        life.check_open();
        life.disk.set_capacity(None);
    });
    check_goes_on(&mut life, None);
}

/// But on a disk without safe overwrites, where SQLite writes more after the end of a commit: it may be full only then.
#[test]
fn what_did_not_fit_is_not_there_after_a_fall() {
    let (steps, _) = length(SHORT, disk(1));
    each(0..steps, |step| {
        let mut life = Life::new(disk(2 * step + 1));
        life.disk.plan(Plan { after: step, fault: Fault::Full(Lasts::ForEver) });
        follow(&mut life, SHORT);
        fall(&life.disk);
        check_goes_on(&mut life, None);
    });
}

#[test]
fn a_failure_that_passes_changes_nothing() {
    each(0..2, |seed| {
        let (steps, reads) = length(SHORT, disk(seed));
        for (operation, moments) in [(Any, steps), (Read, reads)] {
            each(0..moments, |moment| {
                let mut life = Life::new(disk(2 * moment + seed));
                life.disk.plan(Plan { after: moment, fault: Fault::Failure(operation, Lasts::Once) });
                follow_through(&mut life, SHORT, |life, error| match error {
                    StoreError::InDoubt(_) => {}
                    _ => life.check_open(),
                });
                check_goes_on(&mut life, None);
            });
        }
    });
}

#[test]
fn a_failure_that_lasts_is_never_a_yes_and_a_restart_recovers() {
    each(0..2, |seed| {
        let (steps, reads) = length(SHORT, disk(seed));
        for (operation, moments) in [(Any, steps), (Sync, steps), (Read, reads)] {
            each(0..moments, |moment| {
                let mut life = Life::new(disk(2 * moment + seed));
                life.disk.plan(Plan { after: moment, fault: Fault::Failure(operation, Lasts::ForEver) });
                check_failed(&mut life);
            });
        }
    });
}

/// Whatever the store said no to is not there after a crash or loss of power, unless it said that it does not know.
fn check_failed(life: &mut Life) {
    let doubtful = match follow(life, SHORT) {
        Some((StoreError::InDoubt(_), batch)) => batch,
        Some((error, _)) => {
            assert!(matches!(error, StoreError::Unavailable(_) | StoreError::Unusable(_)), "{error:?}");
            None
        }
        None => None,
    };
    fall(&life.disk);
    check_goes_on(life, doubtful);
}

/// A query that returns what it changed did not say that the change could not be committed.
#[test]
fn an_epoch_that_could_not_be_written_is_not_granted() {
    each(0..20, |after| {
        let disk = disk(after);
        let path = disk.path("ledger.db");
        let mut stores = [(); 2].map(|()| Sqlite::open_on(&path, &disk.vfs()).unwrap());
        disk.plan(Plan { after, fault: Fault::Failure(Any, Lasts::Once) });
        let mut epochs = Vec::new();
        for turn in 0..10 {
            disk.set_clock_ms(disk.clock_ms() + 1_000);
            epochs.extend(stores[turn % 2].acquire(1_000).ok().map(|lease| lease.epoch));
        }
        assert!(epochs.len() >= 9 && epochs.is_sorted_by(|a, b| a < b), "{epochs:?}");
    });
}

/// What may lie on the disk since the first try was said not to be written when the second failed in another way.
#[test]
fn a_batch_in_doubt_stays_in_doubt_until_it_is_written() {
    each(0..4, |seed| {
        let mut life = Life::new(disk(seed));
        follow(&mut life, &[Start, Commit(10)]);
        life.disk.plan(Plan { after: 0, fault: Fault::Failure(Sync, Lasts::Once) });
        let in_doubt = |life: &mut Life| {
            let error = life.act(Commit(20_000)).unwrap_err();
            assert!(matches!(error, StoreError::InDoubt(_)), "{error:?}");
        };
        in_doubt(&mut life);
        let fault = [Fault::Failure(Read, Lasts::Once), Fault::Full(Lasts::Once)][seed as usize / 2];
        life.disk.plan(Plan { after: 0, fault });
        in_doubt(&mut life);
        life.act(Commit(20_000)).unwrap();
        life.check_open();
    });
}

/// SQLite said that the log was in use, and failed only then to write that it is.
#[test]
fn a_file_whose_change_to_a_log_failed_is_not_opened() {
    check_opens_with_a_log_or_not_at_all("ledger.db", |disk| Life::new(disk.clone()).open().is_ok());
}
