//! What tests of the agent share: a membership, a coordinator's signature, and random data.

use std::path::Path;

use truthfed::Amount;
use truthfed::bandit::RawConfig;
use truthfed::protocol::{RoundId, Since, Snapshot, Trigger};
use truthfed::statistics::Statistics;

use super::{Agent, Membership};
use crate::digest::{Digest, Nonce};
use crate::signature::Signer;
use crate::terms::{Agreement, CoverageSetting, MechanismSetting, TermsDocument};
use crate::wire::{
    Envelope, OfferContent, OpenRound, Phase, RECEIPT_SCHEMA, ReceiptContent, ReceiptKind, SyncReply, View,
};

pub(super) const DIMENSION: usize = 3;

pub(super) fn agreement() -> Agreement {
    let document = TermsDocument {
        bandit: RawConfig { dimension: DIMENSION, ..RawConfig::default() },
        trigger: Trigger { since: Since::Round, threshold: 20.0 },
        coverage: CoverageSetting::Ratio(0.5),
        reserve_micros: Amount::from_units(500),
        norm: 2.0,
        reward: 10.0,
        samples: 1_000_000,
        offers_ms: 60_000,
        deliveries_ms: 60_000,
        mechanism: MechanismSetting::default(),
    };
    document.try_into().unwrap()
}

/// The coordinator, as far as one member hears of it.
pub(super) struct Coordinator {
    pub(super) signer: Signer,
    pub(super) membership: Membership,
}

impl Coordinator {
    pub(super) fn new() -> Coordinator {
        let signer = Signer::random();
        let membership = Membership {
            federation: Digest::of(b"federation"),
            member: "m1".parse().unwrap(),
            coordinator: signer.public(),
            agreement: agreement(),
            signer: Signer::random(),
        };
        Coordinator { signer, membership }
    }

    pub(super) fn agent(&self, path: &Path) -> Agent {
        Agent::open(self.membership.clone(), path).unwrap()
    }

    /// A receipt about an offer.
    pub(super) fn receipt(&self, offer: &Envelope, kind: ReceiptKind, payment: Option<Amount>) -> Envelope {
        let content: OfferContent = serde_json::from_str(offer.content.get()).unwrap();
        let receipt = ReceiptContent {
            schema: RECEIPT_SCHEMA.to_owned(),
            context: content.context,
            kind,
            offer: offer.digest(),
            payment_micros: payment,
        };
        self.signer.seal(RECEIPT_SCHEMA, &receipt)
    }
}

pub(super) fn nonce(round: u64) -> Nonce {
    let mut nonce = Nonce::random();
    nonce.0 = [round as u8; 16];
    nonce
}

/// A view in which this round is open.
pub(super) fn open(round: u64, phase: Phase, answered: bool, decision: Option<Envelope>) -> View {
    let open = OpenRound { round: RoundId(round), nonce: nonce(round), phase, remaining_ms: 1000, answered, decision };
    View { version: round, closed: RoundId(round - 1), open: Some(open) }
}

/// A view in which no round is open.
pub(super) fn idle(closed: u64) -> View {
    View { version: closed, closed: RoundId(closed), open: None }
}

pub(super) fn snapshot(closed: u64, settled: Option<u64>, statistics: &Statistics) -> Snapshot {
    Snapshot { closed: RoundId(closed), settled: settled.map(RoundId), statistics: statistics.clone() }
}

pub(super) fn reply(snapshot: Snapshot, receipts: Vec<Envelope>) -> SyncReply {
    SyncReply { snapshot: Some(snapshot), receipts }
}

/// A sequence of numbers that look random, the same for the same seed.
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    /// Uniform in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.unit() * bound as f64) as usize
    }

    pub(super) fn arms(&mut self) -> Vec<Vec<f64>> {
        (0..4).map(|_| (0..DIMENSION).map(|_| 2.0 * self.unit() - 1.0).collect()).collect()
    }
}

/// Chooses and learns once.
pub(super) fn play(agent: &mut Agent, numbers: &mut Numbers) {
    let (decision, _) = agent.choose(&numbers.arms()).unwrap();
    agent.learn(decision, numbers.unit()).unwrap();
}
