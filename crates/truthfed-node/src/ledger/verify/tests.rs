//! Honest journals are right; every planted fraud is found and named.

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::*;
use crate::digest::{Hex, Nonce};
use crate::journal::{Award, Entry};
use crate::ledger::testing::{Federation, Memory, id, terms};
use crate::signature::Signer;
use crate::store::places::{Database, File, Place};
use crate::store::{Batch, Lease, RequestKey, RequestKind, StandingRow, StoredReply};
use crate::wire::{Envelope, OFFER_SCHEMA};

fn check_right(store: &mut dyn Store, trust: &Trust, expected: &str) {
    assert_eq!(verify(store, trust).unwrap().to_string(), expected);
}

/// The first problem of a store.
fn problem_of(store: &mut dyn Store, trust: &Trust) -> Problem {
    let report = verify(store, trust).unwrap();
    assert!(!report.is_right());
    report.problem.unwrap_or_else(|| panic!("a problem is found"))
}

/// What is first found in entries that were chained again.
fn find(entries: &[Entry]) -> Problem {
    problem_of(&mut Memory::of(entries), &Trust::default())
}

fn check(problem: &Problem, fault: Fault, round: u64, member: Option<&str>) {
    let found = (problem.fault, problem.round, problem.member.clone());
    let round = (round > 0).then_some(RoundId(round));
    assert_eq!(found, (fault, round, member.map(id)), "{problem}");
}

/// The place of the entry for which this holds, counting from `skip` such entries on.
fn position(entries: &[Entry], skip: usize, is_it: impl Fn(&Entry) -> bool) -> usize {
    entries.iter().enumerate().filter(|(_, entry)| is_it(entry)).nth(skip).expect("there is such an entry").0
}

fn is_offer(entry: &Entry) -> bool {
    matches!(entry, Entry::Offered { .. })
}

fn is_award(entry: &Entry) -> bool {
    matches!(entry, Entry::Awarded { .. })
}

fn is_settlement(entry: &Entry) -> bool {
    matches!(entry, Entry::Settled { .. })
}

fn is_end(entry: &Entry) -> bool {
    matches!(entry, Entry::Sealed { .. } | Entry::Aborted { .. })
}

fn offer_of(entry: &mut Entry) -> &mut Envelope {
    let Entry::Offered { offer, .. } = entry else { panic!("an offer") };
    offer
}

fn winners_of(entry: &mut Entry) -> &mut Vec<Award> {
    let Entry::Awarded { winners, .. } = entry else { panic!("an award") };
    winners
}

#[test]
fn an_honest_journal_is_right() {
    let federation = Federation::with_rounds();
    let trust = Trust {
        federation: Some(federation.federation),
        coordinator: Some(federation.coordinator.public()),
        checkpoint: Some(federation.checkpoint()),
    };
    let paid: usize = federation
        .entries
        .iter()
        .map(|entry| if let Entry::Settled { paid, .. } = entry { paid.len() } else { 0 })
        .sum();
    assert!(paid >= 5, "the rounds must pay to show anything: {paid}");
    let line = format!("ledger verified: 4 rounds, {paid} payments, 0 problems");
    check_right(&mut federation.store(), &trust, &line);
}

#[test]
fn a_journal_is_right_at_every_committed_end() {
    let federation = Federation::with_rounds();
    for end in 1..=federation.entries.len() {
        // What the protocol decides at once is written together with what caused it.
        let next = federation.entries.get(end);
        let decided = [is_award, is_settlement, is_end].iter().any(|is_it| next.is_some_and(is_it));
        let report = verify(&mut Memory::of(&federation.entries[..end]), &Trust::default()).unwrap();
        assert!(report.is_right() || decided, "{end}: {report}");
    }
}

#[test]
fn an_altered_payment_in_the_body_breaks_the_chain() {
    let federation = Federation::with_rounds();
    let mut store = federation.store();
    let place = position(&federation.entries, 0, is_award);
    let body = &mut store.rows[place].body;
    *body = body.replace("\"payment_micros\":", "\"payment_micros\":1");
    let problem = problem_of(&mut store, &Trust::default());
    check(&problem, Fault::BrokenChain, 0, None);
    assert_eq!(problem.entry, place as u64 + 1);
}

#[test]
fn an_altered_payment_is_found_even_if_everything_is_chained_and_signed_again() {
    let federation = Federation::with_rounds();
    let mut entries = federation.entries.clone();
    let place = position(&entries, 1, is_award);
    let award = &mut winners_of(&mut entries[place])[0];
    let (member, before) = (award.member.to_string(), award.payment_micros);
    award.payment_micros = Amount::from_micros(before.micros() + 1).unwrap();
    let after = award.payment_micros;
    let problem = find(&federation.sign_again(&entries));
    check(&problem, Fault::Payment, 2, Some(&member));
    assert_eq!(
        (problem.entry, problem.expected, problem.found),
        (place as u64 + 1, before.to_string(), after.to_string())
    );
}

#[test]
fn an_altered_missing_or_added_posting_is_found() {
    let federation = Federation::with_rounds();
    let whole = federation.store().postings;
    for (index, posting) in whole.iter().enumerate() {
        let mut store = federation.store();
        store.postings[index].micros += 1;
        let problem = problem_of(&mut store, &Trust::default());
        check(&problem, Fault::Posting, posting.round.0, Some(posting.member.as_str()));
        assert_eq!(problem.entry, posting.entry);
        let mut store = federation.store();
        store.postings.remove(index);
        check(
            &problem_of(&mut store, &Trust::default()),
            Fault::Posting,
            posting.round.0,
            Some(posting.member.as_str()),
        );
    }
    let mut store = federation.store();
    let mut extra = whole[0].clone();
    extra.number = whole.len() as u64 + 1;
    store.postings.push(extra);
    let problem = problem_of(&mut store, &Trust::default());
    check(&problem, Fault::Posting, 1, Some(whole[0].member.as_str()));
    assert_eq!(problem.expected, "none");
}

#[test]
fn a_posting_for_an_entry_that_was_never_written_is_found() {
    let federation = Federation::with_rounds();
    let mut store = federation.store();
    let mut extra = store.postings[0].clone();
    (extra.number, extra.entry) = (store.postings.len() as u64 + 1, federation.entries.len() as u64 + 1);
    store.postings.push(extra.clone());
    let problem = problem_of(&mut store, &Trust::default());
    check(&problem, Fault::Posting, 1, Some(extra.member.as_str()));
    assert_eq!((problem.entry, problem.expected.as_str()), (extra.entry, "none"));
}

#[test]
fn a_removed_row_is_found_wherever_it_was() {
    let federation = Federation::with_rounds();
    for place in 0..federation.entries.len() - 1 {
        let mut store = federation.store();
        store.rows.remove(place);
        let problem = problem_of(&mut store, &Trust::default());
        check(&problem, Fault::MissingEntry, 0, None);
        assert_eq!(problem.entry, place as u64 + 1);
    }
}

#[test]
fn a_reordered_chain_is_found() {
    let federation = Federation::with_rounds();
    let mut store = federation.store();
    store.rows.swap(8, 9);
    check(&problem_of(&mut store, &Trust::default()), Fault::MissingEntry, 0, None);
    // With the numbers mended.
    (store.rows[8].number, store.rows[9].number) = (9, 10);
    let problem = problem_of(&mut store, &Trust::default());
    check(&problem, Fault::BrokenChain, 0, None);
    assert_eq!(problem.entry, 9);
    // With the hashes mended too, the next checkpoint does not fit.
    let mut entries = federation.entries.clone();
    let first = position(&entries, 0, is_offer);
    entries.swap(first, first + 1);
    check(&find(&entries), Fault::Checkpoint, 0, None);
    // And with a checkpoint signed again, the one outside of the store.
    let trust = Trust { checkpoint: Some(federation.checkpoint()), ..Trust::default() };
    check(&problem_of(&mut Memory::of(&federation.sign_again(&entries)), &trust), Fault::Checkpoint, 0, None);
}

#[test]
fn a_swapped_offer_is_found() {
    let federation = Federation::with_rounds();
    let mut entries = federation.entries.clone();
    let first = position(&entries, 0, is_offer);
    let (one, other) = (offer_of(&mut entries[first]).clone(), offer_of(&mut entries[first + 1]).clone());
    (*offer_of(&mut entries[first]), *offer_of(&mut entries[first + 1])) = (other, one);
    let problem = find(&federation.sign_again(&entries));
    check(&problem, Fault::Context, 1, Some("a"));
    assert_eq!((problem.expected.as_str(), problem.found.as_str()), ("a", "b"));
}

#[test]
fn a_dropped_offer_is_found() {
    let federation = Federation::with_rounds();
    for skip in 0..4 {
        let mut entries = federation.entries.clone();
        let place = position(&entries, skip, is_offer);
        let Entry::Offered { member, .. } = entries.remove(place) else { panic!("an offer") };
        check(&find(&entries), Fault::Seal, 1, None);
        // Sealed and vouched for again without it.
        let problem = find(&federation.sign_again(&entries));
        assert_eq!(problem.round, Some(RoundId(1)), "{member}: {problem}");
        assert!(matches!(problem.fault, Fault::Winners | Fault::Payment), "{member}: {problem}");
    }
}

#[test]
fn an_offer_added_after_sealing_is_found() {
    let mut federation = Federation::new(&["a", "b", "c"]);
    federation.ask("a");
    federation.offer("a", 3);
    federation.offer("b", 4);
    federation.pass_time();
    let late = federation.offer_entry("c", 1);
    for winner in federation.winners() {
        federation.deliver(&winner);
    }
    check_right(&mut federation.store(), &Trust::default(), "ledger verified: 1 rounds, 2 payments, 0 problems");
    let seal = position(&federation.entries, 0, |entry| matches!(entry, Entry::Sealed { .. }));
    for place in [seal + 1, seal + 2, seal + 3] {
        let mut entries = federation.entries.clone();
        entries.insert(place, late.clone());
        let problem = find(&federation.sign_again(&entries));
        check(&problem, Fault::AfterSealing, 1, Some("c"));
        assert_eq!(problem.entry, place as u64 + 1);
    }
    // Put before the seal, the seal is another, and with it signed again the outcome is.
    let mut entries = federation.entries.clone();
    entries.insert(seal, late);
    check(&find(&entries), Fault::Seal, 1, None);
    let problem = find(&federation.sign_again(&entries));
    assert!(matches!(problem.fault, Fault::Winners | Fault::Payment), "{problem}");
}

#[test]
fn an_outcome_computed_with_another_reserve_is_found() {
    let mut federation = Federation::deciding_by(terms(50), &["a", "b"]);
    federation.full_round();
    let problem = problem_of(&mut federation.store(), &Trust::default());
    assert_eq!((problem.fault, problem.round), (Fault::Payment, Some(RoundId(1))), "{problem}");
    assert_eq!((problem.expected.as_str(), problem.found.as_str()), ("100", "50"));
}

#[test]
fn an_outcome_of_another_mechanism_is_found() {
    let mut other = terms(100);
    other.mechanism.name = "everyone".to_owned();
    let mut federation = Federation::deciding_by(other, &["a", "b", "c"]);
    federation.full_round();
    let problem = problem_of(&mut federation.store(), &Trust::default());
    assert!(matches!(problem.fault, Fault::Winners | Fault::Payment), "{problem}");
}

#[test]
fn terms_changed_afterwards_are_not_the_ones_that_were_signed() {
    let federation = Federation::with_rounds();
    let mut entries = federation.entries.clone();
    let Entry::Genesis { terms, .. } = &mut entries[0] else { panic!("genesis") };
    terms.reserve_micros = Amount::from_units(50);
    check(&find(&federation.sign_again(&entries)), Fault::Context, 1, Some("a"));
    let Entry::Genesis { terms, .. } = &mut entries[0] else { panic!("genesis") };
    terms.norm = -1.0;
    check(&find(&entries), Fault::Terms, 0, None);
}

#[test]
fn an_older_backup_is_found_by_the_checkpoint_outside() {
    let federation = Federation::with_rounds();
    let trust = Trust { checkpoint: Some(federation.checkpoint()), ..Trust::default() };
    let end = position(&federation.entries, 1, |entry| matches!(entry, Entry::Checkpoint { .. })) + 1;
    let mut older = Memory::of(&federation.entries[..end]);
    assert!(verify(&mut older, &Trust::default()).unwrap().is_right());
    let problem = problem_of(&mut older, &trust);
    check(&problem, Fault::CheckpointAhead, 0, None);
    assert_eq!(problem.found, format!("the end at entry {end}"));
    // A checkpoint that somebody else made up says nothing.
    let mut forged = federation.checkpoint();
    forged.entry += 1;
    let trust = Trust { checkpoint: Some(forged), ..Trust::default() };
    check(&problem_of(&mut federation.store(), &trust), Fault::Signature, 0, None);
}

#[test]
fn of_two_frauds_the_first_is_named_though_signatures_are_checked_later() {
    let federation = Federation::with_rounds();
    let signed = |entry: &Entry| matches!(entry, Entry::Offered { .. } | Entry::Delivered { .. });
    let places: Vec<usize> =
        (0..federation.entries.len()).filter(|&place| signed(&federation.entries[place])).collect();
    for &forged in &places {
        let mut entries = federation.entries.clone();
        if let Entry::Offered { offer: signed, .. } | Entry::Delivered { delivery: signed, .. } = &mut entries[forged] {
            signed.signature.0[7] ^= 1;
        }
        let entries = federation.sign_again(&entries);
        for removed in 0..entries.len() - 1 {
            let mut store = Memory::of(&entries);
            store.rows.remove(removed);
            let report = verify(&mut store, &Trust::default()).unwrap();
            let fault = if forged < removed { Fault::Signature } else { Fault::MissingEntry };
            let problem = report.problem.unwrap();
            assert_eq!((problem.fault, problem.entry), (fault, forged.min(removed) as u64 + 1), "{problem}");
            let ended = |entry: &&Entry| matches!(entry, Entry::Settled { .. } | Entry::Aborted { .. });
            let rounds = entries[..forged.min(removed)].iter().filter(ended).count() as u64;
            assert_eq!((report.entries, report.rounds), (forged.min(removed) as u64, rounds));
        }
    }
}

/// A store whose rows can be read up to some entry only.
struct Torn {
    memory: Memory,
    after: u64,
}

impl Store for Torn {
    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        match after < self.after {
            true => self.memory.rows(after, most.min((self.after - after) as usize)),
            false => Err(StoreError::Damaged("torn".to_owned())),
        }
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        self.memory.head()
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        self.memory.postings(after, most)
    }

    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError> {
        self.memory.acquire(lease_ms)
    }

    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError> {
        self.memory.renew(lease, lease_ms)
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.memory.release(lease)
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        self.memory.commit(lease, batch)
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        self.memory.standing()
    }

    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        self.memory.reply(key)
    }

    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        self.memory.replies(member, kind, after)
    }
}

#[test]
fn a_store_that_cannot_be_read_to_its_end_tells_so_after_the_fraud_before() {
    let federation = Federation::with_rounds();
    let mut entries = federation.entries.clone();
    let forged = position(&entries, 2, is_offer);
    offer_of(&mut entries[forged]).signature.0[7] ^= 1;
    let entries = federation.sign_again(&entries);
    for after in 0..entries.len() as u64 {
        match verify(&mut Torn { memory: Memory::of(&entries), after }, &Trust::default()) {
            Ok(report) => {
                assert!(after > forged as u64, "{report}");
                assert_eq!(report.problem.unwrap().entry, forged as u64 + 1);
            }
            Err(error) => assert!(after <= forged as u64, "{error}: {after} {forged}"),
        }
    }
}

#[test]
fn wrong_signatures_are_found() {
    let federation = Federation::with_rounds();
    let mut entries = federation.entries.clone();
    let first = position(&entries, 0, is_offer);
    offer_of(&mut entries[first]).signature.0[7] ^= 1;
    check(&find(&federation.sign_again(&entries)), Fault::Signature, 1, Some("a"));
    // Signed by another member, in the name of this one.
    let mut entries = federation.entries.clone();
    let offer = offer_of(&mut entries[first]);
    offer.signature = federation.members[&id("b")].sign(OFFER_SCHEMA, offer.content.get().as_bytes());
    check(&find(&federation.sign_again(&entries)), Fault::Signature, 1, Some("a"));
    // With the other member's key enrolled in its place.
    let enrolment = position(&entries, 0, |entry| matches!(entry, Entry::Enrolled { .. }));
    let mut entries = federation.entries.clone();
    let Entry::Enrolled { key, .. } = &mut entries[enrolment] else { panic!("an enrolment") };
    *key = federation.members[&id("b")].public();
    check(&find(&federation.sign_again(&entries)), Fault::Signature, 1, Some("a"));
    let mut entries = federation.entries.clone();
    let seal = position(&entries, 0, |entry| matches!(entry, Entry::Sealed { .. }));
    let Entry::Sealed { signature, .. } = &mut entries[seal] else { panic!("a seal") };
    signature.0[0] ^= 1;
    check(&find(&entries), Fault::Signature, 1, None);
    let mut entries = federation.entries.clone();
    let checkpoint = position(&entries, 0, |entry| matches!(entry, Entry::Checkpoint { .. }));
    let Entry::Checkpoint { signature, .. } = &mut entries[checkpoint] else { panic!("a checkpoint") };
    *signature = Hex([1; 64]);
    check(&find(&entries), Fault::Signature, 0, None);
    // All of it signed by another coordinator than the one that is known.
    let trust = Trust { coordinator: Some(Signer::random().public()), ..Trust::default() };
    check(&problem_of(&mut federation.store(), &trust), Fault::Foreign, 0, None);
    let trust = Trust { federation: Some(Digest::of(b"other")), ..Trust::default() };
    check(&problem_of(&mut federation.store(), &trust), Fault::Foreign, 0, None);
}

#[test]
fn an_offer_of_another_round_is_found() {
    let federation = Federation::with_rounds();
    let mut entries = federation.entries.clone();
    let (old, new) = (position(&entries, 0, is_offer), position(&entries, 5, is_offer));
    let before = offer_of(&mut entries[old]).clone();
    *offer_of(&mut entries[new]) = before;
    let problem = find(&federation.sign_again(&entries));
    check(&problem, Fault::Context, 2, Some("a"));
    assert_eq!((problem.expected.as_str(), problem.found.as_str()), ("2", "1"));
}

#[test]
fn a_delivery_that_does_not_match_its_offer_is_found() {
    let mut federation = Federation::new(&["a", "b"]);
    federation.ask("a");
    federation.offer("a", 3);
    federation.offer("b", 4);
    let winner = federation.winners()[0].clone();
    let (offer, mut moment, salt) = federation.deliverable(&winner);
    moment[0] += 1e-9;
    let other_moment = federation.delivery(&winner, offer, moment.clone(), salt);
    moment[0] = federation.deliverable(&winner).1[0];
    let other_salt = federation.delivery(&winner, offer, moment.clone(), Nonce::random());
    let other_offer = federation.delivery(&winner, Digest::of(b"other"), moment, salt);
    for winner in federation.winners() {
        federation.deliver(&winner);
    }
    let place = position(&federation.entries, 0, |entry| matches!(entry, Entry::Delivered { .. }));
    for (planted, fault) in
        [(other_moment, Fault::Commitment), (other_salt, Fault::Commitment), (other_offer, Fault::OtherOffer)]
    {
        let mut entries = federation.entries.clone();
        let Entry::Delivered { delivery, .. } = &mut entries[place] else { panic!("a delivery") };
        *delivery = planted;
        check(&find(&federation.sign_again(&entries)), fault, 1, Some(&winner));
    }
}

#[test]
fn a_second_settlement_award_or_genesis_is_found() {
    let federation = Federation::with_rounds();
    let settlement = position(&federation.entries, 0, is_settlement);
    let mut entries = federation.entries.clone();
    entries.insert(settlement + 1, entries[settlement].clone());
    let problem = find(&federation.sign_again(&entries));
    check(&problem, Fault::OutOfTurn, 1, None);
    assert_eq!(problem.entry, settlement as u64 + 2);
    let award = position(&federation.entries, 0, is_award);
    let mut entries = federation.entries.clone();
    entries.insert(award + 1, entries[award].clone());
    check(&find(&federation.sign_again(&entries)), Fault::OutOfTurn, 1, None);
    let mut entries = federation.entries.clone();
    entries.insert(3, entries[0].clone());
    check(&find(&entries), Fault::Genesis, 0, None);
    check(&find(&federation.entries[1..]), Fault::Genesis, 0, None);
    check(&find(&[]), Fault::Genesis, 0, None);
}

#[test]
fn a_settlement_of_others_than_delivered_is_found() {
    let federation = Federation::with_rounds();
    // In the second round one did not deliver.
    let place = position(&federation.entries, 1, is_settlement);
    let mut entries = federation.entries.clone();
    let Entry::Settled { paid, defaulted, .. } = &mut entries[place] else { panic!("a settlement") };
    let member = defaulted.remove(0);
    paid.insert(0, member.clone());
    check(&find(&federation.sign_again(&entries)), Fault::Settlement, 2, Some(member.as_str()));
    // One that delivered is not paid.
    let mut entries = federation.entries.clone();
    let Entry::Settled { paid, defaulted, .. } = &mut entries[place] else { panic!("a settlement") };
    let member = paid.remove(0);
    defaulted.push(member.clone());
    check(&find(&federation.sign_again(&entries)), Fault::Settlement, 2, Some(member.as_str()));
    // One vanishes from both lists.
    let mut entries = federation.entries.clone();
    let Entry::Settled { paid, .. } = &mut entries[place] else { panic!("a settlement") };
    let member = paid.remove(0);
    check(&find(&federation.sign_again(&entries)), Fault::Settlement, 2, Some(member.as_str()));
    let mut entries = federation.entries.clone();
    let Entry::Settled { aggregate, .. } = &mut entries[place] else { panic!("a settlement") };
    *aggregate = Digest::of(b"other");
    check(&find(&federation.sign_again(&entries)), Fault::Aggregate, 2, None);
}

#[test]
fn a_round_that_ends_otherwise_is_found() {
    let federation = Federation::with_rounds();
    let seal = position(&federation.entries, 0, |entry| matches!(entry, Entry::Sealed { .. }));
    let aborted = Entry::Aborted { round: RoundId(1), reason: "no wish to pay".to_owned() };
    // Instead of an auction all had offered for.
    let mut entries = federation.entries[..seal].to_vec();
    entries.push(aborted.clone());
    check(&find(&entries), Fault::OutOfTurn, 1, None);
    // Instead of a settlement.
    let mut entries = federation.entries[..seal + 2].to_vec();
    entries.push(aborted);
    check(&find(&entries), Fault::Ending, 1, None);
    // Before the last of them was heard, time may have run out, but the auction is due.
    let mut entries = federation.entries[..seal - 1].to_vec();
    entries.push(Entry::Aborted { round: RoundId(1), reason: String::new() });
    check(&find(&entries), Fault::Ending, 1, None);
    // The journal ends where the seal is due.
    check(&find(&federation.entries[..seal]), Fault::OutOfTurn, 0, None);
}

#[test]
fn members_that_are_none_take_no_part() {
    let mut federation = Federation::new(&["a", "b", "c"]);
    federation.ask("a");
    federation.offer("a", 3);
    let offer = federation.offer_entry("b", 4);
    federation.revoke("b");
    let mut entries = federation.entries.clone();
    entries.push(offer);
    check(&find(&entries), Fault::Membership, 1, Some("b"));
    for name in ["a", "b"] {
        let mut entries = federation.entries.clone();
        let (key, certificate) = (Signer::random().public(), Digest::of(b""));
        entries.push(Entry::Enrolled { member: id(name), key, certificate });
        check(&find(&entries), Fault::Membership, 0, Some(name));
    }
    let mut entries = federation.entries.clone();
    entries.push(Entry::Revoked { member: id("b") });
    check(&find(&entries), Fault::Membership, 0, Some("b"));
    let mut entries = federation.entries.clone();
    entries.push(Entry::Opened { round: RoundId(2), nonce: Nonce::random(), asked_by: id("a") });
    check(&find(&entries), Fault::OutOfTurn, 2, Some("a"));
}

#[test]
fn a_second_offer_of_one_member_is_found() {
    let mut federation = Federation::new(&["a", "b"]);
    federation.ask("a");
    federation.offer("a", 3);
    let mut entries = federation.entries.clone();
    entries.push(federation.offer_entry("a", 2));
    check(&find(&entries), Fault::Refused, 1, Some("a"));
    let mut entries = federation.entries.clone();
    entries.push(Entry::Declined { round: RoundId(1), member: id("a") });
    check(&find(&entries), Fault::Refused, 1, Some("a"));
    let mut entries = federation.entries.clone();
    entries.push(Entry::Declined { round: RoundId(2), member: id("b") });
    check(&find(&entries), Fault::Round, 2, Some("b"));
}

#[test]
fn a_member_enrolled_or_revoked_in_the_middle_of_a_round_is_replayed_in_its_place() {
    let mut federation = Federation::new(&["a", "b", "c"]);
    federation.ask("a");
    federation.offer("a", 3);
    federation.enrol("d");
    federation.offer("b", 4);
    federation.offer("c", 5);
    federation.offer("d", 6);
    let winners = federation.winners();
    federation.deliver(&winners[0]);
    // A winner that is revoked before it delivered does not deliver; one that has delivered is paid.
    federation.revoke(&winners[1]);
    federation.revoke(&winners[0]);
    federation.pass_time();
    check_right(&mut federation.store(), &Trust::default(), "ledger verified: 1 rounds, 1 payments, 0 problems");
    federation.ask("d");
    // The last one that was waited for is revoked: the round is decided.
    for name in ["a", "b", "c", "d"] {
        if federation.members.contains_key(&id(name)) && name != "c" {
            federation.offer(name, 5);
        }
    }
    if federation.members.contains_key(&id("c")) {
        federation.revoke("c");
    }
    federation.pass_time();
    let report = verify(&mut federation.store(), &Trust::default()).unwrap();
    assert!(report.is_right() && report.rounds == 2, "{report}");
}

/// Writes a journal into a real store.
fn written(place: &dyn Place, federation: &Federation) {
    let Memory { rows, postings } = federation.store();
    let mut store = place.open();
    let lease = store.acquire(0).unwrap();
    store.commit(lease, &Batch { rows, postings, ..Batch::default() }).unwrap();
}

fn check_tampered(place: &dyn Place, lift: &[&str], sql: &str, fault: Fault) {
    let federation = Federation::with_rounds();
    written(place, &federation);
    let report = |place: &dyn Place| verify(place.try_open_existing().unwrap().as_mut(), &Trust::default()).unwrap();
    assert!(report(place).is_right());
    for guard in lift {
        place.execute(guard).unwrap();
    }
    place.execute(sql).unwrap();
    assert_eq!(report(place).problem.map(|problem| problem.fault), Some(fault));
}

#[test]
fn fraud_behind_the_back_of_a_file_is_found() {
    let lift =
        ["DROP TRIGGER postings_keeps_rows", "DROP TRIGGER journal_keeps_rows", "DROP TRIGGER journal_loses_none"];
    let sql = "UPDATE postings SET micros = micros * 2 WHERE account = 'member'";
    check_tampered(&File::new(), &lift, sql, Fault::Posting);
    let sql = "UPDATE journal SET body = replace(body, 'payment_micros\":', 'payment_micros\":1')";
    check_tampered(&File::new(), &lift, sql, Fault::BrokenChain);
    check_tampered(&File::new(), &lift, "DELETE FROM journal WHERE number = 9", Fault::MissingEntry);
}

#[test]
fn fraud_behind_the_back_of_a_database_is_found() {
    let lift =
        ["ALTER TABLE truthfed.postings DISABLE TRIGGER ALL", "ALTER TABLE truthfed.journal DISABLE TRIGGER ALL"];
    let sql = "UPDATE truthfed.postings SET micros = micros * 2 WHERE account = 'member'";
    check_tampered(&Database::new(), &lift, sql, Fault::Posting);
    check_tampered(&Database::new(), &lift, "DELETE FROM truthfed.journal WHERE number = 9", Fault::MissingEntry);
}
