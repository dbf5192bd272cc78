//! The coordinator's engine: the one writer of a federation.
//!
//! A thread of its own owns the protocol's [`Coordinator`](truthfed::protocol::Coordinator), the store and the lease. Requests
//! queue up; the engine takes what is there, hands each to the machine, commits everything that follows from them in one
//! transaction, and only then answers. If the commit fails, nothing of it happened: the engine takes up the state of the
//! store again.
//!
//! What needs no writing is read from [`Published`], which is renewed after every commit.
//!
//! Not here: HTTP, TLS and limits ([`crate::net`], [`crate::coordinator`]).

mod draft;
mod intake;
mod narration;
mod published;
mod receipts;
mod recovery;
mod refusals;
mod state;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Time};

use self::intake::{CheckedDelivery, CheckedOffer};
pub use self::published::{Counts, MemberInfo, Published};
pub use self::recovery::read_checkpoint;
use self::state::State;
use crate::digest::{Digest, PublicKey};
use crate::error::{Code, Refusal};
use crate::journal::{JournalError, Row};
use crate::signature::Signer;
use crate::store::{Lease, Store, StoreError};
use crate::terms::Agreement;
use crate::wire::{Envelope, SyncRequest, View};

/// Most requests that wait.
const QUEUE: usize = 8192;
/// Most requests in one transaction.
const MAX_BATCH: usize = 512;

/// What an engine is started with.
pub struct Setup {
    /// The name of the federation.
    pub federation: Digest,
    /// What it agreed on.
    pub agreement: Agreement,
    /// Signs receipts.
    pub signer: Signer,
    /// Who takes part from the beginning; once the federation has begun, members come and go by requests.
    pub members: Vec<(ClientId, PublicKey, Digest)>,
    /// Where signed checkpoints are written, outside of the store.
    pub checkpoint: PathBuf,
    /// How long the lease lasts without renewal.
    pub lease_ms: u64,
}

/// Why an engine does not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Operator: the folder and the store belong to different federations, or one is older than the other.
    #[error("the store does not belong to this folder: {0}")]
    Foreign(String),
    /// Operator: an old backup was put back. Entries that members hold receipts for are missing.
    #[error("the store ends at entry {head}, but entry {checkpoint} was vouched for: it is older than its checkpoint")]
    CheckpointAhead {
        /// The end of the journal.
        head: u64,
        /// The entry of the checkpoint.
        checkpoint: u64,
    },
    /// Operator: what is recorded is not what this program computes from it.
    #[error("entry {entry} of the journal does not follow from those before: {problem}")]
    Inconsistent {
        /// Which.
        entry: u64,
        /// What is wrong.
        problem: String,
    },
    /// Operator: the checkpoint cannot be read or written.
    #[error("checkpoint {path}: {problem}")]
    Checkpoint {
        /// The file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// Something to be written.
enum Command {
    Ask { member: ClientId },
    Offer(Box<CheckedOffer>),
    Decline { member: ClientId, round: RoundId },
    Deliver(Box<CheckedDelivery>),
    Sync { member: ClientId, have: RoundId },
    Statement { member: ClientId },
    Enrol { member: ClientId, key: PublicKey, certificate: Digest },
    Revoke { member: ClientId },
    Read(Read),
}

/// A look into the store.
type Read = Box<dyn FnOnce(&mut dyn Store) + Send>;

struct Job {
    command: Command,
    reply: oneshot::Sender<Result<String, Refusal>>,
}

/// Talks to a running engine; cheap to clone.
#[derive(Clone)]
pub struct Handle {
    jobs: SyncSender<Job>,
    published: watch::Receiver<Arc<Published>>,
    /// Whether the last commit worked.
    works: Arc<AtomicBool>,
    epoch: u64,
}

/// A running engine.
pub struct Running {
    handle: Handle,
    stop: watch::Sender<bool>,
    thread: JoinHandle<Result<(), EngineError>>,
}

/// Starts the engine of a federation on a thread of its own, once the lease is there.
///
/// # Errors
/// When the store is held by another coordinator, damaged, or not of this federation.
pub fn start(setup: Setup, mut store: Box<dyn Store>) -> Result<Running, EngineError> {
    let lease = store.acquire(setup.lease_ms)?;
    let state = match take_up(setup, store.as_mut(), lease) {
        Ok(state) => state,
        Err(error) => {
            // Nobody should wait for a coordinator that does not run; if this fails too, the lease runs out.
            let _ = store.release(lease);
            return Err(error);
        }
    };
    let (jobs, queue) = sync_channel(QUEUE);
    let (publish, published) = watch::channel(Arc::new(state.published()));
    let (stop, stopped) = watch::channel(false);
    let works = Arc::new(AtomicBool::new(true));
    let engine = Engine { state, store, lease, renewed: Instant::now(), queue, publish, stopped, works: works.clone() };
    let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || engine.run());
    let thread = thread.map_err(|error| StoreError::Unavailable(format!("no thread for the engine: {error}")))?;
    Ok(Running { handle: Handle { jobs, published, works, epoch: lease.epoch }, stop, thread })
}

/// The state of the store; of an empty one, after its first entries are written.
fn take_up(setup: Setup, store: &mut dyn Store, lease: Lease) -> Result<State, EngineError> {
    let mut state = State::recover(setup, store)?;
    if state.is_changed() {
        store.commit(lease, state.batch())?;
        narration::narrate(&state.batch().rows);
        state.committed(Duration::ZERO)?;
    }
    Ok(state)
}

impl Running {
    /// To talk to it.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Lets it finish what it has begun, gives the lease back, and says how it ended.
    ///
    /// # Errors
    /// Why it had stopped before.
    pub fn stop(self) -> Result<(), EngineError> {
        // It polls this at least every tick; nobody listens when it has ended already.
        let _ = self.stop.send(true);
        drop(self.handle);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Handle {
    /// What is public between the engine and the handlers of requests.
    pub fn published(&self) -> Arc<Published> {
        self.published.borrow().clone()
    }

    /// Waits until something changed since a version, or the engine stopped.
    pub async fn changed_since(&self, version: u64) {
        let mut published = self.published.clone();
        let _ = published.wait_for(|published| published.version() > version).await;
    }

    /// Waits until the engine stopped.
    pub async fn ended(&self) {
        self.changed_since(u64::MAX).await;
    }

    /// Whether the engine runs and its last commit worked.
    pub fn is_healthy(&self) -> bool {
        self.works.load(Ordering::Relaxed) && self.published.has_changed().is_ok()
    }

    /// The epoch of its lease.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What a member sees now.
    pub fn view(&self, member: &ClientId) -> View {
        self.published().view(member)
    }

    /// A member asks for a round.
    ///
    /// # Errors
    /// When it is no member, or the store does not take it.
    pub async fn ask(&self, member: &ClientId) -> Result<String, Refusal> {
        self.published().check_member(member)?;
        self.submit(Command::Ask { member: member.clone() }).await
    }

    /// A member offers.
    ///
    /// # Errors
    /// Says what is wrong with the offer, or that the store does not take it.
    pub async fn offer(&self, member: &ClientId, round: RoundId, envelope: Envelope) -> Result<String, Refusal> {
        let checked = intake::offer(&self.published(), member, round, envelope)?;
        self.submit(Command::Offer(Box::new(checked))).await
    }

    /// A member has nothing to offer.
    ///
    /// # Errors
    /// When it does not fit the round.
    pub async fn decline(&self, member: &ClientId, round: RoundId) -> Result<String, Refusal> {
        self.published().check_member(member)?;
        self.submit(Command::Decline { member: member.clone(), round }).await
    }

    /// A winner delivers.
    ///
    /// # Errors
    /// Says what is wrong with the delivery, or that the store does not take it.
    pub async fn deliver(&self, member: &ClientId, round: RoundId, envelope: Envelope) -> Result<String, Refusal> {
        let checked = intake::delivery(&self.published(), member, round, envelope)?;
        self.submit(Command::Deliver(Box::new(checked))).await
    }

    /// A member fetches what is settled since the round it has.
    ///
    /// # Errors
    /// When it is no member.
    pub async fn sync(&self, member: &ClientId, request: SyncRequest) -> Result<String, Refusal> {
        self.published().check_member(member)?;
        self.submit(Command::Sync { member: member.clone(), have: request.have }).await
    }

    /// All receipts of a member, from the first round on.
    ///
    /// # Errors
    /// When it is no member.
    pub async fn statement(&self, member: &ClientId) -> Result<String, Refusal> {
        self.submit(Command::Statement { member: member.clone() }).await
    }

    /// Takes a member in.
    ///
    /// # Errors
    /// When the name is taken.
    pub async fn enrol(&self, member: ClientId, key: PublicKey, certificate: Digest) -> Result<String, Refusal> {
        self.submit(Command::Enrol { member, key, certificate }).await
    }

    /// Takes a member out.
    ///
    /// # Errors
    /// When there is no such member.
    pub async fn revoke(&self, member: ClientId) -> Result<String, Refusal> {
        self.submit(Command::Revoke { member }).await
    }

    /// At most `most` committed rows of the journal, those after entry `after`: for the operator only.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn rows(&self, after: u64, most: usize) -> Result<Vec<Row>, Refusal> {
        let (send, rows) = oneshot::channel();
        // Who asked may have gone.
        let read = move |store: &mut dyn Store| drop(send.send(store.rows(after, most)));
        self.submit(Command::Read(Box::new(read))).await?;
        let rows = rows.await.expect("it was read before it was answered");
        rows.map_err(|error| Refusal::from(&error))
    }

    async fn submit(&self, command: Command) -> Result<String, Refusal> {
        let stopped = || Refusal::new(Code::ShuttingDown, "the coordinator is stopping: try again");
        let (reply, answer) = oneshot::channel();
        self.jobs.try_send(Job { command, reply }).map_err(|error| match error {
            TrySendError::Full(_) => Refusal::new(Code::Busy, format!("{QUEUE} requests wait already: try again")),
            TrySendError::Disconnected(_) => stopped(),
        })?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

/// The thread's own.
struct Engine {
    state: State,
    store: Box<dyn Store>,
    lease: Lease,
    renewed: Instant,
    queue: Receiver<Job>,
    publish: watch::Sender<Arc<Published>>,
    stopped: watch::Receiver<bool>,
    works: Arc<AtomicBool>,
}

/// Longest sleep, so that a stop is seen soon.
const TICK: Duration = Duration::from_millis(50);

impl Engine {
    fn run(mut self) -> Result<(), EngineError> {
        while !*self.stopped.borrow() {
            let jobs = match self.queue.recv_timeout(self.pause()) {
                Ok(first) => std::iter::once(first).chain(self.queue.try_iter().take(MAX_BATCH - 1)).collect(),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.renew()?;
            self.work(jobs)?;
        }
        Ok(self.store.release(self.lease)?)
    }

    /// Until the next request, deadline or look at the clock.
    fn pause(&self) -> Duration {
        let now = self.state.now();
        let deadline = self.state.deadline().map(|Time(ms)| Duration::from_millis(ms.saturating_sub(now.0)));
        deadline.unwrap_or(TICK).min(TICK)
    }

    fn renew(&mut self) -> Result<(), EngineError> {
        let lease_ms = self.state.lease_ms();
        if self.renewed.elapsed() < Duration::from_millis(lease_ms / 3) {
            return Ok(());
        }
        match self.store.renew(self.lease, lease_ms) {
            Ok(()) => self.renewed = Instant::now(),
            // The store may come back before the lease runs out; every commit checks the lease anyway.
            Err(StoreError::Unavailable(problem)) => tracing::warn!(%problem, "the lease was not renewed"),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// One transaction.
    fn work(&mut self, jobs: Vec<Job>) -> Result<(), EngineError> {
        let mut answers = Vec::with_capacity(jobs.len());
        self.state.tick();
        for Job { command, reply } in jobs {
            answers.push((reply, self.state.apply(command, self.store.as_mut())));
        }
        if self.state.is_changed() {
            let started = Instant::now();
            let committed = self.commit();
            self.works.store(committed.is_ok(), Ordering::Relaxed);
            match committed {
                Ok(()) => {
                    narration::narrate(&self.state.batch().rows);
                    self.state.committed(started.elapsed())?;
                    self.publish.send_replace(Arc::new(self.state.published()));
                }
                Err(error) => return self.fail(error, answers.into_iter().map(|(reply, _)| reply)),
            }
        }
        for (reply, answer) in answers {
            // Who asked may have gone.
            let _ = reply.send(answer);
        }
        Ok(())
    }

    /// Commits the draft. While it is in doubt whether it is written, the same is committed again: nothing else may be.
    fn commit(&mut self) -> Result<(), StoreError> {
        loop {
            match self.store.commit(self.lease, self.state.batch()) {
                Err(StoreError::InDoubt(problem)) if !*self.stopped.borrow() => {
                    tracing::warn!(%problem, "a commit is in doubt");
                    self.works.store(false, Ordering::Relaxed);
                    self.turn_away();
                    std::thread::sleep(TICK);
                }
                answered => return answered,
            }
        }
    }

    /// Nobody can be served while the store is away; those who ask are told.
    fn turn_away(&self) {
        for job in self.queue.try_iter() {
            let _ = job.reply.send(Err(Refusal::new(Code::Busy, "the store does not answer: try again")));
        }
    }

    /// Nothing was written: everyone is told so, and the state of the store is taken up again.
    fn fail(
        &mut self,
        error: StoreError,
        replies: impl Iterator<Item = oneshot::Sender<Result<String, Refusal>>>,
    ) -> Result<(), EngineError> {
        tracing::error!(%error, "nothing was written");
        let refusal = Refusal::from(&error);
        for reply in replies {
            let _ = reply.send(Err(refusal.clone()));
        }
        match error {
            StoreError::Full | StoreError::Unavailable(_) => self.take_up(),
            error => Err(error.into()),
        }
    }

    /// Reads the state of the store again, as long as it takes.
    fn take_up(&mut self) -> Result<(), EngineError> {
        let mut last = String::new();
        while !*self.stopped.borrow() {
            match self.state.reload(self.store.as_mut()) {
                Ok(()) => break,
                Err(EngineError::Store(StoreError::Unavailable(problem))) => {
                    if problem != last {
                        tracing::warn!(%problem, "the store is away");
                        last = problem;
                    }
                    self.turn_away();
                    std::thread::sleep(TICK);
                }
                Err(error) => return Err(error),
            }
        }
        self.publish.send_replace(Arc::new(self.state.published()));
        Ok(())
    }
}
