//! Follows the rows of a journal: chain, money, genesis, the standing, and the checkpoint outside of the store.

use std::collections::{BTreeMap, BTreeSet};

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::founded::{Auctioned, Founded, Signed};
use super::place::Place;
use super::prepared::{Content, Prepared};
use super::replies::Reply;
use super::{Fault, Found, Tally, Trust, Verdict};
use crate::claims::{Claim, first_false};
use crate::digest::{Digest, PublicKey};
use crate::engine::MemberInfo;
use crate::journal::{About, Entry, Head};
use crate::ledger::{Account, Ledger, LedgerError, Posting, Reference};
use crate::signature::Verifier;
use crate::store::{Extent, StandingRow};
use crate::terms::{Agreement, RawTerms};

pub(super) struct Replay {
    pub(super) head: Head,
    /// How many replies follow from the entries so far.
    pub(super) replies: u64,
    pub(super) rounds: u64,
    pub(super) payments: u64,
    trust: Trust,
    ledger: Ledger,
    /// What is owed to members, in micro-units.
    owed: BTreeMap<ClientId, i128>,
    payouts: BTreeSet<(ClientId, Reference)>,
    founded: Option<Founded>,
    claimed: Vec<Claimed>,
    /// The standing that was taken last.
    standing: Option<StandingRow>,
    /// Whether the last entry ended a round.
    has_ended: bool,
    /// The last checkpoint, and the last entry that needs one.
    vouched: u64,
    unsigned: Option<u64>,
}

/// That a member signed what is recorded, or the coordinator what it replied: to be checked after the replay went on.
pub(super) struct Claimed {
    pub(super) claim: Claim,
    pub(super) round: RoundId,
    pub(super) member: ClientId,
    /// If it is not true: a wrong reply is the coordinator's, anything else the member's.
    pub(super) fault: Fault,
    /// What is right before its entry.
    pub(super) tally: Tally,
}

impl Claimed {
    /// The first that is not true.
    pub(super) fn first_forged(claimed: &[Claimed]) -> Option<Found> {
        let claims: Vec<&Claim> = claimed.iter().map(|claimed| &claimed.claim).collect();
        let Claimed { claim, round, member, fault, tally } = &claimed[first_false(&claims)?];
        let place = Place { entry: tally.entries + 1, round: Some(*round), member: Some(member) };
        let expected = match fault {
            Fault::Reply => "a signature of the coordinator".to_owned(),
            _ => format!("{member}'s"),
        };
        Some(Found { tally: *tally, problem: place.fault(*fault, expected, claim.signature) })
    }
}

impl Replay {
    pub(super) fn new(trust: Trust) -> Replay {
        Replay {
            head: Head::START,
            replies: 0,
            rounds: 0,
            payments: 0,
            trust,
            ledger: Ledger::default(),
            owed: BTreeMap::new(),
            payouts: BTreeSet::new(),
            founded: None,
            claimed: Vec::new(),
            standing: None,
            has_ended: false,
            vouched: 0,
            unsigned: None,
        }
    }

    /// Entries at the end that no checkpoint covers.
    pub(super) fn unsigned(&self) -> u64 {
        self.head.number - self.vouched
    }

    pub(super) fn coordinator(&self) -> Option<Verifier> {
        self.founded.as_ref().and_then(Founded::coordinator)
    }

    /// What members were told by the last entry.
    pub(super) fn take_replies(&mut self) -> Vec<Reply> {
        let replies = self.founded.as_mut().map(|founded| std::mem::take(&mut founded.replies)).unwrap_or_default();
        self.replies += replies.len() as u64;
        replies
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
        let (is_checkpoint, needs_one) = (matches!(entry, Entry::Checkpoint(_)), entry.is_vouched_for());
        self.step(number, entry, content)?;
        for posting in &postings {
            if let Account::Member(member) = &posting.account {
                *self.owed.entry(member.clone()).or_default() += i128::from(posting.micros);
            }
        }
        self.head = Head { number, hash };
        if is_checkpoint {
            (self.vouched, self.unsigned) = (number, None);
        } else if needs_one {
            self.unsigned = Some(number);
        }
        match self.trust.checkpoint {
            Some(checkpoint) if checkpoint.entry == number => {
                place.check(Fault::Checkpoint, checkpoint.head, hash)?;
            }
            _ => {}
        }
        Ok(postings)
    }

    /// That the store keeps the standing, and as many replies, as follow from a journal that is right.
    pub(super) fn check_kept(&self, Extent { head, standing, replies }: &Extent) -> Verdict {
        let words = |row: Option<&StandingRow>| {
            let hash = |row: &StandingRow| Digest::of(row.body.as_bytes());
            row.map_or_else(|| "none".to_owned(), |row| format!("one of hash {} at entry {}", hash(row), row.entry))
        };
        let place = Place::entry(self.standing.as_ref().or(standing.as_ref()).map_or(head.number, |row| row.entry));
        place.check(Fault::Standing, words(self.standing.as_ref()), words(standing.as_ref()))?;
        let count = |replies: u64| format!("{replies} replies in all");
        Place::entry(head.number).check(Fault::Reply, count(self.replies), count(*replies))
    }

    /// That the journal ends where it is said to.
    pub(super) fn check_head(&self, Head { number, hash }: Head) -> Verdict {
        Place::entry(number).check(Fault::BrokenChain, hash, self.head.hash)
    }

    /// The auction of the last entry, if that settled a round.
    pub(super) fn take_auctioned(&mut self) -> Option<Auctioned> {
        self.founded.as_mut().and_then(|founded| founded.auctioned.take())
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
        if let Some(entry) = self.unsigned {
            return Place::entry(entry).problem(Fault::Unsigned, "a checkpoint after it", "the end of the journal");
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
            self.claimed.push(Claimed { claim, round, member, fault: Fault::Signature, tally: self.tally() });
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
        if let Entry::PaidOut { member, amount_micros, reference, at_ms } = entry {
            founded.paid_out(place.of(member), member, *at_ms)?;
            self.has_ended = false;
            return self.check_payout(place.of(member), (member, reference), *amount_micros);
        }
        let has_ended = std::mem::replace(&mut self.has_ended, entry.is_end());
        match (entry, content) {
            (Entry::Enrolled { member, key, certificate }, _) => {
                founded.enrol(place.of(member), member, MemberInfo::new(*key, *certificate))
            }
            (Entry::Revoked { member }, _) => founded.revoke(place.of(member), member),
            (Entry::Renewed { member, key, certificate, signature }, _) => {
                founded.renew(place.of(member), member, (*key, *certificate), signature)
            }
            (Entry::Opened { round, nonce, asked_by, at_ms }, _) => {
                founded.open(place.of(asked_by), (*round, *nonce), asked_by, *at_ms)
            }
            (Entry::Offered { round, member, .. }, Content::Offer(digest, content)) => {
                founded.offer(place, *round, member, (digest, content))
            }
            (Entry::Declined { round, member }, _) => founded.decline(place, *round, member),
            (Entry::Sealed { round, offers, at_ms, signature }, _) => {
                founded.sealed(place, *round, (*offers, *at_ms), signature)
            }
            (Entry::Awarded { round, winners, aside }, _) => founded.awarded(place, *round, winners, aside),
            (Entry::Delivered { round, member, .. }, Content::Delivery(digest, content)) => {
                founded.deliver(place, *round, member, (digest, content))
            }
            (Entry::Settled { round, paid, waiting, defaulted, judgement, aggregate, at_ms }, _) => {
                founded.settled(place, *round, [paid, waiting, defaulted], judgement, (*aggregate, *at_ms))?;
                let payments = (paid.len() + judgement.paid.len()) as u64;
                (self.rounds, self.payments) = (self.rounds + 1, self.payments + payments);
                Ok(())
            }
            (Entry::Ruled { round, member, ruling, judgement, aggregate, at_ms }, _) => {
                founded.ruled(place, *round, (member, *ruling), judgement, (*aggregate, *at_ms))?;
                self.payments += judgement.paid.len() as u64;
                Ok(())
            }
            (Entry::Aborted { round, reason, at_ms, by_operator }, _) => {
                founded.aborted(place, *round, (reason, *at_ms), *by_operator)?;
                self.rounds += 1;
                Ok(())
            }
            (Entry::Paused { reason, at_ms }, _) => founded.paused(place, Some(reason), *at_ms),
            (Entry::Resumed { at_ms }, _) => founded.paused(place, None, *at_ms),
            (Entry::Checkpoint(checkpoint), _) => {
                let body = has_ended.then(|| founded.standing(self.ledger.postings()).json());
                let hash = body.as_ref().map(|body| Digest::of(body.as_bytes()));
                founded.checkpoint(place, checkpoint, head, hash)?;
                if let Some(body) = body {
                    self.standing = Some(StandingRow { entry: number, body });
                }
                Ok(())
            }
            (Entry::Genesis { .. } | Entry::PaidOut { .. }, _) => unreachable!("handled above"),
            (Entry::Offered { .. } | Entry::Delivered { .. }, _) => unreachable!("prepared with their contents"),
        }
    }

    /// Each transfer is recorded once, and none of more than is owed.
    fn check_payout(
        &mut self,
        place: Place<'_>,
        (member, reference): (&ClientId, &Reference),
        amount: Amount,
    ) -> Verdict {
        if !self.payouts.insert((member.clone(), reference.clone())) {
            return place.problem(Fault::Payout, "a new reference", format!("{reference}, which was paid out before"));
        }
        let (owed, amount) = (self.owed.get(member).copied().unwrap_or(0), i128::from(amount.micros()));
        if amount < 1 || amount > owed {
            let expected = format!("at least 1 and at most {owed} micro-units, which are owed");
            return place.problem(Fault::Payout, expected, format!("{amount} micro-units"));
        }
        Ok(())
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
