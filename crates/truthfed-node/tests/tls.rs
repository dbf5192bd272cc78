//! Real connections over loopback: who gets in, who does not, and what ends them.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use axum::body::Body;
use axum::http::Method;
use axum::routing::{get, post};
use axum::{Extension, Router};
use rustls::pki_types::{ServerName, UnixTime};
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{AlertDescription, ClientConfig, HandshakeKind, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use truthfed_node::call::Message;
use truthfed_node::digest::Digest;
use truthfed_node::error::Code;
use truthfed_node::federation::{self, InitOptions};
use truthfed_node::identity::{Authority, Identity, Validity};
use truthfed_node::net::{
    Client, ClientLimits, Connect, Intake, Limits, NetError, Peer, Revocations, ServerTls, client_tls, read_body,
    serve, serve_plain,
};

/// No test waits longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(150);

fn ask(path: &str) -> Message {
    Message { method: Method::GET, path: path.to_owned(), body: String::new().into() }
}

fn tell(path: &str, body: String) -> Message {
    Message { method: Method::POST, path: path.to_owned(), body: body.into() }
}

/// A running server and all that is needed to call it.
struct World {
    authority: Authority,
    revocations: Revocations,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    server: JoinHandle<()>,
    /// `/wait` says that it has begun, and ends when it is released.
    begun: Arc<Notify>,
    released: Arc<Notify>,
}

impl World {
    async fn start(limits: Limits) -> World {
        World::at("127.0.0.1:0", Authority::create("test", Validity::authority()).unwrap(), limits).await
    }

    async fn at(address: &str, authority: Authority, limits: Limits) -> World {
        let names = ["localhost", "127.0.0.1"].map(str::to_owned);
        let server = authority.issue_server(&names, Validity::leaf()).unwrap();
        World::with_server(address, authority, &server, limits, Arc::new(DefaultTimeProvider)).await
    }

    async fn with_server(
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
        let server = tokio::spawn(serve(listener, tls, router, limits, stopped, || ()));
        World { authority, revocations, address, stop, server, begun, released }
    }

    fn member(&self) -> Identity {
        self.authority.issue_member(&"m1".parse().unwrap(), Validity::leaf()).unwrap()
    }

    fn config(&self, identity: &Identity) -> Arc<ClientConfig> {
        client_tls(identity, self.authority.identity().certificate()).unwrap()
    }

    fn client(&self, identity: &Identity) -> Client {
        Client::new(&self.address.to_string(), "localhost", self.config(identity)).unwrap()
    }

    async fn raw(&self, identity: &Identity) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(self.config(identity)).connect(name, stream).await.unwrap()
    }
}

fn router(limits: &Limits, begun: Arc<Notify>, released: Arc<Notify>) -> Router {
    let (intake, most) = (Intake::new(limits.body_bytes, limits.body), limits.body_bytes);
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
        async move { intake.read((), body, most).await.map(|taken| taken.bytes) }
    };
    Router::new()
        .route("/who", get(|Extension(peer): Extension<Peer>| async move { peer.certificate.to_string() }))
        .route("/port", get(|Extension(peer): Extension<Peer>| async move { peer.address.to_string() }))
        .route("/large", get(|| async { "x".repeat(100_000) }))
        .route("/echo", post(echo))
        .route("/wait", get(wait))
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens before long")
}

/// The alert with which the server turned a client away.
async fn alert(client: Client) -> AlertDescription {
    match soon(client.send(ask("/who"), None)).await {
        Err(NetError::Tls(rustls::Error::AlertReceived(alert))) => alert,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_member_is_known_by_its_certificate() {
    let world = World::start(Limits::default()).await;
    for _ in 0..2 {
        let member = world.member();
        let reply = soon(world.client(&member).send(ask("/who"), None)).await.unwrap();
        assert_eq!(reply.body, member.certificate().digest().to_string());
        assert_eq!(reply.body, Digest::of(member.certificate().der()).to_string());
    }
    let operator = world.authority.issue_operator(Validity::leaf());
    assert!(soon(world.client(&operator).send(ask("/who"), None)).await.unwrap().status.is_success());
}

#[tokio::test]
async fn the_files_of_a_folder_connect_members_and_operator_to_the_coordinator() {
    let outer = truthfed_node::testing::folder();
    federation::init(&outer.path().join("fed"), &InitOptions::with_members(1)).unwrap();
    federation::add_member(&outer.path().join("fed"), "late").unwrap();
    let opened = federation::open(&outer.path().join("fed")).unwrap();
    let tls = ServerTls::new(&opened.server, &opened.authority, Revocations::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (_stop, stopped) = watch::channel(false);
    let limits = opened.settings.limits;
    tokio::spawn(serve(listener, tls, router(&limits, Arc::default(), Arc::default()), limits, stopped, || ()));
    for enrolment in &opened.roster {
        let bundle =
            federation::open_bundle(&outer.path().join("fed/members").join(enrolment.member.as_str())).unwrap();
        let tls = client_tls(&bundle.identity, &bundle.authority).unwrap();
        let reply =
            soon(Client::new(&address, &bundle.server_name, tls).unwrap().send(ask("/who"), None)).await.unwrap();
        assert_eq!(reply.body, enrolment.certificate.to_string());
    }
    let tls = client_tls(&opened.operator_identity().unwrap(), &opened.authority).unwrap();
    let reply = soon(Client::new(&address, "localhost", tls).unwrap().send(ask("/who"), None)).await.unwrap();
    assert_eq!(reply.body, opened.operator().to_string());
}

#[tokio::test]
async fn a_server_is_reached_by_its_ip_address_as_well_as_by_its_name() {
    let world = World::start(Limits::default()).await;
    for name in ["localhost", "127.0.0.1"] {
        let client = Client::new(&world.address.to_string(), name, world.config(&world.member())).unwrap();
        assert!(soon(client.send(ask("/who"), None)).await.unwrap().status.is_success(), "{name}");
    }
}

#[tokio::test]
async fn no_certificate_is_refused_in_the_handshake() {
    let world = World::start(Limits::default()).await;
    let mut roots = RootCertStore::empty();
    roots.add(world.authority.identity().certificate().der().clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Client::new(&world.address.to_string(), "localhost", Arc::new(config)).unwrap();
    assert_eq!(alert(client).await, AlertDescription::CertificateRequired);
}

#[tokio::test]
async fn foreign_self_signed_and_misused_certificates_are_refused_in_the_handshake() {
    let world = World::start(Limits::default()).await;
    // Of the same name: only the key tells them apart.
    let other = Authority::create("test", Validity::authority()).unwrap();
    let stranger = other.issue_member(&"m1".parse().unwrap(), Validity::leaf()).unwrap();
    assert_eq!(alert(world.client(&stranger)).await, AlertDescription::DecryptError);
    let named = Authority::create("other", Validity::authority()).unwrap();
    let stranger = named.issue_member(&"m1".parse().unwrap(), Validity::leaf()).unwrap();
    assert_eq!(alert(world.client(&stranger)).await, AlertDescription::UnknownCA);
    assert_eq!(alert(world.client(&self_signed())).await, AlertDescription::UnknownCA);
    alert(world.client(named.identity())).await;
    let server = world.authority.issue_server(&["m1".to_owned()], Validity::leaf()).unwrap();
    alert(world.client(&server)).await;
    alert(world.client(world.authority.identity())).await;
}

fn self_signed() -> Identity {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
    let certificate = rcgen::CertificateParams::new(["m1".to_owned()]).unwrap().self_signed(&key).unwrap();
    Identity::from_pem(&certificate.pem(), &key.serialize_pem()).unwrap()
}

#[tokio::test]
async fn a_certificate_counts_within_its_time_only() {
    let world = World::start(Limits::default()).await;
    let (now, day) = (SystemTime::now(), Duration::from_secs(86_400));
    let issue = |from, until| world.authority.issue_member(&"m1".parse().unwrap(), Validity { from, until }).unwrap();
    let expired = issue(now - 3 * day, now - day);
    assert_eq!(alert(world.client(&expired)).await, AlertDescription::CertificateExpired);
    let early = issue(now + day, now + 3 * day);
    alert(world.client(&early)).await;
    let skewed = issue(now - day, now + day);
    assert!(soon(world.client(&skewed).send(ask("/who"), None)).await.is_ok());
}

#[tokio::test]
async fn a_revoked_certificate_is_refused_in_the_handshake_and_its_open_connections_end_at_once() {
    let world = World::start(Limits::default()).await;
    let (revoked, other) = (world.member(), world.member());
    let (waiting, idle) = (world.client(&revoked), world.client(&revoked));
    assert!(soon(idle.send(ask("/who"), None)).await.is_ok());
    let poll = tokio::spawn(async move { waiting.send(ask("/wait"), Some(PATIENCE)).await });
    soon(world.begun.notified()).await;
    world.revocations.revoke(revoked.certificate().digest());
    assert!(matches!(soon(poll).await.unwrap(), Err(NetError::Closed(_))));
    assert!(soon(idle.send(ask("/who"), None)).await.is_err());
    assert_eq!(alert(world.client(&revoked)).await, AlertDescription::CertificateRevoked);
    assert!(soon(world.client(&other).send(ask("/who"), None)).await.is_ok());
}

/// Seconds since 1970, as the test says.
#[derive(Debug, Default)]
struct HandClock(AtomicU64);

impl TimeProvider for HandClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0.load(Ordering::SeqCst))))
    }
}

#[tokio::test]
async fn a_certificate_that_expires_ends_its_open_connection_at_the_next_request() {
    let authority = Authority::create("test", Validity::authority()).unwrap();
    let server = authority.issue_server(&["localhost".to_owned()], Validity::leaf()).unwrap();
    let (clock, from) = (Arc::new(HandClock::default()), SystemTime::now());
    let begin = from.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    clock.0.store(begin + 10, Ordering::SeqCst);
    let world = World::with_server("127.0.0.1:0", authority, &server, Limits::default(), clock.clone()).await;
    let issue = |seconds| {
        let validity = Validity { from, until: from + Duration::from_secs(seconds) };
        world.authority.issue_member(&"m1".parse().unwrap(), validity).unwrap()
    };
    let (short, long) = (issue(100), issue(1000));
    let (leaving, staying) = (world.client(&short), world.client(&long));
    for now in [begin + 10, begin + 99] {
        clock.0.store(now, Ordering::SeqCst);
        for client in [&leaving, &staying] {
            assert!(soon(client.send(ask("/who"), None)).await.is_ok(), "{now}");
        }
    }
    let port = soon(staying.send(ask("/port"), None)).await.unwrap().body;
    clock.0.store(begin + 102, Ordering::SeqCst);
    assert!(soon(leaving.send(ask("/who"), None)).await.is_err());
    assert_eq!(alert(world.client(&short)).await, AlertDescription::CertificateExpired);
    assert_eq!(soon(staying.send(ask("/port"), None)).await.unwrap().body, port, "others keep theirs");
}

#[tokio::test]
async fn a_client_refuses_a_server_of_another_name_authority_or_time() {
    let world = World::start(Limits::default()).await;
    let member = world.member();
    let check = async |name: &str, config| {
        let client = Client::new(&world.address.to_string(), name, config).unwrap();
        match soon(client.send(ask("/who"), None)).await {
            Err(NetError::Tls(rustls::Error::InvalidCertificate(error))) => error,
            other => panic!("{other:?}"),
        }
    };
    let nameless = Client::new(&world.address.to_string(), "a b", world.config(&member));
    assert!(matches!(nameless, Err(NetError::ServerName(name)) if name == "a b"));
    check("example.org", world.config(&member)).await;
    let other = Authority::create("other", Validity::authority()).unwrap();
    let config = client_tls(&member, other.identity().certificate()).unwrap();
    assert_eq!(check("localhost", config).await, rustls::CertificateError::UnknownIssuer);

    let authority = Authority::create("test", Validity::authority()).unwrap();
    let past = Validity { from: SystemTime::UNIX_EPOCH, until: SystemTime::UNIX_EPOCH + PATIENCE };
    let expired = authority.issue_server(&["localhost".to_owned()], past).unwrap();
    let clock = Arc::new(DefaultTimeProvider);
    let world = World::with_server("127.0.0.1:0", authority, &expired, Limits::default(), clock).await;
    let reply = soon(world.client(&world.member()).send(ask("/who"), None)).await;
    assert!(matches!(reply, Err(NetError::Tls(rustls::Error::InvalidCertificate(_)))), "{reply:?}");
}

#[tokio::test]
async fn tls_1_2_and_plain_text_are_refused() {
    let world = World::start(Limits::default()).await;
    let exchange = async |sent: &[u8]| {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        stream.write_all(sent).await.unwrap();
        let mut answer = Vec::new();
        soon(stream.read_to_end(&mut answer)).await.unwrap();
        answer
    };
    let answer = exchange(b"GET /who HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let answer = exchange(&client_hello_of_tls_1_2()).await;
    // A record of kind alert: fatal (2), protocol_version (70).
    assert_eq!((answer[0], &answer[3..]), (21, [0, 2, 2, 70].as_slice()), "{answer:?}");
}

/// What a client that knows TLS 1.2 at most begins with.
fn client_hello_of_tls_1_2() -> Vec<u8> {
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

#[tokio::test]
async fn no_session_is_resumed() {
    let world = World::start(Limits::default()).await;
    let mut config = ClientConfig::clone(&world.config(&world.member()));
    config.resumption = rustls::client::Resumption::default();
    let connector = TlsConnector::from(Arc::new(config));
    for _ in 0..3 {
        let stream = TcpStream::connect(world.address).await.unwrap();
        let mut stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
        stream.write_all(b"GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        soon(stream.read_to_end(&mut answer)).await.unwrap();
        assert!(answer.starts_with(b"HTTP/1.1 200"));
        assert_eq!(stream.get_ref().1.handshake_kind(), Some(HandshakeKind::Full));
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"http/1.1".as_slice()));
    }
}

/// Sends bytes and waits for the end of the connection, which must come after the time that is given for it.
async fn check_ends(mut stream: impl AsyncRead + AsyncWrite + Unpin, sent: &[u8], after: Duration) -> String {
    let begin = Instant::now();
    stream.write_all(sent).await.unwrap();
    let mut answer = Vec::new();
    // The end may come as a reset; what counts is that it comes.
    let _ = soon(stream.read_to_end(&mut answer)).await;
    assert!(begin.elapsed() >= after, "{:?}", begin.elapsed());
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_handshake_that_does_not_go_on_ends() {
    let world = World::start(Limits { handshake: SHORT, ..Limits::default() }).await;
    let silent = TcpStream::connect(world.address).await.unwrap();
    check_ends(silent, b"", SHORT).await;
    let slow = TcpStream::connect(world.address).await.unwrap();
    check_ends(slow, &client_hello_of_tls_1_2()[..20], SHORT).await;
}

#[tokio::test]
async fn headers_that_do_not_come_end_the_connection_first_and_later() {
    let world = World::start(Limits { header: SHORT, ..Limits::default() }).await;
    let member = world.member();
    check_ends(world.raw(&member).await, b"", SHORT).await;
    let answer = check_ends(world.raw(&member).await, b"GET /who HTTP/1.1\r\nHost: ", SHORT).await;
    assert!(!answer.contains("200 OK"), "{answer}");
    let answer = check_ends(world.raw(&member).await, b"GET /who HTTP/1.1\r\nHost: x\r\n\r\n", SHORT).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn headers_that_are_too_large_are_refused() {
    let world = World::start(Limits::default()).await;
    let request = format!("GET /who HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(64 * 1024));
    let answer = check_ends(world.raw(&world.member()).await, request.as_bytes(), Duration::ZERO).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_too_slow() {
    let world = World::start(Limits { body: SHORT, ..Limits::default() }).await;
    let request = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf";
    let answer = check_ends(world.raw(&world.member()).await, request, SHORT).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains(r#""code":"too-slow""#), "{answer}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_announced_or_not() {
    let world = World::start(Limits { body_bytes: 1000, ..Limits::default() }).await;
    let member = world.member();
    let client = world.client(&member);
    assert_eq!(soon(client.send(tell("/echo", "x".repeat(1000)), None)).await.unwrap().body.len(), 1000);
    let announced = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1001\r\n\r\n";
    let answer = check_ends(world.raw(&member).await, announced, Duration::ZERO).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains(r#""code":"too-large""#), "{answer}");
    let chunk = format!("3e9\r\n{}\r\n", "x".repeat(1001));
    let hidden =
        format!("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    let answer = check_ends(world.raw(&member).await, hidden.as_bytes(), Duration::ZERO).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn a_member_has_so_many_connections() {
    let world = World::start(Limits { connections_per_member: 2, ..Limits::default() }).await;
    let (member, other) = (world.member(), world.member());
    let clients = [world.client(&member), world.client(&member)];
    for client in &clients {
        assert!(soon(client.send(ask("/who"), None)).await.unwrap().status.is_success());
    }
    let reply = soon(world.client(&member).send(ask("/who"), None)).await.unwrap();
    assert_eq!(reply.refusal().map(|refusal| refusal.code), Some(Code::TooManyConnections));
    assert!(soon(world.client(&other).send(ask("/who"), None)).await.unwrap().status.is_success());
    drop(clients);
    // The seats come back when the server has seen the ends.
    let seated = async { while !world.client(&member).send(ask("/who"), None).await.unwrap().status.is_success() {} };
    soon(seated).await;
}

#[tokio::test]
async fn strangers_of_one_address_do_not_wait_in_numbers_and_members_are_not_counted() {
    let world = World::start(Limits { connections_per_address: 2, ..Limits::default() }).await;
    let member = world.member();
    let clients = [world.client(&member), world.client(&member), world.client(&member)];
    for client in &clients {
        assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    }
    let silent = [TcpStream::connect(world.address).await.unwrap(), TcpStream::connect(world.address).await.unwrap()];
    check_ends(TcpStream::connect(world.address).await.unwrap(), b"", Duration::ZERO).await;
    assert!(soon(clients[0].send(ask("/who"), None)).await.is_ok(), "who is in stays in");
    drop(silent);
    soon(async { while world.client(&member).send(ask("/who"), None).await.is_err() {} }).await;
}

#[tokio::test]
async fn connections_in_all_are_bounded() {
    let world = World::start(Limits { connections: 1, ..Limits::default() }).await;
    let client = world.client(&world.member());
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    check_ends(TcpStream::connect(world.address).await.unwrap(), b"", Duration::ZERO).await;
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    drop(client);
    soon(async { while world.client(&world.member()).send(ask("/who"), None).await.is_err() {} }).await;
}

#[tokio::test]
async fn strangers_that_fill_the_door_make_way_for_whoever_comes_and_take_no_seat_of_a_member() {
    let for_ever = Duration::from_secs(86_400);
    let limits = Limits { connections: 4, connections_per_address: 1000, handshake: for_ever, ..Limits::default() };
    let world = World::start(limits).await;
    let (early, late) = (world.client(&world.member()), world.client(&world.member()));
    assert!(soon(early.send(ask("/who"), None)).await.is_ok());
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(world.address).await.unwrap());
    }
    let first = silent.remove(0);
    check_ends(first, b"", Duration::ZERO).await;
    assert!(soon(late.send(ask("/who"), None)).await.is_ok(), "new ones get in");
    assert!(soon(early.send(ask("/who"), None)).await.is_ok(), "who is in stays in");
}

#[tokio::test]
async fn a_member_cannot_fill_the_seats_of_the_others_with_connections_it_has_no_seat_for() {
    let limits = Limits { connections: 4, connections_per_member: 1, ..Limits::default() };
    let world = World::start(limits).await;
    let (greedy, other) = (world.member(), world.member());
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(world.raw(&greedy).await);
    }
    assert!(soon(world.client(&other).send(ask("/who"), None)).await.unwrap().status.is_success());
}

#[tokio::test]
async fn a_member_that_asks_too_often_is_told_to_wait_and_others_are_not() {
    let world = World::start(Limits { requests_per_second: 1, burst: 2, ..Limits::default() }).await;
    let client = world.client(&world.member());
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(soon(client.send(ask("/who"), None)).await.unwrap().refusal().map(|refusal| refusal.code));
    }
    assert_eq!(codes, [None, None, Some(Code::RateLimited)]);
    assert_eq!(soon(world.client(&world.member()).send(ask("/who"), None)).await.unwrap().refusal(), None);
}

#[tokio::test]
async fn a_server_that_stops_finishes_what_is_under_way_and_takes_nothing_new() {
    let world = World::start(Limits::default()).await;
    let (client, idle) = (world.client(&world.member()), world.client(&world.member()));
    assert!(soon(idle.send(ask("/who"), None)).await.is_ok());
    let waiting = tokio::spawn(async move { client.send(ask("/wait"), Some(PATIENCE)).await });
    soon(world.begun.notified()).await;
    world.stop.send(true).unwrap();
    soon(async { while TcpStream::connect(world.address).await.is_ok() {} }).await;
    world.released.notify_one();
    assert_eq!(soon(waiting).await.unwrap().unwrap().body, "released");
    soon(world.server).await.unwrap();
}

#[tokio::test]
async fn a_request_that_outlasts_the_grace_period_is_cut_off() {
    let world = World::start(Limits { grace: SHORT, ..Limits::default() }).await;
    let client = world.client(&world.member());
    let waiting = tokio::spawn(async move { client.send(ask("/wait"), Some(PATIENCE)).await });
    soon(world.begun.notified()).await;
    drop(world.stop);
    soon(world.server).await.unwrap();
    assert!(matches!(soon(waiting).await.unwrap(), Err(NetError::Closed(_))));
}

#[tokio::test]
async fn a_client_keeps_its_connection() {
    let world = World::start(Limits::default()).await;
    let client = world.client(&world.member());
    let first = soon(client.send(ask("/port"), None)).await.unwrap().body;
    assert_eq!(soon(client.send(ask("/port"), None)).await.unwrap().body, first);
    let fresh =
        world.client(&world.member()).with_limits(ClientLimits { idle: Duration::ZERO, ..ClientLimits::default() });
    let first = soon(fresh.send(ask("/port"), None)).await.unwrap().body;
    assert_ne!(soon(fresh.send(ask("/port"), None)).await.unwrap().body, first, "not one that was idle for too long");
}

/// A connection whose response was read is not ready for the next request at once: another connection was opened then.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_client_keeps_its_connection_however_soon_it_sends_again() {
    let world = World::start(Limits::default()).await;
    let network = Watched { hesitates: Duration::from_millis(5), ..Watched::default() };
    let client = Client::over(network, &world.address.to_string(), "localhost", world.config(&world.member())).unwrap();
    let asked = async {
        let first = client.send(ask("/port"), None).await.unwrap().body;
        for _ in 0..20 {
            assert_eq!(client.send(ask("/port"), None).await.unwrap().body, first);
        }
    };
    soon(asked).await;
}

#[tokio::test]
async fn a_client_connects_again_when_the_server_was_restarted() {
    let world = World::start(Limits::default()).await;
    let network = Watched::default();
    let ended = network.ended.clone();
    let address = world.address.to_string();
    let client = Client::over(network, &address, "localhost", world.config(&world.member())).unwrap();
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    world.stop.send(true).unwrap();
    soon(world.server).await.unwrap();
    soon(ended.notified()).await;
    assert!(matches!(soon(client.send(ask("/who"), None)).await, Err(NetError::Unreachable { .. })));
    let world = World::at(&address, world.authority, Limits::default()).await;
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    drop(world);
}

/// Tells when a connection is given up, and hesitates whenever there is nothing to read.
#[derive(Clone, Default)]
struct Watched {
    ended: Arc<Notify>,
    hesitates: Duration,
}

struct WatchedStream(TcpStream, Watched);

impl Connect for Watched {
    type Stream = WatchedStream;

    async fn connect(&self, address: &str) -> io::Result<WatchedStream> {
        Ok(WatchedStream(TcpStream::connect(address).await?, self.clone()))
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.0).poll_read(cx, buf);
        if read.is_pending() {
            std::thread::sleep(self.1.hesitates);
        }
        read
    }
}

impl Drop for WatchedStream {
    fn drop(&mut self) {
        self.1.ended.notify_one();
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[tokio::test]
async fn a_client_gives_up_in_time_and_goes_on_with_the_next_request() {
    let world = World::start(Limits::default()).await;
    let client = world.client(&world.member());
    assert!(matches!(soon(client.send(ask("/wait"), Some(SHORT))).await, Err(NetError::Timeout(SHORT))));
    assert!(soon(client.send(ask("/who"), None)).await.unwrap().status.is_success());
}

#[tokio::test]
async fn a_client_bounds_what_it_reads_and_how_long_it_connects() {
    let world = World::start(Limits::default()).await;
    let limits = ClientLimits { response_bytes: 1000, connect: SHORT, ..ClientLimits::default() };
    let client = world.client(&world.member()).with_limits(limits);
    assert!(matches!(soon(client.send(ask("/large"), None)).await, Err(NetError::TooLarge(1000))));
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());

    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = mute.local_addr().unwrap().to_string();
    let client = Client::new(&address, "localhost", world.config(&world.member())).unwrap().with_limits(limits);
    assert!(matches!(soon(client.send(ask("/who"), None)).await, Err(NetError::Timeout(SHORT))));
}

#[tokio::test]
async fn plain_text_is_served_on_this_machine_within_the_same_limits() {
    let echo = |body: Body| async move { read_body(body, 10, PATIENCE).await };
    let router = Router::new().route("/echo", post(echo));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    let limits = Limits { header: SHORT, ..Limits::default() };
    let server = tokio::spawn(serve_plain(listener, router, limits, stopped));
    let connect = || async { TcpStream::connect(address).await.unwrap() };
    check_ends(connect().await, b"POST /echo", SHORT).await;
    let request = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 11\r\n\r\n";
    assert!(check_ends(connect().await, request, Duration::ZERO).await.starts_with("HTTP/1.1 413"));
    stop.send(true).unwrap();
    soon(server).await.unwrap();
}
