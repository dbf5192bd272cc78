//! What a coordinator does: it is active from when it holds the lease until its engine ends.

use std::time::Duration;

use tokio::sync::watch;

use super::{Plan, ServerError};
use crate::engine::{self, Ahead, EngineError, Handle, Place};
use crate::error::{Code, Refusal};
use crate::seldom::Seldom;
use crate::store::StoreError;

#[derive(Clone)]
pub(super) enum Stage {
    /// Another coordinator holds the lease; or what keeps this one from knowing.
    Standby(Option<String>),
    Active(Handle),
    /// The engine has ended, or is about to.
    Ended,
}

/// What monitoring is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Takes requests.
    Active,
    /// Takes over when the lease is free.
    Standby,
    /// Can do neither.
    Failing,
    Stopping,
}

impl Role {
    pub(super) const ALL: [Role; 4] = [Role::Active, Role::Standby, Role::Failing, Role::Stopping];

    pub(super) fn name(self) -> &'static str {
        match self {
            Role::Active => "active",
            Role::Standby => "standby",
            Role::Failing => "failing",
            Role::Stopping => "stopping",
        }
    }
}

impl Stage {
    pub(super) fn engine(&self) -> Result<Handle, Refusal> {
        match self {
            Stage::Standby(_) => Err(Code::NotLeader.into()),
            Stage::Active(engine) => Ok(engine.clone()),
            Stage::Ended => Err(Code::ShuttingDown.into()),
        }
    }

    /// The role, and why it fails if it does.
    pub(super) fn role(&self) -> (Role, Option<String>) {
        let (role, problem) = match self {
            Stage::Standby(problem) => (Role::Standby, problem.clone()),
            Stage::Active(engine) => (Role::Active, engine.problem()),
            Stage::Ended => (Role::Stopping, None),
        };
        (if problem.is_some() { Role::Failing } else { role }, problem)
    }
}

/// Tries to start the engine; `None` while another coordinator holds the lease, whose journal is read ahead.
pub(super) async fn attempt(plan: &Plan, ahead: &mut Ahead) -> Result<Option<engine::Running>, ServerError> {
    let (setup, open, mut kept) = (plan.setup(), plan.store.clone(), std::mem::take(ahead));
    let start = move || (engine::start(setup, &open, &mut kept), kept);
    let started = match plan.place {
        // Stores wait for their database: not on a thread that serves requests.
        Place::Thread => tokio::task::spawn_blocking(start).await,
        Place::Task => Ok(start()),
    };
    let (started, kept) = started.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    *ahead = kept;
    match started {
        Ok(running) => Ok(Some(running)),
        Err(EngineError::Store(StoreError::Held)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Waits for the lease; `None` when told to stop first.
pub(super) async fn stand_by(
    plan: &Plan,
    mut ahead: Ahead,
    stage: &watch::Sender<Stage>,
    mut stop: watch::Receiver<bool>,
) -> Result<Option<engine::Running>, ServerError> {
    let pause = Duration::from_millis((plan.lease_ms / 20).clamp(50, 250));
    let mut seldom = Seldom::default();
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return Ok(None),
            () = tokio::time::sleep(pause) => {}
        }
        match attempt(plan, &mut ahead).await {
            Ok(None) => drop(stage.send_replace(Stage::Standby(None))),
            Ok(Some(running)) => return Ok(Some(running)),
            // A database that does not answer may come back; any other error stays.
            Err(ServerError::Engine(EngineError::Store(error @ StoreError::Unavailable(_)))) => {
                seldom.tell("store", |times| tracing::warn!(%error, times, "standing by"));
                stage.send_replace(Stage::Standby(Some(error.to_string())));
            }
            Err(error) => return Err(error),
        }
    }
}
