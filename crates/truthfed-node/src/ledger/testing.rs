//! Small federations for tests, as honest coordinators record them: real signatures, the real protocol.

use std::collections::BTreeMap;

use serde::Serialize;
use truthfed::Amount;
use truthfed::auction::{ClientId, Outcome};
use truthfed::bandit::RawConfig;
use truthfed::protocol::{
    Accepted, Coordinator, Ending, Input, Output, Request, RoundId, RoundRecord, Since, Time, Trigger,
};
use truthfed::statistics::Statistics;

use super::{CHECKPOINT_SCHEMA, Checkpoint, Ledger, Posting, SEAL_SCHEMA};
use super::{aggregate_digest, checkpoint_bytes, sealed_bytes};
use crate::digest::{Digest, Nonce};
use crate::journal::{Award, Entry, Head, Row, seal};
use crate::signature::Signer;
use crate::store::{Batch, Lease, RequestKey, RequestKind, StandingRow, Store, StoreError, StoredReply};
use crate::terms::{Agreement, CoverageSetting, MechanismSetting, TermsDocument};
use crate::wire::{
    Context, DELIVERY_SCHEMA, DeliveryContent, Envelope, OFFER_SCHEMA, OfferContent, RECEIPT_SCHEMA, ReceiptContent,
    ReceiptKind, commitment,
};

pub(crate) fn id(name: &str) -> ClientId {
    name.parse().unwrap()
}

/// Terms in two dimensions under the default mechanism.
pub(crate) fn terms(reserve: u32) -> TermsDocument {
    TermsDocument {
        bandit: RawConfig { dimension: 2, ..RawConfig::default() },
        trigger: Trigger { since: Since::Round, threshold: 1.0 },
        coverage: CoverageSetting::Ratio(0.6),
        reserve_micros: Amount::from_units(reserve),
        norm: 1.0,
        reward: 1.0,
        samples: 1000,
        offers_ms: 100,
        deliveries_ms: 100,
        mechanism: MechanismSetting::default(),
    }
}

/// A coordinator that records what it does, with its members.
pub(crate) struct Federation {
    pub(crate) coordinator: Signer,
    pub(crate) federation: Digest,
    pub(crate) members: BTreeMap<ClientId, Signer>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) receipts: BTreeMap<ClientId, Vec<Envelope>>,
    terms: Digest,
    head: Head,
    machine: Coordinator,
    round: RoundId,
    nonce: Nonce,
    offers: BTreeMap<ClientId, Offered>,
    awards: Vec<Award>,
    now: Time,
}

struct Offered {
    envelope: Envelope,
    moment: Vec<f64>,
    salt: Nonce,
}

impl Federation {
    /// One whose rounds are decided by the terms it recorded.
    pub(crate) fn new(names: &[&str]) -> Federation {
        Federation::deciding_by(terms(100), names)
    }

    /// One that records terms with a reserve of 100, and decides its rounds by others.
    pub(crate) fn deciding_by(played: TermsDocument, names: &[&str]) -> Federation {
        let agreement = Agreement::try_from(terms(100)).unwrap();
        let played = Agreement::try_from(played).unwrap();
        let coordinator = Signer::random();
        let mut federation = Federation {
            federation: Digest::of(b"authority"),
            members: BTreeMap::new(),
            entries: Vec::new(),
            receipts: BTreeMap::new(),
            terms: agreement.hash(),
            head: Head::START,
            machine: Coordinator::new(played.terms(), played.mechanism(), []),
            round: RoundId(0),
            nonce: Nonce::random(),
            offers: BTreeMap::new(),
            awards: Vec::new(),
            now: Time(0),
            coordinator,
        };
        federation.record(Entry::Genesis {
            federation: federation.federation,
            coordinator: federation.coordinator.public(),
            terms: agreement.document().clone(),
        });
        for name in names {
            federation.enrol(name);
        }
        federation.vouch();
        federation
    }

    /// Four rounds: all deliver; one declines and one does not deliver; one is revoked after its offer; nobody offers.
    pub(crate) fn with_rounds() -> Federation {
        let mut federation = Federation::new(&["a", "b", "c", "d", "e"]);
        federation.full_round();
        federation.ask("b");
        for (name, ask) in [("a", 3), ("b", 4), ("c", 5), ("d", 6)] {
            federation.offer(name, ask);
        }
        federation.decline("e");
        let winners = federation.winners();
        for winner in &winners[1..] {
            federation.deliver(winner);
        }
        federation.pass_time();
        federation.ask("a");
        for (name, ask) in [("e", 1), ("a", 3), ("b", 4), ("c", 5)] {
            federation.offer(name, ask);
        }
        federation.revoke("e");
        federation.offer("d", 6);
        for winner in federation.winners() {
            federation.deliver(&winner);
        }
        federation.ask("c");
        for name in ["a", "b", "c", "d"] {
            federation.decline(name);
        }
        federation
    }

    /// A round in which everyone offers and every winner delivers.
    pub(crate) fn full_round(&mut self) {
        let names: Vec<String> = self.members.keys().map(ToString::to_string).collect();
        self.ask(&names[0]);
        for (name, ask) in names.iter().zip(3..) {
            self.offer(name, ask);
        }
        for winner in self.winners() {
            self.deliver(&winner);
        }
    }

    pub(crate) fn enrol(&mut self, name: &str) {
        let signer = Signer::random();
        let certificate = Digest::of(name.as_bytes());
        self.record(Entry::Enrolled { member: id(name), key: signer.public(), certificate });
        self.members.insert(id(name), signer);
        self.machine.enrol(id(name));
    }

    pub(crate) fn revoke(&mut self, name: &str) {
        self.record(Entry::Revoked { member: id(name) });
        self.members.remove(&id(name));
        if self.awards.is_empty() {
            self.offers.remove(&id(name));
        }
        self.machine.revoke(self.now, &id(name));
        self.drain();
    }

    pub(crate) fn ask(&mut self, name: &str) {
        self.hand_in(name, Request::Ask);
        self.round.0 += 1;
        self.nonce = Nonce::random();
        self.record(Entry::Opened { round: self.round, nonce: self.nonce, asked_by: id(name) });
        self.drain();
    }

    /// A member offers data that is its own in every round.
    pub(crate) fn offer(&mut self, name: &str, ask: u32) {
        let (offered, content) = self.signed_offer(name, ask);
        self.hand_in(name, content.into_request(self.round));
        self.record(Entry::Offered { round: self.round, member: id(name), offer: offered.envelope.clone() });
        let digest = offered.envelope.digest();
        self.offers.insert(id(name), offered);
        self.receipt(&id(name), ReceiptKind::OfferTaken, digest, None);
        self.drain();
    }

    /// The entry of an offer that is right but for the moment it comes.
    pub(crate) fn offer_entry(&self, name: &str, ask: u32) -> Entry {
        Entry::Offered { round: self.round, member: id(name), offer: self.signed_offer(name, ask).0.envelope }
    }

    fn signed_offer(&self, name: &str, ask: u32) -> (Offered, OfferContent) {
        let (data, ask) = (data(name, self.round), Amount::from_units(ask));
        let (moment, salt) = (data.moment().to_vec(), Nonce::random());
        let content = OfferContent {
            schema: OFFER_SCHEMA.to_owned(),
            context: self.context(name),
            gram: data.gram().clone(),
            samples: data.samples(),
            ask_micros: ask,
            commitment: commitment(salt, &moment),
        };
        let envelope = self.sign(name, OFFER_SCHEMA, &content);
        (Offered { envelope, moment, salt }, content)
    }

    pub(crate) fn decline(&mut self, name: &str) {
        self.hand_in(name, Request::Decline(self.round));
        self.record(Entry::Declined { round: self.round, member: id(name) });
        self.drain();
    }

    pub(crate) fn deliver(&mut self, name: &str) {
        let (offer, moment, salt) = self.deliverable(name);
        let delivery = self.delivery(name, offer, moment.clone(), salt);
        self.hand_in(name, Request::Deliver(self.round, moment));
        self.record(Entry::Delivered { round: self.round, member: id(name), delivery });
        self.receipt(&id(name), ReceiptKind::DeliveryTaken, offer, None);
        self.drain();
    }

    /// What a member that offered is to deliver: the hash of its offer, its moment and the salt.
    pub(crate) fn deliverable(&self, name: &str) -> (Digest, Vec<f64>, Nonce) {
        let Offered { envelope, moment, salt } = &self.offers[&id(name)];
        (envelope.digest(), moment.clone(), *salt)
    }

    /// A signed delivery, whatever is in it.
    pub(crate) fn delivery(&self, name: &str, offer: Digest, moment: Vec<f64>, salt: Nonce) -> Envelope {
        let (schema, context) = (DELIVERY_SCHEMA.to_owned(), self.context(name));
        self.sign(name, DELIVERY_SCHEMA, &DeliveryContent { schema, context, offer, moment, salt })
    }

    /// The current phase runs out of time.
    pub(crate) fn pass_time(&mut self) {
        self.now = self.machine.open().unwrap().deadline();
        self.machine.handle(self.now, Input::Tick).unwrap();
        self.drain();
    }

    /// Who won the open round.
    pub(crate) fn winners(&self) -> Vec<String> {
        self.awards.iter().map(|award| award.member.to_string()).collect()
    }

    /// The journal and its postings.
    pub(crate) fn store(&self) -> Memory {
        Memory::of(&self.entries)
    }

    /// The last checkpoint, as it is kept beside the store.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        let checkpoint = self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Checkpoint { entry, head, signature } => {
                Some(Checkpoint { entry: *entry, head: *head, signature: *signature })
            }
            _ => None,
        });
        checkpoint.unwrap()
    }

    /// Entries that were tampered with, sealed and vouched for again by a coordinator that takes part in the fraud.
    pub(crate) fn sign_again(&self, entries: &[Entry]) -> Vec<Entry> {
        let (mut head, mut offers) = (Head::START, BTreeMap::new());
        let mut again = Vec::new();
        for entry in entries {
            let entry = match entry.clone() {
                Entry::Opened { round, nonce, asked_by } => {
                    offers.clear();
                    Entry::Opened { round, nonce, asked_by }
                }
                Entry::Offered { round, member, offer } => {
                    offers.insert(member.clone(), offer.clone());
                    Entry::Offered { round, member, offer }
                }
                Entry::Revoked { member } => {
                    offers.remove(&member);
                    Entry::Revoked { member }
                }
                Entry::Sealed { round, .. } => self
                    .seal(round, seal(offers.iter().map(|(member, offer): (_, &Envelope)| (member, offer.digest())))),
                Entry::Checkpoint { .. } => self.checkpoint_of(head),
                other => other,
            };
            head.append(&entry);
            again.push(entry);
        }
        again
    }

    fn seal(&self, round: RoundId, offers: Digest) -> Entry {
        let signature = self.coordinator.sign(SEAL_SCHEMA, &sealed_bytes(self.federation, round, offers));
        Entry::Sealed { round, offers, signature }
    }

    fn checkpoint_of(&self, Head { number: entry, hash: head }: Head) -> Entry {
        let content = checkpoint_bytes(self.federation, entry, head);
        Entry::Checkpoint { entry, head, signature: self.coordinator.sign(CHECKPOINT_SCHEMA, &content) }
    }

    fn vouch(&mut self) {
        self.record(self.checkpoint_of(self.head));
    }

    fn record(&mut self, entry: Entry) {
        self.head.append(&entry);
        self.entries.push(entry);
    }

    fn hand_in(&mut self, name: &str, request: Request) {
        let accepted = self.machine.handle(self.now, Input::Request(id(name), request));
        assert_eq!(accepted, Ok(Accepted::New));
    }

    fn context(&self, name: &str) -> Context {
        let (federation, round, nonce) = (self.federation, self.round, self.nonce);
        Context { federation, round, nonce, terms: self.terms, member: id(name) }
    }

    fn sign(&self, name: &str, schema: &str, content: &impl Serialize) -> Envelope {
        self.members[&id(name)].seal(schema, content)
    }

    pub(crate) fn receipt(&mut self, member: &ClientId, kind: ReceiptKind, offer: Digest, payment: Option<Amount>) {
        let (schema, context) = (RECEIPT_SCHEMA.to_owned(), self.context(member.as_str()));
        let content = ReceiptContent { schema, context, kind, offer, payment_micros: payment };
        let receipt = self.coordinator.seal(RECEIPT_SCHEMA, &content);
        self.receipts.entry(member.clone()).or_default().push(receipt);
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Opened(_) | Output::News(_) => {}
                Output::Awarded(round, outcome) => self.awarded(round, &outcome),
                Output::Ended(record) => self.ended(*record),
            }
        }
    }

    fn awarded(&mut self, round: RoundId, outcome: &Outcome) {
        let digest = seal(self.offers.iter().map(|(member, offered)| (member, offered.envelope.digest())));
        self.record(self.seal(round, digest));
        self.awards = Award::all(outcome);
        self.record(Entry::Awarded { round, winners: self.awards.clone() });
        let offers: Vec<(ClientId, Digest)> =
            self.offers.iter().map(|(member, offered)| (member.clone(), offered.envelope.digest())).collect();
        for (member, offer) in offers {
            let payment = outcome.winner(&member).map(|winner| winner.payment);
            let kind = if payment.is_some() { ReceiptKind::Won } else { ReceiptKind::Lost };
            self.receipt(&member, kind, offer, payment);
        }
    }

    fn ended(&mut self, record: RoundRecord) {
        let round = record.round;
        match record.ending {
            Ending::Settled { paid, defaulted, .. } => {
                for award in std::mem::take(&mut self.awards) {
                    let kind = if defaulted.contains(&award.member) { ReceiptKind::Voided } else { ReceiptKind::Paid };
                    let offer = self.offers[&award.member].envelope.digest();
                    self.receipt(&award.member, kind, offer, Some(award.payment_micros));
                }
                let aggregate = aggregate_digest(self.machine.settled());
                let paid = paid.into_iter().map(|(member, _)| member).collect();
                self.record(Entry::Settled { round, paid, defaulted, aggregate });
            }
            _ => self.record(Entry::Aborted { round, reason: "nobody offered".to_owned() }),
        }
        self.offers.clear();
        self.vouch();
    }
}

/// Rows that chain.
pub(crate) fn chain(entries: &[Entry]) -> Vec<Row> {
    let mut head = Head::START;
    entries.iter().map(|entry| head.append(entry)).collect()
}

/// Some observations of a member, its own in every round.
fn data(name: &str, round: RoundId) -> Statistics {
    let mut data = Statistics::new(2).unwrap();
    let seed = name.bytes().fold(round.0, |sum, byte| sum * 31 + u64::from(byte));
    for i in 0..8 {
        let angle = (seed * 7 + i) as f64;
        data.observe(&[angle.sin() * 0.9, angle.cos() * 0.9], (angle / 3.0).sin()).unwrap();
    }
    data
}

/// At most that much is read at once, so that all reading is done in pieces.
const PIECE: usize = 5;

/// A store that holds whatever it is given, and is read only.
pub(crate) struct Memory {
    pub(crate) rows: Vec<Row>,
    pub(crate) postings: Vec<Posting>,
}

impl Memory {
    /// Entries and the postings that follow from them, as far as a ledger can follow.
    pub(crate) fn of(entries: &[Entry]) -> Memory {
        let mut ledger = Ledger::default();
        let postings = (1..).zip(entries).map_while(|(number, entry)| ledger.follow(number, entry).ok());
        Memory { postings: postings.flatten().collect(), rows: chain(entries) }
    }
}

impl Store for Memory {
    fn acquire(&mut self, _: u64) -> Result<Lease, StoreError> {
        Err(StoreError::Held)
    }

    fn renew(&mut self, lease: Lease, _: u64) -> Result<(), StoreError> {
        Err(StoreError::NotLeader(lease.epoch))
    }

    fn release(&mut self, _: Lease) -> Result<(), StoreError> {
        Ok(())
    }

    fn commit(&mut self, lease: Lease, _: &Batch) -> Result<(), StoreError> {
        Err(StoreError::NotLeader(lease.epoch))
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        Ok(self.rows.last().map_or(Head::START, |row| Head { number: row.number, hash: row.hash }))
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        Ok(None)
    }

    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        Ok(self.rows.iter().filter(|row| row.number > after).take(most.min(PIECE)).cloned().collect())
    }

    fn reply(&mut self, _: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        Ok(None)
    }

    fn replies(&mut self, _: &ClientId, _: RequestKind, _: RoundId) -> Result<Vec<StoredReply>, StoreError> {
        Ok(Vec::new())
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        Ok(self.postings.iter().filter(|posting| posting.number > after).take(most.min(PIECE)).cloned().collect())
    }
}
