//! The journal: every durable step of a federation, in order, each chained to the one before by its hash.
//!
//! An entry is one step. Its body is JSON, kept and hashed as the very bytes that were written. The hash of an entry
//! covers its number, its body and the hash of the entry before: nothing can be changed, dropped, added or reordered
//! without changing every later hash. All else a coordinator knows follows from the journal.
//!
//! Not here: where it is kept ([`crate::store`]), what its payments come to ([`crate::ledger`]).

use serde::{Deserialize, Serialize};
use truthfed::Amount;
use truthfed::auction::{ClientId, Outcome, Winner};
use truthfed::protocol::{Judgement, RoundId, Ruling, SetAside, Time};

use crate::digest::{Digest, Nonce, PublicKey, Signature};
use crate::ledger::{Checkpoint, Reason, Reference};
use crate::terms::RawTerms;
use crate::wire::Envelope;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Entry {
    /// The federation exists: the first entry, and only the first.
    Genesis {
        /// Its name: the hash of its authority's certificate.
        federation: Digest,
        /// Signs receipts and checkpoints.
        coordinator: PublicKey,
        terms: Box<RawTerms>,
    },
    /// A member may take part from now on.
    Enrolled {
        member: ClientId,
        /// Signs its offers and deliveries.
        key: PublicKey,
        certificate: Digest,
    },
    Revoked {
        member: ClientId,
    },
    /// A member goes on with another key and certificate, between two rounds.
    Renewed {
        member: ClientId,
        /// Signs its offers and deliveries from now on.
        key: PublicKey,
        certificate: Digest,
        /// The member's, with the key before, over federation, name and new key ([`crate::identity::Renewal`]).
        signature: Signature,
    },
    Opened {
        round: RoundId,
        /// Signed in every offer and delivery.
        nonce: Nonce,
        /// The member whose offer, the next entry, is reason enough for the round.
        asked_by: ClientId,
        /// When, by the coordinator's clock; never before an earlier entry.
        at_ms: Time,
    },
    Offered {
        round: RoundId,
        member: ClientId,
        /// As it was signed.
        offer: Envelope,
    },
    /// A member has nothing to offer.
    Declined {
        round: RoundId,
        member: ClientId,
    },
    Sealed {
        round: RoundId,
        /// [`seal`] of the offers, in the order of members.
        offers: Digest,
        /// When the last offer was taken.
        at_ms: Time,
        /// The coordinator's, over the round's number, that hash and the time.
        signature: Signature,
    },
    /// The auction is decided, and payments are pending.
    Awarded {
        round: RoundId,
        /// By member.
        winners: Vec<Award>,
        /// Offers that the auction did not look at, by member.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        aside: Vec<SetAside>,
    },
    /// What a winner offered is here.
    Delivered {
        round: RoundId,
        member: ClientId,
        /// As it was signed.
        delivery: Envelope,
    },
    /// The round ended: pending payments are posted, void or wait, and what was delivered is shared or held.
    Settled {
        round: RoundId,
        /// Winners that delivered and are paid.
        paid: Vec<ClientId>,
        /// Winners that delivered and whose payment waits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        waiting: Vec<ClientId>,
        /// Winners that did not deliver.
        defaulted: Vec<ClientId>,
        /// What became of earlier payments and data, and whose data is held.
        #[serde(default, skip_serializing_if = "Judgement::is_empty")]
        judgement: Judgement,
        /// The hash of all statistics settled so far.
        aggregate: Digest,
        at_ms: Time,
    },
    /// The round ended without an auction: nobody is paid.
    Aborted {
        round: RoundId,
        reason: String,
        at_ms: Time,
        /// Whether the operator ended it, while it took offers; otherwise no auction was possible.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_operator: bool,
    },
    /// The operator decided about the data of a member, between two rounds.
    Ruled {
        /// The number that it takes instead of a round.
        round: RoundId,
        member: ClientId,
        ruling: Ruling,
        /// What became of payments and data.
        judgement: Judgement,
        /// The hash of all statistics that are settled now.
        aggregate: Digest,
        at_ms: Time,
    },
    /// The operator transferred money to a member, outside of the federation: so much less is owed to it.
    PaidOut {
        member: ClientId,
        amount_micros: Amount,
        /// Names the transfer: each is recorded once.
        reference: Reference,
        /// When it was recorded.
        at_ms: Time,
    },
    /// No round opens from now on. One that is open goes on to its end.
    Paused {
        /// The operator's, which members are told.
        reason: Reason,
        at_ms: Time,
    },
    /// Rounds may open again.
    Resumed {
        at_ms: Time,
    },
    /// The coordinator vouches for everything before: when the federation begins, a round ends, members come or go, money is
    /// paid out, or rounds are paused or resumed.
    Checkpoint(Checkpoint),
}

/// What can be said of any entry without its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About<'a> {
    /// As the body of its row begins.
    pub kind: &'static str,
    /// In a sentence.
    pub name: &'static str,
    /// The round it belongs to.
    pub round: Option<RoundId>,
    /// The member whose message it records. Such an entry is no news to the other members.
    pub speaker: Option<&'a ClientId>,
}

impl Entry {
    pub fn about(&self) -> About<'_> {
        let (kind, name, round, speaker) = match self {
            Entry::Genesis { .. } => ("genesis", "a genesis", None, None),
            Entry::Enrolled { .. } => ("enrolled", "an enrolment", None, None),
            Entry::Revoked { .. } => ("revoked", "a revocation", None, None),
            Entry::Renewed { .. } => ("renewed", "a renewal", None, None),
            Entry::Opened { round, .. } => ("opened", "a round is opened", Some(*round), None),
            Entry::Offered { round, member, .. } => ("offered", "an offer", Some(*round), Some(member)),
            Entry::Declined { round, member } => ("declined", "a decline", Some(*round), Some(member)),
            Entry::Sealed { round, .. } => ("sealed", "a seal", Some(*round), None),
            Entry::Awarded { round, .. } => ("awarded", "an award", Some(*round), None),
            Entry::Delivered { round, member, .. } => ("delivered", "a delivery", Some(*round), Some(member)),
            Entry::Settled { round, .. } => ("settled", "a settlement", Some(*round), None),
            Entry::Aborted { round, .. } => ("aborted", "an end without an auction", Some(*round), None),
            Entry::Ruled { round, .. } => ("ruled", "a ruling about data", Some(*round), None),
            Entry::PaidOut { .. } => ("paid-out", "a payout", None, None),
            Entry::Paused { .. } => ("paused", "a pause", None, None),
            Entry::Resumed { .. } => ("resumed", "the end of a pause", None, None),
            Entry::Checkpoint(_) => ("checkpoint", "a checkpoint", None, None),
        };
        About { kind, name, round, speaker }
    }

    /// Whether it is written together with a checkpoint after it: nobody else signs it.
    pub(crate) fn is_vouched_for(&self) -> bool {
        matches!(
            self,
            Entry::Genesis { .. }
                | Entry::Enrolled { .. }
                | Entry::Revoked { .. }
                | Entry::Renewed { .. }
                | Entry::PaidOut { .. }
                | Entry::Paused { .. }
                | Entry::Resumed { .. }
        ) || self.is_end()
    }

    /// When it happened, if it says.
    pub fn at(&self) -> Option<Time> {
        match self {
            Entry::Opened { at_ms, .. }
            | Entry::Sealed { at_ms, .. }
            | Entry::Settled { at_ms, .. }
            | Entry::Aborted { at_ms, .. }
            | Entry::Ruled { at_ms, .. }
            | Entry::PaidOut { at_ms, .. }
            | Entry::Paused { at_ms, .. }
            | Entry::Resumed { at_ms } => Some(*at_ms),
            _ => None,
        }
    }

    /// Whether it ends a round, or takes the number of one: what the coordinator is then is kept.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Entry::Settled { .. } | Entry::Aborted { .. } | Entry::Ruled { .. })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Award {
    pub member: ClientId,
    pub ask_micros: Amount,
    /// What it is paid on delivery.
    pub payment_micros: Amount,
    /// Whether the target could not be met without it.
    pub essential: bool,
}

impl Award {
    /// The winners of an outcome as they are recorded.
    pub(crate) fn all(outcome: &Outcome) -> Vec<Award> {
        let award = |winner: &Winner| Award {
            member: winner.client.clone(),
            ask_micros: winner.ask,
            payment_micros: winner.payment,
            essential: winner.essential,
        };
        outcome.winners().iter().map(award).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its number; the first is 1.
    pub number: u64,
    pub body: String,
    /// Over number, body and the hash before.
    pub hash: Digest,
}

/// The end of the chain; of an empty one by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Number of the last entry; 0 before the first.
    pub number: u64,
    pub hash: Digest,
}

/// Why rows are not a journal. Operator: the store was altered, or a backup is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The hash does not belong to the entry and the one before.
    #[error("entry {0} does not fit the chain: it, or an entry before it, was altered, removed or moved")]
    BrokenChain(u64),
    /// The body is not an entry.
    #[error("entry {number} cannot be read: {problem}")]
    Unreadable { number: u64, problem: String },
}

impl Default for Head {
    fn default() -> Head {
        Head::START
    }
}

impl Head {
    pub const START: Head = Head { number: 0, hash: crate::digest::Hex([0; 32]) };

    pub fn append(&mut self, entry: &Entry) -> Row {
        let body = serde_json::to_string(entry).expect("an entry is JSON");
        let number = self.number + 1;
        let hash = link(self.hash, number, &body);
        *self = Head { number, hash };
        Row { number, body, hash }
    }

    /// Follows a row that is next in the chain, and reads it. Fails when it does not fit.
    pub fn follow(&mut self, row: &Row) -> Result<Entry, JournalError> {
        self.pass(row)?;
        row.entry()
    }

    /// Follows a row that is next in the chain, whatever it says. Fails when it does not fit.
    pub fn pass(&mut self, row: &Row) -> Result<(), JournalError> {
        if row.number != self.number + 1 || !row.is_chained_to(self.hash) {
            return Err(JournalError::BrokenChain(row.number));
        }
        *self = Head { number: row.number, hash: row.hash };
        Ok(())
    }
}

impl Row {
    /// The entry itself. Fails when the body is not one.
    pub fn entry(&self) -> Result<Entry, JournalError> {
        let unreadable =
            |error: serde_json::Error| JournalError::Unreadable { number: self.number, problem: error.to_string() };
        serde_json::from_str(&self.body).map_err(unreadable)
    }

    /// Whether its hash is the one of this row after a row of that hash.
    pub fn is_chained_to(&self, before: Digest) -> bool {
        self.hash == link(before, self.number, &self.body)
    }
}

fn link(before: Digest, number: u64, body: &str) -> Digest {
    Digest::of_parts([before.0.as_slice(), &number.to_be_bytes(), body.as_bytes()])
}

/// The hash of the hashes of the offers of a round, in the order of members.
pub fn seal<'a>(offers: impl IntoIterator<Item = (&'a ClientId, Digest)>) -> Digest {
    let lines: Vec<String> = offers.into_iter().map(|(member, offer)| format!("{offer} {member}")).collect();
    Digest::of_parts(lines.iter().map(String::as_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(members: &[&str]) -> Vec<Row> {
        let mut head = Head::START;
        members.iter().map(|member| head.append(&Entry::Revoked { member: member.parse().unwrap() })).collect()
    }

    fn check_broken(change: impl FnOnce(&mut Vec<Row>), expected: u64) {
        let mut rows = chain(&["a", "b", "c", "d"]);
        change(&mut rows);
        let mut head = Head::START;
        let first = rows.iter().find_map(|row| head.follow(row).err());
        assert_eq!(first, Some(JournalError::BrokenChain(expected)));
    }

    #[test]
    fn a_chain_that_was_not_touched_is_followed_to_its_end() {
        let mut head = Head::START;
        for row in chain(&["a", "b", "c"]) {
            head.follow(&row).unwrap();
        }
        assert_eq!(head.number, 3);
    }

    #[test]
    fn the_body_of_an_entry_begins_with_its_kind() {
        let (round, member) = (RoundId(7), "a".parse::<ClientId>().unwrap());
        let (offers, signature, at_ms) = (Digest::of(b"offers"), crate::digest::Hex([0; 64]), Time(9));
        let entries = [
            Entry::Revoked { member: member.clone() },
            Entry::Renewed { member: member.clone(), key: crate::digest::Hex([0; 32]), certificate: offers, signature },
            Entry::Opened { round, nonce: crate::digest::Hex([0; 16]), asked_by: member.clone(), at_ms },
            Entry::Declined { round, member: member.clone() },
            Entry::Sealed { round, offers, at_ms, signature },
            Entry::Awarded { round, winners: Vec::new(), aside: Vec::new() },
            Entry::Settled {
                round,
                paid: Vec::new(),
                waiting: Vec::new(),
                defaulted: Vec::new(),
                judgement: Judgement::default(),
                aggregate: offers,
                at_ms,
            },
            Entry::Ruled {
                round,
                member: member.clone(),
                ruling: Ruling::Forget,
                judgement: Judgement::default(),
                aggregate: offers,
                at_ms,
            },
            Entry::Aborted { round, reason: String::new(), at_ms, by_operator: false },
            Entry::PaidOut {
                member: member.clone(),
                amount_micros: Amount::ZERO,
                reference: "7".parse().unwrap(),
                at_ms,
            },
            Entry::Paused { reason: "a new disk".parse().unwrap(), at_ms },
            Entry::Resumed { at_ms },
            Entry::Checkpoint(Checkpoint { entry: 7, head: offers, standing: None, signature }),
        ];
        for entry in &entries {
            let mut head = Head::START;
            let (body, about) = (head.append(entry).body, entry.about());
            assert!(body.starts_with(&format!("{{\"{}\":", about.kind)), "{body}");
            assert_eq!(about.round.is_some(), body.contains("\"round\":7"), "{body}");
            assert_eq!(about.speaker, matches!(entry, Entry::Declined { .. }).then_some(&member), "{body}");
        }
    }

    #[test]
    fn whatever_is_changed_breaks_the_chain_there() {
        check_broken(|rows| rows[1].body = rows[1].body.replace('b', "x"), 2);
        check_broken(|rows| drop(rows.remove(1)), 3);
        check_broken(|rows| rows.swap(1, 2), 3);
        check_broken(|rows| rows[3].number = 5, 5);
        check_broken(|rows| rows.insert(2, rows[1].clone()), 2);
    }
}
