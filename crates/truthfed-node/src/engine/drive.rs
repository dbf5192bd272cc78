//! Runs a core: requests queue up, and the core takes all that wait in one transaction.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Ruling};

use super::ahead::Ahead;
use super::checks::Checks;
use super::command::{Command, Kind};
use super::core::{Answer, Core};
use super::health::Health;
use super::keeper::Keeper;
use super::published::Published;
use super::{EngineError, OpenStore, Place, Setup};
use crate::digest::{Digest, PublicKey, Signature};
use crate::error::{Code, Refusal};
use crate::journal::Row;
use crate::ledger::{Reason, Reference};
use crate::store::{Store, StoreError};
use crate::wire::{Call, Seen};

/// Most requests that wait; the next is refused with `busy`. A member waits for one answer at a time, so that this many
/// members can all send at once; at 512 requests per transaction the last of them waits for 16 transactions.
const QUEUE: usize = 8192;
/// Most requests in one transaction: one sync of the disk for all of them, and a bound on how long the first one waits.
const MAX_BATCH: usize = 512;
/// Most bytes of signed messages in one transaction, but for the last of them. A database takes seconds to write tens of
/// megabytes, and meanwhile nobody can renew the lease.
const MAX_BYTES: usize = 4 << 20;
/// Longest sleep of the engine: it sees a stop, and that its lease is lost, at least this often. Also the pause before it tries a
/// store again that does not answer.
const TICK: Duration = Duration::from_millis(50);
/// How often a task looks for requests, in the runtime's time, which is not real: the resolution of tokio's timers.
const STEP: Duration = Duration::from_millis(1);

struct Job {
    command: Command,
    reply: oneshot::Sender<Answer>,
}

/// Talks to a running engine; cheap to clone.
#[derive(Clone)]
pub struct Handle {
    jobs: SyncSender<Job>,
    published: watch::Receiver<Arc<Published>>,
    /// [`Published::news`], of its own: a thousand members wait for it, and need not wake up for every commit.
    news: watch::Receiver<u64>,
    health: Arc<Health>,
    /// None where time is not real: a thread beside it would take none.
    checks: Option<Arc<Checks>>,
    epoch: u64,
}

pub struct Running {
    handle: Handle,
    stop: watch::Sender<bool>,
    work: Work,
}

enum Work {
    Thread(JoinHandle<Result<(), EngineError>>),
    Task(tokio::task::JoinHandle<Result<(), EngineError>>),
}

/// Starts the engine of a federation, once the lease is there. Fails when the store is held by another coordinator,
/// damaged, or not of this federation. While it is held, each call reads `ahead` what the engine will need, and keeps it there.
///
/// On a thread of its own it opens the store twice, and renews the lease over the second connection.
pub fn start(setup: Setup, open: &OpenStore, ahead: &mut Ahead) -> Result<Running, EngineError> {
    let place = setup.place;
    let keep = |lease, health: &Arc<Health>| match place {
        Place::Thread => Keeper::start(lease, health.clone(), open()?).map(Some),
        Place::Task => Ok(None),
    };
    let (core, keeper) = Core::start_held(setup, open()?, ahead, keep)?;
    let (jobs, queue) = sync_channel(QUEUE);
    let first = core.published();
    let (tell, news) = watch::channel(first.news());
    let (publish, published) = watch::channel(Arc::new(first));
    let (stop, stopped) = watch::channel(false);
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let checks = (place == Place::Thread).then(|| Arc::new(Checks::new(cores)));
    let handle = Handle { jobs, published, news, health: core.health().clone(), checks, epoch: core.epoch() };
    let engine = Engine { core, keeper, queue, publish, tell, stopped };
    let work = match place {
        Place::Thread => {
            let thread = std::thread::Builder::new().name("engine".to_owned()).spawn(move || engine.run());
            let no_thread = |error| StoreError::Unavailable(format!("no thread for the engine: {error}"));
            Work::Thread(thread.map_err(no_thread)?)
        }
        Place::Task => Work::Task(tokio::spawn(engine.run_as_task())),
    };
    Ok(Running { handle, stop, work })
}

impl Running {
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Lets it finish what it has begun, gives the lease back, and says how it ended. Fails when it had stopped before.
    pub async fn stop(self) -> Result<(), EngineError> {
        // The engine looks at this at least every tick; nobody receives it when the engine has ended already.
        let _ = self.stop.send(true);
        drop(self.handle);
        let ended = match self.work {
            Work::Thread(thread) => tokio::task::spawn_blocking(move || thread.join()).await,
            Work::Task(task) => task.await.map(Ok),
        };
        let ended = ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Handle {
    /// What is public between the engine and the handlers of requests.
    pub fn published(&self) -> Arc<Published> {
        self.published.borrow().clone()
    }

    /// Waits until the journal has more entries, or the engine stopped.
    pub async fn grown(&self, entries: u64) {
        let _ = self.published.clone().wait_for(|published| published.entries() > entries).await;
    }

    pub async fn ended(&self) {
        let _ = self.news.clone().wait_for(|_| false).await;
    }

    /// Why the engine cannot work, if it cannot: the store does not answer, the lease was not renewed, or it has ended.
    pub fn problem(&self) -> Option<String> {
        let has_ended = self.published.has_changed().is_err();
        has_ended.then(|| "the engine has ended".to_owned()).or_else(|| self.health.problem())
    }

    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What a member asks; a call for a view waits for news as long as it says. The error says what is wrong with the
    /// call, or that the store does not take it.
    pub async fn call(&self, member: &ClientId, call: Call) -> Answer {
        if let Call::View(seen) = &call {
            // Whatever is there when the time is over is the view.
            let _ = tokio::time::timeout(Duration::from_millis(seen.wait_ms), self.news_after(seen)).await;
        }
        match self.check(member, call).await? {
            Command(Kind::Known(answer)) => Ok(answer.into()),
            command => self.submit(command).await,
        }
    }

    async fn check(&self, member: &ClientId, call: Call) -> Result<Command, Refusal> {
        let published = self.published();
        match &self.checks {
            Some(checks) if matches!(call, Call::Offer(..)) => {
                published.check_member(member)?;
                let name = member.clone();
                checks.run(member, move || Command::of(&published, &name, call)).await
            }
            _ => Command::of(&published, member, call),
        }
    }

    /// Waits until there is news for whoever has seen this, or the engine stopped.
    async fn news_after(&self, seen: &Seen) {
        let mut news = self.news.clone();
        while seen.is_latest(self.published().news()) && news.changed().await.is_ok() {}
    }

    /// Takes a member in. Fails when the name is taken.
    pub async fn enrol(&self, member: ClientId, key: PublicKey, certificate: Digest) -> Answer {
        self.submit(Command::enrol(member, key, certificate)).await
    }

    /// Lets a member go on with another key and certificate.
    pub async fn renew(&self, member: ClientId, key: PublicKey, certificate: Digest, signature: Signature) -> Answer {
        self.submit(Command::renew(member, key, certificate, signature)).await
    }

    /// Takes a member out. Fails when there is no such member.
    pub async fn revoke(&self, member: ClientId) -> Answer {
        self.submit(Command::revoke(member)).await
    }

    /// Rules about the data of a member.
    pub async fn rule(&self, member: ClientId, ruling: Ruling) -> Answer {
        self.submit(Command::rule(member, ruling)).await
    }

    /// Records what was transferred to a member; the same again changes nothing. Fails when it is more than is owed, or the
    /// reference was taken for another amount.
    pub async fn pay_out(&self, member: ClientId, amount: Amount, reference: Reference) -> Answer {
        self.submit(Command::pay_out(member, amount, reference)).await
    }

    /// Lets no round open; a pause that is there stands.
    pub async fn pause(&self, reason: Reason) -> Answer {
        self.submit(Command::pause(reason)).await
    }

    /// Lets rounds open again.
    pub async fn resume(&self) -> Answer {
        self.submit(Command::resume()).await
    }

    /// Ends a round that takes offers. Fails when it is awarded, or not open.
    pub async fn abort(&self, round: RoundId, reason: Reason) -> Answer {
        self.submit(Command::abort(round, reason)).await
    }

    /// At most `most` committed rows of the journal, those after entry `after`: for the operator only. Fails when the
    /// store does not answer.
    pub async fn rows(&self, after: u64, most: usize) -> Result<Vec<Row>, Refusal> {
        self.read(move |store| store.rows(after, most)).await
    }

    /// What a look into the store finds: for the operator only. Fails when the store does not answer.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (send, found) = oneshot::channel();
        // Who asked may have gone.
        let read = Command::read(move |store| drop(send.send(look(store))));
        self.submit(read).await?;
        let found = found.await.expect("it was read before it was answered");
        found.map_err(|error| Refusal::from(&error))
    }

    async fn submit(&self, command: Command) -> Answer {
        let stopped = || Refusal::new(Code::ShuttingDown, "the coordinator is stopping: try again");
        let (reply, answer) = oneshot::channel();
        self.jobs.try_send(Job { command, reply }).map_err(|error| match error {
            TrySendError::Full(_) => Refusal::new(Code::Busy, format!("{QUEUE} requests wait already: try again")),
            TrySendError::Disconnected(_) => stopped(),
        })?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }
}

struct Engine {
    core: Core,
    /// Renews the lease; as a task, the engine does so itself.
    keeper: Option<Keeper>,
    queue: Receiver<Job>,
    publish: watch::Sender<Arc<Published>>,
    tell: watch::Sender<u64>,
    stopped: watch::Receiver<bool>,
}

impl Engine {
    fn run(mut self) -> Result<(), EngineError> {
        while !*self.stopped.borrow() {
            let pause = self.core.until_deadline().map_or(TICK, |left| left.min(TICK));
            let jobs = match self.queue.recv_timeout(pause) {
                Ok(first) => batch(std::iter::once(first).chain(self.queue.try_iter()), |job| job.command.bytes()),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.work(jobs)?;
        }
        self.end()
    }

    async fn run_as_task(mut self) -> Result<(), EngineError> {
        while !*self.stopped.borrow() {
            let jobs = batch(self.queue.try_iter(), |job| job.command.bytes());
            self.work(jobs)?;
            tokio::time::sleep(STEP).await;
        }
        self.end()
    }

    fn end(self) -> Result<(), EngineError> {
        // First: it would find the lease lost.
        drop(self.keeper);
        self.core.release()
    }

    /// Fails when the lease is lost.
    fn hold_lease(&mut self) -> Result<(), EngineError> {
        match &mut self.keeper {
            Some(keeper) => {
                keeper.check()?;
                // A process that slept has a keeper that slept: nobody is answered under a lease that may have run out.
                self.core.renew_after(self.core.lease_ms())
            }
            None => self.core.renew(),
        }
    }

    /// One transaction; then everyone is answered.
    fn work(&mut self, jobs: Vec<Job>) -> Result<(), EngineError> {
        self.hold_lease()?;
        let before = self.publish.borrow().entries();
        let (commands, replies): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.command, job.reply)).unzip();
        let worked = self.transact(commands);
        let answers = match worked {
            Ok(answers) => answers,
            Err(error) => {
                let refusal = refusal(&error);
                replies.into_iter().for_each(|reply| drop(reply.send(Err(refusal.clone()))));
                return Err(error);
            }
        };
        if !self.core.is_sound() || self.core.version() != before {
            self.publish.send_replace(Arc::new(self.core.published()));
        }
        for (reply, answer) in replies.into_iter().zip(answers) {
            // Who asked may have gone.
            let _ = reply.send(answer);
        }
        // After the answers: whoever waits for news can wait a little longer.
        let news = self.publish.borrow().news();
        self.tell.send_if_modified(|told| std::mem::replace(told, news) != news);
        kill_point!(replied());
        Ok(())
    }

    /// Waits for the store as long as nobody stops the engine. Nobody can be served meanwhile; those who ask are told.
    fn transact(&mut self, commands: Vec<Command>) -> Result<Vec<Answer>, EngineError> {
        let Engine { core, queue, stopped, .. } = self;
        core.work(commands, &mut |_| {
            for job in queue.try_iter() {
                let _ = job.reply.send(Err(Refusal::new(Code::Busy, "the store does not answer: try again")));
            }
            std::thread::sleep(TICK);
            !*stopped.borrow()
        })
    }
}

/// As much of what waits as goes into one transaction.
fn batch<T>(waiting: impl Iterator<Item = T>, size: impl Fn(&T) -> usize) -> Vec<T> {
    let (mut waiting, mut taken, mut bytes) = (waiting.take(MAX_BATCH), Vec::new(), 0);
    while bytes < MAX_BYTES
        && let Some(next) = waiting.next()
    {
        bytes += size(&next);
        taken.push(next);
    }
    taken
}

/// What those are told whose requests the engine ends with.
fn refusal(error: &EngineError) -> Refusal {
    match error {
        EngineError::Store(error) => Refusal::from(error),
        _ => Refusal::new(Code::ShuttingDown, "the coordinator is stopping: try again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_of_512_dimensions_go_into_several_transactions_and_small_ones_into_one() {
        let wide = 2_600_000;
        let mut waiting = [wide; 5].into_iter();
        let batches: Vec<usize> = (0..4).map(|_| batch(waiting.by_ref(), |bytes| *bytes).len()).collect();
        assert_eq!(batches, [2, 2, 1, 0]);
        assert_eq!(batch([1000; 600].into_iter(), |bytes| *bytes).len(), MAX_BATCH);
    }
}
