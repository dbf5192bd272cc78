//! Honest journals are right; every planted fraud is found and named.

mod aborts;
mod broken_rules;
mod doubts;
mod pauses;
mod payouts;
mod renewals;
mod rewritten;
mod stores;
mod tables;
mod tampering;
mod times;

use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Time};

use super::*;
use crate::journal::Entry;
use crate::terms::RawTerms;
use crate::testing::{Memory, Played, id, terms};
use crate::wire::Envelope;

fn check_right(store: &mut dyn Store, trust: &Trust, expected: &str) {
    assert_eq!(verify(store, trust).unwrap().to_string(), expected);
}

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

/// What is first found when a coordinator changes an honest journal, and seals and vouches for it again.
fn check_fraud(
    played: &Played,
    change: impl FnOnce(&mut Vec<Entry>),
    fault: Fault,
    round: u64,
    member: Option<&str>,
) -> Problem {
    let mut entries = played.entries.clone();
    change(&mut entries);
    let problem = find(&played.federation.sign_again(&entries));
    check(&problem, fault, round, member);
    problem
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

fn time_of(entry: &mut Entry) -> &mut Time {
    match entry {
        Entry::Opened { at_ms, .. }
        | Entry::Sealed { at_ms, .. }
        | Entry::Settled { at_ms, .. }
        | Entry::Aborted { at_ms, .. } => at_ms,
        _ => panic!("it has no time"),
    }
}

/// The entries from a place on, a minute later: not all had to be heard.
fn delayed(mut entries: Vec<Entry>, from: usize) -> Vec<Entry> {
    for entry in &mut entries[from..] {
        if let Entry::Opened { at_ms, .. }
        | Entry::Sealed { at_ms, .. }
        | Entry::Settled { at_ms, .. }
        | Entry::Aborted { at_ms, .. } = entry
        {
            *at_ms = at_ms.plus_ms(60_000);
        }
    }
    entries
}

fn is_seal(entry: &Entry) -> bool {
    matches!(entry, Entry::Sealed { .. })
}

fn offer_of(entry: &mut Entry) -> &mut Envelope {
    let Entry::Offered { offer, .. } = entry else { panic!("an offer") };
    offer
}

#[test]
fn an_honest_journal_is_right() {
    let played = Played::with_rounds();
    let trust = Trust {
        federation: Some(played.federation.id),
        coordinator: Some(played.federation.coordinator.public()),
        checkpoint: played.store().checkpoint(),
    };
    let paid: usize =
        played.entries.iter().map(|entry| if let Entry::Settled { paid, .. } = entry { paid.len() } else { 0 }).sum();
    assert!(paid >= 5, "the rounds must pay to show anything: {paid}");
    let line = format!("ledger verified: 4 rounds, {paid} payments, 0 problems");
    check_right(&mut played.store(), &trust, &line);
}

#[test]
fn a_journal_is_right_at_every_committed_end() {
    for mut store in Played::with_rounds().history {
        let report = verify(&mut store, &Trust::default()).unwrap();
        assert!(report.is_right(), "{report}");
    }
}

#[test]
fn a_round_that_was_aborted_for_its_work_is_replayed_to_the_same_end() {
    // In two dimensions a log determinant counts for 14^3. The largest limit that is too little for three is enough for one.
    let limited = |work: u64| {
        let mut played = Played::under(RawTerms { work, ..terms(2) }, &["a", "b", "c"]);
        played.begin();
        played.offers(&[("a", 3), ("b", 4), ("c", 5)]);
        let expected = format!("more than its limit of {work} multiplications");
        let is_it = |entry: &Entry| matches!(entry, Entry::Aborted { reason, .. } if reason.contains(&expected));
        played.entries.iter().any(is_it).then_some(played)
    };
    let mut played = (1..10).rev().find_map(|log_dets| limited(log_dets * 14 * 14 * 14)).expect("one is too little");
    played.begin();
    played.offer("a", 3);
    ["b", "c"].iter().for_each(|name| played.decline(name));
    let winners = played.winners();
    played.deliver_all(&winners);
    check_right(&mut played.store(), &Trust::default(), "ledger verified: 2 rounds, 1 payments, 0 problems");
}

#[test]
fn the_report_says_how_many_entries_no_checkpoint_covers() {
    let mut played = Played::new(&["a", "b", "c"]);
    let line = |played: &Played| verify(&mut played.store(), &Trust::default()).unwrap().to_string();
    assert_eq!(line(&played), "ledger verified: 0 rounds, 0 payments, 0 problems");
    played.begin();
    played.offer("a", 3);
    let expected = "ledger verified: 0 rounds, 0 payments, 0 problems; no checkpoint covers the last 2 entries yet";
    assert_eq!(line(&played), expected);
    // Whoever comes or goes is vouched for at once, with all that was before.
    played.enrol("d");
    assert_eq!(line(&played), "ledger verified: 0 rounds, 0 payments, 0 problems");
    played.offer("b", 4);
    played.revoke("c");
    assert_eq!(line(&played), "ledger verified: 0 rounds, 0 payments, 0 problems");
}

#[test]
fn a_member_enrolled_or_revoked_in_the_middle_of_a_round_is_replayed_in_its_place() {
    let mut played = Played::new(&["a", "b", "c"]);
    played.begin();
    played.offer("a", 3);
    played.enrol("d");
    played.offers(&[("b", 4), ("c", 5), ("d", 6)]);
    let winners = played.winners();
    played.deliver(&winners[0]);
    // A winner that is revoked before it delivered does not deliver; one that has delivered is paid.
    played.revoke(&winners[1]);
    played.revoke(&winners[0]);
    played.pass_time();
    check_right(&mut played.store(), &Trust::default(), "ledger verified: 1 rounds, 1 payments, 0 problems");
    played.begin();
    // The last one that was waited for is revoked: the round is decided.
    let left: Vec<String> = played.federation.members.keys().map(ToString::to_string).collect();
    for name in &left {
        if name != "c" {
            played.offer(name, 5);
        }
    }
    if left.iter().any(|name| name == "c") {
        played.revoke("c");
    }
    played.pass_time();
    let report = verify(&mut played.store(), &Trust::default()).unwrap();
    assert!(report.is_right() && report.rounds == 2, "{report}");
}
