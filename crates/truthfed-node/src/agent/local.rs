//! The agent's API for the member's application: plain HTTP on loopback.
//!
//! `POST /choose`, `POST /learn`, `GET /status`; JSON in and out, whatever the content type says. Refusals look like the
//! coordinator's. There is no authentication: whoever may open a connection on this machine may use it, but a page in a
//! browser may not (requests with an `Origin`, or to another host name, are refused). Requests under way hold at most 64 MiB.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::watch;
use truthfed::bandit;

use super::core::{ChooseError, LearnError, Status};
use super::decision::DecisionId;
use super::handle::Handle;
use super::store::FileError;
use crate::error::{Code, Refusal};
use crate::loopback::only_from_here;
use crate::net::{Intake, Limits, serve_plain};
use crate::reading::read_json;

/// Largest request: about a thousand arms of the largest dimension, 512.
const MAX_BODY: usize = 16 << 20;
/// All requests under way: four of the largest.
const MAX_BODIES: usize = 4 * MAX_BODY;
const ARRIVAL: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChooseRequest {
    /// The contexts of the arms to choose from.
    pub arms: Vec<Vec<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// To be sent back with the reward.
    pub decision: DecisionId,
    /// The arm to play, from 0.
    pub index: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnRequest {
    pub decision: DecisionId,
    pub reward: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learned {
    /// Always true: it is kept.
    pub learned: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Member: use a loopback address. There is no authentication, so other machines must not reach it.
    #[error("{0} is not a loopback address: use 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// Member: the port is taken, or not allowed.
    #[error("{address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
}

pub struct LocalApi {
    listener: TcpListener,
    address: SocketAddr,
    agent: Handle,
}

impl LocalApi {
    /// Listens on a loopback address; port 0 takes any free port. Fails when it is not a loopback address, or is taken.
    pub async fn bind(address: SocketAddr, agent: Handle) -> Result<LocalApi, BindError> {
        if !address.ip().is_loopback() {
            return Err(BindError::NotLoopback(address));
        }
        let failed = |error| BindError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(LocalApi { listener, address, agent })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` becomes true or its sender is gone; requests that have begun are finished.
    pub async fn serve(self, stop: watch::Receiver<bool>) {
        serve_plain(self.listener, router(self.agent), Limits::default(), stop).await;
    }
}

#[derive(Clone)]
struct Api {
    agent: Handle,
    /// All senders are the application: they have one share.
    intake: Intake<()>,
}

fn router(agent: Handle) -> Router {
    Router::new()
        .route("/choose", post(choose))
        .route("/learn", post(learn))
        .route("/status", get(status))
        .fallback(|| async { Refusal::new(Code::NotFound, "there are /choose, /learn and /status") })
        .method_not_allowed_fallback(|| async {
            Refusal::new(Code::MethodNotAllowed, "POST /choose, POST /learn, GET /status")
        })
        .layer(middleware::from_fn(only_from_here))
        .with_state(Api { agent, intake: Intake::new(MAX_BODIES, ARRIVAL) })
}

async fn choose(State(api): State<Api>, request: Request) -> Result<Json<Choice>, Refusal> {
    let ChooseRequest { arms } = api.read(request).await?;
    let (decision, index) = api.agent.choose(arms).await?;
    Ok(Json(Choice { decision, index }))
}

async fn learn(State(api): State<Api>, request: Request) -> Result<Json<Learned>, Refusal> {
    let LearnRequest { decision, reward } = api.read(request).await?;
    api.agent.learn(decision, reward).await?;
    Ok(Json(Learned { learned: true }))
}

async fn status(State(api): State<Api>) -> Result<Json<Status>, Refusal> {
    Ok(Json(api.agent.status().await?))
}

impl Api {
    async fn read<T: DeserializeOwned>(&self, request: Request) -> Result<T, Refusal> {
        read_json(&self.intake.read((), request.into_body(), MAX_BODY).await?.bytes)
    }
}

impl From<ChooseError> for Refusal {
    fn from(error: ChooseError) -> Refusal {
        let code = match &error {
            ChooseError::Arms(bandit::ChooseError::NoArms) => Code::WrongType,
            ChooseError::Arms(bandit::ChooseError::WrongDimension { .. }) => Code::WrongDimension,
            ChooseError::Arms(bandit::ChooseError::NotFinite { .. }) | ChooseError::TooLong { .. } => Code::OutOfRange,
            ChooseError::File(error) => code_of(error),
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<LearnError> for Refusal {
    fn from(error: LearnError) -> Refusal {
        let code = match &error {
            LearnError::UnknownDecision(_) => Code::NotFound,
            LearnError::OtherReward { .. } => Code::ConflictingRetry,
            LearnError::OutOfRange { .. } => Code::OutOfRange,
            LearnError::File(error) => code_of(error),
        };
        Refusal::new(code, error.to_string())
    }
}

impl From<FileError> for Refusal {
    fn from(error: FileError) -> Refusal {
        Refusal::new(code_of(&error), error.to_string())
    }
}

fn code_of(error: &FileError) -> Code {
    match error {
        FileError::Full => Code::StorageFull,
        FileError::Unavailable(_) => Code::Busy,
        _ => Code::Internal,
    }
}
