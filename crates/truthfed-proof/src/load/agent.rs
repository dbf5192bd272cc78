//! A member over the network: what an agent says, without the application beside it and the file it keeps.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde::de::DeserializeOwned;
use tokio::net::{TcpSocket, TcpStream};
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::generate::Stream;
use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;
use truthfed_node::call::Message;
use truthfed_node::digest::{Digest, Nonce};
use truthfed_node::federation::Bundle;
use truthfed_node::ledger::receipts;
use truthfed_node::net::{Client, ClientLimits, Connect, Reply, client_tls};
use truthfed_node::wire::{
    AskReply, Call, Context, DELIVERY_SCHEMA, DeclineReply, DeliveryContent, Envelope, OFFER_SCHEMA, OfferContent,
    OpenRound, RECEIPT_SCHEMA, ReceiptContent, ReceiptReply, Seen, StatementReply, View, commitment,
};

/// How long the coordinator may wait for news, as for an agent.
const WAIT_MS: u64 = 20_000;
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);
/// A little less than the coordinator lets a connection be idle.
const IDLE: Duration = Duration::from_secs(28);
/// Observations in an offer.
const SAMPLES: usize = 20;
/// Highest ask, in micro-units.
const MOST_ASKED: f64 = 100e6;

/// Connects from a given address.
#[derive(Debug, Clone, Copy)]
pub struct From(pub Ipv4Addr);

impl From {
    /// A connection to an address.
    pub async fn reach(self, to: SocketAddr) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((self.0, 0).into())?;
        let stream = socket.connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

impl Connect for From {
    type Stream = TcpStream;

    async fn connect(&self, address: &str) -> io::Result<TcpStream> {
        self.reach(address.parse().map_err(io::Error::other)?).await
    }
}

/// What a member does in rounds without a network: its data, its offers, its deliveries.
#[derive(Debug, Clone)]
pub struct Party {
    pub bundle: Bundle,
    seed: u64,
}

/// An offer that is signed, with what will be delivered.
#[derive(Debug, Clone)]
pub struct Offer {
    /// As it is sent.
    pub envelope: Envelope,
    /// Its name in receipts.
    pub digest: Digest,
    context: Context,
    moment: Vec<f64>,
    salt: Nonce,
}

impl Offer {
    pub fn round(&self) -> RoundId {
        self.context.round
    }
}

impl Party {
    /// A member whose data follows from a seed.
    pub fn new(bundle: &Bundle, seed: u64) -> Party {
        Party { bundle: bundle.clone(), seed }
    }

    pub fn name(&self) -> &ClientId {
        &self.bundle.member
    }

    /// Offers fresh data to a round.
    pub fn offer(&self, round: RoundId, nonce: Nonce) -> Offer {
        let mut stream = Stream::new(self.seed, round.0);
        let data = observations(&mut stream, self.bundle.agreement.dimension());
        let ask = Amount::from_micros((stream.uniform() * MOST_ASKED) as i64).expect("asks are small");
        let (moment, salt) = (data.moment().to_vec(), Nonce::random());
        let context = self.context(round, nonce);
        let content = OfferContent {
            schema: OFFER_SCHEMA.to_owned(),
            context: context.clone(),
            gram: data.gram().clone(),
            samples: data.samples(),
            ask_micros: ask,
            commitment: commitment(salt, &moment),
        };
        let envelope = self.bundle.identity.signer().seal(OFFER_SCHEMA, &content);
        Offer { digest: envelope.digest(), envelope, context, moment, salt }
    }

    pub fn delivery(&self, offer: &Offer) -> Envelope {
        let Offer { context, moment, salt, digest, .. } = offer.clone();
        let content = DeliveryContent { schema: DELIVERY_SCHEMA.to_owned(), context, offer: digest, moment, salt };
        self.bundle.identity.signer().seal(DELIVERY_SCHEMA, &content)
    }

    /// What a receipt says, once it is found to be the coordinator's, and about that offer.
    pub fn receipt(&self, receipt: &Envelope, offer: &Offer) -> anyhow::Result<ReceiptContent> {
        ensure!(
            receipt.is_signed_by(&self.bundle.coordinator_key, RECEIPT_SCHEMA),
            "a receipt is not the coordinator's"
        );
        let content: ReceiptContent = serde_json::from_str(receipt.content.get())?;
        ensure!(content.context == offer.context && content.offer == offer.digest, "a receipt is about something else");
        Ok(content)
    }

    /// Checks all its receipts against each other.
    pub fn check_receipts(&self, all: &[Envelope]) -> anyhow::Result<receipts::Summary> {
        let Bundle { member, federation, coordinator_key, .. } = &self.bundle;
        let whose = receipts::Bundle { member: member.clone(), federation: *federation, coordinator: *coordinator_key };
        Ok(receipts::check(&whose, all, None)?)
    }

    fn context(&self, round: RoundId, nonce: Nonce) -> Context {
        Context {
            federation: self.bundle.federation,
            round,
            nonce,
            terms: self.bundle.agreement.hash(),
            member: self.name().clone(),
        }
    }
}

/// Contexts of unit length, with rewards that are about half their first coordinate.
fn observations(stream: &mut Stream, dimension: usize) -> Statistics {
    let mut data = Statistics::new(dimension).expect("terms have a valid dimension");
    for _ in 0..SAMPLES {
        let context = stream.context(dimension);
        let reward = (0.5 * context[0] + 0.1 * stream.normal()).clamp(-1.0, 1.0);
        data.observe(&context, reward).expect("unit contexts and small rewards are allowed");
    }
    data
}

/// A member with its two connections, as an agent has: one waits for news, the other speaks.
#[derive(Debug)]
pub struct Agent {
    pub party: Party,
    speaking: Client<From>,
    waiting: Client<From>,
}

impl Agent {
    /// A member that calls from an address; nothing is sent yet.
    pub fn new(bundle: &Bundle, coordinator: SocketAddr, from: Ipv4Addr, seed: u64) -> anyhow::Result<Agent> {
        let tls = client_tls(&bundle.identity, &bundle.authority)?;
        let limits = ClientLimits { connect: PATIENCE, request: PATIENCE, idle: IDLE, ..ClientLimits::default() };
        let client = || -> anyhow::Result<Client<From>> {
            let client = Client::over(From(from), &coordinator.to_string(), &bundle.server_name, tls.clone())?;
            Ok(client.with_limits(limits))
        };
        Ok(Agent { party: Party::new(bundle, seed), speaking: client()?, waiting: client()? })
    }

    /// Opens both connections.
    pub async fn connect(&self) -> anyhow::Result<View> {
        let call = Call::View(Seen::default());
        let _: View = read(&self.speaking.send(call.message(), None).await?)?;
        read(&self.waiting.send(call.message(), None).await?)
    }

    /// Waits for a view other than the one that was seen.
    pub async fn next_view(&self, seen: &View) -> anyhow::Result<View> {
        let call = Call::View(Seen { after: Some(seen.version), wait_ms: WAIT_MS });
        read(&self.waiting.send(call.message(), None).await?)
    }

    /// Waits until a view is as wished.
    pub async fn until(&self, mut view: View, is_it: impl Fn(&View) -> bool) -> anyhow::Result<View> {
        let started = Instant::now();
        while !is_it(&view) {
            ensure!(started.elapsed() < PATIENCE, "{}: the coordinator shows {view:?}", self.party.name());
            view = self.next_view(&view).await?;
        }
        Ok(view)
    }

    pub async fn ask(&self) -> anyhow::Result<RoundId> {
        Ok(self.speak::<AskReply>(Call::Ask.message()).await?.round)
    }

    /// Sends an offer; gives the receipt, which is not checked yet.
    pub async fn send_offer(&self, round: RoundId, offer: String) -> anyhow::Result<Envelope> {
        let offer = Call::Offer(round, serde_json::from_str(&offer)?);
        Ok(self.speak::<ReceiptReply>(offer.message()).await?.receipt)
    }

    /// Has nothing to offer.
    pub async fn decline(&self, round: RoundId) -> anyhow::Result<()> {
        self.speak::<DeclineReply>(Call::Decline(round).message()).await.map(drop)
    }

    /// Delivers what it sold, and checks the receipt.
    pub async fn deliver(&self, offer: &Offer) -> anyhow::Result<Envelope> {
        let call = Call::Deliver(offer.context.round, self.party.delivery(offer));
        let receipt = self.speak::<ReceiptReply>(call.message()).await?.receipt;
        self.party.receipt(&receipt, offer)?;
        Ok(receipt)
    }

    /// All its receipts about decisions and payments.
    pub async fn statement(&self) -> anyhow::Result<StatementReply> {
        self.speak(Call::Statement.message()).await
    }

    async fn speak<T: DeserializeOwned>(&self, message: Message) -> anyhow::Result<T> {
        let path = message.path.clone();
        let reply = self.speaking.send(message, None).await;
        read(&reply.with_context(|| format!("{} {path}", self.party.name()))?)
    }
}

/// An envelope as it is sent.
pub fn text(envelope: &Envelope) -> String {
    serde_json::to_string(envelope).expect("an envelope is JSON")
}

/// The round of a view that takes offers, if it is later than another.
pub fn opened_after(view: &View, last: RoundId) -> Option<&OpenRound> {
    view.open.as_ref().filter(|open| open.round > last)
}

fn read<T: DeserializeOwned>(reply: &Reply) -> anyhow::Result<T> {
    match reply.refusal() {
        Some(refusal) => bail!("refused: {refusal}"),
        None => serde_json::from_slice(&reply.body).context("an unreadable reply"),
    }
}
