//! A client of an agent's local API, for applications in Rust.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use truthfed_node::agent::Token;
//! use truthfed_node::client::Application;
//! let token = Token::read("fed/members/m1/agent.token".as_ref())?;
//! let agent = Application::connect("127.0.0.1:7500".parse()?, Some(&token)).await?;
//! let choice = agent.choose(&[[1.0, 0.0], [0.0, 1.0]]).await?;
//! let reward = if choice.index == 1 { 1.0 } else { 0.0 };
//! agent.learn(choice.decision, reward).await?;
//! # Ok(())
//! # }
//! ```

use std::net::SocketAddr;
use std::time::Duration;

use hyper::Method;
use hyper::body::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agent::local::{
    Choice, Choices, ChooseEachRequest, HeadsReply, LearnEachRequest, LearnRequest, Learned, LinkReply, LinkRequest,
};
use crate::agent::{DecisionId, Status, Token};
use crate::call::Message;
use crate::error::Refusal;
use crate::net::{Client, ClientLimits, NetError};
use crate::reading::read_json;

/// Largest reply that is read; an agent's replies have a few hundred bytes.
const MAX_REPLY: usize = 1 << 20;
/// Longest wait for a reply. The agent holds a request up while its policy decides on a price: at most 600 s.
const PATIENCE: Duration = Duration::from_secs(630);

#[derive(Debug, thiserror::Error)]
pub enum ApplicationError {
    /// Member: start the agent. Send a reward that was not acknowledged again.
    #[error("the agent at {address} cannot be reached: {problem}")]
    Unreachable { address: SocketAddr, problem: String },
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something that is not an agent answers, or an agent of another version.
    #[error("the agent's reply cannot be read: {0}")]
    Garbled(String),
}

/// A connection to an agent; it is made anew when it breaks.
pub struct Application {
    address: SocketAddr,
    client: Client,
}

impl Application {
    /// Connects to an agent's local API, and shows its token, if it has one. Fails when there is nobody.
    pub async fn connect(address: SocketAddr, token: Option<&Token>) -> Result<Application, ApplicationError> {
        let limits = ClientLimits { request: PATIENCE, response_bytes: MAX_REPLY, ..ClientLimits::default() };
        let mut client = Client::plain(address).with_limits(limits);
        if let Some(token) = token {
            client = client.with_authorization(&token.header());
        }
        client.connect().await.map_err(|error| unreachable(address, &error))?;
        Ok(Application { address, client })
    }

    pub async fn choose<A: AsRef<[f64]>>(&self, arms: &[A]) -> Result<Choice, ApplicationError> {
        #[derive(Serialize)]
        struct Arms<'a> {
            arms: Vec<&'a [f64]>,
        }
        self.post("/choose", &Arms { arms: arms.iter().map(AsRef::as_ref).collect() }).await
    }

    /// Sends the reward of a decision, at any time; sending it again does no harm.
    pub async fn learn(&self, decision: DecisionId, reward: f64) -> Result<(), ApplicationError> {
        let Learned { .. } = self.post("/learn", &LearnRequest { decision, reward }).await?;
        Ok(())
    }

    /// From each of several sets of arms, by what the agent knows now. All decisions are kept, or none.
    pub async fn choose_each(&self, each: Vec<Vec<Vec<f64>>>) -> Result<Vec<Choice>, ApplicationError> {
        let Choices { choices } = self.post("/choose-each", &ChooseEachRequest { each }).await?;
        Ok(choices)
    }

    /// Sends several rewards, which are learned in this order: all of them, or none. Sending them again does no harm.
    pub async fn learn_each(&self, rewards: &[(DecisionId, f64)]) -> Result<(), ApplicationError> {
        let each = rewards.iter().map(|(decision, reward)| LearnRequest { decision: *decision, reward: *reward });
        let Learned { .. } = self.post("/learn-each", &LearnEachRequest { each: each.collect() }).await?;
        Ok(())
    }

    /// What the agent knows, has shared and has earned. Fails when the agent cannot be reached.
    pub async fn status(&self) -> Result<Status, ApplicationError> {
        self.request(Method::GET, "/status", Bytes::new()).await
    }

    /// The heads of the coordinator's journal that the agent has seen. Fails when the agent cannot be reached.
    pub async fn heads(&self) -> Result<HeadsReply, ApplicationError> {
        self.request(Method::GET, "/head", Bytes::new()).await
    }

    /// A link to the member's page, which opens it once, within so many seconds. The secret is in the fragment, which browsers send
    /// nowhere. Fails when the agent cannot be reached.
    pub async fn page(&self, seconds: u64) -> Result<String, ApplicationError> {
        let LinkReply { link } = self.post("/page/link", &LinkRequest { seconds }).await?;
        Ok(format!("http://{}/#login={link}", self.address))
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
        let message = Message { method, path: path.to_owned(), body };
        let reply = match self.client.send(message.clone(), None).await {
            // The agent may have been restarted; every request can be repeated.
            Err(NetError::Closed(_)) => self.client.send(message, None).await,
            reply => reply,
        };
        let reply = reply.map_err(|error| match error {
            NetError::TooLarge(_) => ApplicationError::Garbled(error.to_string()),
            error => unreachable(self.address, &error),
        })?;
        let garbled = |wrong: Refusal| ApplicationError::Garbled(wrong.message);
        match reply.status.is_success() {
            true => read_json(&reply.body).map_err(garbled),
            false => Err(read_json::<Refusal>(&reply.body).map_err(garbled)?.into()),
        }
    }
}

fn unreachable(address: SocketAddr, error: &NetError) -> ApplicationError {
    ApplicationError::Unreachable { address, problem: error.to_string() }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use tokio::net::TcpListener;
    use tokio::sync::watch;

    use super::*;
    use crate::net::{Limits, serve_plain};

    /// What an application makes of a choice that comes as this.
    async fn chosen(status: StatusCode, body: &str) -> Result<Choice, ApplicationError> {
        let body = body.to_owned();
        let router = Router::new().fallback(move || async move { (status, body) });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (_stop, stopped) = watch::channel(false);
        tokio::spawn(serve_plain(listener, router, Limits::default().fixed(), stopped));
        Application::connect(address, None).await.unwrap().choose(&[[1.0]]).await
    }

    #[tokio::test]
    async fn replies_in_another_form_than_the_agents_were_read() {
        let choice = r#"{"decision":"1-931d3155","index":0}"#;
        assert_eq!(chosen(StatusCode::OK, choice).await.unwrap().index, 0);
        let long = format!("{choice}{}", " ".repeat(MAX_REPLY));
        let rows = [
            (StatusCode::OK, r#"["1-931d3155",0]"#, "expected struct Choice"),
            (StatusCode::OK, r#"{"decision":"1-931d3155","index":"0"}"#, "index: "),
            (StatusCode::OK, long.as_str(), "more than 1048576 bytes"),
            (StatusCode::SERVICE_UNAVAILABLE, r#"[["busy","later"]]"#, "expected struct Wire"),
            (StatusCode::SERVICE_UNAVAILABLE, "busy", "expected value"),
        ];
        for (status, body, problem) in rows {
            let read = chosen(status, body).await;
            assert!(matches!(&read, Err(ApplicationError::Garbled(text)) if text.contains(problem)), "{read:?}");
        }
    }
}
