//! Follows the rows of a journal: chain, money, genesis, and the checkpoint outside of the store.

use super::founded::Founded;
use super::place::{Place, name_of, round_of};
use super::{Fault, Trust, Verdict};
use crate::digest::{Digest, PublicKey};
use crate::journal::{Entry, Head, JournalError, Row};
use crate::ledger::{Checkpoint, Ledger, LedgerError, Posting};
use crate::terms::{Agreement, TermsDocument};

/// The journal so far.
pub(super) struct Replay {
    pub(super) head: Head,
    pub(super) rounds: u64,
    pub(super) payments: u64,
    trust: Trust,
    ledger: Ledger,
    founded: Option<Founded>,
}

impl Replay {
    pub(super) fn new(trust: Trust) -> Replay {
        Replay { head: Head::START, rounds: 0, payments: 0, trust, ledger: Ledger::default(), founded: None }
    }

    /// The next row; gives the postings that follow from it.
    pub(super) fn follow(&mut self, row: &Row) -> Verdict<Vec<Posting>> {
        let place = Place::entry(row.number);
        let mut head = self.head;
        if row.number != head.number + 1 {
            return Place::entry(head.number + 1).problem(
                Fault::MissingEntry,
                format!("entry {}", head.number + 1),
                format!("entry {}", row.number),
            );
        }
        let entry = match head.follow(row) {
            Ok(entry) => entry,
            Err(JournalError::BrokenChain(_)) => {
                let before = format!("a hash over this entry and {}", self.head.hash);
                return place.problem(Fault::BrokenChain, before, row.hash);
            }
            Err(JournalError::Unreadable { problem, .. }) => {
                return place.problem(Fault::Unreadable, "an entry", problem);
            }
        };
        let postings = match self.ledger.follow(row.number, &entry) {
            Ok(postings) => postings,
            Err(error) => return self.explain(row.number, &entry, &error),
        };
        self.step(row.number, &entry)?;
        self.head = head;
        match self.trust.checkpoint {
            Some(checkpoint) if checkpoint.entry == row.number => {
                place.check(Fault::Checkpoint, checkpoint.head, row.hash)?;
            }
            _ => {}
        }
        Ok(postings)
    }

    /// At the end of the journal.
    pub(super) fn finish(&self, end: u64) -> Verdict {
        if self.head.number < end {
            let missing = format!("entry {}", self.head.number + 1);
            return Place::entry(self.head.number + 1).problem(Fault::MissingEntry, missing, "none");
        }
        if self.founded.is_none() {
            return Place::entry(1).problem(Fault::Genesis, "a genesis", "an empty journal");
        }
        if let Some(due) = self.founded.as_ref().and_then(Founded::due) {
            return Place::entry(end + 1).problem(Fault::OutOfTurn, due, "the end of the journal");
        }
        match self.trust.checkpoint {
            Some(checkpoint) if checkpoint.entry > end => {
                let (entry, vouched) = (format!("entry {}", checkpoint.entry), format!("the end at entry {end}"));
                Place::entry(end + 1).problem(Fault::CheckpointAhead, entry, vouched)
            }
            _ => Ok(()),
        }
    }

    /// Money cannot move as an entry says: what the protocol finds wrong with it tells more.
    fn explain<T>(&mut self, number: u64, entry: &Entry, error: &LedgerError) -> Verdict<T> {
        self.step(number, entry)?;
        let place = round_of(entry).map_or(Place::entry(number), |round| Place::round(number, round));
        place.problem(Fault::Ledger, "a ledger that can follow", error)
    }

    fn step(&mut self, number: u64, entry: &Entry) -> Verdict {
        let place = Place::entry(number);
        if let Entry::Genesis { federation, coordinator, terms } = entry {
            return self.found(place, *federation, *coordinator, terms);
        }
        let head = self.head;
        let Some(founded) = &mut self.founded else {
            return place.problem(Fault::Genesis, "a genesis", name_of(entry));
        };
        founded.check_due(number, entry)?;
        match entry {
            Entry::Genesis { .. } => unreachable!("handled above"),
            Entry::Enrolled { member, key, .. } => founded.enrol(place.of(member), member, *key),
            Entry::Revoked { member } => founded.revoke(place.of(member), member),
            Entry::Opened { round, nonce, asked_by } => {
                founded.open(Place::round(number, *round).of(asked_by), *round, *nonce, asked_by)
            }
            Entry::Offered { round, member, offer } => {
                founded.offer(Place::round(number, *round).of(member), *round, member, offer)
            }
            Entry::Declined { round, member } => {
                founded.decline(Place::round(number, *round).of(member), *round, member)
            }
            Entry::Sealed { round, offers, signature } => {
                founded.sealed(Place::round(number, *round), *round, *offers, signature)
            }
            Entry::Awarded { round, winners } => founded.awarded(Place::round(number, *round), *round, winners),
            Entry::Delivered { round, member, delivery } => {
                founded.deliver(Place::round(number, *round).of(member), *round, member, delivery)
            }
            Entry::Settled { round, paid, defaulted, aggregate } => {
                founded.settled(Place::round(number, *round), *round, paid, defaulted, *aggregate)?;
                (self.rounds, self.payments) = (self.rounds + 1, self.payments + paid.len() as u64);
                Ok(())
            }
            Entry::Aborted { round, reason } => {
                founded.aborted(Place::round(number, *round), *round, reason)?;
                self.rounds += 1;
                Ok(())
            }
            Entry::Checkpoint { entry, head: hash, signature } => {
                let checkpoint = Checkpoint { entry: *entry, head: *hash, signature: *signature };
                founded.checkpoint(place, checkpoint, head)
            }
        }
    }

    fn found(
        &mut self,
        place: Place<'_>,
        federation: Digest,
        coordinator: PublicKey,
        terms: &TermsDocument,
    ) -> Verdict {
        if self.founded.is_some() {
            return place.problem(Fault::Genesis, "one genesis", "a second");
        }
        place.check(Fault::Foreign, self.trust.federation.unwrap_or(federation), federation)?;
        place.check(Fault::Foreign, self.trust.coordinator.unwrap_or(coordinator), coordinator)?;
        let agreement = match Agreement::try_from(terms.clone()) {
            Ok(agreement) => agreement,
            Err(error) => return place.problem(Fault::Terms, "terms that can be agreed on", error),
        };
        if let Some(checkpoint) = self.trust.checkpoint.filter(|it| !it.is_signed_by(&coordinator, federation)) {
            let found = format!("{} under entry {}", checkpoint.signature, checkpoint.entry);
            return Place::entry(checkpoint.entry).problem(Fault::Signature, "the coordinator's", found);
        }
        self.founded = Some(Founded::new(federation, coordinator, &agreement));
        Ok(())
    }
}
