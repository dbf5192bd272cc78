//! A coordinator over whole rounds: requests of all kinds, right and wrong, in any order, with restarts between them.
//!
//! After every step the journal says what happened, and a coordinator that is started from the store shows what the one
//! before it showed. At the end everything verifies, no money was made or lost, and every member's receipts agree with
//! its statement.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::digest::Digest;
use truthfed_node::error::{Code, Refusal};
use truthfed_node::journal::Entry;
use truthfed_node::ledger::{Account, Cause, Posting, Statement, receipts};
use truthfed_node::testing::{Memory, Stepwise};
use truthfed_node::wire::{
    Call, DELIVERY_SCHEMA, Envelope, OFFER_SCHEMA, OfferContent, ReceiptReply, StatementReply, SyncReply, SyncRequest,
    View,
};

use crate::bytes::Bytes;
use crate::federation::{
    FEDERATION, NAMES, RESERVE, check_right, delivery_content, id, offer_content, recorded_offer, signer, start,
};
use crate::text::json;

const STEPS: usize = 40;
/// Asks at the bounds, and some that are none.
const ODD_ASKS: [&str; 8] = ["0", "-0", "1", "100000000", "100000001", "1000000000000000000", "1e3", "-1"];

/// Any requests.
pub fn engine(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let mut run = Run { engine: start(Memory::default()), receipts: BTreeMap::new(), enrolled: 0, last: None };
    for _ in 0..STEPS {
        if bytes.is_empty() {
            break;
        }
        run.step(&mut bytes);
    }
    run.restart();
    let store = run.engine.store();
    check_right(&store);
    check_money(&store);
    check_receipts(&store, &run.receipts);
    store.entries().iter().any(|entry| matches!(entry, Entry::Settled { .. }))
}

struct Run {
    engine: Stepwise,
    receipts: BTreeMap<ClientId, Vec<Envelope>>,
    enrolled: usize,
    last: Option<(Message, String)>,
}

/// Who sends what.
type Message = (ClientId, Call);

impl Run {
    fn step(&mut self, bytes: &mut Bytes<'_>) {
        let member = bytes.below(NAMES.len());
        let name = id(NAMES[member]);
        match bytes.below(12) {
            0..=3 => {
                let message = self.offer(bytes, member);
                self.send(message);
            }
            4 | 5 => {
                if let Some(message) = self.delivery(bytes, member) {
                    self.send(message);
                }
            }
            6 => {
                let round = self.round(bytes);
                drop(self.call(&name, Call::Decline(round)));
            }
            7 => self.engine.pass_time(),
            8 => self.restart(),
            9 => self.repeat(),
            10 => self.look(bytes, &name),
            _ => self.come_and_go(bytes, name),
        }
    }

    /// What is refused leaves no trace.
    fn unless_refused(
        &mut self,
        request: impl FnOnce(&mut Stepwise) -> Result<String, Refusal>,
    ) -> Result<String, Refusal> {
        let before = self.engine.version();
        let reply = request(&mut self.engine);
        assert!(reply.is_ok() || self.engine.version() == before, "recorded, and refused: {reply:?}");
        reply
    }

    fn call(&mut self, member: &ClientId, call: Call) -> Result<String, Refusal> {
        self.unless_refused(|engine| engine.call(member, call))
    }

    fn send(&mut self, (member, call): Message) {
        let before = self.engine.store();
        let is_open = self.engine.published().open_round().is_some();
        let sent = self.call(&member, call.clone());
        if let (false, Call::Offer(_, offer)) = (is_open, &call) {
            check_opening(&before, offer, &sent);
        }
        if let Ok(reply) = sent {
            let taken: ReceiptReply = serde_json::from_str(&reply).expect("a receipt");
            self.receipts.entry(member.clone()).or_default().push(taken.receipt);
            self.last = Some(((member, call), reply));
        }
    }

    /// The last message that was taken gets the same reply, unless its sender is no member any more.
    fn repeat(&mut self) {
        let Some(((member, call), reply)) = self.last.clone() else { return };
        match self.call(&member, call) {
            Ok(again) => assert_eq!(again, reply),
            Err(refusal) => assert_eq!(refusal.code, Code::MemberRevoked),
        }
    }

    /// The offer of a member; some of its parts may be of another's choosing.
    fn offer(&mut self, bytes: &mut Bytes<'_>, member: usize) -> Message {
        let content = offer_content(&self.engine, member);
        let round = content.context.round;
        let mut content = serde_json::to_value(&content).expect("an offer is JSON");
        let mut ask = content["ask_micros"].to_string();
        match bytes.below(10) {
            0 => content["samples"] = bytes.count().into(),
            1 => content["gram"] = bytes.floats(3).into(),
            2 => content["context"]["round"] = bytes.count().into(),
            5 => content["gram"] = [1e-6, 0.0, 0.0].as_slice().into(),
            6 => {
                content["samples"] = (1 + bytes.below(4)).into();
                content["gram"] = [f64::from(bytes.byte()) / 256.0, 0.0, 0.0].as_slice().into();
            }
            3 => ask = bytes.pick(&ODD_ASKS).to_owned(),
            4 => content["commitment"] = Digest::of(b"nothing").to_string().into(),
            _ => {}
        }
        content["ask_micros"] = 987_654_321.into();
        let text = content.to_string().replace("987654321", &ask);
        (id(NAMES[member]), Call::Offer(round, signed(member, text, OFFER_SCHEMA)))
    }

    /// What a member delivers for the offer that is recorded, if there is one.
    fn delivery(&mut self, bytes: &mut Bytes<'_>, member: usize) -> Option<Message> {
        let offer = recorded_offer(&self.engine.store(), member)?.digest();
        let content = delivery_content(&self.engine, member, offer);
        let round = content.context.round;
        let mut content = serde_json::to_value(&content).expect("a delivery is JSON");
        match bytes.below(8) {
            0 => content["moment"] = bytes.floats(2).into(),
            1 => content["offer"] = Digest::of(b"nothing").to_string().into(),
            2 => content["context"]["round"] = bytes.count().into(),
            _ => {}
        }
        Some((id(NAMES[member]), Call::Deliver(round, signed(member, content.to_string(), DELIVERY_SCHEMA))))
    }

    fn round(&self, bytes: &mut Bytes<'_>) -> RoundId {
        match bytes.below(4) {
            0 => RoundId(bytes.count()),
            _ => self.engine.published().open_round().unwrap_or_default(),
        }
    }

    fn come_and_go(&mut self, bytes: &mut Bytes<'_>, name: ClientId) {
        let number = self.enrolled;
        let (key, certificate) = (signer(10 + number).public(), Digest::of(&[number as u8]));
        let reply = match bytes.below(4) {
            0 => self.unless_refused(|engine| engine.revoke(name)),
            1 => self.unless_refused(|engine| engine.enrol(name, key, certificate)),
            _ => self.unless_refused(|engine| engine.enrol(id(&format!("new{number}")), key, certificate)),
        };
        self.enrolled += usize::from(reply.is_ok());
    }

    /// A member fetches what is settled, and its receipts.
    fn look(&mut self, bytes: &mut Bytes<'_>, name: &ClientId) {
        let have = RoundId(bytes.count());
        let settlements = match self.call(name, Call::Sync(SyncRequest { have, waiting: None })) {
            Ok(reply) => serde_json::from_str::<SyncReply>(&reply).expect("a snapshot").receipts,
            Err(refusal) => return assert_eq!(refusal.code, Code::MemberRevoked),
        };
        let reply = self.call(name, Call::Statement).expect("a member has a statement");
        let all: StatementReply = serde_json::from_str(&reply).expect("a statement");
        let kept = self.receipts.entry(name.clone()).or_default();
        kept.extend(settlements.into_iter().chain(all.decisions).chain(all.settlements).chain(all.resolutions));
    }

    /// A coordinator is started from the store: it shows the same, and writes nothing.
    fn restart(&mut self) {
        let store = self.engine.store().clone();
        let again = start(store.clone());
        let kept = again.store().clone();
        assert_eq!((&kept.rows, &kept.postings), (&store.rows, &store.postings));
        let (before, after) = (self.engine.published(), again.published());
        assert_eq!((before.entries(), before.members()), (after.entries(), after.members()));
        for name in NAMES {
            assert_eq!(shown(before.view(&id(name))), shown(after.view(&id(name))), "{name}");
        }
        self.engine = again;
    }
}

fn signed(member: usize, content: String, schema: &str) -> Envelope {
    let content = RawValue::from_string(content).expect("JSON");
    let signature = signer(member + 1).sign(schema, content.get().as_bytes());
    Envelope { content, signature }
}

/// A round opens with an offer that is worth it on top of what is settled, and with no other.
fn check_opening(before: &Memory, offer: &Envelope, sent: &Result<String, Refusal>) {
    let Ok(content) = serde_json::from_str::<OfferContent>(offer.content.get()) else { return };
    let terms = &FEDERATION.agreement;
    let settled = settled_gram(before);
    let log_det = |gram: &[f64]| {
        let (a, b, d) = (gram[0] + terms.bandit().lambda(), gram[1], gram[2] + terms.bandit().lambda());
        libm::log(a * d - b * b)
    };
    let after: Vec<f64> = settled.iter().zip(content.gram.lower()).map(|(mine, its)| mine + its).collect();
    let worth = content.samples as f64 * (log_det(&after) - log_det(&settled));
    let (threshold, rounding) = (terms.trigger().threshold, 1e-6 * (1.0 + worth.abs()));
    match sent {
        Ok(_) => assert!(worth > threshold - rounding, "opened for {worth}"),
        Err(refusal) if refusal.code == Code::TriggerNotMet => {
            assert!(worth < threshold + rounding, "not opened for {worth}");
        }
        Err(_) => {}
    }
}

/// What the rounds in the journal settled, in two dimensions.
fn settled_gram(store: &Memory) -> [f64; 3] {
    let (mut settled, mut offers) = ([0.0; 3], BTreeMap::new());
    for entry in store.entries() {
        match entry {
            Entry::Offered { member, offer, .. } => drop(offers.insert(member, offer)),
            Entry::Settled { paid, .. } => {
                for offer in paid.iter().filter_map(|member| offers.get(member)) {
                    let content: OfferContent = serde_json::from_str(offer.content.get()).expect("an offer");
                    settled.iter_mut().zip(content.gram.lower()).for_each(|(sum, its)| *sum += its);
                }
            }
            _ => {}
        }
    }
    settled
}

/// A view, but for the time that is left.
fn shown(mut view: View) -> String {
    view.open.iter_mut().for_each(|open| open.remaining_ms = 0);
    json(&view)
}

/// I1 to I5: nothing is made or lost, nobody is paid twice, less than it asked, more than the reserve, or undelivered.
fn check_money(store: &Memory) {
    let balance: i128 = store.postings.iter().map(|posting| i128::from(posting.micros)).sum();
    assert_eq!(balance, 0, "money was made or lost");
    let mut delivered = BTreeSet::new();
    for entry in store.entries() {
        match entry {
            Entry::Delivered { round, member, .. } => assert!(delivered.insert((round, member)), "delivered twice"),
            Entry::Awarded { winners, .. } => {
                for award in winners {
                    let (ask, payment) = (award.ask_micros, award.payment_micros);
                    assert!(ask <= payment && payment.micros() <= i64::from(RESERVE) * 1_000_000, "{award:?}");
                }
            }
            _ => {}
        }
    }
    let paid = store.postings.iter().filter(|posting| matches!(posting.account, Account::Member(_)));
    let of_round = |posting: &Posting| match posting.cause {
        Cause::Round(round) => Some((round, posting.member.clone())),
        Cause::Payout(_) => None,
    };
    let paid: Vec<_> = paid.filter_map(of_round).collect();
    let once: BTreeSet<_> = paid.iter().cloned().collect();
    assert_eq!(once.len(), paid.len(), "paid twice");
    assert!(once.is_subset(&delivered), "paid without a delivery");
}

/// What was signed for a member is what the journal says.
fn check_receipts(store: &Memory, all: &BTreeMap<ClientId, Vec<Envelope>>) {
    for (member, receipts) in all {
        let statement = Statement::read(&mut store.clone(), member).expect("a member has a statement");
        let bundle =
            receipts::Bundle { member: member.clone(), federation: FEDERATION.id, coordinator: signer(0).public() };
        receipts::check(&bundle, receipts, Some(&statement)).unwrap_or_else(|error| panic!("{member}: {error}"));
    }
}
