//! Rounds of a small federation on a real engine, played by name: the journal is what an honest coordinator writes.

use std::collections::BTreeMap;

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::bandit::RawConfig;
use truthfed::protocol::{Quality, QualityRule, RoundId, Ruling, Time};

use super::{Data, Federation, Memory, Stepwise, id, terms};
use crate::coordinator::operator::read_doubts;
use crate::digest::{Digest, Nonce};
use crate::engine::Command;
use crate::error::Refusal;
use crate::identity::Renewal;
use crate::journal::Entry;
use crate::store::RequestKind;
use crate::terms::{CoverageSetting, RawTerms};
use crate::wire::{Call, Context, DeliveryContent, Envelope, OfferContent, ReceiptKind, ReceiptReply};

/// A federation with its engine. Members offer [`Data::own`].
pub struct Played {
    pub federation: Federation,
    pub entries: Vec<Entry>,
    /// The store after each step.
    pub history: Vec<Memory>,
    engine: Stepwise,
    round: RoundId,
    nonce: Nonce,
    /// Of the last round.
    offers: BTreeMap<ClientId, Envelope>,
}

impl Played {
    pub fn new(names: &[&str]) -> Played {
        Played::under(RawTerms { coverage: CoverageSetting::Ratio(0.6), ..terms(2) }, names)
    }

    /// Under terms in two dimensions.
    pub fn under(terms: RawTerms, names: &[&str]) -> Played {
        let federation = Federation::new(terms, names);
        let engine = Stepwise::start(federation.setup(), Memory::default()).unwrap();
        let (entries, history, nonce) = (engine.store().entries(), vec![engine.store()], Nonce::random());
        Played { federation, entries, history, engine, round: RoundId(0), nonce, offers: BTreeMap::new() }
    }

    /// Four rounds: all deliver; one declines and one does not deliver; one is revoked after its offer; only one offers, and is
    /// revoked.
    pub fn with_rounds() -> Played {
        let mut played = Played::new(&["a", "b", "c", "d", "e"]);
        played.full_round();
        played.begin();
        played.offers(&[("a", 3), ("b", 4), ("c", 5), ("d", 6)]);
        played.decline("e");
        let winners = played.winners();
        played.deliver_all(&winners[1..]);
        played.pass_time();
        played.begin();
        played.offers(&[("e", 1), ("a", 3), ("b", 4), ("c", 5)]);
        played.revoke("e");
        played.offer("d", 6);
        let winners = played.winners();
        played.deliver_all(&winners);
        played.begin();
        played.offer("d", 3);
        for name in ["a", "b", "c"] {
            played.decline(name);
        }
        played.revoke("d");
        played
    }

    /// Three rounds after which payments wait, were made after they had waited, and are void because the operator ruled so.
    pub fn with_doubts() -> Played {
        let quality = Quality { rule: QualityRule::Hold, rounds: 1 };
        // With so much noise nothing contradicts anything, and nothing is confirmed.
        let bandit = RawConfig { sigma: 10.0, ..terms(2).bandit };
        let terms = RawTerms { coverage: CoverageSetting::Ratio(0.9), quality, bandit, ..terms(2) };
        let mut played = Played::under(terms, &["a", "b", "c"]);
        played.full_round();
        played.full_round();
        let waiting = played.waiting();
        played.rule(waiting.first().expect("the payments of the last round wait"), Ruling::Void);
        played.begin();
        played.offers(&[("a", 3), ("b", 4)]);
        played.decline("c");
        let winners = played.winners();
        played.deliver_all(&winners[..1]);
        played.pass_time();
        played
    }

    /// Members of whom a payment waits.
    pub fn waiting(&self) -> Vec<String> {
        let doubts = read_doubts(&mut self.store()).unwrap();
        doubts.iter().filter(|line| line.payments > 0).map(|line| line.member.to_string()).collect()
    }

    pub fn rule(&mut self, name: &str, ruling: Ruling) {
        self.engine.rule(id(name), ruling).unwrap();
        self.follow();
    }

    pub fn pay_out(&mut self, name: &str, micros: i64, reference: &str) {
        let (amount, reference) = (Amount::from_micros(micros).unwrap(), reference.parse().unwrap());
        self.engine.pay_out(id(name), amount, reference).unwrap();
        self.follow();
    }

    pub fn pause(&mut self, reason: &str) {
        self.engine.pause(reason);
        self.follow();
    }

    /// The operator ends the open round.
    pub fn abort(&mut self, reason: &str) -> Result<String, Refusal> {
        let answer = self.engine.abort(self.round, reason);
        self.follow();
        answer
    }

    pub fn resume(&mut self) {
        self.engine.resume();
        self.follow();
    }

    /// Why an offer to the next round is refused.
    pub fn refused_offer(&mut self, name: &str, ask: u32) -> Refusal {
        let offer = self.federation.sign_offer(&self.offer_content(name, ask));
        let refusal = self.engine.call(&id(name), Call::Offer(self.round, offer)).unwrap_err();
        self.follow();
        refusal
    }

    /// A round in which everyone offers, each for a unit more than the one before, and every winner delivers.
    pub fn full_round(&mut self) {
        let names: Vec<String> = self.federation.members.keys().map(ToString::to_string).collect();
        self.begin();
        names.iter().zip(3..).for_each(|(name, ask)| self.offer(name, ask));
        let winners = self.winners();
        self.deliver_all(&winners);
    }

    pub fn enrol(&mut self, name: &str) {
        let signer = Federation::key(100 + self.federation.members.len() as u8);
        self.engine.enrol(id(name), signer.public(), Federation::certificate(&id(name))).unwrap();
        self.federation.members.insert(id(name), signer);
        self.follow();
    }

    /// A member renews its certificate, and signs with another key from now on.
    pub fn renew(&mut self, name: &str) {
        let (member, signer) = (id(name), Federation::key(150 + self.entries.len() as u8 % 50));
        let certificate = Digest::of(&signer.public().0);
        let renewal = Renewal { federation: self.federation.id, member: member.clone(), key: signer.public() };
        let signature = renewal.sign(&self.federation.members[&member]);
        self.engine.renew(member.clone(), signer.public(), certificate, signature).unwrap();
        self.federation.members.insert(member, signer);
        self.follow();
    }

    /// Why an offer is refused that was checked before its member renewed.
    pub fn offer_and_renew(&mut self, name: &str, ask: u32) -> Refusal {
        let envelope = self.federation.sign_offer(&self.offer_content(name, ask));
        let published = self.engine.published();
        let checked = Command::of(published, &id(name), Call::Offer(self.round, envelope)).unwrap();
        self.renew(name);
        let answer = self.engine.work(vec![checked]).pop().unwrap();
        self.follow();
        answer.unwrap_err()
    }

    pub fn revoke(&mut self, name: &str) {
        self.engine.revoke(id(name)).unwrap();
        self.federation.members.remove(&id(name));
        self.follow();
    }

    /// What is offered from now on is offered to the next round, which the first offer opens.
    pub fn begin(&mut self) {
        let next = self.engine.published().view(&id("a")).next.expect("no round is open");
        (self.round, self.nonce) = (next.round, next.nonce);
        self.offers.clear();
    }

    pub fn offer(&mut self, name: &str, ask: u32) {
        let offer = self.federation.sign_offer(&self.offer_content(name, ask));
        self.call(name, Call::Offer(self.round, offer.clone()));
        self.offers.insert(id(name), offer);
    }

    pub fn offers(&mut self, asks: &[(&str, u32)]) {
        asks.iter().for_each(|(name, ask)| self.offer(name, *ask));
    }

    pub fn offer_content(&self, name: &str, ask: u32) -> OfferContent {
        Data::own(&id(name), self.round).offer(self.context(name), Amount::from_units(ask))
    }

    /// The entry that opens the next round, whether somebody may or not, after a long time.
    pub fn opened_entry(&self, name: &str) -> Entry {
        Entry::Opened { round: self.round, nonce: self.nonce, asked_by: id(name), at_ms: Time(1_000_000_000) }
    }

    /// The entry of an offer that is right except for when it comes.
    pub fn offer_entry(&self, name: &str, ask: u32) -> Entry {
        let offer = self.federation.sign_offer(&self.offer_content(name, ask));
        Entry::Offered { round: self.round, member: id(name), offer }
    }

    pub fn decline(&mut self, name: &str) {
        self.call(name, Call::Decline(self.round));
    }

    pub fn deliver(&mut self, name: &str) {
        let delivery = self.federation.sign_delivery(&self.delivery_content(name));
        self.call(name, Call::Deliver(self.round, delivery));
    }

    pub fn deliver_all(&mut self, names: &[String]) {
        names.iter().for_each(|name| self.deliver(name));
    }

    pub fn delivery_content(&self, name: &str) -> DeliveryContent {
        Data::own(&id(name), self.round).delivery(self.context(name), self.offers[&id(name)].digest())
    }

    /// The current phase runs out of time.
    pub fn pass_time(&mut self) {
        self.engine.pass_time();
        self.follow();
    }

    pub fn now(&self) -> Time {
        self.engine.now()
    }

    pub fn wait(&mut self, ms: u64) {
        self.engine.wait(ms);
        self.follow();
    }

    pub fn winners(&self) -> Vec<String> {
        let awarded = self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Awarded { round, winners, .. } if *round == self.round => Some(winners),
            _ => None,
        });
        awarded.into_iter().flatten().map(|award| award.member.to_string()).collect()
    }

    pub fn store(&self) -> Memory {
        self.engine.store()
    }

    /// All receipts that a member was given, round by round.
    pub fn receipts(&self, name: &str) -> Vec<Envelope> {
        let mut replies = self.store().replies;
        replies.retain(|reply| reply.key.member == id(name));
        let order = |kind| match kind {
            RequestKind::Offer => 0,
            RequestKind::Decision => 1,
            RequestKind::Delivery => 2,
            RequestKind::Settlement => 3,
            RequestKind::Resolution => 4,
        };
        replies.sort_by_key(|reply| (reply.key.round, order(reply.key.kind)));
        let receipt = |body: &str| match serde_json::from_str::<ReceiptReply>(body) {
            Ok(reply) => Some(reply.receipt),
            Err(_) => serde_json::from_str(body).ok(),
        };
        replies.iter().filter_map(|reply| receipt(&reply.body)).collect()
    }

    /// A receipt in the open round, whether it is true or not.
    pub fn receipt(&self, name: &str, kind: ReceiptKind, offer: Digest, payment: Option<Amount>) -> Envelope {
        self.federation.receipt(self.context(name), kind, offer, payment)
    }

    /// The journal of a coordinator that recorded these terms, on which members signed, and decided by its own.
    pub fn pretending(&self, recorded: &RawTerms) -> Vec<Entry> {
        let pretended = Federation { agreement: recorded.clone().try_into().unwrap(), ..self.federation.clone() };
        let (hash, mut offers) = (pretended.agreement.hash(), BTreeMap::new());
        let mut entries = self.entries.clone();
        for entry in &mut entries {
            match entry {
                Entry::Genesis { terms, .. } => **terms = recorded.clone(),
                Entry::Offered { member, offer, .. } => {
                    let mut content: OfferContent = serde_json::from_str(offer.content.get()).unwrap();
                    content.context.terms = hash;
                    *offer = pretended.sign_offer(&content);
                    offers.insert(member.clone(), offer.digest());
                }
                Entry::Delivered { member, delivery, .. } => {
                    let mut content: DeliveryContent = serde_json::from_str(delivery.content.get()).unwrap();
                    (content.context.terms, content.offer) = (hash, offers[member]);
                    *delivery = pretended.sign_delivery(&content);
                }
                _ => {}
            }
        }
        pretended.sign_again(&entries)
    }

    fn context(&self, name: &str) -> Context {
        self.federation.context(&id(name), self.round, self.nonce)
    }

    fn call(&mut self, name: &str, call: Call) {
        self.engine.call(&id(name), call).expect("an honest request is taken");
        self.follow();
    }

    fn follow(&mut self) {
        let store = self.store();
        let new = store.rows.iter().skip(self.entries.len());
        self.entries.extend(new.map(|row| row.entry().unwrap()));
        self.history.push(store);
    }
}
