//! The open round, as the coordinator keeps it and shows it to whoever drives it.
//!
//! Nobody needs a copy: who has answered, who has won and what the round waits for is asked here. Taking offers, awarding
//! and settling are the coordinator's.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Notice, RoundId, Time};
use crate::auction::{ClientId, Offer, Outcome, RoundSpec, Winner};

#[derive(Debug)]
pub struct OpenRound {
    pub(super) round: RoundId,
    pub(super) asked_by: ClientId,
    pub(super) opened: Time,
    pub(super) deadline: Time,
    pub(super) offers: BTreeMap<ClientId, Taken>,
    pub(super) declined: BTreeSet<ClientId>,
    /// Members that may not take part.
    pub(super) excluded: BTreeSet<ClientId>,
    pub(super) award: Option<Box<Award>>,
}

/// An offer that binds.
#[derive(Debug, PartialEq)]
pub(super) struct Taken {
    pub(super) samples: u64,
    pub(super) offer: Offer,
}

/// What was decided, and what was delivered since.
#[derive(Debug)]
pub(super) struct Award {
    pub(super) spec: RoundSpec,
    pub(super) aside: Vec<SetAside>,
    pub(super) outcome: Outcome,
    pub(super) moments: BTreeMap<ClientId, Vec<f64>>,
    /// Winners that were revoked before they delivered.
    pub(super) revoked: BTreeSet<ClientId>,
}

/// An offer that binds, and that the auction does not look at: what is settled, and the offers with fewer samples, leave no room
/// for it below the capacity of the terms. Its member keeps its data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAside {
    pub client: ClientId,
    pub samples: u64,
    /// Samples that would have fitted.
    pub room: u64,
}

impl Award {
    /// A winner that may deliver, or has.
    pub(super) fn winner(&self, client: &ClientId) -> Option<&Winner> {
        self.outcome.winner(client).filter(|_| !self.revoked.contains(client))
    }

    pub(super) fn is_whole(&self) -> bool {
        self.moments.len() + self.revoked.len() == self.outcome.winners().len()
    }
}

impl OpenRound {
    pub(super) fn new(
        round: RoundId,
        asked_by: ClientId,
        (opened, deadline): (Time, Time),
        excluded: BTreeSet<ClientId>,
    ) -> OpenRound {
        let (offers, declined) = (BTreeMap::new(), BTreeSet::new());
        OpenRound { round, asked_by, opened, deadline, offers, declined, excluded, award: None }
    }

    pub fn round(&self) -> RoundId {
        self.round
    }

    pub fn opened(&self) -> Time {
        self.opened
    }

    /// When the current phase ends by itself.
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Whether it is decided and waits for deliveries; before, it takes offers.
    pub fn is_awarded(&self) -> bool {
        self.award.is_some()
    }

    pub fn outcome(&self) -> Option<&Outcome> {
        self.award.as_ref().map(|award| &award.outcome)
    }

    /// A client's offer and the number of samples in it.
    pub fn offer(&self, client: &ClientId) -> Option<(&Offer, u64)> {
        self.offers.get(client).map(|Taken { samples, offer }| (offer, *samples))
    }

    pub fn answered(&self) -> impl Iterator<Item = &ClientId> {
        self.offers.keys().chain(&self.declined)
    }

    fn has_answered(&self, client: &ClientId) -> bool {
        self.offers.contains_key(client) || self.declined.contains(client)
    }

    /// What the round waits for from a member, if for anything.
    pub(super) fn waits_for(&self, member: &ClientId) -> Option<Notice> {
        match &self.award {
            None => (!self.has_answered(member) && !self.excluded.contains(member))
                .then_some(Notice::Opened(self.round, None)),
            Some(award) => {
                let winner = award.winner(member).filter(|_| !award.moments.contains_key(member));
                winner.map(|_| Notice::Awarded(self.round))
            }
        }
    }
}
