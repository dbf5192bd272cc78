//! What an agent's file keeps, whatever the disk does.

use truthfed_node::agent::FileError;
use truthfed_proof::disk::Operation::{Any, Read, Sync};
use truthfed_proof::disk::{Disk, Fault, Lasts, Plan};

use super::agents::Action::{self, Checkpoint, Choose, Learn, Offer, Settle, Start, Stop, Taken};
use super::agents::{Life, Sight};
use super::{check_opens_with_a_log_or_not_at_all, disk, each, fall};

const SCRIPT: &[Action] = &[
    Start,
    Choose,
    Choose,
    Learn,
    Choose,
    Learn,
    Learn,
    Checkpoint,
    Choose,
    Learn,
    Offer(1),
    Taken,
    Choose,
    Learn,
    Settle,
    Choose,
    Stop,
    Start,
    Learn,
    Offer(2),
    Checkpoint,
    Choose,
    Learn,
    Settle,
    Stop,
];

/// What is to be seen after each action when nothing goes wrong, and how many steps and reads it takes.
struct Reference {
    sights: Vec<Option<Sight>>,
    steps: u64,
    reads: u64,
}

fn reference(seed: u64) -> Reference {
    let mut life = Life::new(disk(seed));
    let look = |action: &Action| {
        life.act(*action).unwrap();
        life.look()
    };
    let sights = SCRIPT.iter().map(look).collect();
    // Counted without looking.
    let mut life = Life::new(disk(seed));
    assert_eq!(follow(&mut life, 0).0, SCRIPT.len());
    Reference { sights, steps: life.disk.steps(), reads: life.disk.reads() }
}

/// Does what is left of the script, up to where something goes wrong. How far it came.
fn follow(life: &mut Life, from: usize) -> (usize, Option<FileError>) {
    for (index, action) in SCRIPT.iter().enumerate().skip(from) {
        if let Err(error) = life.act(*action) {
            return (index, Some(error));
        }
    }
    (SCRIPT.len(), None)
}

/// Takes the agent up again and goes on to the end of the script, which comes out as if nothing had happened.
fn check_goes_on(life: &mut Life, reference: &Reference, failed: usize) {
    life.die();
    life.disk.mend();
    life.act(Start).unwrap();
    let last = |actions: usize| reference.sights.iter().take(actions).flatten().last();
    let seen = life.look();
    // Before the first start, an agent is as after it.
    if failed > 0 {
        let expected = [last(failed), last(failed + 1)];
        assert!(expected.contains(&seen.as_ref()), "after {failed} actions: {seen:?}, expected {expected:?}");
    }
    life.check_offer();
    let (done, error) = follow(life, failed);
    assert_eq!(done, SCRIPT.len(), "{error:?}");
    life.disk.lose_power();
    life.act(Start).unwrap();
    assert_eq!(life.look().as_ref(), last(SCRIPT.len()));
    life.check_offer();
}

/// Lets something go wrong at every step of both kinds of disks, and hands over the life of the agent up to then.
fn at_every_step(fault: Fault, check: impl Fn(&mut Life, &Reference, usize, Option<FileError>)) {
    each(0..2, |seed| {
        let reference = reference(seed);
        let is_read = matches!(fault, Fault::Failure(Read, _));
        each(0..if is_read { reference.reads } else { reference.steps }, |after| {
            let mut life = Life::new(disk(2 * after + seed));
            life.disk.plan(Plan { after, fault });
            let (failed, error) = follow(&mut life, 0);
            check(&mut life, &reference, failed, error);
        });
    });
}

#[test]
fn the_power_may_be_lost_at_every_step() {
    at_every_step(Fault::PowerLoss, |life, reference, failed, _| {
        life.die();
        assert!(life.disk.is_off());
        life.disk.restart();
        check_goes_on(life, reference, failed);
    });
}

#[test]
fn the_power_may_be_lost_again_and_again() {
    let reference = reference(0);
    each(0..40, |seed| {
        // As SQLite takes it for granted: of disks that damage more than they write, one loss is survived at every step.
        let mut life = Life::new(Disk::powersafe(seed));
        let mut done = 0;
        for loss in 0..10 {
            life.disk.plan(Plan { after: (seed * 31 + loss * 17) % 59, fault: Fault::PowerLoss });
            let start = life.act(Start);
            if start.is_ok() {
                (done, _) = follow(&mut life, done);
            }
            life.die();
            life.disk.lose_power();
            life.disk.mend();
        }
        check_goes_on(&mut life, &reference, done);
    });
}

#[test]
fn a_full_disk_is_said_so_and_the_agent_goes_on_when_there_is_room() {
    for lasts in [Lasts::Once, Lasts::ForEver] {
        at_every_step(Fault::Full(lasts), |life, reference, failed, error| {
            assert!(matches!(error, None | Some(FileError::Full)), "{error:?}");
            check_unchanged(life, reference, failed);
            life.disk.set_capacity(None);
            life.disk.mend();
            let (done, error) = follow(life, failed);
            assert_eq!(done, SCRIPT.len(), "{error:?}");
            check_goes_on(life, reference, SCRIPT.len());
        });
    }
}

/// The agent, if it is there, reads on and shows what it did before.
fn check_unchanged(life: &mut Life, reference: &Reference, failed: usize) {
    if let Some(seen) = life.look() {
        assert_eq!(Some(&seen), reference.sights.iter().take(failed).flatten().last());
    }
}

#[test]
fn a_failure_that_passes_changes_nothing() {
    for operation in [Any, Read] {
        at_every_step(Fault::Failure(operation, Lasts::Once), |life, reference, failed, error| {
            assert!(matches!(error, None | Some(FileError::Unavailable(_) | FileError::Unusable(_))), "{error:?}");
            check_unchanged(life, reference, failed);
            let (done, error) = follow(life, failed);
            assert_eq!(done, SCRIPT.len(), "{error:?}");
            check_goes_on(life, reference, SCRIPT.len());
        });
    }
}

#[test]
fn a_failure_that_lasts_is_never_a_yes_and_a_restart_recovers() {
    for operation in [Any, Sync, Read] {
        at_every_step(Fault::Failure(operation, Lasts::ForEver), |life, reference, failed, error| {
            assert!(matches!(error, None | Some(FileError::Unavailable(_) | FileError::Unusable(_))), "{error:?}");
            fall(&life.disk);
            check_goes_on(life, reference, failed);
        });
    }
}

/// Its owner would be told to begin anew without it.
#[test]
fn a_file_that_cannot_be_read_for_a_moment_is_not_called_damaged() {
    let mut life = Life::new(disk(0));
    follow(&mut life, 0);
    life.act(Start).unwrap();
    // The checkpoint leaves pages without use, which are looked at too.
    (0..80).flat_map(|_| [Choose, Learn]).chain([Checkpoint, Stop]).for_each(|action| life.act(action).unwrap());
    let before = life.disk.reads();
    let agent = life.open().unwrap();
    let reads = life.disk.reads() - before;
    drop(agent);
    each(0..reads, |after| {
        let fault = Fault::Failure(Read, Lasts::Once);
        life.disk.plan(Plan { after, fault });
        let error = life.open().err();
        assert!(matches!(error, Some(FileError::Unavailable(_))), "{error:?}");
    });
}

/// SQLite said that the log was in use, and failed only then to write that it is.
#[test]
fn a_file_whose_change_to_a_log_failed_is_not_opened() {
    check_opens_with_a_log_or_not_at_all("agent.db", |disk| Life::new(disk.clone()).open().is_ok());
}
