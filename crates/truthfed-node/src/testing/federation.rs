//! A federation's keys and terms, and the messages that its members and its coordinator sign.

use std::collections::BTreeMap;
use std::sync::Arc;

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::bandit::RawConfig;
use truthfed::protocol::{RoundId, Since, Strikes, Trigger};
use truthfed::statistics::Statistics;

use super::{Nowhere, id};
use crate::agent::Membership;
use crate::digest::{Digest, Hex, Nonce};
use crate::engine::{Clock, Place, Setup};
use crate::journal::{Entry, Head, seal};
use crate::ledger::{Checkpoint, Seal};
use crate::signature::Signer;
use crate::terms::{Agreement, RawTerms};
use crate::wire::{
    Context, DELIVERY_SCHEMA, DeliveryContent, Envelope, OFFER_SCHEMA, OfferContent, Promise, RECEIPT_SCHEMA,
    ReceiptContent, ReceiptKind, commitment,
};

/// Terms with bounds of 1 on contexts and rewards, a reserve of 100 units, and phases of a minute.
pub fn terms(dimension: usize) -> RawTerms {
    RawTerms {
        bandit: RawConfig { dimension, ..RawConfig::default() },
        trigger: Trigger::new(Since::Round, 1.0),
        reserve: Amount::from_units(100),
        samples: 1000,
        offers_ms: 60_000,
        deliveries_ms: 60_000,
        gap_ms: 0,
        strikes: Strikes { rounds: 0, ..Strikes::default() },
        ..RawTerms::default()
    }
}

/// Terms in three dimensions under which agents can play at random: wider bounds, and rounds that are far apart.
pub fn wide_terms() -> RawTerms {
    RawTerms {
        trigger: Trigger::new(Since::Round, 20.0),
        reserve: Amount::from_units(500),
        norm: 2.0,
        reward: 10.0,
        samples: 1_000_000,
        ..terms(3)
    }
}

/// Terms, and keys that are the same in every run.
#[derive(Debug, Clone)]
pub struct Federation {
    pub id: Digest,
    pub agreement: Agreement,
    pub coordinator: Signer,
    pub members: BTreeMap<ClientId, Signer>,
}

impl Federation {
    pub fn new(terms: RawTerms, names: &[&str]) -> Federation {
        let agreement = Agreement::try_from(terms).unwrap();
        let coordinator = Federation::key(0);
        let members = names.iter().zip(1..).map(|(name, number)| (id(name), Federation::key(number))).collect();
        Federation { id: Hex([7; 32]), agreement, coordinator, members }
    }

    /// The key of the coordinator (0), or of the member that is named first (1), second, and so on.
    pub fn key(number: u8) -> Signer {
        Signer::from_seed([number; 32])
    }

    pub fn certificate(member: &ClientId) -> Digest {
        Digest::of(member.as_str().as_bytes())
    }

    /// An engine on a thread with a simulated clock and a lease of 30 s that keeps no checkpoint.
    pub fn setup(&self) -> Setup {
        let member =
            |(name, signer): (&ClientId, &Signer)| (name.clone(), signer.public(), Federation::certificate(name));
        Setup {
            federation: self.id,
            agreement: self.agreement.clone(),
            signer: self.coordinator.clone(),
            members: self.members.iter().map(member).collect(),
            checkpoint: Arc::new(Nowhere),
            lease_ms: 30_000,
            clock: Clock::simulated(),
            place: Place::Thread,
        }
    }

    pub fn membership(&self, member: &ClientId) -> Membership {
        Membership {
            federation: self.id,
            member: member.clone(),
            coordinator: self.coordinator.public(),
            agreement: self.agreement.clone(),
            signer: self.members[member].clone(),
        }
    }

    pub fn context(&self, member: &ClientId, round: RoundId, nonce: Nonce) -> Context {
        Context { federation: self.id, round, nonce, terms: self.agreement.hash(), member: member.clone() }
    }

    pub fn sign_offer(&self, content: &OfferContent) -> Envelope {
        self.members[&content.context.member].seal(OFFER_SCHEMA, content)
    }

    pub fn sign_delivery(&self, content: &DeliveryContent) -> Envelope {
        self.members[&content.context.member].seal(DELIVERY_SCHEMA, content)
    }

    pub fn receipt(&self, context: Context, kind: ReceiptKind, offer: Digest, payment: Option<Amount>) -> Envelope {
        let schema = RECEIPT_SCHEMA.to_owned();
        let salt = Hex([7; 16]);
        let promise = payment.filter(|_| kind == ReceiptKind::Won).map(|payment| Promise::new(payment, payment, salt));
        let payment_micros = payment.filter(|_| kind == ReceiptKind::Paid);
        let salt = payment_micros.map(|_| salt);
        let content = ReceiptContent { schema, context, kind, offer, promise, payment_micros, salt };
        self.coordinator.seal(RECEIPT_SCHEMA, &content)
    }

    /// A receipt about an offer that was signed.
    pub fn receipt_for(&self, offer: &Envelope, kind: ReceiptKind, payment: Option<Amount>) -> Envelope {
        let content: OfferContent = serde_json::from_str(offer.content.get()).unwrap();
        self.receipt(content.context, kind, offer.digest(), payment)
    }

    /// Entries that were tampered with, sealed and vouched for again by a coordinator that takes part in the fraud.
    pub fn sign_again(&self, entries: &[Entry]) -> Vec<Entry> {
        let (mut head, mut offers) = (Head::START, BTreeMap::new());
        let mut again = entries.to_vec();
        for entry in &mut again {
            match entry {
                Entry::Opened { .. } => offers.clear(),
                Entry::Offered { member, offer, .. } => drop(offers.insert(member.clone(), offer.digest())),
                Entry::Revoked { member } => drop(offers.remove(member)),
                Entry::Sealed { round, offers: sealed, at_ms, signature } => {
                    *sealed = seal(offers.iter().map(|(member, offer)| (member, *offer)));
                    let sealed = Seal { federation: self.id, round: *round, offers: *sealed, at: *at_ms };
                    *signature = sealed.sign(&self.coordinator);
                }
                Entry::Checkpoint(checkpoint) => {
                    *checkpoint = Checkpoint::sign(&self.coordinator, self.id, head, checkpoint.standing);
                }
                _ => {}
            }
            head.append(entry);
        }
        again
    }
}

/// What a member observed, and the salt by which its offer commits to it.
#[derive(Debug, Clone)]
pub struct Data {
    pub statistics: Statistics,
    pub salt: Nonce,
}

impl Data {
    /// Contexts with a reward each.
    pub fn of<const D: usize>(observations: &[([f64; D], f64)]) -> Data {
        let mut statistics = Statistics::new(D).unwrap();
        observations.iter().for_each(|(context, reward)| statistics.observe(context, *reward).unwrap());
        Data { statistics, salt: Hex([5; 16]) }
    }

    /// Eight observations in two dimensions, others for each member and round.
    pub fn own(member: &ClientId, round: RoundId) -> Data {
        let seed = member.as_str().bytes().fold(round.0, |sum, byte| sum * 31 + u64::from(byte));
        let observation = |i: u64| {
            let angle = (seed * 7 + i) as f64;
            ([0.9 * libm::sin(angle), 0.9 * libm::cos(angle)], libm::sin(angle / 3.0))
        };
        Data::of(&[0, 1, 2, 3, 4, 5, 6, 7].map(observation))
    }

    pub fn offer(&self, context: Context, ask_micros: Amount) -> OfferContent {
        OfferContent {
            schema: OFFER_SCHEMA.to_owned(),
            context,
            gram: self.statistics.gram().clone(),
            samples: self.statistics.samples(),
            ask_micros,
            commitment: commitment(self.salt, self.statistics.moment()),
        }
    }

    pub fn delivery(&self, context: Context, offer: Digest) -> DeliveryContent {
        let (schema, moment) = (DELIVERY_SCHEMA.to_owned(), self.statistics.moment().to_vec());
        DeliveryContent { schema, context, offer, moment, salt: self.salt }
    }
}

/// A sequence of numbers that look random, the same for the same seed.
pub struct Numbers(pub u64);

impl Numbers {
    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    /// Four arms with entries in [-1, 1).
    pub fn arms(&mut self, dimension: usize) -> Vec<Vec<f64>> {
        (0..4).map(|_| (0..dimension).map(|_| 2.0 * self.unit() - 1.0).collect()).collect()
    }
}
