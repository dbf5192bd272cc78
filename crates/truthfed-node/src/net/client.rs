//! A small HTTP client with one connection that is kept: over TLS to a coordinator, in plain text to an agent beside it.
//!
//! It sends one request at a time; to send during a long poll, use a second client. If a kept connection did not take a
//! request, the client sends it once more over a new one. It does not repeat a request that the server may have heard: that
//! is for the caller to decide.

use std::error::Error;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use crate::call::Message;
use crate::error::Refusal;
use crate::reading::read_json;

/// How long to wait for a failed connection to say why: the reason, such as a revoked certificate, can come after the failure.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Opens connections: the operating system's, or a simulated network's.
pub trait Connect: Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Connects to `host:port`.
    fn connect(&self, address: &str) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp;

impl Connect for Tcp {
    type Stream = TcpStream;

    async fn connect(&self, address: &str) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientLimits {
    /// Time to connect, with the handshake; default 10 s.
    pub connect: Duration,
    /// Time for a request and its response, connecting not counted; default 30 s.
    pub request: Duration,
    /// A connection that was idle for longer is not used again: it should be less than the server's; default 15 s.
    pub idle: Duration,
    /// Largest response; default 16 MiB.
    pub response_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> ClientLimits {
        ClientLimits {
            connect: Duration::from_secs(10),
            request: Duration::from_secs(30),
            idle: Duration::from_secs(15),
            response_bytes: 16 << 20,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub status: StatusCode,
    pub body: Bytes,
}

impl Reply {
    /// The refusal, if it is one of a known code.
    pub fn refusal(&self) -> Option<Refusal> {
        if self.status.is_success() {
            return None;
        }
        read_json(&self.body).ok()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// Member: the name is neither a DNS name nor an IP address.
    #[error("`{0}` is not the name of a server")]
    ServerName(String),
    /// Passing, or a wrong address: nobody answers there.
    #[error("cannot connect to {address}: {error}")]
    Unreachable { address: String, error: io::Error },
    /// Member or operator: one side does not take the other's certificate, or it is no TLS 1.3.
    #[error("TLS failed: {0}")]
    Tls(rustls::Error),
    /// Passing: nothing came in time. The request may have been heard.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// Operator: the response is larger than any honest one.
    #[error("the response has more than {0} bytes")]
    TooLarge(usize),
    /// Passing: the connection ended. The request may have been heard.
    #[error("the connection ended before the answer: {0}")]
    Closed(String),
}

#[derive(Debug)]
pub struct Client<C = Tcp> {
    address: String,
    /// None for plain text.
    tls: Option<Tls>,
    /// A header that every request has.
    authorization: Option<HeaderValue>,
    limits: ClientLimits,
    connector: C,
    kept: Mutex<Option<Connection>>,
}

type Tls = (Arc<ClientConfig>, ServerName<'static>);

#[derive(Debug)]
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// One task, which ends with the connection.
    driver: JoinSet<Result<(), hyper::Error>>,
    used: Instant,
}

impl Client {
    /// A client of the server at `address` (`host:port`), which must be certified for `server_name`.
    pub fn new(address: &str, server_name: &str, tls: Arc<ClientConfig>) -> Result<Client, NetError> {
        Client::over(Tcp, address, server_name, tls)
    }

    /// A client without TLS, of a server on this machine.
    pub fn plain(address: SocketAddr) -> Client {
        Client::with(Tcp, address.to_string(), None)
    }
}

impl<C: Connect> Client<C> {
    /// The same over another network.
    pub fn over(connector: C, address: &str, server_name: &str, tls: Arc<ClientConfig>) -> Result<Client<C>, NetError> {
        let name = ServerName::try_from(server_name).map_err(|_| NetError::ServerName(server_name.to_owned()))?;
        Ok(Client::with(connector, address.to_owned(), Some((tls, name.to_owned()))))
    }

    fn with(connector: C, address: String, tls: Option<Tls>) -> Client<C> {
        Client { address, tls, authorization: None, limits: ClientLimits::default(), connector, kept: Mutex::new(None) }
    }

    #[must_use]
    pub fn with_limits(self, limits: ClientLimits) -> Client<C> {
        Client { limits, ..self }
    }

    /// Shows a secret with every request: the value of the header `Authorization`, which is plain ASCII.
    #[must_use]
    pub(crate) fn with_authorization(self, value: &str) -> Client<C> {
        let mut value = HeaderValue::from_str(value).expect("a token is plain ASCII");
        value.set_sensitive(true);
        Client { authorization: Some(value), ..self }
    }

    /// Sends a request, which may take longer, or less, than others: a long poll. A refusal is a reply.
    pub async fn send(&self, message: Message, within: Option<Duration>) -> Result<Reply, NetError> {
        let Message { method, path, body } = message;
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, &self.address);
        if let Some(value) = &self.authorization {
            request = request.header(header::AUTHORIZATION, value);
        }
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let request = request.body(Full::new(body));
        self.exchange(request.expect("paths are ours and valid"), within.unwrap_or(self.limits.request)).await
    }

    /// Opens the connection of the first request ahead of it.
    pub async fn connect(&self) -> Result<(), NetError> {
        let mut kept = self.kept.lock().await;
        *kept = Some(self.open().await?);
        Ok(())
    }

    async fn exchange(&self, mut request: Request<Full<Bytes>>, within: Duration) -> Result<Reply, NetError> {
        let mut kept = self.kept.lock().await;
        // Taken out, and put back only after a whole exchange: a connection that was given up midway is never used again.
        let mut idle = kept.take().filter(|connection| connection.used.elapsed() < self.limits.idle);
        loop {
            let (is_new, mut connection) = match idle.take() {
                Some(connection) => (false, connection),
                None => (true, self.open().await?),
            };
            let response = match timeout(within, connection.send(request)).await {
                Err(_) => return Err(NetError::Timeout(within)),
                Ok(Ok(response)) => response,
                Ok(Err(mut error)) => match error.take_message() {
                    Some(unsent) if !is_new => {
                        request = unsent;
                        continue;
                    }
                    _ => return Err(connection.failure(error.into_error()).await),
                },
            };
            let (status, most) = (response.status(), self.limits.response_bytes);
            let body = match timeout(within, Limited::new(response.into_body(), most).collect()).await {
                Err(_) => return Err(NetError::Timeout(within)),
                Ok(Err(error)) if error.is::<LengthLimitError>() => return Err(NetError::TooLarge(most)),
                Ok(Err(error)) => return Err(classify(error.as_ref())),
                Ok(Ok(collected)) => collected.to_bytes(),
            };
            connection.used = Instant::now();
            *kept = Some(connection);
            return Ok(Reply { status, body });
        }
    }

    async fn open(&self) -> Result<Connection, NetError> {
        let within = self.limits.connect;
        timeout(within, self.dial()).await.unwrap_or(Err(NetError::Timeout(within)))
    }

    async fn dial(&self) -> Result<Connection, NetError> {
        let unreachable = |error| NetError::Unreachable { address: self.address.clone(), error };
        let stream = self.connector.connect(&self.address).await.map_err(unreachable)?;
        match &self.tls {
            None => Connection::over(stream).await,
            Some((tls, name)) => {
                let tls = TlsConnector::from(tls.clone());
                let stream = tls.connect(name.clone(), stream).await.map_err(|error| classify(&error))?;
                Connection::over(stream).await
            }
        }
    }
}

impl Connection {
    async fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Result<Connection, NetError> {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| classify(&error))?;
        let mut driver = JoinSet::new();
        driver.spawn(connection);
        Ok(Connection { sender, driver, used: Instant::now() })
    }

    /// Sends a request once the connection has finished with the last one; that its response was read does not mean so.
    async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Full<Bytes>>>> {
        // If the connection has ended, the request comes back unsent.
        let _ = self.sender.ready().await;
        self.sender.try_send_request(request).await
    }

    /// Why a request failed, as the connection itself reports it once it has ended.
    async fn failure(mut self, error: hyper::Error) -> NetError {
        drop(self.sender);
        match timeout(LAST_WORDS, self.driver.join_next()).await {
            Ok(Some(Ok(Err(cause)))) => classify(&cause),
            _ => classify(&error),
        }
    }
}

/// Finds what lies at the bottom of an error.
fn classify(error: &(dyn Error + 'static)) -> NetError {
    let mut cause = Some(error);
    while let Some(present) = cause {
        let inner = present.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return NetError::Tls(tls.clone());
        }
        cause = present.source();
    }
    NetError::Closed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    #[test]
    fn a_list_was_taken_for_a_refusal() {
        let refusal = |text: &'static str| {
            let (status, body) = (StatusCode::SERVICE_UNAVAILABLE, Bytes::from_static(text.as_bytes()));
            Reply { status, body }.refusal().map(|refusal| refusal.code)
        };
        assert_eq!(refusal(r#"{"error":{"code":"busy","message":"later"}}"#), Some(Code::Busy));
        for text in [r#"[["busy","later"]]"#, r#"{"error":["busy","later"]}"#, r#"{"error":{"code":"busy"}}"#] {
            assert_eq!(refusal(text), None, "{text}");
        }
    }
}
