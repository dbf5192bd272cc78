//! The link over a real network: HTTPS with the member's certificate.

use std::time::Duration;

use rustls::AlertDescription;
use serde::Serialize;
use serde::de::DeserializeOwned;
use truthfed::protocol::RoundId;

use super::link::{Link, LinkError, read_reply};
use crate::error::Code;
use crate::federation::Bundle;
use crate::net::{Client, Connect, NetError, Reply, Tcp, TlsError, client_tls};
use crate::wire::{AskReply, DeclineReply, Envelope, ReceiptReply, SyncReply, SyncRequest, View};

/// How much longer than agreed the coordinator may take to answer a long poll.
const GRACE: Duration = Duration::from_secs(10);

/// A link to the coordinator of a bundle. Two connections: one waits for news, the other speaks meanwhile.
pub struct Https<C = Tcp> {
    waiting: Client<C>,
    speaking: Client<C>,
}

/// Why there can be no link. Member: take the bundle as it was issued.
#[derive(Debug, thiserror::Error)]
pub enum HttpsError {
    /// The certificates or the key.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The name or address of the coordinator.
    #[error(transparent)]
    Server(#[from] NetError),
}

impl Https {
    /// To the coordinator that a bundle names. Nothing is sent yet.
    ///
    /// # Errors
    /// When the bundle's files do not serve.
    pub fn new(bundle: &Bundle) -> Result<Https, HttpsError> {
        Https::over(|| Tcp, bundle)
    }
}

impl<C: Connect> Https<C> {
    /// The same over another network.
    ///
    /// # Errors
    /// When the bundle's files do not serve.
    pub fn over(network: impl Fn() -> C, bundle: &Bundle) -> Result<Https<C>, HttpsError> {
        let tls = client_tls(&bundle.identity, &bundle.authority)?;
        let client = || Client::over(network(), &bundle.coordinator, &bundle.server_name, tls.clone());
        Ok(Https { waiting: client()?, speaking: client()? })
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, LinkError> {
        let body = serde_json::to_string(body).expect("messages are JSON");
        read(self.speaking.post(path, body).await)
    }
}

/// A message that says nothing but where it is sent to.
#[derive(Serialize)]
struct Empty {}

impl<C: Connect> Link for Https<C> {
    async fn view(&self, after: Option<u64>, wait_ms: u64) -> Result<View, LinkError> {
        let path = match after {
            Some(version) => format!("/v1/view?after={version}&wait_ms={wait_ms}"),
            None => "/v1/view".to_owned(),
        };
        read(self.waiting.get_within(&path, Duration::from_millis(wait_ms) + GRACE).await)
    }

    async fn ask(&self) -> Result<AskReply, LinkError> {
        self.post("/v1/ask", &Empty {}).await
    }

    async fn offer(&self, round: RoundId, offer: Envelope) -> Result<ReceiptReply, LinkError> {
        self.post(&format!("/v1/rounds/{round}/offer"), &offer).await
    }

    async fn decline(&self, round: RoundId) -> Result<DeclineReply, LinkError> {
        self.post(&format!("/v1/rounds/{round}/decline"), &Empty {}).await
    }

    async fn deliver(&self, round: RoundId, delivery: Envelope) -> Result<ReceiptReply, LinkError> {
        self.post(&format!("/v1/rounds/{round}/delivery"), &delivery).await
    }

    async fn sync(&self, request: SyncRequest) -> Result<SyncReply, LinkError> {
        self.post("/v1/sync", &request).await
    }
}

fn read<T: DeserializeOwned>(reply: Result<Reply, NetError>) -> Result<T, LinkError> {
    let reply = reply.map_err(|error| match error {
        NetError::TooLarge(_) => LinkError::Garbled(error.to_string()),
        // It is there, and says no at the door.
        NetError::Tls(rustls::Error::AlertReceived(AlertDescription::CertificateRevoked)) => {
            LinkError::Refused(Code::MemberRevoked.into())
        }
        error => LinkError::Away(error.to_string()),
    })?;
    if reply.status.is_success() {
        return read_reply(&reply.body);
    }
    match reply.refusal() {
        Some(refusal) => Err(LinkError::Refused(refusal)),
        None => Err(LinkError::Garbled(format!("status {} without a reason", reply.status))),
    }
}
