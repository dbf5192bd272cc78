//! What the engine shows after every commit: all that requests need which write nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;
use truthfed::protocol::{Bounds, RoundId, Time};
use truthfed::statistics::Gram;

use super::clock::Clock;
use crate::digest::{Digest, Nonce, PublicKey};
use crate::error::{Code, Refusal};
use crate::ledger::Pause;
use crate::terms::Agreement;
use crate::wire::{Envelope, NextRound, OpenRound, Phase, View};

/// The state after a commit.
#[derive(Debug, Clone)]
pub struct Published {
    pub(super) federation: Digest,
    pub(super) agreement: Agreement,
    pub(super) entries: u64,
    pub(super) news: u64,
    pub(super) closed: RoundId,
    pub(super) members: Arc<Members>,
    pub(super) open: Option<PublishedRound>,
    /// The nonce of the round that is next, if none is open.
    pub(super) next: Option<Nonce>,
    /// What is settled: an offer that opens a round is weighed on top of it.
    pub(super) settled: Arc<Gram>,
    /// How many samples members may offer, where there is a quota.
    pub(super) bounds: Option<Arc<Bounds>>,
    pub(super) paused: Option<Pause>,
    pub(super) clock: Clock,
    pub(super) counts: Counts,
}

/// All members, present and past, by name and by certificate.
#[derive(Debug, Clone, Default)]
pub(super) struct Members {
    by_name: BTreeMap<ClientId, MemberInfo>,
    by_certificate: BTreeMap<Digest, ClientId>,
}

impl Members {
    pub(super) fn new(by_name: BTreeMap<ClientId, MemberInfo>) -> Members {
        let mut by_certificate = BTreeMap::new();
        for (name, info) in &by_name {
            by_certificate.extend(info.certificates().map(|certificate| (certificate, name.clone())));
        }
        Members { by_name, by_certificate }
    }

    pub(super) fn by_name(&self) -> &BTreeMap<ClientId, MemberInfo> {
        &self.by_name
    }

    pub(super) fn holder(&self, certificate: &Digest) -> Option<&ClientId> {
        self.by_certificate.get(certificate)
    }

    pub(super) fn enrol(&mut self, member: ClientId, info: MemberInfo) {
        self.by_certificate.insert(info.certificate, member.clone());
        self.by_name.insert(member, info);
    }

    pub(super) fn revoke(&mut self, member: &ClientId) {
        if let Some(info) = self.by_name.get_mut(member) {
            info.is_revoked = true;
        }
    }

    /// A member goes on with another key and certificate.
    pub(super) fn renew(&mut self, member: &ClientId, key: PublicKey, certificate: Digest) {
        if let Some(info) = self.by_name.get_mut(member) {
            info.renew(key, certificate);
            self.by_certificate.insert(certificate, member.clone());
        }
    }

    /// Whose key it is or was.
    pub(super) fn key_holder(&self, key: &PublicKey) -> Option<&ClientId> {
        let had = |info: &MemberInfo| info.key == *key || info.past.iter().any(|past| past.key == *key);
        self.by_name.iter().find(|(_, info)| had(info)).map(|(name, _)| name)
    }

    /// A member that may take part.
    pub(super) fn check(&self, member: &ClientId) -> Result<&MemberInfo, Refusal> {
        match self.by_name.get(member) {
            None => Err(Refusal::new(Code::NotAMember, format!("{member} is not a member of this federation"))),
            Some(info) if info.is_revoked => {
                Err(Refusal::new(Code::MemberRevoked, format!("{member} was revoked and may not take part any more")))
            }
            Some(info) => Ok(info),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberInfo {
    /// Signs its offers.
    pub key: PublicKey,
    pub certificate: Digest,
    /// May not take part any more.
    pub is_revoked: bool,
    /// What it had before it renewed, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<Past>,
}

/// A key and a certificate that a member does not use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Past {
    pub key: PublicKey,
    pub certificate: Digest,
}

impl MemberInfo {
    /// Of one who takes part from now on.
    pub fn new(key: PublicKey, certificate: Digest) -> MemberInfo {
        MemberInfo { key, certificate, is_revoked: false, past: Vec::new() }
    }

    /// All it has and had.
    pub(crate) fn certificates(&self) -> impl Iterator<Item = Digest> {
        self.past.iter().map(|past| past.certificate).chain([self.certificate])
    }

    /// It goes on with another key and certificate.
    pub(crate) fn renew(&mut self, key: PublicKey, certificate: Digest) {
        self.past.push(Past { key: self.key, certificate: self.certificate });
        (self.key, self.certificate) = (key, certificate);
    }
}

#[derive(Debug, Clone)]
pub(super) struct PublishedRound {
    pub(super) round: RoundId,
    pub(super) nonce: Nonce,
    pub(super) phase: Phase,
    pub(super) opened: Time,
    pub(super) deadline: Time,
    pub(super) answered: BTreeSet<ClientId>,
    pub(super) decisions: Arc<BTreeMap<ClientId, Envelope>>,
}

/// Sums since the engine started, for monitoring: never about one member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub settled: u64,
    /// Rounds that ended without an auction.
    pub aborted: u64,
    pub offers: u64,
    pub deliveries: u64,
    /// Winners that did not deliver.
    pub defaults: u64,
    pub payments: u64,
    /// Times that what a member delivered was held.
    pub held: u64,
    pub commits: u64,
    pub commit_us: u64,
}

impl Published {
    pub(crate) fn federation(&self) -> Digest {
        self.federation
    }

    /// Number of the last entry of the journal.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Number of the last entry that is news to all members: not what one of them offered, declined or delivered.
    pub fn news(&self) -> u64 {
        self.news
    }

    pub fn closed(&self) -> RoundId {
        self.closed
    }

    /// The round that an offer may open.
    pub(super) fn next(&self) -> Option<NextRound> {
        self.next.map(|nonce| NextRound { round: RoundId(self.closed.0 + 1), nonce })
    }

    /// The nonce of a round that is open or next.
    pub(super) fn nonce(&self, round: RoundId) -> Option<Nonce> {
        let open = self.open.as_ref().map(|open| (open.round, open.nonce));
        let known = open.or(self.next().map(|next| (next.round, next.nonce)));
        known.filter(|(known, _)| *known == round).map(|(_, nonce)| nonce)
    }

    pub fn open_round(&self) -> Option<RoundId> {
        self.open.as_ref().map(|open| open.round)
    }

    /// Whether the operator lets no round open.
    pub fn paused(&self) -> Option<&Pause> {
        self.paused.as_ref()
    }

    /// What the open round waits for, and how many milliseconds longer.
    pub fn phase(&self) -> Option<(RoundId, Phase, u64)> {
        let now = self.clock.now();
        self.open.as_ref().map(|open| (open.round, open.phase, open.deadline.0.saturating_sub(now.0)))
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub fn members(&self) -> &BTreeMap<ClientId, MemberInfo> {
        self.members.by_name()
    }

    pub fn member_of(&self, certificate: &Digest) -> Option<(&ClientId, &MemberInfo)> {
        let name = self.members.holder(certificate)?;
        self.members.by_name.get_key_value(name)
    }

    /// A member that may take part. Fails when it may not.
    pub fn check_member(&self, member: &ClientId) -> Result<&MemberInfo, Refusal> {
        self.members.check(member)
    }

    pub fn view(&self, member: &ClientId) -> View {
        let open = self.open.as_ref().map(|open| OpenRound {
            round: open.round,
            nonce: open.nonce,
            phase: open.phase,
            remaining_ms: open.deadline.0.saturating_sub(self.clock.now().0),
            answered: open.answered.contains(member),
            decision: open.decisions.get(member).cloned(),
        });
        let opens = || self.open.as_ref().map_or_else(|| self.clock.now(), |open| open.opened);
        let most_samples = self.bounds.as_ref().map(|bounds| bounds.most(member, opens()));
        View { version: self.news, closed: self.closed, open, next: self.next(), most_samples }
    }
}
