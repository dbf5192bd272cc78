//! The agent's API for the member's application: plain HTTP on loopback.
//!
//! `POST /choose` and `/learn`, or `/choose-each` and `/learn-each` for many at once; `GET /status`, `/receipts`, `/head`, `/metrics`. JSON in
//! and out, whatever the content type says; metrics are text. Refusals look like the coordinator's. Every request but `GET /healthz`
//! shows the agent's [`Token`], unless there is none. A page in a browser may not ask at all (requests with an `Origin`, or to another
//! host name, are refused), but for the member's own, which needs a login (`page`); `POST /page/link` makes a link to it.
//! Requests under way hold at most 64 MiB.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::watch;
use truthfed::bandit;

use super::core::{ChooseError, InBatch, LearnError, Status};
use super::decision::DecisionId;
use super::handle::Handle;
use super::heads::Heads;
use super::metrics;
use super::page::{self, Page};
use super::store::FileError;
use super::token::Token;
use crate::error::{Code, Refusal};
use crate::identity::Certificate;
use crate::log::SignedHead;
use crate::loopback::only_from_here;
use crate::net::{Intake, Limits, serve_plain};
use crate::page::Gate;
pub use crate::page::LinkRequest;
use crate::reading::read_json;
use crate::wire::Envelope;

/// Largest request: about a thousand arms of the largest dimension, 512.
const MAX_BODY: usize = 16 << 20;
/// All requests under way: four of the largest.
const MAX_BODIES: usize = 4 * MAX_BODY;
const ARRIVAL: Duration = Duration::from_secs(30);
/// What Prometheus expects of its text format.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChooseEachRequest {
    /// Sets of arms, an arm to be chosen from each.
    pub each: Vec<Vec<Vec<f64>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choices {
    /// In the order of the request.
    pub choices: Vec<Choice>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnEachRequest {
    pub each: Vec<LearnRequest>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptsReply {
    /// By round, as the coordinator signed them.
    pub receipts: Vec<Envelope>,
}

/// Heads of the coordinator's journal, as signed notes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadsReply {
    /// The newest that it has seen.
    pub newest: Option<String>,
    /// One of another history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}

/// The secret of a link, which opens the member's page once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkReply {
    pub link: String,
}

/// Whether an agent can work: it answers, and its file can be read. What keeps it from rounds is told beside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    pub coordinator_reachable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Member: use a loopback address. It is plain HTTP, so other machines must not reach it.
    #[error("{0} is not a loopback address: use 127.0.0.1 or [::1]")]
    NotLoopback(SocketAddr),
    /// Member: the port is taken, or not allowed.
    #[error("{address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
}

pub struct LocalApi {
    listener: TcpListener,
    address: SocketAddr,
    api: Api,
    /// Whose end the page shows.
    certificate: Option<Certificate>,
}

impl LocalApi {
    /// Listens on a loopback address; port 0 takes any free port. Fails when it is not a loopback address, or is taken.
    /// Without a token whoever may open a connection on this machine may use it.
    pub async fn bind(address: SocketAddr, agent: Handle, token: Option<Token>) -> Result<LocalApi, BindError> {
        if !address.ip().is_loopback() {
            return Err(BindError::NotLoopback(address));
        }
        let failed = |error| BindError::Listen { address, error };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let gate = page::gate(address);
        let api = Api { agent, token, intake: Intake::new(MAX_BODIES), gate };
        Ok(LocalApi { listener, address, api, certificate: None })
    }

    /// Lets the page show until when the member's certificate lasts.
    pub fn with_certificate(self, certificate: Certificate) -> LocalApi {
        LocalApi { certificate: Some(certificate), ..self }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` becomes true or its sender is gone; requests that have begun are finished.
    pub async fn serve(self, stop: watch::Receiver<bool>) {
        let page = Page::new(self.api.agent.clone(), self.certificate);
        let router = router(self.api.clone()).merge(page::router(&self.api.gate, page));
        serve_plain(self.listener, router, Limits::default().fixed(), stop).await;
    }
}

#[derive(Clone)]
struct Api {
    agent: Handle,
    token: Option<Token>,
    /// All senders are the application: they have one share.
    intake: Intake<()>,
    gate: Arc<Gate>,
}

/// What there is, for whoever asks for something else.
const ROUTES: &str = "there are POST /choose, /learn, /choose-each, /learn-each, /page/link and GET /status, /receipts, /head, /metrics, /healthz";

fn router(api: Api) -> Router {
    Router::new()
        .route("/choose", post(choose))
        .route("/choose-each", post(choose_each))
        .route("/learn", post(learn))
        .route("/learn-each", post(learn_each))
        .route("/status", get(status))
        .route("/receipts", get(receipts))
        .route("/head", get(head))
        .route("/metrics", get(metrics_text))
        .route("/page/link", post(page_link))
        .fallback(|| async { Refusal::new(Code::NotFound, ROUTES) })
        .method_not_allowed_fallback(|| async { Refusal::new(Code::MethodNotAllowed, ROUTES) })
        .layer(middleware::from_fn_with_state(api.clone(), only_with_token))
        .route("/healthz", get(health))
        .layer(middleware::from_fn(only_from_here))
        .with_state(api)
}

/// A layer that refuses requests without the token.
async fn only_with_token(State(api): State<Api>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION).map_or(&b""[..], |value| value.as_bytes());
    match &api.token {
        Some(token) if !token.is_in(shown) => {
            Refusal::new(Code::NoToken, "header Authorization: must be `Bearer ` and the token of the agent")
                .into_response()
        }
        _ => next.run(request).await,
    }
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

async fn choose_each(State(api): State<Api>, request: Request) -> Result<Json<Choices>, Refusal> {
    let ChooseEachRequest { each } = api.read(request).await?;
    let choices = api.agent.choose_each(each).await?;
    let choices = choices.into_iter().map(|(decision, index)| Choice { decision, index }).collect();
    Ok(Json(Choices { choices }))
}

async fn learn_each(State(api): State<Api>, request: Request) -> Result<Json<Learned>, Refusal> {
    let LearnEachRequest { each } = api.read(request).await?;
    let rewards = each.into_iter().map(|LearnRequest { decision, reward }| (decision, reward)).collect();
    api.agent.learn_each(rewards).await?;
    Ok(Json(Learned { learned: true }))
}

async fn receipts(State(api): State<Api>) -> Result<Json<ReceiptsReply>, Refusal> {
    Ok(Json(ReceiptsReply { receipts: api.agent.receipts().await? }))
}

async fn head(State(api): State<Api>) -> Result<Json<HeadsReply>, Refusal> {
    let Heads { newest, other } = api.agent.with(|agent| agent.heads()).await?;
    let text = |head: Option<SignedHead>| head.map(|head| head.to_string());
    Ok(Json(HeadsReply { newest: text(newest), other: text(other) }))
}

async fn page_link(State(api): State<Api>, request: Request) -> Result<Json<LinkReply>, Refusal> {
    let request = api.read(request).await?;
    Ok(Json(LinkReply { link: api.gate.link(request)? }))
}

async fn metrics_text(State(api): State<Api>) -> Result<Response, Refusal> {
    let text = metrics::text(&api.agent.status().await?);
    Ok(([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response())
}

async fn health(State(api): State<Api>) -> Response {
    match api.agent.status().await {
        Ok(Status { coordinator_reachable, problem, .. }) => {
            Json(Health { coordinator_reachable, problem }).into_response()
        }
        Err(error) => {
            let health = Health { coordinator_reachable: false, problem: Some(error.to_string()) };
            (StatusCode::SERVICE_UNAVAILABLE, Json(health)).into_response()
        }
    }
}

async fn status(State(api): State<Api>) -> Result<Json<Status>, Refusal> {
    Ok(Json(api.agent.status().await?))
}

impl Api {
    async fn read<T: DeserializeOwned>(&self, request: Request) -> Result<T, Refusal> {
        read_json(&self.intake.read((), request.into_body(), MAX_BODY, ARRIVAL).await?.bytes)
    }
}

/// A failure of the file is of no one of a batch.
impl<E: std::error::Error + Into<Refusal>> From<InBatch<E>> for Refusal {
    fn from(InBatch { place, error }: InBatch<E>) -> Refusal {
        let Refusal { code, message } = error.into();
        match code {
            Code::StorageFull | Code::Busy | Code::Internal => Refusal { code, message },
            code => Refusal { code, message: format!("each[{place}]: {message}") },
        }
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
