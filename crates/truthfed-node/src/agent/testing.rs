//! What tests of the agent share: a coordinator as one member hears it, and what it shows and sends.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use truthfed::Amount;
use truthfed::protocol::{RoundId, Snapshot};
use truthfed::statistics::Statistics;

use super::{Agent, FileError, Membership};
use crate::digest::{Hex, Nonce};
use crate::testing::{Federation, Numbers, id, wide_terms};
use crate::wire::{Envelope, NextRound, OpenRound, Phase, ReceiptKind, SyncReply, View};

/// Of [`wide_terms`].
pub(super) const DIMENSION: usize = 3;

/// The coordinator, as far as one member hears of it, and the folder of that member's file.
pub(super) struct Coordinator {
    pub(super) federation: Federation,
    pub(super) membership: Membership,
    pub(super) folder: TempDir,
}

impl Coordinator {
    pub(super) fn new() -> Coordinator {
        let federation = Federation::new(wide_terms(), &["m1"]);
        Coordinator { membership: federation.membership(&id("m1")), federation, folder: crate::testing::folder() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("agent.db")
    }

    pub(super) fn open(&self, path: &Path) -> Result<Agent, FileError> {
        Agent::open(self.membership.clone(), path)
    }

    pub(super) fn agent(&self) -> Agent {
        self.open(&self.path()).unwrap()
    }

    /// An agent that has learned so many rewards.
    pub(super) fn taught(&self, numbers: &mut Numbers, times: usize) -> Agent {
        let mut agent = self.agent();
        (0..times).for_each(|_| play(&mut agent, numbers));
        agent
    }

    /// The files of the running agent as a crash now leaves them, the write-ahead log and all.
    pub(super) fn crashed(&self) -> PathBuf {
        let copy = self.folder.path().join("crashed.db");
        for end in ["", "-wal"] {
            let from = PathBuf::from(format!("{}{end}", self.path().display()));
            if from.exists() {
                std::fs::copy(from, format!("{}{end}", copy.display())).unwrap();
            }
        }
        copy
    }

    /// The agent after a crash and a restart.
    pub(super) fn restarted(&self) -> Agent {
        self.open(&self.crashed()).unwrap()
    }

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
    View { version: round, closed: RoundId(round - 1), open: Some(open), next: None, most_samples: None }
}

/// A view in which no round is open.
pub(super) fn idle(closed: u64) -> View {
    let next = NextRound { round: RoundId(closed + 1), nonce: nonce(closed + 1) };
    View { version: closed, closed: RoundId(closed), open: None, next: Some(next), most_samples: None }
}

pub(super) fn snapshot(closed: u64, settled: Option<u64>, statistics: &Statistics) -> Snapshot {
    Snapshot { closed: RoundId(closed), settled: settled.map(RoundId), statistics: statistics.clone(), own: None }
}

pub(super) fn reply(snapshot: Snapshot, receipts: Vec<Envelope>) -> SyncReply {
    SyncReply { snapshot: Some(snapshot), receipts }
}

pub(super) fn play(agent: &mut Agent, numbers: &mut Numbers) {
    let (decision, _) = agent.choose(&numbers.arms(DIMENSION)).unwrap();
    agent.learn(decision, numbers.unit()).unwrap();
}
