//! The life of a coordinator's store: a script, what the store said to each part of it, and what must therefore be in it.

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::digest::Digest;
use truthfed_node::journal::{Entry, Head, Row};
use truthfed_node::ledger::{Account, Posting};
use truthfed_node::store::{
    Batch, Lease, RequestKey, RequestKind, Sqlite, StandingRow, Store, StoreError, StoredReply,
};
use truthfed_proof::disk::Disk;

/// How long a lease lasts without renewal.
const LEASE_MS: u64 = 10_000;

/// What is done with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
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
pub(crate) struct Life {
    pub(crate) disk: Disk,
    store: Option<(Sqlite, Lease)>,
    /// What it said yes to.
    pub(crate) kept: Vec<Batch>,
    /// The end of its journal then.
    head: Head,
    /// The highest epoch that was granted.
    epoch: u64,
}

impl Life {
    pub(crate) fn new(disk: Disk) -> Life {
        Life { disk, store: None, kept: Vec::new(), head: Head::START, epoch: 0 }
    }

    pub(crate) fn open(&self) -> Result<Sqlite, StoreError> {
        Sqlite::open_on(&self.disk.path("ledger.db"), &self.disk.vfs())
    }

    /// Does what is asked.
    pub(crate) fn act(&mut self, action: Action) -> Result<(), StoreError> {
        match action {
            Action::Start => self.start(),
            Action::Renew => self.with(|store, lease| store.renew(lease, LEASE_MS)),
            Action::Commit(size) => self.commit(&self.batch(size)),
            Action::Checkpoint => {
                self.checkpoint();
                Ok(())
            }
            Action::Stop => self.stop(),
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
    pub(crate) fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.with(|store, lease| store.commit(lease, batch))?;
        self.keep(batch.clone());
        Ok(())
    }

    pub(crate) fn keep(&mut self, batch: Batch) {
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
    pub(crate) fn die(&mut self) {
        self.store = None;
    }

    /// The next batch: two rows and one of everything else.
    pub(crate) fn batch(&self, size: usize) -> Batch {
        let (mut head, entry) = (self.head, self.head.number + 1);
        let member: ClientId = "a".parse().unwrap();
        let posting = |number, account, micros| Posting {
            number,
            entry,
            round: RoundId(entry),
            member: member.clone(),
            account,
            micros,
        };
        let key = RequestKey { member: member.clone(), round: RoundId(entry), kind: RequestKind::Offer };
        let mut append =
            |reason: &str| head.append(&Entry::Aborted { round: RoundId(entry), reason: reason.to_owned() });
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
    pub(crate) fn check(&mut self, store: &mut Sqlite, doubtful: Option<Batch>) {
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
    pub(crate) fn check_open(&mut self) {
        if let Some((mut store, lease)) = self.store.take() {
            self.check(&mut store, None);
            self.store = Some((store, lease));
        }
    }
}
