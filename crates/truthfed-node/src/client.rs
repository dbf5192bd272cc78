//! A client of an agent's local API, for applications in Rust.
//!
//! ```no_run
//! # async fn example() -> Result<(), truthfed_node::client::ApplicationError> {
//! use truthfed_node::client::Application;
//! let agent = Application::connect("127.0.0.1:7500".parse().expect("an address")).await?;
//! let choice = agent.choose(&[[1.0, 0.0], [0.0, 1.0]]).await?;
//! let reward = if choice.index == 1 { 1.0 } else { 0.0 };
//! agent.learn(choice.decision, reward).await?;
//! # Ok(())
//! # }
//! ```

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::agent::local::{Choice, LearnRequest, Learned};
use crate::agent::{DecisionId, Status};
use crate::error::Refusal;

/// Largest reply that is read.
const MAX_REPLY: usize = 1 << 20;

/// Why the agent gave no useful answer.
#[derive(Debug, thiserror::Error)]
pub enum ApplicationError {
    /// Member: start the agent. A reward that was not acknowledged can be sent again.
    #[error("the agent at {address} cannot be reached: {problem}")]
    Unreachable {
        /// Where it should be.
        address: SocketAddr,
        /// What happened.
        problem: String,
    },
    /// It said no, and why.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What answers is no agent, or one of another version.
    #[error("the agent's reply cannot be read: {0}")]
    Garbled(String),
}

/// A connection to an agent; it is made anew when it breaks.
pub struct Application {
    address: SocketAddr,
    sender: Mutex<Option<Sender>>,
}

type Sender = SendRequest<Full<Bytes>>;

impl Application {
    /// Connects to an agent's local API.
    ///
    /// # Errors
    /// When there is nobody.
    pub async fn connect(address: SocketAddr) -> Result<Application, ApplicationError> {
        let sender = Mutex::new(Some(open(address).await?));
        Ok(Application { address, sender })
    }

    /// Which arm to play.
    ///
    /// # Errors
    /// When the arms do not fit, or the agent cannot be reached.
    pub async fn choose<A: AsRef<[f64]>>(&self, arms: &[A]) -> Result<Choice, ApplicationError> {
        #[derive(Serialize)]
        struct Arms<'a> {
            arms: Vec<&'a [f64]>,
        }
        self.post("/choose", &Arms { arms: arms.iter().map(AsRef::as_ref).collect() }).await
    }

    /// Tells the reward of a decision, at any time; telling it again does no harm.
    ///
    /// # Errors
    /// When the decision is not known or has another reward, or the agent cannot be reached.
    pub async fn learn(&self, decision: DecisionId, reward: f64) -> Result<(), ApplicationError> {
        let Learned { .. } = self.post("/learn", &LearnRequest { decision, reward }).await?;
        Ok(())
    }

    /// How the agent stands.
    ///
    /// # Errors
    /// When the agent cannot be reached.
    pub async fn status(&self) -> Result<Status, ApplicationError> {
        self.request(Method::GET, "/status", Bytes::new()).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, ApplicationError> {
        let body = serde_json::to_vec(body).expect("requests are JSON");
        self.request(Method::POST, path, body.into()).await
    }

    async fn request<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<T, ApplicationError> {
        let mut sender = self.sender.lock().await;
        // The agent closes connections that are idle for long, and may have been restarted: one more attempt.
        let reply = match self.send(&mut sender, &method, path, body.clone()).await {
            Err(ApplicationError::Unreachable { .. }) => self.send(&mut sender, &method, path, body).await?,
            reply => reply?,
        };
        let (head, body) = reply.into_parts();
        let garbled = |error: serde_json::Error| ApplicationError::Garbled(error.to_string());
        if head.status.is_success() {
            serde_json::from_slice(&body).map_err(garbled)
        } else {
            let refusal: Refusal = serde_json::from_slice(&body).map_err(garbled)?;
            Err(refusal.into())
        }
    }

    /// One attempt. The connection is given up when it fails.
    async fn send(
        &self,
        place: &mut Option<Sender>,
        method: &Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Bytes>, ApplicationError> {
        let mut sender = match place.take() {
            Some(sender) if !sender.is_closed() => sender,
            _ => open(self.address).await?,
        };
        let unreachable = |problem: String| ApplicationError::Unreachable { address: self.address, problem };
        let request = Request::builder().method(method).uri(path).header(header::HOST, self.address.to_string());
        let request = request.body(Full::new(body)).expect("the parts of a request are valid");
        sender.ready().await.map_err(|error| unreachable(error.to_string()))?;
        let reply = sender.send_request(request).await.map_err(|error| unreachable(error.to_string()))?;
        let (head, body) = reply.into_parts();
        let body = Limited::new(body, MAX_REPLY).collect().await.map_err(|error| unreachable(error.to_string()))?;
        *place = Some(sender);
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

async fn open(address: SocketAddr) -> Result<Sender, ApplicationError> {
    let unreachable = |problem: String| ApplicationError::Unreachable { address, problem };
    let stream = TcpStream::connect(address).await.map_err(|error| unreachable(error.to_string()))?;
    let _ = stream.set_nodelay(true);
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(error.to_string()))?;
    // It ends with the sender, or when the agent closes it; the next request finds out.
    tokio::spawn(connection);
    Ok(sender)
}
