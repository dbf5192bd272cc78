//! Whether a coordinator is active: from when it holds the lease until its engine ends.

use std::time::Duration;

use tokio::sync::watch;

use super::{Plan, ServerError};
use crate::engine::{self, EngineError, Handle, Place};
use crate::error::{Code, Refusal};
use crate::seldom::Seldom;
use crate::store::StoreError;

#[derive(Clone)]
pub(super) enum Stage {
    /// Another coordinator holds the lease.
    Standby,
    Active(Handle),
    /// The engine has ended, or is about to.
    Ended,
}

impl Stage {
    pub(super) fn engine(&self) -> Result<Handle, Refusal> {
        match self {
            Stage::Standby => Err(Code::NotLeader.into()),
            Stage::Active(engine) => Ok(engine.clone()),
            Stage::Ended => Err(Code::ShuttingDown.into()),
        }
    }

    /// For `/healthz`: one word, and whether the coordinator is healthy.
    pub(super) fn health(&self) -> (&'static str, bool) {
        match self {
            Stage::Standby => ("standby", false),
            Stage::Active(engine) if engine.is_healthy() => ("active", true),
            Stage::Active(_) => ("failing", false),
            Stage::Ended => ("stopping", false),
        }
    }
}

/// Tries to start the engine; `None` while another coordinator holds the lease.
pub(super) async fn attempt(plan: &Plan) -> Result<Option<engine::Running>, ServerError> {
    let (setup, open) = (plan.setup(), plan.store.clone());
    let start = move || engine::start(setup, open()?);
    let started = match plan.place {
        // Stores wait for their database: not on a thread that serves requests.
        Place::Thread => tokio::task::spawn_blocking(start).await,
        Place::Task => Ok(start()),
    };
    match started.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())) {
        Ok(running) => Ok(Some(running)),
        Err(EngineError::Store(StoreError::Held)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Waits for the lease; `None` when told to stop first.
pub(super) async fn stand_by(
    plan: &Plan,
    mut stop: watch::Receiver<bool>,
) -> Result<Option<engine::Running>, ServerError> {
    let pause = Duration::from_millis((plan.lease_ms / 4).clamp(50, 1000));
    let mut seldom = Seldom::default();
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return Ok(None),
            () = tokio::time::sleep(pause) => {}
        }
        match attempt(plan).await {
            Ok(None) => {}
            Ok(Some(running)) => return Ok(Some(running)),
            // A database that does not answer may come back; any other error stays.
            Err(ServerError::Engine(EngineError::Store(StoreError::Unavailable(problem)))) => {
                seldom.tell("store", |times| tracing::warn!(%problem, times, "the store does not answer"));
            }
            Err(error) => return Err(error),
        }
    }
}
