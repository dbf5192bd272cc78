//! What a coordinator's store keeps, whatever the disk does: a script, what the store said to each part of it, and what must
//! therefore be in it.

use Action::{Checkpoint, Commit, Renew, Start, Stop};
use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Time};
use truthfed_node::digest::Digest;
use truthfed_node::journal::{Entry, Head, Row};
use truthfed_node::ledger::{Account, Cause, Posting};
use truthfed_node::store::{
    Batch, Lease, RequestKey, RequestKind, Sqlite, StandingRow, Store, StoreError, StoredReply,
};
use truthfed_proof::disk::Operation::{Any, Read, Sync};
use truthfed_proof::disk::{Disk, Fault, Lasts, Plan};

use super::{check_opens_with_a_log_or_not_at_all, disk, each, fall};

const LEASE_MS: u64 = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    /// Opened, and the lease taken.
    Start,
    Renew,
    /// A batch with a reply of so many bytes.
    Commit(usize),
    /// Somebody else moves the write-ahead log into the file.
    Checkpoint,
    /// The lease given back, and closed.
    Stop,
}

/// A store on a disk, and what is known of it.
struct Life {
    disk: Disk,
    store: Option<(Sqlite, Lease)>,
    kept: Vec<Batch>,
    /// The end of its journal then.
    head: Head,
    epoch: u64,
}

impl Life {
    fn new(disk: Disk) -> Life {
        Life { disk, store: None, kept: Vec::new(), head: Head::START, epoch: 0 }
    }

    fn open(&self) -> Result<Sqlite, StoreError> {
        Sqlite::open_on(&self.disk.path("ledger.db"), &self.disk.vfs())
    }

    fn act(&mut self, action: Action) -> Result<(), StoreError> {
        match action {
            Start => self.start(),
            Renew => self.with(|store, lease| store.renew(lease, LEASE_MS)),
            Commit(size) => self.commit(&self.batch(size)),
            Checkpoint => {
                self.checkpoint();
                Ok(())
            }
            Stop => self.stop(),
        }
    }

    fn start(&mut self) -> Result<(), StoreError> {
        // Whoever held the lease is gone.
        self.disk.set_clock_ms(self.disk.clock_ms() + LEASE_MS as i64);
        let mut store = self.open()?;
        let lease = store.acquire(LEASE_MS)?;
        assert!(lease.epoch > self.epoch, "epoch {} was granted before", lease.epoch);
        self.epoch = lease.epoch;
        self.store = Some((store, lease));
        Ok(())
    }

    fn stop(&mut self) -> Result<(), StoreError> {
        let Some((mut store, lease)) = self.store.take() else { return Ok(()) };
        store.release(lease)
    }

    fn with(&mut self, action: impl FnOnce(&mut Sqlite, Lease) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let (store, lease) = self.store.as_mut().expect("it was started");
        action(store, *lease)
    }

    /// Commits a batch that follows what is kept.
    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.with(|store, lease| store.commit(lease, batch))?;
        self.keep(batch.clone());
        Ok(())
    }

    fn keep(&mut self, batch: Batch) {
        let Row { number, hash, .. } = *batch.rows.last().unwrap();
        self.head = Head { number, hash };
        self.kept.push(batch);
    }

    fn checkpoint(&self) {
        let opened = rusqlite::Connection::open_with_flags_and_vfs(
            self.disk.path("ledger.db"),
            rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE,
            self.disk.vfs().as_str(),
        );
        // Nobody needs it to succeed.
        let _ = opened.and_then(|connection| connection.query_row("PRAGMA wal_checkpoint", [], |_| Ok(())));
    }

    /// The process ends, and with it all that was open.
    fn die(&mut self) {
        self.store = None;
    }

    /// The next batch: two rows and one of everything else.
    fn batch(&self, size: usize) -> Batch {
        let (mut head, entry) = (self.head, self.head.number + 1);
        let member: ClientId = "a".parse().unwrap();
        let posting = |number, account, micros| Posting {
            number,
            entry,
            cause: Cause::Round(RoundId(entry)),
            member: member.clone(),
            account,
            micros,
        };
        let key = RequestKey { member: member.clone(), round: RoundId(entry), kind: RequestKind::Offer };
        let mut append = |reason: &str| {
            head.append(&Entry::Aborted {
                round: RoundId(entry),
                reason: reason.to_owned(),
                at_ms: Time(0),
                by_operator: false,
            })
        };
        Batch {
            rows: vec![append("first"), append("second")],
            replies: vec![StoredReply { key, request: Digest::of(b"request"), body: "x".repeat(size) }],
            postings: vec![
                posting(entry, Account::Treasury, -7),
                posting(entry + 1, Account::Member(member.clone()), 7),
            ],
            standing: Some(StandingRow { entry, body: format!("{{\"entry\":{entry}}}") }),
        }
    }

    /// Whether a store has what was kept, and nothing else but, perhaps, the whole of a batch whose fate is not known.
    /// If that is there, it counts as kept from now on.
    fn check(&mut self, store: &mut Sqlite, doubtful: Option<Batch>) {
        let end = store.head().unwrap();
        let doubtful = doubtful.filter(|batch| batch.rows.last().unwrap().number == end.number);
        doubtful.into_iter().for_each(|batch| self.keep(batch));
        assert_eq!(end, self.head);
        let mut head = Head::START;
        let rows = store.rows(0, usize::MAX).unwrap();
        rows.iter().for_each(|row| drop(head.follow(row).unwrap()));
        assert!(rows.iter().eq(self.kept.iter().flat_map(|batch| &batch.rows)));
        let postings = store.postings(0, usize::MAX).unwrap();
        assert!(postings.iter().eq(self.kept.iter().flat_map(|batch| &batch.postings)));
        let replies = store.replies(&"a".parse().unwrap(), RequestKind::Offer, RoundId(0)).unwrap();
        assert!(replies.iter().eq(self.kept.iter().flat_map(|batch| &batch.replies)));
        assert_eq!(store.standing().unwrap(), self.kept.last().and_then(|batch| batch.standing.clone()));
    }

    /// Whether the store, if it is open, has what was kept, and nothing else.
    fn check_open(&mut self) {
        if let Some((mut store, lease)) = self.store.take() {
            self.check(&mut store, None);
            self.store = Some((store, lease));
        }
    }
}

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

/// A life in which something is to go wrong.
fn planned(disk: Disk, after: u64, fault: Fault) -> Life {
    disk.plan(Plan { after, fault });
    Life::new(disk)
}

/// Lets something go wrong at every step of a short life, on both kinds of disks.
fn at_every_step(fault: Fault, check: impl Fn(&mut Life)) {
    each(0..2, |seed| {
        let (steps, reads) = length(SHORT, disk(seed));
        let is_read = matches!(fault, Fault::Failure(Read, _));
        each(0..if is_read { reads } else { steps }, |after| check(&mut planned(disk(2 * after + seed), after, fault)));
    });
}

/// Follows a script until the power is lost, and gives it back. The batch whose answer did not come.
fn follow_to_loss(life: &mut Life, script: &[Action]) -> Option<Batch> {
    let doubtful = follow(life, script).and_then(|(_, doubtful)| doubtful);
    life.die();
    assert!(life.disk.is_off());
    life.disk.restart();
    doubtful
}

fn check_loss(life: &mut Life, script: &[Action]) {
    let doubtful = follow_to_loss(life, script);
    check_goes_on(life, doubtful);
}

#[test]
fn the_power_may_be_lost_at_every_step() {
    at_every_step(Fault::PowerLoss, |life| check_loss(life, SHORT));
}

#[test]
fn the_power_may_be_lost_while_the_log_is_moved_into_the_file() {
    let steps = length(LONG, disk(0)).0.min(length(LONG, disk(1)).0);
    each(0..50, |seed| check_loss(&mut planned(disk(seed), (seed * 7_919) % steps, Fault::PowerLoss), LONG));
}

/// The power is lost many times in one life, now and then while the store recovers from the time before.
#[test]
fn the_power_may_be_lost_again_and_again() {
    each(0..30, |seed| {
        let mut life = Life::new(disk(seed));
        for loss in 0..25 {
            life.disk.plan(Plan { after: (seed * 31 + loss * 17) % 97, fault: Fault::PowerLoss });
            let doubtful = follow_to_loss(&mut life, SHORT);
            let mut store = life.open().unwrap();
            life.check(&mut store, doubtful);
        }
    });
}

#[test]
fn a_store_that_is_full_reads_on_and_goes_on_when_there_is_room() {
    for lasts in [Lasts::Once, Lasts::ForEver] {
        at_every_step(Fault::Full(lasts), |life| {
            follow_through(life, SHORT, |life, error| {
                assert!(matches!(error, StoreError::Full), "{error:?}");
                life.check_open();
                life.disk.set_capacity(None);
            });
            check_goes_on(life, None);
        });
    }
}

/// But on a disk without safe overwrites, where SQLite writes more after the end of a commit: it may be full only then.
#[test]
fn what_did_not_fit_is_not_there_after_a_fall() {
    let (steps, _) = length(SHORT, disk(1));
    each(0..steps, |step| {
        let mut life = planned(disk(2 * step + 1), step, Fault::Full(Lasts::ForEver));
        follow(&mut life, SHORT);
        fall(&life.disk);
        check_goes_on(&mut life, None);
    });
}

#[test]
fn a_failure_that_passes_changes_nothing() {
    for operation in [Any, Read] {
        at_every_step(Fault::Failure(operation, Lasts::Once), |life| {
            follow_through(life, SHORT, |life, error| match error {
                StoreError::InDoubt(_) => {}
                _ => life.check_open(),
            });
            check_goes_on(life, None);
        });
    }
}

/// Whatever the store said no to is not there after a crash or loss of power, unless it said that it does not know.
#[test]
fn a_failure_that_lasts_is_never_a_yes_and_a_restart_recovers() {
    for operation in [Any, Sync, Read] {
        at_every_step(Fault::Failure(operation, Lasts::ForEver), |life| {
            let doubtful = match follow(life, SHORT) {
                None | Some((StoreError::Unavailable(_) | StoreError::Unusable(_), _)) => None,
                Some((StoreError::InDoubt(_), batch)) => batch,
                Some((error, _)) => panic!("{error:?}"),
            };
            fall(&life.disk);
            check_goes_on(life, doubtful);
        });
    }
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
