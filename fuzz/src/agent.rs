//! An agent whose coordinator may say anything: it signs what it says, and nothing else can be relied on.
//!
//! Whatever it is told, the agent answers a round once, delivers only what it was promised enough for, goes on after a
//! restart with the same bits, and never loses its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tempfile::TempDir;
use truthfed::Amount;
use truthfed::protocol::{RoundId, Snapshot};
use truthfed::statistics::{Gram, Statistics};
use truthfed_node::agent::{Agent, Speaker, Step, StepError};
use truthfed_node::digest::{Digest, Hex, Nonce};
use truthfed_node::wire::{
    Call, DeclineReply, DeliveryContent, Envelope, NextRound, OfferContent, OpenRound, Phase, Promise, RECEIPT_SCHEMA,
    ReceiptContent, ReceiptKind, ReceiptReply, Reply, SyncReply, View, commitment,
};

use crate::bytes::Bytes;
use crate::federation::{DIMENSION, FEDERATION, SALT, id, signer};
use crate::text::json;

const EVENTS: usize = 24;

/// Any coordinator.
pub fn agent(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let path = fresh();
    let mut run =
        Run { agent: Some(open(&path)), path, offers: BTreeMap::new(), promised: BTreeMap::new(), delivered: 0 };
    for _ in 0..EVENTS {
        if bytes.is_empty() {
            break;
        }
        match bytes.below(8) {
            0 | 1 => run.play(&mut bytes),
            2 => run.restart(),
            _ => drop(run.look(&mut bytes)),
        }
    }
    run.restart();
    run.delivered > 0
}

/// A folder with the file of an agent that has learned a little.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = truthfed_node::testing::folder();
    let mut agent = open(&folder.path().join("template.db"));
    for arm in [[1.0, 0.0], [0.5, 0.5]] {
        let (decision, _) = agent.choose(&[arm]).expect("a valid arm");
        agent.learn(decision, 0.5).expect("a valid reward");
    }
    folder
});

/// A copy of the file, of its own for each thread.
fn fresh() -> PathBuf {
    let path = FOLDER.path().join(format!("agent-{:?}.db", std::thread::current().id()));
    std::fs::copy(FOLDER.path().join("template.db"), &path).expect("the file can be copied");
    path
}

fn open(path: &Path) -> Agent {
    let opened = Agent::open(FEDERATION.membership(&id("ann")), path);
    opened.unwrap_or_else(|error| panic!("the agent lost its file: {error}"))
}

struct Run {
    agent: Option<Agent>,
    path: PathBuf,
    offers: BTreeMap<RoundId, Envelope>,
    promised: BTreeMap<RoundId, Amount>,
    delivered: usize,
}

impl Run {
    fn agent(&mut self) -> &mut Agent {
        self.agent.as_mut().expect("there is one between two events")
    }

    fn play(&mut self, bytes: &mut Bytes<'_>) {
        let arms: Vec<Vec<f64>> = (0..1 + bytes.below(3)).map(|_| bytes.floats(DIMENSION)).collect();
        let reward = bytes.float();
        let Ok((decision, index)) = self.agent().choose(&arms) else { return };
        assert!(index < arms.len());
        if self.agent().learn(decision, reward).is_ok() {
            self.agent().learn(decision, reward).expect("the same again changes nothing");
        }
    }

    /// The same bits, from the checkpoint or from the events.
    fn restart(&mut self) {
        let mut before = self.agent.take().expect("there is one between two events");
        let (known, status) = (before.known().clone(), before.status(false).expect("the file can be read"));
        drop(before);
        let mut after = open(&self.path);
        assert_eq!(after.status(false).expect("the file can be read"), status);
        assert_eq!(after.known(), &known);
        after.checkpoint();
        self.agent = Some(after);
    }

    /// The agent looks at what the coordinator shows, and does what follows.
    fn look(&mut self, bytes: &mut Bytes<'_>) -> Result<(), StepError> {
        let view = self.view(bytes);
        match self.agent().next_step(&view)? {
            Step::Nothing => Ok(()),
            Step::Price(round, nonce, _) => {
                let ask = (bytes.below(4) > 0).then(|| Amount::from_units(bytes.byte().into()));
                // Nothing is said to a round that is not open.
                if ask.is_some() || view.open.is_some() { self.agent().opened(round, nonce, ask) } else { Ok(()) }
            }
            Step::Send(call) => {
                let reply = self.reply(bytes, &call, view.closed);
                self.agent().taken(&call, reply, view.closed)
            }
        }
    }

    fn reply(&mut self, bytes: &mut Bytes<'_>, call: &Call, closed: RoundId) -> Reply {
        match call {
            Call::Sync(_) => Reply::Sync(self.snapshot(bytes, closed)),
            Call::Decline(round) => Reply::Decline(DeclineReply { round: *round }),
            Call::Offer(round, offer) => {
                let sent = self.offers.entry(*round).or_insert_with(|| offer.clone());
                assert_eq!(sent.digest(), offer.digest(), "two offers to one round");
                Reply::Offer(ReceiptReply { receipt: self.receipt(bytes, *round, ReceiptKind::OfferTaken) })
            }
            Call::Deliver(round, delivery) => {
                self.check_delivery(*round, delivery);
                Reply::Deliver(ReceiptReply { receipt: self.receipt(bytes, *round, ReceiptKind::DeliveryTaken) })
            }
            call => panic!("{call:?} is no step of a round"),
        }
    }

    /// What is delivered belongs to what was offered, and is paid for.
    fn check_delivery(&mut self, round: RoundId, delivery: &Envelope) {
        self.delivered += 1;
        let offer = &self.offers[&round];
        let offered: OfferContent = serde_json::from_str(offer.content.get()).expect("an offer");
        let content: DeliveryContent = serde_json::from_str(delivery.content.get()).expect("a delivery");
        assert_eq!((content.offer, &content.context), (offer.digest(), &offered.context));
        assert_eq!(commitment(content.salt, &content.moment), offered.commitment);
        let promised = self.promised.get(&round);
        assert!(promised.is_some_and(|payment| *payment >= offered.ask_micros), "delivered for {promised:?}");
    }

    fn view(&mut self, bytes: &mut Bytes<'_>) -> View {
        let last = self.agent().status(true).expect("the file can be read").last_round;
        let closed = match bytes.below(8) {
            0 => bytes.round(),
            1 => after(last),
            _ => last,
        };
        let round = if bytes.below(16) == 0 { bytes.round() } else { after(closed) };
        let open = bytes.chance() || bytes.chance();
        let open = open.then(|| self.open_round(bytes, round));
        // What is next is shown when no round is open; this coordinator may show it anyway, or not.
        let next = (open.is_none() != (bytes.below(16) == 0)).then(|| NextRound { round, nonce: nonce(bytes) });
        View { version: bytes.count(), closed, open, next, most_samples: None }
    }

    fn open_round(&mut self, bytes: &mut Bytes<'_>, round: RoundId) -> OpenRound {
        let decision = bytes.chance().then(|| {
            let kind = bytes.pick(&[ReceiptKind::Won, ReceiptKind::Won, ReceiptKind::Lost]);
            self.receipt(bytes, round, kind)
        });
        let phase = if decision.is_some() { Phase::Deliveries } else { Phase::Offers };
        OpenRound { round, nonce: nonce(bytes), phase, remaining_ms: bytes.count(), answered: bytes.chance(), decision }
    }

    /// A receipt for a round; mostly what it should be.
    fn receipt(&mut self, bytes: &mut Bytes<'_>, round: RoundId, kind: ReceiptKind) -> Envelope {
        let offer = self.offers.get(&round);
        let offered = offer.and_then(|offer| serde_json::from_str::<OfferContent>(offer.content.get()).ok());
        let ask = offered.as_ref().map_or(Amount::ZERO, |offered| offered.ask_micros);
        let is_about_money = matches!(kind, ReceiptKind::Won | ReceiptKind::Paid);
        let payment = match bytes.below(8) {
            0 => Some(Amount::ZERO),
            1 => None,
            _ => is_about_money.then_some(self.promised.get(&round).copied().unwrap_or(ask)),
        };
        let context = offered.map(|offered| offered.context);
        let context = context.unwrap_or_else(|| FEDERATION.context(&id("ann"), round, Hex([0; 16])));
        let content = ReceiptContent {
            schema: RECEIPT_SCHEMA.to_owned(),
            context,
            kind,
            offer: offer.map_or(Digest::of(b"none"), Envelope::digest),
            promise: payment.filter(|_| kind == ReceiptKind::Won).map(|payment| Promise::new(payment, payment, SALT)),
            payment_micros: payment.filter(|_| kind != ReceiptKind::Won),
            salt: payment.filter(|_| kind != ReceiptKind::Won).map(|_| SALT),
        };
        if let (ReceiptKind::Won, Some(payment)) = (kind, payment.filter(|payment| *payment >= ask)) {
            self.promised.entry(round).or_insert(payment);
        }
        signer(usize::from(bytes.below(16) == 0)).seal(RECEIPT_SCHEMA, &content)
    }

    fn snapshot(&mut self, bytes: &mut Bytes<'_>, closed: RoundId) -> SyncReply {
        let closed = if bytes.below(8) == 0 { bytes.round() } else { closed };
        let mut receipts = Vec::new();
        let settled = bytes.chance().then(|| self.offers.keys().next_back().copied().unwrap_or(closed));
        if let Some(round) = settled {
            let kind = bytes.pick(&[ReceiptKind::Paid, ReceiptKind::Paid, ReceiptKind::Voided]);
            receipts.push(self.receipt(bytes, round, kind));
        }
        let snapshot = settled_statistics(bytes).map(|statistics| Snapshot { closed, settled, statistics, own: None });
        SyncReply { snapshot, receipts }
    }
}

/// What is settled, in the words of the coordinator. It went over the wire: what cannot be read is not there.
fn settled_statistics(bytes: &mut Bytes<'_>) -> Option<Statistics> {
    let (gram, moment) = match bytes.below(3) {
        0 => (bytes.floats(3), bytes.floats(DIMENSION)),
        1 => (vec![2.0, 0.0, 2.0], bytes.floats(DIMENSION)),
        _ => (vec![2.0, 0.5, 1.0], vec![1.0, 0.5]),
    };
    let samples = bytes.count();
    let statistics = Statistics::from_parts(Gram::try_from(gram).ok()?, moment, samples).ok()?;
    serde_json::from_str(&json(&statistics)).ok()
}

/// The nonce of every round, mostly.
fn nonce(bytes: &mut Bytes<'_>) -> Nonce {
    Hex([u8::from(bytes.below(32) == 0); 16])
}

/// The next round, if there is one.
fn after(round: RoundId) -> RoundId {
    RoundId((round.0 + 1).min(RoundId::LAST.0))
}
