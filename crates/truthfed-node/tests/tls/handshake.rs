//! Who gets in by its certificate, who does not, and when that ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustls::pki_types::{ServerName, UnixTime};
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use rustls::{AlertDescription, ClientConfig, HandshakeKind, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use truthfed_node::digest::Digest;
use truthfed_node::federation::{self, Applicant, InitOptions};
use truthfed_node::identity::{Authority, Identity, Validity};
use truthfed_node::net::{Client, Limits, NetError, Revocations, ServerTls, client_tls, serve};

use crate::world::{PATIENCE, World, alert, ask, client_hello_of_tls_1_2, router, soon};

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
    federation::add_member(&outer.path().join("fed"), &Applicant::named("late").unwrap()).unwrap();
    let opened = federation::open(&outer.path().join("fed")).unwrap();
    let tls = ServerTls::new(&opened.server, &opened.authority, Revocations::default()).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (_stop, stopped) = watch::channel(false);
    let limits = opened.settings.limits;
    tokio::spawn(serve(listener, tls, router(&limits, Arc::default(), Arc::default()), limits.fixed(), stopped, || ()));
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
