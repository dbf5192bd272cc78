//! A running server with its authority, and what is needed to call it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Method;
use axum::routing::{get, post};
use axum::{Extension, Router};
use rustls::pki_types::ServerName;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{AlertDescription, ClientConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use truthfed_node::call::Message;
use truthfed_node::identity::{Authority, Identity, Validity};
use truthfed_node::net::{Client, Intake, Limits, NetError, Peer, Revocations, ServerTls, client_tls, serve};

/// No test waits longer than this for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
pub(crate) const SHORT: Duration = Duration::from_millis(150);

pub(crate) fn ask(path: &str) -> Message {
    Message { method: Method::GET, path: path.to_owned(), body: String::new().into() }
}

pub(crate) fn tell(path: &str, body: String) -> Message {
    Message { method: Method::POST, path: path.to_owned(), body: body.into() }
}

/// A running server and all that is needed to call it.
pub(crate) struct World {
    pub(crate) authority: Authority,
    pub(crate) revocations: Revocations,
    pub(crate) address: SocketAddr,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) limits: watch::Sender<Limits>,
    pub(crate) server: JoinHandle<()>,
    /// `/wait` says that it has begun, and ends when it is released.
    pub(crate) begun: Arc<Notify>,
    pub(crate) released: Arc<Notify>,
}

impl World {
    pub(crate) async fn start(limits: Limits) -> World {
        World::at("127.0.0.1:0", Authority::create("test", Validity::authority()).unwrap(), limits).await
    }

    pub(crate) async fn at(address: &str, authority: Authority, limits: Limits) -> World {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let server = authority.issue_server(&names, Validity::leaf()).unwrap();
        World::with_server(address, authority, &server, limits, Arc::new(DefaultTimeProvider)).await
    }

    pub(crate) async fn with_server(
        address: &str,
        authority: Authority,
        server: &Identity,
        limits: Limits,
        clock: Arc<dyn TimeProvider>,
    ) -> World {
        let revocations = Revocations::default();
        let tls = ServerTls::new(server, authority.identity().certificate(), revocations.clone()).unwrap();
        let tls = tls.with_clock(clock);
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = watch::channel(false);
        let (begun, released) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let router = router(&limits, begun.clone(), released.clone());
        let (limits, seen) = watch::channel(limits);
        let server = tokio::spawn(serve(listener, tls, router, seen, stopped, || ()));
        World { authority, revocations, address, stop, limits, server, begun, released }
    }

    pub(crate) fn member(&self) -> Identity {
        self.authority.issue_member(&"m1".parse().unwrap(), Validity::leaf()).unwrap()
    }

    pub(crate) fn config(&self, identity: &Identity) -> Arc<ClientConfig> {
        client_tls(identity, self.authority.identity().certificate()).unwrap()
    }

    pub(crate) fn client(&self, identity: &Identity) -> Client {
        Client::new(&self.address.to_string(), "localhost", self.config(identity)).unwrap()
    }

    pub(crate) async fn raw(&self, identity: &Identity) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(self.config(identity)).connect(name, stream).await.unwrap()
    }
}

pub(crate) fn router(limits: &Limits, begun: Arc<Notify>, released: Arc<Notify>) -> Router {
    let (intake, most) = (Intake::new(limits.body_bytes), limits.body_bytes);
    let within = limits.body;
    let wait = move || {
        let (begun, released) = (begun.clone(), released.clone());
        async move {
            begun.notify_one();
            released.notified().await;
            "released"
        }
    };
    let echo = move |body: Body| {
        let intake = intake.clone();
        async move { intake.read((), body, most, within).await.map(|taken| taken.bytes) }
    };
    Router::new()
        .route("/who", get(|Extension(peer): Extension<Peer>| async move { peer.certificate.to_string() }))
        .route("/port", get(|Extension(peer): Extension<Peer>| async move { peer.address.to_string() }))
        .route("/large", get(|| async { "x".repeat(100_000) }))
        .route("/echo", post(echo))
        .route("/wait", get(wait))
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens before long")
}

/// The alert with which the server turned a client away.
pub(crate) async fn alert(client: Client) -> AlertDescription {
    match soon(client.send(ask("/who"), None)).await {
        Err(NetError::Tls(rustls::Error::AlertReceived(alert))) => alert,
        other => panic!("{other:?}"),
    }
}

/// Sends bytes and waits for the end of the connection, which must come after the time that is given for it.
pub(crate) async fn check_ends(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    sent: &[u8],
    after: Duration,
) -> String {
    let begin = Instant::now();
    stream.write_all(sent).await.unwrap();
    let mut answer = Vec::new();
    // The end may come as a reset; what counts is that it comes.
    let _ = soon(stream.read_to_end(&mut answer)).await;
    assert!(begin.elapsed() >= after, "{:?}", begin.elapsed());
    String::from_utf8_lossy(&answer).into_owned()
}

/// What a client that knows TLS 1.2 at most begins with.
pub(crate) fn client_hello_of_tls_1_2() -> Vec<u8> {
    let extensions: &[u8] = &[
        0x00, 0x0a, 0x00, 0x04, 0x00, 0x02, 0x00, 0x17, // groups: secp256r1
        0x00, 0x0b, 0x00, 0x02, 0x01, 0x00, // points: uncompressed
        0x00, 0x0d, 0x00, 0x06, 0x00, 0x04, 0x04, 0x03, 0x08, 0x07, // signatures: ECDSA, Ed25519
    ];
    let mut body = vec![0x03, 0x03];
    body.extend([7; 32]);
    body.push(0);
    body.extend([0x00, 0x04, 0xc0, 0x2b, 0xc0, 0x2f]);
    body.extend([0x01, 0x00]);
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let mut hello = vec![0x16, 0x03, 0x01];
    hello.extend((body.len() as u16 + 4).to_be_bytes());
    hello.push(0x01);
    hello.extend(&(body.len() as u32).to_be_bytes()[1..]);
    hello.extend(body);
    hello
}
