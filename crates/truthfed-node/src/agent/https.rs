//! The link over a real network: HTTPS with the member's certificate.

use std::time::Duration;

use rustls::AlertDescription;

use super::link::{Link, LinkError};
use crate::error::Code;
use crate::federation::Bundle;
use crate::net::{Client, Connect, NetError, Reply, Tcp, TlsError, client_tls};
use crate::wire::Call;

/// How much longer than agreed the coordinator may take to answer a long poll: a busy machine, a slow network.
const GRACE: Duration = Duration::from_secs(10);

/// A link to the coordinator of a bundle. It has two connections: one polls for views, the other sends everything else.
pub struct Https<C = Tcp> {
    waiting: Client<C>,
    speaking: Client<C>,
}

/// Why there can be no link. Member: take the bundle as it was issued.
#[derive(Debug, thiserror::Error)]
pub enum HttpsError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Server(#[from] NetError),
}

impl Https {
    /// To the coordinator that a bundle names. Nothing is sent yet. Fails when the bundle's files do not serve.
    pub fn new(bundle: &Bundle) -> Result<Https, HttpsError> {
        Https::over(|| Tcp, bundle)
    }
}

impl<C: Connect> Https<C> {
    /// The same over another network. Fails when the bundle's files do not serve.
    pub fn over(network: impl Fn() -> C, bundle: &Bundle) -> Result<Https<C>, HttpsError> {
        let tls = client_tls(&bundle.identity, &bundle.authority)?;
        let client = || Client::over(network(), &bundle.coordinator, &bundle.server_name, tls.clone());
        Ok(Https { waiting: client()?, speaking: client()? })
    }
}

impl<C: Connect> Link for Https<C> {
    async fn call(&self, call: Call) -> Result<Vec<u8>, LinkError> {
        let (client, within) = match &call {
            Call::View(seen) => (&self.waiting, Some(Duration::from_millis(seen.wait_ms) + GRACE)),
            _ => (&self.speaking, None),
        };
        read(client.send(call.message(), within).await)
    }
}

fn read(reply: Result<Reply, NetError>) -> Result<Vec<u8>, LinkError> {
    let reply = reply.map_err(|error| match error {
        NetError::TooLarge(_) => LinkError::Garbled(error.to_string()),
        // It answers, and refuses the certificate in the handshake.
        NetError::Tls(rustls::Error::AlertReceived(AlertDescription::CertificateRevoked)) => {
            LinkError::Refused(Code::MemberRevoked.into())
        }
        error => LinkError::Away(error.to_string()),
    })?;
    if reply.status.is_success() {
        return Ok(reply.body.into());
    }
    match reply.refusal() {
        Some(refusal) => Err(LinkError::Refused(refusal)),
        None => Err(LinkError::Garbled(format!("status {} without a reason", reply.status))),
    }
}
