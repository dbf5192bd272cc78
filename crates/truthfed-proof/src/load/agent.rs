//! A member over the network: the agent's conversation, without the application beside it and the file it keeps.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::generate::Stream;
use truthfed::protocol::RoundId;
use truthfed::statistics::{Gram, Statistics};
use truthfed_node::agent::{Conversation, ExchangeError, Link, LinkError, Output, Speaker, Step, StepError};
use truthfed_node::digest::{Digest, Nonce};
use truthfed_node::federation::Bundle;
use truthfed_node::ledger::receipts;
use truthfed_node::net::{Client, ClientLimits, Connect, client_tls};
use truthfed_node::testing::Data;
use truthfed_node::wire::{
    Call, Context, DELIVERY_SCHEMA, Envelope, NextRound, OFFER_SCHEMA, OfferContent, Phase, RECEIPT_SCHEMA,
    ReceiptContent, ReceiptKind, ReceiptReply, Reply, Seen, StatementReply, View,
};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(120);
/// A little less than the coordinator lets a connection be idle.
const IDLE: Duration = Duration::from_secs(28);
/// Observations in an offer.
const SAMPLES: usize = 20;
/// Highest ask, in micro-units.
const MOST_ASKED: f64 = 100e6;

#[derive(Debug, Clone, Copy)]
pub struct From(pub Ipv4Addr);

impl From {
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
    pub envelope: Envelope,
    /// Its name in receipts.
    pub digest: Digest,
    context: Context,
    data: Data,
}

impl Party {
    pub fn new(bundle: &Bundle, seed: u64) -> Party {
        Party { bundle: bundle.clone(), seed }
    }

    pub fn name(&self) -> &ClientId {
        &self.bundle.member
    }

    fn data(&self, round: RoundId) -> (Statistics, Amount) {
        let mut stream = Stream::new(self.seed, round.0);
        let data = observations(&mut stream, self.bundle.agreement.dimension());
        let ask = Amount::from_micros((stream.uniform() * MOST_ASKED) as i64).expect("asks are small");
        (data, ask)
    }

    fn context(&self, round: RoundId, nonce: Nonce) -> Context {
        let Bundle { federation, agreement, member, .. } = &self.bundle;
        Context { federation: *federation, round, nonce, terms: agreement.hash(), member: member.clone() }
    }

    /// Always the same bytes: who opened a round with its offer makes it again, and gets the same receipt.
    pub fn offer(&self, round: RoundId, nonce: Nonce) -> Offer {
        let (statistics, ask) = self.data(round);
        let data = Data { statistics, salt: nonce };
        let context = self.context(round, nonce);
        let envelope = self.seal_offer(&data.offer(context.clone(), ask));
        Offer { digest: envelope.digest(), envelope, context, data }
    }

    /// An offer that is refused by the last check, the longest: its matrix is positive definite, and so of a rank that is
    /// one more than its samples can give. Numbers are short: little to send, and as much to check as in any offer.
    pub fn refused_offer(&self, round: RoundId, nonce: Nonce) -> Envelope {
        let dimension = self.bundle.agreement.dimension();
        let row = |row: usize| std::iter::repeat_n(0.01, row).chain([0.5]);
        let gram = Gram::from_lower(dimension, (0..dimension).flat_map(row).collect()).expect("it is a whole triangle");
        let offer =
            Data { statistics: self.data(round).0, salt: nonce }.offer(self.context(round, nonce), Amount::ZERO);
        self.seal_offer(&OfferContent { gram, samples: dimension as u64 - 1, ..offer })
    }

    fn seal_offer(&self, content: &OfferContent) -> Envelope {
        self.bundle.identity.signer().seal(OFFER_SCHEMA, content)
    }

    pub fn delivery(&self, offer: &Offer) -> Envelope {
        let content = offer.data.delivery(offer.context.clone(), offer.digest);
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
        send(&self.speaking, &Call::View(Seen::default())).await?;
        self.look(Seen::default()).await
    }

    /// What is to be seen, over the connection that waits for it.
    pub async fn look(&self, seen: Seen) -> anyhow::Result<View> {
        match self.say(Call::View(seen)).await? {
            Reply::View(view) => Ok(view),
            other => bail!("a view is {other:?}"),
        }
    }

    /// Opens the next round with its offer.
    pub async fn open_round(&self) -> anyhow::Result<RoundId> {
        // On the connection that speaks: on the other one somebody may wait for news, which this would come after.
        let call = Call::View(Seen::default());
        let Reply::View(view) = call.read_reply(&send(&self.speaking, &call).await?)? else { bail!("it is no view") };
        let NextRound { round, nonce } = view.next.context("a round is open already")?;
        let offer = self.party.offer(round, nonce);
        self.say(Call::Offer(round, offer.envelope)).await?;
        Ok(round)
    }

    pub async fn statement(&self) -> anyhow::Result<StatementReply> {
        match self.say(Call::Statement).await? {
            Reply::Statement(reply) => Ok(reply),
            other => bail!("a statement is {other:?}"),
        }
    }

    async fn say(&self, call: Call) -> anyhow::Result<Reply> {
        let reply =
            self.call(call.clone()).await.with_context(|| format!("{}: {}", self.party.name(), call.message().path))?;
        Ok(call.read_reply(&reply)?)
    }
}

impl Link for Agent {
    async fn call(&self, call: Call) -> Result<Vec<u8>, LinkError> {
        send(if matches!(call, Call::View(_)) { &self.waiting } else { &self.speaking }, &call).await
    }
}

async fn send(client: &Client<From>, call: &Call) -> Result<Vec<u8>, LinkError> {
    let reply = client.send(call.message(), None).await.map_err(|error| LinkError::Away(error.to_string()))?;
    match reply.refusal() {
        Some(refusal) => Err(LinkError::Refused(refusal)),
        None => Ok(reply.body.into()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Offers, and delivers if it wins.
    Offers,
    /// Declines, so that nobody waits for it.
    Declines,
}

/// A member in conversation with the coordinator.
#[derive(Debug)]
pub struct Member {
    pub part: Part,
    pub conversation: Conversation,
    /// Whether it tries again, after the pauses of an agent, when the coordinator is away or cannot serve. If not, that is an
    /// error.
    pub is_patient: bool,
}

impl Member {
    /// Takes part in rounds after this one.
    pub fn new(agent: Arc<Agent>, role: Role, after: RoundId) -> Member {
        let conversation = Conversation::new(agent.party.name());
        let part = Part { agent, role, after, offer: None, receipts: Vec::new() };
        // Who declines may be flooding beside it, and is told to wait then.
        Member { part, conversation, is_patient: role == Role::Declines }
    }

    /// The same member in the same round, with another coordinator.
    pub fn moved(self, agent: Arc<Agent>) -> Member {
        let conversation = Conversation::new(agent.party.name());
        Member { part: Part { agent, ..self.part }, conversation, ..self }
    }

    pub async fn until_offered(&mut self) -> anyhow::Result<()> {
        self.until(|part, _, _| part.receipts.len() == 1).await.map(drop)
    }

    /// Talks until there is an output to stop at, and returns it without carrying it out.
    pub async fn until(&mut self, is_it: impl Fn(&Part, Option<&View>, &Output) -> bool) -> anyhow::Result<Output> {
        let talk = async {
            loop {
                let output = match self.conversation.next(&mut self.part) {
                    Err(ExchangeError::Link(_)) if self.is_patient => continue,
                    next => next?,
                };
                let Some(output) = output else { continue };
                if is_it(&self.part, self.conversation.view(), &output) {
                    return Ok(output);
                }
                self.carry_out(output).await?;
            }
        };
        timeout(PATIENCE, talk).await?
    }

    /// Talks until the next round has ended, and forgets it.
    pub async fn until_closed(&mut self) -> anyhow::Result<Part> {
        let after = self.part.after;
        let is_closed = |view: Option<&View>| view.is_some_and(|view| view.closed > after);
        self.until(|_, view, output| matches!(output, Output::Poll(_)) && is_closed(view)).await?;
        let (agent, role) = (self.part.agent.clone(), self.part.role);
        let closed = self.conversation.view().context("a view was waited for")?.closed;
        let next = Part { agent, role, after: closed, offer: None, receipts: Vec::new() };
        Ok(std::mem::replace(&mut self.part, next))
    }

    pub async fn carry_out(&mut self, output: Output) -> anyhow::Result<()> {
        match output {
            Output::Send(call) | Output::Poll(call) => self.conversation.reply(self.part.agent.call(call).await),
            Output::Price { round, .. } => self.conversation.priced(Some(self.part.agent.party.data(round).1)),
            Output::Wait(pause) if self.is_patient => tokio::time::sleep(pause).await,
            Output::Wait(_) => bail!("{} has nothing to wait for", self.part.agent.party.name()),
        }
        Ok(())
    }
}

/// A member's part in one round: what an agent would keep in its file.
#[derive(Debug)]
pub struct Part {
    pub agent: Arc<Agent>,
    role: Role,
    /// The round before it.
    after: RoundId,
    pub offer: Option<Offer>,
    /// For the offer, and for the delivery.
    pub receipts: Vec<Envelope>,
}

impl Part {
    /// The round before it.
    pub fn after(&self) -> RoundId {
        self.after
    }

    /// Whether all went well. Looked at last, so that checking signatures is not in any measured time.
    pub fn check(&self) -> anyhow::Result<()> {
        let name = self.agent.party.name();
        let Some(offer) = &self.offer else {
            ensure!(self.role == Role::Declines, "{name} made no offer");
            return Ok(());
        };
        ensure!(!self.receipts.is_empty(), "the offer of {name} is refused");
        for (receipt, kind) in self.receipts.iter().zip([ReceiptKind::OfferTaken, ReceiptKind::DeliveryTaken]) {
            ensure!(self.agent.party.receipt(receipt, offer)?.kind == kind, "a receipt of {name} is not {kind:?}");
        }
        Ok(())
    }
}

impl Speaker for Part {
    fn next_step(&mut self, view: &View) -> Result<Step, StepError> {
        let Some(open) = view.open.as_ref().filter(|open| open.round > self.after) else { return Ok(Step::Nothing) };
        let (round, party) = (open.round, &self.agent.party);
        let won = |decision: &Envelope| {
            let content: Option<ReceiptContent> = serde_json::from_str(decision.content.get()).ok();
            content.is_some_and(|content| content.kind == ReceiptKind::Won)
        };
        Ok(match &self.offer {
            // Who opened the round has offered already; the same again gets its receipt again.
            None if open.phase != Phase::Offers && !open.answered => Step::Nothing,
            None if self.role == Role::Declines && open.answered => Step::Nothing,
            None if self.role == Role::Declines => Step::Send(Call::Decline(round)),
            None => Step::Price(round, open.nonce, Some(party.data(round).0)),
            Some(offer) if self.receipts.is_empty() => Step::Send(Call::Offer(round, offer.envelope.clone())),
            Some(offer) if self.receipts.len() == 1 && open.decision.as_ref().is_some_and(won) => {
                Step::Send(Call::Deliver(round, party.delivery(offer)))
            }
            Some(_) => Step::Nothing,
        })
    }

    fn opened(&mut self, round: RoundId, nonce: Nonce, _: Option<Amount>) -> Result<(), StepError> {
        self.offer = Some(self.agent.party.offer(round, nonce));
        Ok(())
    }

    fn taken(&mut self, call: &Call, reply: Reply, _: RoundId) -> Result<(), StepError> {
        match reply {
            Reply::Offer(ReceiptReply { receipt }) | Reply::Deliver(ReceiptReply { receipt }) => {
                self.receipts.push(receipt);
            }
            _ => call.round().into_iter().for_each(|round| self.finish(round)),
        }
        Ok(())
    }

    fn hold_back(&mut self, round: RoundId) {
        self.finish(round);
    }

    fn finish(&mut self, round: RoundId) {
        self.after = round;
    }
}
