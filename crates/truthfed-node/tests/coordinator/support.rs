//! A federation on loopback, and parties that write their messages by hand.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use axum::http::{Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::Mutex as AsyncMutex;
use tokio_rustls::client::TlsStream;
use tracing_subscriber::filter::LevelFilter;
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::coordinator::{self, Addresses, Config, Plan, Running, logging};
use truthfed_node::digest::{Digest, Hex, PublicKey};
use truthfed_node::error::{Code, Refusal};
use truthfed_node::identity::Identity;
use truthfed_node::net::{Limits, client_tls};
use truthfed_node::store::{Sqlite, Store};
use truthfed_node::terms::{Agreement, RawTerms};
use truthfed_node::testing::{Data, Identities, id, terms};
use truthfed_node::wire::{
    Context, DELIVERY_SCHEMA, DeliveryContent, Envelope, NextRound, OFFER_SCHEMA, OfferContent, OpenRound,
    ReceiptContent, ReceiptReply, View,
};

pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) identities: Identities,
    pub(crate) agreement: Agreement,
    pub(crate) limits: Limits,
    pub(crate) lease_ms: u64,
}

impl World {
    /// Members of these names, under two-dimensional terms that differ from [`terms`] by a change.
    pub(crate) fn new(members: &[&str], change: impl FnOnce(&mut RawTerms)) -> World {
        log();
        let mut document = terms(2);
        // So large that of three offers alike some lose.
        document.bandit.lambda = 1.0;
        // Any data is reason enough for a round.
        document.trigger.threshold = 0.0;
        change(&mut document);
        World {
            folder: truthfed_node::testing::folder(),
            identities: Identities::new("127.0.0.1", members),
            agreement: Agreement::try_from(document).unwrap(),
            limits: Limits { requests_per_second: 100_000, burst: 100_000, ..Limits::default() },
            lease_ms: 60_000,
        }
    }

    /// The coordinator of members under the usual terms, and the members.
    pub(crate) async fn running<const N: usize>(names: [&str; N]) -> (World, Running, [Party; N]) {
        let world = World::new(&names, |_| {});
        let running = world.start().await;
        let parties = names.map(|name| world.party(name, running.addresses()));
        (world, running, parties)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("ledger.db")
    }

    pub(crate) fn plan(&self) -> Plan {
        let plan = self.identities.plan(self.folder.path(), &self.agreement);
        Plan { lease_ms: self.lease_ms, limits: self.limits, ..plan }
    }

    pub(crate) fn config(&self) -> Config {
        let anywhere: SocketAddr = "127.0.0.1:0".parse().unwrap();
        Config { listen: anywhere, admin: anywhere, plan: self.plan() }
    }

    pub(crate) async fn start(&self) -> Running {
        coordinator::start(self.config()).await.unwrap()
    }

    /// Whoever holds this identity.
    pub(crate) fn client(&self, identity: &Identity, addresses: Addresses) -> Client {
        let tls = client_tls(identity, self.identities.authority.identity().certificate()).unwrap();
        Client { tls, address: addresses.members, connection: AsyncMutex::default(), received: Arc::default() }
    }

    pub(crate) fn operator(&self, addresses: Addresses) -> Client {
        self.client(&self.identities.operator, addresses)
    }

    pub(crate) fn party(&self, name: &str, addresses: Addresses) -> Party {
        let identity = self.identities.members[&id(name)].clone();
        Party {
            client: self.client(&identity, addresses),
            name: id(name),
            federation: self.identities.authority.federation(),
            terms: self.agreement.hash(),
            coordinator: self.identities.server.certificate().key(),
            identity,
        }
    }

    pub(crate) fn head(&self) -> (u64, Digest) {
        let head = Sqlite::open_existing(&self.store()).unwrap().head().unwrap();
        (head.number, head.hash)
    }
}

/// An HTTPS client that keeps one connection, and all bytes it received.
pub(crate) struct Client {
    tls: Arc<rustls::ClientConfig>,
    address: SocketAddr,
    connection: AsyncMutex<Option<SendRequest<Full<Bytes>>>>,
    pub(crate) received: Arc<Mutex<Vec<u8>>>,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) what: String,
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Bytes,
}

impl Client {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, Bytes::new()).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<Bytes>) -> Answer {
        self.send(Method::POST, path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, Bytes::new()).await
    }

    /// Sends over the connection that is open, or over a new one.
    pub(crate) async fn send(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Answer {
        self.try_send(method, path, body).await.unwrap()
    }

    pub(crate) async fn try_send(&self, method: Method, path: &str, body: impl Into<Bytes>) -> Result<Answer, Failure> {
        let mut kept = self.connection.lock().await;
        if kept.as_ref().is_none_or(SendRequest::is_closed) {
            *kept = Some(self.connect().await?);
        }
        let sender = kept.as_mut().unwrap();
        sender.ready().await?;
        let what = format!("{method} {path}");
        let request = Request::builder().method(method).uri(path).header("host", "coordinator");
        let request = request.body(Full::from(body.into()))?;
        let response = tokio::time::timeout(PATIENCE, sender.send_request(request)).await??;
        let (parts, body) = response.into_parts();
        let headers: BTreeMap<String, String> =
            parts.headers.iter().map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
        let body = body.collect().await?.to_bytes();
        let mut received = self.received.lock().unwrap();
        received.extend(format!("{headers:?}").bytes());
        received.extend(&body);
        Ok(Answer { what, status: parts.status.as_u16(), headers, body })
    }

    /// A new connection.
    pub(crate) async fn stream(&self) -> Result<TlsStream<TcpStream>, Failure> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let name = rustls::pki_types::ServerName::try_from("127.0.0.1")?;
        Ok(tokio_rustls::TlsConnector::from(self.tls.clone()).connect(name, stream).await?)
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let io = TokioIo::new(self.stream().await?);
        let (sender, connection) = hyper::client::conn::http1::handshake(io).await?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

impl Answer {
    /// A reply of this type, read strictly.
    pub(crate) fn ok<T: DeserializeOwned>(&self) -> T {
        assert_eq!(self.status, 200, "{}: {}", self.what, self.text());
        assert_eq!(self.headers["content-type"], "application/json");
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{}: {error}: {}", self.what, self.text()))
    }

    pub(crate) fn code(&self) -> Code {
        assert_ne!(self.status, 200, "{}: {}", self.what, self.text());
        let refusal: Refusal = serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{}: {error}: {} {}", self.what, self.status, self.text()));
        assert_eq!(self.status, refusal.code.status(), "{}", self.what);
        refusal.code
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A member that writes its messages itself.
pub(crate) struct Party {
    pub(crate) client: Client,
    pub(crate) name: ClientId,
    pub(crate) identity: Identity,
    pub(crate) federation: Digest,
    pub(crate) terms: Digest,
    pub(crate) coordinator: PublicKey,
}

/// Something of everything.
pub(crate) fn some_data() -> Data {
    Data::of(&[([0.6, 0.8], 0.5), ([1.0, 0.0], 0.25), ([0.0, 1.0], -0.5), ([0.8, -0.6], 1.0)])
}

impl Party {
    pub(crate) async fn view(&self) -> View {
        self.client.get("/v1/view").await.ok()
    }

    pub(crate) async fn open(&self) -> OpenRound {
        self.view().await.open.expect("a round is open")
    }

    /// The round that is open or next.
    pub(crate) async fn round(&self) -> NextRound {
        let View { open, next, .. } = self.view().await;
        open.map(|OpenRound { round, nonce, .. }| NextRound { round, nonce }).or(next).expect("one of them")
    }

    /// Opens the next round with some data.
    pub(crate) async fn opens(&self) -> RoundId {
        let next = self.round().await;
        self.offers(&next, &some_data(), 1_000_000).await;
        next.round
    }

    pub(crate) fn context(&self, open: &NextRound) -> Context {
        Context {
            federation: self.federation,
            round: open.round,
            nonce: open.nonce,
            terms: self.terms,
            member: self.name.clone(),
        }
    }

    pub(crate) fn offer_content(&self, open: &NextRound, data: &Data, ask_micros: i64) -> OfferContent {
        data.offer(self.context(open), Amount::from_micros(ask_micros).unwrap())
    }

    pub(crate) fn offer_of(&self, open: &NextRound, data: &Data, ask_micros: i64) -> Envelope {
        self.identity.signer().seal(OFFER_SCHEMA, &self.offer_content(open, data, ask_micros))
    }

    pub(crate) fn delivery_content(&self, open: &NextRound, data: &Data, offer: Digest) -> DeliveryContent {
        data.delivery(self.context(open), offer)
    }

    pub(crate) fn delivery_of(&self, open: &NextRound, data: &Data, offer: Digest) -> Envelope {
        self.identity.signer().seal(DELIVERY_SCHEMA, &self.delivery_content(open, data, offer))
    }

    pub(crate) async fn send_offer(&self, round: RoundId, envelope: &Envelope) -> Answer {
        self.client.post(&format!("/v1/rounds/{round}/offer"), text(envelope)).await
    }

    pub(crate) async fn send_delivery(&self, round: RoundId, envelope: &Envelope) -> Answer {
        self.client.post(&format!("/v1/rounds/{round}/delivery"), text(envelope)).await
    }

    pub(crate) async fn decline(&self, round: RoundId) -> Answer {
        self.client.post(&format!("/v1/rounds/{round}/decline"), "").await
    }

    /// What a receipt says, if the coordinator signed it for this member.
    pub(crate) fn receipt(&self, receipt: &Envelope) -> ReceiptContent {
        assert!(receipt.is_signed_by(&self.coordinator, truthfed_node::wire::RECEIPT_SCHEMA), "{receipt:?}");
        let content: ReceiptContent = serde_json::from_str(receipt.content.get()).unwrap();
        assert_eq!((&content.context.member, content.context.federation), (&self.name, self.federation));
        content
    }

    /// Offers, and gets a receipt for it.
    pub(crate) async fn offers(&self, open: &NextRound, data: &Data, ask_micros: i64) -> Envelope {
        let offer = self.offer_of(open, data, ask_micros);
        let reply: ReceiptReply = self.send_offer(open.round, &offer).await.ok();
        assert_eq!(self.receipt(&reply.receipt).offer, offer.digest());
        offer
    }
}

/// Has everyone offer at these asks, and the winners deliver. Returns who won.
pub(crate) async fn whole_round(parties: &[&Party], asks: &[i64]) -> Vec<ClientId> {
    let open = parties[0].round().await;
    let data: Vec<Data> = parties.iter().map(|_| some_data()).collect();
    let mut offers = Vec::new();
    for ((party, data), ask) in parties.iter().zip(&data).zip(asks) {
        offers.push(party.offers(&open, data, *ask).await);
    }
    let mut won = Vec::new();
    for ((party, data), offer) in parties.iter().zip(&data).zip(&offers) {
        let Some(decided) = party.view().await.open else { break };
        let decision = party.receipt(&decided.decision.unwrap());
        if decision.promise.is_some() {
            let delivery = party.delivery_of(&open, data, offer.digest());
            party.send_delivery(open.round, &delivery).await.ok::<ReceiptReply>();
            won.push(party.name.clone());
        }
    }
    assert_eq!(parties[0].view().await.closed, open.round);
    won
}

pub(crate) fn text(envelope: &Envelope) -> String {
    serde_json::to_string(envelope).unwrap()
}

/// Another hash than any.
pub(crate) fn other() -> Digest {
    Hex([7; 32])
}

/// What a plain listener of this machine answers.
pub(crate) async fn plain(address: SocketAddr, path: &str) -> (u16, String) {
    plain_at(address, &address.to_string(), path).await
}

/// The same, asked for under a host's name.
pub(crate) async fn plain_at(address: SocketAddr, host: &str, path: &str) -> (u16, String) {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get(path).header("host", host).body(Full::<Bytes>::default()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// Waits until so many requests have come and are not answered yet.
pub(crate) async fn until_in_flight(addresses: Addresses, requests: usize) {
    let line = format!("truthfed_requests_in_flight {requests}\n");
    while !plain(addresses.admin, "/metrics").await.1.contains(&line) {
        tokio::task::yield_now().await;
    }
}

/// Everything logged by the tests of this process.
pub(crate) fn log() -> Arc<Mutex<Vec<u8>>> {
    static LOG: OnceLock<Arc<Mutex<Vec<u8>>>> = OnceLock::new();
    let log = LOG.get_or_init(|| {
        let log: Arc<Mutex<Vec<u8>>> = Arc::default();
        let writer = Shared(log.clone());
        let (subscriber, _) = logging::subscriber(logging::Format::Json, LevelFilter::TRACE, move || writer.clone());
        tracing::subscriber::set_global_default(subscriber).unwrap();
        log
    });
    log.clone()
}

/// The lines of the log, each an object.
pub(crate) fn logged() -> Vec<serde_json::Value> {
    let log = log();
    let text = String::from_utf8(log.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(crate) fn docs(page: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
