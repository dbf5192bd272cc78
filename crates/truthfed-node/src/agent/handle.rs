//! One agent, shared by the application's requests and the conversation with the coordinator.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Lock, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, Notify, OwnedMutexGuard};
use tokio::time::Instant;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::Membership;
use super::core::{Agent, ChooseError, InBatch, LearnError, Status};
use super::decision::DecisionId;
use super::store::FileError;
use crate::engine::Place;
use crate::ledger::receipts;
use crate::wire::{Envelope, Phase, View};

/// Shares an agent; cheap to clone. Disk access happens on threads that may block, unless made by [`Handle::at`] otherwise.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

/// The round that is open, by the last view.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub(super) round: RoundId,
    pub(super) phase: Phase,
    /// When this phase ends.
    pub(super) until: Instant,
    /// Tells a view from another.
    seen: (u64, u64),
}

struct Shared {
    whose: receipts::Bundle,
    agent: Arc<Mutex<Agent>>,
    place: Place,
    is_reachable: AtomicBool,
    /// Why it takes no part in rounds.
    problem: Lock<Option<String>>,
    progress: Lock<Option<Progress>>,
    wish: Notify,
}

impl Handle {
    pub fn new(agent: Agent) -> Handle {
        Handle::at(Place::Thread, agent)
    }

    /// In [`Place::Task`], disk access blocks the task that asks for it: for runtimes with simulated time.
    pub fn at(place: Place, agent: Agent) -> Handle {
        let Membership { federation, coordinator, member, .. } = &agent.membership;
        let whose = receipts::Bundle { member: member.clone(), federation: *federation, coordinator: *coordinator };
        Handle(Arc::new(Shared {
            whose,
            agent: Arc::new(Mutex::new(agent)),
            place,
            is_reachable: AtomicBool::new(false),
            problem: Lock::default(),
            progress: Lock::default(),
            wish: Notify::new(),
        }))
    }

    pub fn member(&self) -> &ClientId {
        &self.0.whose.member
    }

    /// Whose receipts it holds, and who signs them.
    pub(super) fn whose(&self) -> &receipts::Bundle {
        &self.0.whose
    }

    pub async fn choose(&self, arms: Vec<Vec<f64>>) -> Result<(DecisionId, usize), ChooseError> {
        self.with(move |agent| agent.choose(&arms)).await
    }

    /// From each of several sets of arms. All decisions are kept, or none.
    pub async fn choose_each(
        &self,
        each: Vec<Vec<Vec<f64>>>,
    ) -> Result<Vec<(DecisionId, usize)>, InBatch<ChooseError>> {
        self.with(move |agent| agent.choose_each(&each)).await
    }

    pub async fn learn(&self, decision: DecisionId, reward: f64) -> Result<(), LearnError> {
        self.learn_each(vec![(decision, reward)]).await.map_err(|InBatch { error, .. }| error)
    }

    /// Several rewards: all of them, or none.
    pub async fn learn_each(&self, rewards: Vec<(DecisionId, f64)>) -> Result<(), InBatch<LearnError>> {
        let (learned, wants_round) = self.with(move |agent| (agent.learn_each(&rewards), agent.wants_round())).await;
        if wants_round {
            self.0.wish.notify_one();
        }
        learned
    }

    /// All receipts it holds, by round, as the coordinator signed them.
    pub async fn receipts(&self) -> Result<Vec<Envelope>, FileError> {
        self.with(|agent| agent.receipts()).await
    }

    pub async fn status(&self) -> Result<Status, FileError> {
        let is_reachable = self.0.is_reachable.load(Ordering::Relaxed);
        let problem = self.0.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let status = self.with(move |agent| agent.status(is_reachable)).await?;
        Ok(Status { problem, ..status })
    }

    pub async fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut Agent) -> T + Send + 'static) -> T {
        self.work_with(self.hold().await, work).await.1
    }

    /// Waits for the agent, and keeps everyone else from it until the guard is dropped.
    pub(super) async fn hold(&self) -> OwnedMutexGuard<Agent> {
        self.0.agent.clone().lock_owned().await
    }

    /// Works with the agent, which is held, on a thread that may block, and gives it back.
    pub(super) async fn work_with<T: Send + 'static>(
        &self,
        mut held: OwnedMutexGuard<Agent>,
        work: impl FnOnce(&mut Agent) -> T + Send + 'static,
    ) -> (OwnedMutexGuard<Agent>, T) {
        if self.0.place == Place::Task {
            let done = work(&mut held);
            return (held, done);
        }
        let done = tokio::task::spawn_blocking(move || {
            kill_point!(replied());
            let done = work(&mut held);
            (held, done)
        });
        done.await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => panic!("the runtime is shutting down: {error}"),
        })
    }

    pub(super) fn set_reachable(&self, is_reachable: bool) {
        if self.0.is_reachable.swap(is_reachable, Ordering::Relaxed) != is_reachable {
            tracing::info!(is_reachable, "coordinator");
        }
    }

    pub(super) fn set_problem(&self, problem: Option<String>) {
        let mut known = self.0.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_some() && problem.is_none() {
            tracing::info!("takes part in rounds again");
        }
        *known = problem;
    }

    /// Keeps what the last view says about the open round, for whoever looks.
    pub(super) fn show(&self, view: Option<&View>) {
        let mut known = self.0.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let open = view.and_then(|view| Some((view.version, view.open.as_ref()?)));
        *known = open.map(|(version, open)| {
            let seen = (version, open.remaining_ms);
            known.filter(|known| known.seen == seen).unwrap_or_else(|| {
                let until = Instant::now() + Duration::from_millis(open.remaining_ms);
                Progress { round: open.round, phase: open.phase, until, seen }
            })
        });
    }

    /// The round that is open, if the coordinator answers and says so.
    pub(super) fn progress(&self) -> Option<Progress> {
        let progress = *self.0.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.filter(|_| self.0.is_reachable.load(Ordering::Relaxed))
    }

    pub(super) async fn wished(&self) {
        self.0.wish.notified().await;
    }
}
