//! One agent, shared by the application's requests and the conversation with the coordinator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Mutex, Notify, OwnedMutexGuard};
use truthfed::auction::ClientId;

use super::core::{Agent, ChooseError, LearnError, Status};
use super::decision::DecisionId;
use super::store::FileError;
use crate::engine::Place;

/// Shares an agent; cheap to clone. Disk access happens on threads that may block, unless made by [`Handle::in_task`].
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

struct Shared {
    member: ClientId,
    agent: Arc<Mutex<Agent>>,
    place: Place,
    is_reachable: AtomicBool,
    wish: Notify,
}

impl Handle {
    pub fn new(agent: Agent) -> Handle {
        Handle::at(Place::Thread, agent)
    }

    /// To this agent, whose disk access blocks the task that asks for it: for runtimes with simulated time.
    pub fn in_task(agent: Agent) -> Handle {
        Handle::at(Place::Task, agent)
    }

    fn at(place: Place, agent: Agent) -> Handle {
        let member = agent.membership.member.clone();
        let agent = Arc::new(Mutex::new(agent));
        let (is_reachable, wish) = (AtomicBool::new(false), Notify::new());
        Handle(Arc::new(Shared { member, agent, place, is_reachable, wish }))
    }

    /// Whose agent it is.
    pub fn member(&self) -> &ClientId {
        &self.0.member
    }

    pub async fn choose(&self, arms: Vec<Vec<f64>>) -> Result<(DecisionId, usize), ChooseError> {
        self.with(move |agent| agent.choose(&arms)).await
    }

    pub async fn learn(&self, decision: DecisionId, reward: f64) -> Result<(), LearnError> {
        let (learned, wants_round) = self.with(move |agent| (agent.learn(decision, reward), agent.wants_round())).await;
        if wants_round {
            self.0.wish.notify_one();
        }
        learned
    }

    pub async fn status(&self) -> Result<Status, FileError> {
        let is_reachable = self.0.is_reachable.load(Ordering::Relaxed);
        self.with(move |agent| agent.status(is_reachable)).await
    }

    /// Does something with the agent while nobody else uses it.
    pub async fn with<T: Send + 'static>(&self, work: impl FnOnce(&mut Agent) -> T + Send + 'static) -> T {
        let agent = self.hold().await;
        work_with(agent, work).await.1
    }

    /// Waits for the agent, and keeps everyone else from it until the guard is dropped.
    pub(super) async fn hold(&self) -> Held {
        Held { agent: self.0.agent.clone().lock_owned().await, place: self.0.place }
    }

    /// Notes whether the coordinator answered, and logs a change.
    pub(super) fn set_reachable(&self, is_reachable: bool) {
        if self.0.is_reachable.swap(is_reachable, Ordering::Relaxed) != is_reachable {
            tracing::info!(is_reachable, "coordinator");
        }
    }

    /// Waits until the agent wishes for a round.
    pub(super) async fn wished(&self) {
        self.0.wish.notified().await;
    }
}

/// Keeps everyone else from an agent.
pub(super) struct Held {
    agent: OwnedMutexGuard<Agent>,
    place: Place,
}

/// Works with an agent that is held, on a thread that may block, and gives it back.
pub(super) async fn work_with<T: Send + 'static>(
    mut held: Held,
    work: impl FnOnce(&mut Agent) -> T + Send + 'static,
) -> (Held, T) {
    if held.place == Place::Task {
        let done = work(&mut held.agent);
        return (held, done);
    }
    let done = tokio::task::spawn_blocking(move || {
        kill_point!(replied());
        let done = work(&mut held.agent);
        (held, done)
    });
    done.await.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(error) => panic!("the runtime is shutting down: {error}"),
    })
}
