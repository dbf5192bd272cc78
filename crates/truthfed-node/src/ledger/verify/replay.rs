//! Follows the rows of a journal: chain, money, genesis, and the checkpoint outside of the store.

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::founded::{Founded, Signed};
use super::place::Place;
use super::prepared::{Content, Prepared};
use super::{Fault, Found, Tally, Trust, Verdict};
use crate::claims::{Claim, first_false};
use crate::digest::{Digest, PublicKey};
use crate::journal::{About, Entry, Head};
use crate::ledger::{Checkpoint, Ledger, LedgerError, Posting};
use crate::terms::{Agreement, RawTerms};

pub(super) struct Replay {
    pub(super) head: Head,
    pub(super) rounds: u64,
    pub(super) payments: u64,
    trust: Trust,
    ledger: Ledger,
    founded: Option<Founded>,
    claimed: Vec<Claimed>,
}

/// That a member signed what is recorded: to be checked after the replay went on.
pub(super) struct Claimed {
    claim: Claim,
    round: RoundId,
    member: ClientId,
    /// What is right before its entry.
    tally: Tally,
}

impl Claimed {
    /// The first that is not true.
    pub(super) fn first_forged(claimed: &[Claimed]) -> Option<Found> {
        let claims: Vec<&Claim> = claimed.iter().map(|claimed| &claimed.claim).collect();
        let Claimed { claim, round, member, tally } = &claimed[first_false(&claims)?];
        let place = Place { entry: tally.entries + 1, round: Some(*round), member: Some(member) };
        let problem = place.problem::<()>(Fault::Signature, format!("{member}'s"), claim.signature).err()?;
        Some(Found { tally: *tally, problem })
    }
}

impl Replay {
    pub(super) fn new(trust: Trust) -> Replay {
        let (head, ledger) = (Head::START, Ledger::default());
        Replay { head, rounds: 0, payments: 0, trust, ledger, founded: None, claimed: Vec::new() }
    }

    /// What is right so far, if all is true that members are said to have signed.
    pub(super) fn tally(&self) -> Tally {
        Tally { entries: self.head.number, rounds: self.rounds, payments: self.payments }
    }

    /// What members are said to have signed since this was asked for last.
    pub(super) fn take_claimed(&mut self) -> Vec<Claimed> {
        std::mem::take(&mut self.claimed)
    }

    /// The next row; gives the postings that follow from it.
    pub(super) fn follow(&mut self, row: Prepared) -> Verdict<Vec<Posting>> {
        let Prepared { number, hash, is_chained, entry, content } = row;
        let (place, next) = (Place::entry(number), self.head.number + 1);
        if number != next {
            let (expected, found) = (format!("entry {next}"), format!("entry {number}"));
            return Place::entry(next).problem(Fault::MissingEntry, expected, found);
        }
        if !is_chained {
            let before = format!("a hash over this entry and {}", self.head.hash);
            return place.problem(Fault::BrokenChain, before, hash);
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(problem) => return place.problem(Fault::Unreadable, "an entry", problem),
        };
        let postings = match self.ledger.follow(number, &entry) {
            Ok(postings) => postings,
            Err(error) => return self.explain(number, entry, content, &error),
        };
        self.step(number, entry, content)?;
        self.head = Head { number, hash };
        match self.trust.checkpoint {
            Some(checkpoint) if checkpoint.entry == number => {
                place.check(Fault::Checkpoint, checkpoint.head, hash)?;
            }
            _ => {}
        }
        Ok(postings)
    }

    pub(super) fn finish(&self, end: u64) -> Verdict {
        if self.head.number < end {
            let missing = format!("entry {}", self.head.number + 1);
            return Place::entry(self.head.number + 1).problem(Fault::MissingEntry, missing, "none");
        }
        let Some(founded) = &self.founded else {
            return Place::entry(1).problem(Fault::Genesis, "a genesis", "an empty journal");
        };
        if let Some(due) = founded.due() {
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
    fn explain<T>(&mut self, number: u64, entry: Entry, content: Content, error: &LedgerError) -> Verdict<T> {
        let round = entry.about().round;
        self.step(number, entry, content)?;
        Place { round, ..Place::entry(number) }.problem(Fault::Ledger, "a ledger that can follow", error)
    }

    fn step(&mut self, number: u64, entry: Entry, content: Content) -> Verdict {
        let stepped = self.take_step(number, &entry, content);
        let signed = self.founded.as_mut().and_then(|founded| founded.signed.take());
        if let (Some(Signed { key, schema }), Entry::Offered { round, member, offer: envelope })
        | (Some(Signed { key, schema }), Entry::Delivered { round, member, delivery: envelope }) = (signed, entry)
        {
            let claim = Claim { key, schema, content: envelope.content.into(), signature: envelope.signature };
            self.claimed.push(Claimed { claim, round, member, tally: self.tally() });
        }
        stepped
    }

    fn take_step(&mut self, number: u64, entry: &Entry, content: Content) -> Verdict {
        let About { name, round, speaker, .. } = entry.about();
        let place = Place { entry: number, round, member: speaker };
        if let Entry::Genesis { federation, coordinator, terms } = entry {
            return self.found(place, *federation, *coordinator, terms);
        }
        let head = self.head;
        let Some(founded) = &mut self.founded else {
            return place.problem(Fault::Genesis, "a genesis", name);
        };
        founded.check_due(number, entry)?;
        match (entry, content) {
            (Entry::Enrolled { member, key, .. }, _) => founded.enrol(place.of(member), member, *key),
            (Entry::Revoked { member }, _) => founded.revoke(place.of(member), member),
            (Entry::Opened { round, nonce, asked_by }, _) => founded.open(place.of(asked_by), *round, *nonce, asked_by),
            (Entry::Offered { round, member, .. }, Content::Offer(digest, content)) => {
                founded.offer(place, *round, member, (digest, content))
            }
            (Entry::Declined { round, member }, _) => founded.decline(place, *round, member),
            (Entry::Sealed { round, offers, signature }, _) => founded.sealed(place, *round, *offers, signature),
            (Entry::Awarded { round, winners, aside }, _) => founded.awarded(place, *round, winners, aside),
            (Entry::Delivered { round, member, .. }, Content::Delivery(content)) => {
                founded.deliver(place, *round, member, content)
            }
            (Entry::Settled { round, paid, defaulted, aggregate }, _) => {
                founded.settled(place, *round, paid, defaulted, *aggregate)?;
                (self.rounds, self.payments) = (self.rounds + 1, self.payments + paid.len() as u64);
                Ok(())
            }
            (Entry::Aborted { round, reason }, _) => {
                founded.aborted(place, *round, reason)?;
                self.rounds += 1;
                Ok(())
            }
            (Entry::Checkpoint { entry, head: hash, signature }, _) => {
                let checkpoint = Checkpoint { entry: *entry, head: *hash, signature: *signature };
                founded.checkpoint(place, checkpoint, head)
            }
            (Entry::Genesis { .. }, _) => unreachable!("handled above"),
            (Entry::Offered { .. } | Entry::Delivered { .. }, _) => unreachable!("prepared with their contents"),
        }
    }

    fn found(&mut self, place: Place<'_>, federation: Digest, coordinator: PublicKey, terms: &RawTerms) -> Verdict {
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
