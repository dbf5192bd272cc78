//! What tests of the agent share: a coordinator as one member hears it, and what it shows and sends.

use std::path::Path;

use truthfed::Amount;
use truthfed::protocol::{RoundId, Snapshot};
use truthfed::statistics::Statistics;

use super::{Agent, Membership};
use crate::digest::{Hex, Nonce};
use crate::testing::{Federation, Numbers, id, wide_terms};
use crate::wire::{Envelope, OpenRound, Phase, ReceiptKind, SyncReply, View};

/// Of [`wide_terms`].
pub(super) const DIMENSION: usize = 3;

/// The coordinator, as far as one member hears of it.
pub(super) struct Coordinator {
    pub(super) federation: Federation,
    pub(super) membership: Membership,
}

impl Coordinator {
    pub(super) fn new() -> Coordinator {
        let federation = Federation::new(wide_terms(), &["m1"]);
        Coordinator { membership: federation.membership(&id("m1")), federation }
    }

    pub(super) fn agent(&self, path: &Path) -> Agent {
        Agent::open(self.membership.clone(), path).unwrap()
    }

    /// A receipt about an offer.
    pub(super) fn receipt(&self, offer: &Envelope, kind: ReceiptKind, payment: Option<Amount>) -> Envelope {
        self.federation.receipt_for(offer, kind, payment)
    }
}

pub(super) fn nonce(round: u64) -> Nonce {
    Hex([round as u8; 16])
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

/// Chooses and learns once.
pub(super) fn play(agent: &mut Agent, numbers: &mut Numbers) {
    let (decision, _) = agent.choose(&numbers.arms(DIMENSION)).unwrap();
    agent.learn(decision, numbers.unit()).unwrap();
}
