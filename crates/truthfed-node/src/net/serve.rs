//! Runs a router over TLS, or in plain text on the local machine.
//!
//! A connection passes: a seat for its address, a place at the door, the handshake within its time, a seat for its certificate
//! and one in all; then every request takes a token of its certificate's bucket. It ends when the peer goes, stalls or is revoked,
//! when its certificate has expired and it asks again, when it has no seat and others come, or when the server stops: then
//! requests under way have a grace period.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, Request, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::UnixTime;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, error, warn};

use super::admission::{Door, Part, Shares, Waiting};
use super::bucket::Buckets;
use super::stall::Stalling;
use super::{Limits, ServerTls};
use crate::digest::Digest;
use crate::error::{Code, Refusal};
use crate::seldom::Seldom;

/// Largest head of a request: ours have a few hundred bytes.
const HEAD_BYTES: usize = 32 * 1024;
/// How long a refused peer is heard out, so that it reads why before the connection is reset.
const LINGER: Duration = Duration::from_secs(1);
/// How long to wait after the operating system failed to give a connection, such as without a free file descriptor.
const BREATHER: Duration = Duration::from_millis(100);

/// Who sent a request: an extension of every request that came over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    pub certificate: Digest,
    pub address: SocketAddr,
}

/// Gives connections: a socket, or a simulated network.
pub trait Listen: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    fn accept(&mut self) -> impl Future<Output = io::Result<(Self::Stream, SocketAddr)>> + Send;
}

impl Listen for TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&mut self) -> io::Result<(Self::Stream, SocketAddr)> {
        let (stream, address) = TcpListener::accept(self).await?;
        stream.set_nodelay(true)?;
        Ok((stream, address))
    }
}

/// Serves a router over TLS until `stop` becomes true or its sender is gone. Every request has a [`Peer`]. What `on_open`
/// returns is kept until the connection ends: a count, for instance. Limits may change meanwhile: those of time count for
/// connections that come, all others at once.
pub async fn serve<G: Send + 'static>(
    listener: impl Listen,
    tls: ServerTls,
    router: Router,
    limits: watch::Receiver<Limits>,
    stop: watch::Receiver<bool>,
    on_open: impl Fn() -> G,
) {
    let server = Arc::new(Server {
        router: TowerToHyperService::new(router),
        door: Door::new(),
        addresses: Shares::new(),
        members: Shares::new(),
        buckets: Buckets::default(),
        started: Instant::now(),
        acceptor: TlsAcceptor::from(tls.config.clone()),
        tls,
        limits: limits.clone(),
    });
    let stopped = stop.clone();
    accept(listener, limits, stop, move |stream, address| {
        let limits = server.limits();
        let near = server.addresses.take(network(address.ip()), 1, limits.connections_per_address)?;
        let outside = Outside { waiting: server.door.enter(limits.connections)?, near };
        let (open, connection) = (on_open(), server.clone().connection(stream, address, outside, stopped.clone()));
        Some(async move {
            connection.await;
            drop(open);
        })
    })
    .await;
}

/// Serves a router without TLS until `stop` becomes true or its sender is gone: for the local machine only.
pub async fn serve_plain(
    listener: impl Listen,
    router: Router,
    limits: watch::Receiver<Limits>,
    stop: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let stopped = stop.clone();
    let seats = Shares::new();
    accept(listener, limits.clone(), stop, move |stream, address| {
        let limits = *limits.borrow();
        let (router, stopped, seat) = (router.clone(), stopped.clone(), seats.take((), 1, limits.connections)?);
        Some(async move {
            speak(Stalling::new(stream, limits.stall), address, router, limits, stopped).await;
            drop(seat);
        })
    })
    .await;
}

/// Takes connections until told to stop, then waits for those that are open.
async fn accept<L: Listen, F: Future<Output = ()> + Send + 'static>(
    mut listener: L,
    limits: watch::Receiver<Limits>,
    mut stop: watch::Receiver<bool>,
    connection: impl Fn(L::Stream, SocketAddr) -> Option<F>,
) {
    let (mut open, mut seldom) = (JoinSet::new(), Seldom::default());
    loop {
        tokio::select! {
            biased;
            () = stopped(&mut stop) => break,
            Some(ended) = open.join_next() => if let Err(error) = ended {
                error!(%error, "a connection ended in a bug of ours");
            },
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => match connection(stream, address) {
                    Some(connection) => drop(open.spawn(connection)),
                    None => debug!(%address, "connection closed: too many of this address, or in all"),
                },
                Err(error) => {
                    seldom.tell("accept", |times| warn!(%error, times, "no connection can be taken"));
                    tokio::time::sleep(BREATHER).await;
                }
            },
        }
    }
    drop(listener);
    let all_closed = async { while open.join_next().await.is_some() {} };
    let grace = limits.borrow().grace;
    if tokio::time::timeout(grace, all_closed).await.is_err() {
        open.shutdown().await;
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone means stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

struct Server {
    router: TowerToHyperService<Router>,
    acceptor: TlsAcceptor,
    tls: ServerTls,
    limits: watch::Receiver<Limits>,
    door: Arc<Door>,
    addresses: Arc<Shares<IpAddr>>,
    members: Arc<Shares<Digest>>,
    buckets: Buckets,
    started: Instant,
}

/// What a connection holds until it has a seat.
struct Outside {
    waiting: Waiting,
    near: Part<IpAddr>,
}

/// The certificate counts no more: the next handshake says so.
#[derive(Debug, thiserror::Error)]
#[error("the certificate has expired")]
struct Expired;

impl Server {
    /// Those of this moment.
    fn limits(&self) -> Limits {
        *self.limits.borrow()
    }

    async fn connection<S>(
        self: Arc<Self>,
        stream: S,
        address: SocketAddr,
        mut outside: Outside,
        stop: watch::Receiver<bool>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let shaken = tokio::select! {
            shaken = self.handshake(stream, address) => shaken,
            () = outside.waiting.sent_away() => return debug!(%address, "connection closed: it made way"),
        };
        let Some((stream, certificate, end)) = shaken else { return };
        let limits = self.limits();
        let Some(seat) = self.members.take(certificate, 1, limits.connections_per_member) else {
            // It keeps its place at the door only: a member must not fill the seats of others by coming too often.
            return tokio::select! {
                () = speak(stream, address, service_fn(refuse_seat), limits, stop) => {}
                () = outside.waiting.sent_away() => debug!(%address, "connection closed: it made way"),
            };
        };
        let Some(inside) = outside.waiting.sit() else { return };
        drop(outside.near);
        let (server, peer) = (self.clone(), Peer { certificate, address });
        let service = service_fn(move |request| server.clone().answer(peer, end, request));
        tokio::select! {
            () = speak(stream, address, service, limits, stop) => {}
            () = self.tls.revocations.wait_for(&certificate) => debug!(%address, "connection closed: revoked"),
        }
        drop((seat, inside));
    }

    /// The connection, whose it is, and the last moment of its certificate.
    async fn handshake<S>(&self, stream: S, address: SocketAddr) -> Option<(TlsStream<Stalling<S>>, Digest, UnixTime)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let limits = self.limits();
        let stream = Stalling::new(stream, limits.stall);
        let accepted = self.acceptor.accept(stream).into_fallible();
        match tokio::time::timeout(limits.handshake, accepted).await {
            Ok(Ok(stream)) => {
                let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
                let certificate = certificate.expect("a handshake without certificate fails");
                let (digest, end) = (Digest::of(certificate), self.tls.end_of(certificate));
                return Some((stream, digest, end));
            }
            Ok(Err((error, stream))) => {
                self.tls.refusals.failed(address, &error);
                hear_out(stream).await;
            }
            Err(_) => self.tls.refusals.too_slow(address),
        }
        None
    }

    async fn answer(
        self: Arc<Self>,
        peer: Peer,
        end: UnixTime,
        mut request: Request<Incoming>,
    ) -> Result<Response, Expired> {
        if self.tls.is_past(end) {
            return Err(Expired);
        }
        let Limits { requests_per_second, burst, .. } = self.limits();
        if let Err(wait) = self.buckets.take(peer.certificate, requests_per_second, burst, self.started.elapsed()) {
            // Delay the refusal until a token would have been free: a flood comes no faster than that on each connection.
            tokio::time::sleep(wait).await;
            let mut response = Refusal::from(Code::RateLimited).into_response();
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
            return Ok(response);
        }
        request.extensions_mut().insert(peer);
        let Ok(response) = self.router.call(request).await;
        Ok(response)
    }
}

async fn refuse_seat(_: Request<Incoming>) -> Result<Response, Infallible> {
    let mut response = Refusal::from(Code::TooManyConnections).into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(response)
}

/// Speaks HTTP/1.1 until the peer goes, takes too long, or the server stops.
async fn speak<S, H>(stream: S, address: SocketAddr, service: H, limits: Limits, mut stop: watch::Receiver<bool>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: Service<Request<Incoming>, Response = Response, Error: std::error::Error + Send + Sync + 'static>,
{
    // Without a timer the header timeout would silently be off.
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%address, %error, "connection ended");
    }
}

/// Whose address it is: of IPv6, one customer has a whole network of 64 bits.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

/// Says that nothing more comes and drops what the peer still sends: closing at once would take our last words with it.
async fn hear_out(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let heard = async {
        stream.shutdown().await?;
        let mut rest = [0; 1024];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    // Whether that worked or not, the connection is refused.
    let _ = tokio::time::timeout(LINGER, heard).await;
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};
    use std::sync::Mutex;

    use super::*;

    /// Has no connection to give, as without a free file descriptor.
    struct Exhausted;

    impl Listen for Exhausted {
        type Stream = tokio::io::DuplexStream;

        async fn accept(&mut self) -> io::Result<(Self::Stream, SocketAddr)> {
            Err(io::Error::other("too many open files"))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_listener_without_file_descriptors_flooded_the_log() {
        let (mut log, mut lines) = (tempfile::tempfile().unwrap(), String::new());
        let writer = Mutex::new(log.try_clone().unwrap());
        let _here = tracing::subscriber::set_default(tracing_subscriber::fmt().with_writer(writer).finish());
        let (_stop, stopped) = watch::channel(false);
        let serving = serve_plain(Exhausted, Router::new(), Limits::default().fixed(), stopped);
        tokio::time::timeout(Duration::from_secs(90), serving).await.unwrap_err();
        log.rewind().unwrap();
        log.read_to_string(&mut lines).unwrap();
        assert_eq!(lines.matches("too many open files").count(), 2, "{lines}");
    }

    #[test]
    fn addresses_of_one_customer_count_as_one() {
        let network = |text: &str| network(text.parse().unwrap());
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
    }
}
