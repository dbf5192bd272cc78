//! What was written is changed afterwards.

use truthfed::Amount;
use truthfed::auction::MechanismSetting;

use super::*;
use crate::ledger::Cause;
use crate::terms::RawTerms;
use crate::testing::terms;

#[test]
fn an_altered_payment_in_the_body_breaks_the_chain() {
    let played = Played::with_rounds();
    let mut store = played.store();
    let place = position(&played.entries, 0, is_award);
    let body = &mut store.rows[place].body;
    *body = body.replace("\"payment_micros\":", "\"payment_micros\":1");
    let problem = problem_of(&mut store, &Trust::default());
    check(&problem, Fault::BrokenChain, 0, None);
    assert_eq!(problem.entry, place as u64 + 1);
}

#[test]
fn an_altered_payment_is_found_even_if_everything_is_chained_and_signed_again() {
    let played = Played::with_rounds();
    let place = position(&played.entries, 1, is_award);
    let Entry::Awarded { winners, .. } = &played.entries[place] else { panic!("an award") };
    let (member, before) = (winners[0].member.as_str(), winners[0].payment_micros);
    let after = Amount::from_micros(before.micros() + 1).unwrap();
    let alter = |entries: &mut Vec<Entry>| {
        let Entry::Awarded { winners, .. } = &mut entries[place] else { panic!("an award") };
        winners[0].payment_micros = after;
    };
    let problem = check_fraud(&played, alter, Fault::Payment, 2, Some(member));
    assert_eq!(
        (problem.entry, problem.expected, problem.found),
        (place as u64 + 1, before.to_string(), after.to_string())
    );
}

#[test]
fn an_altered_missing_or_added_posting_is_found() {
    let played = Played::with_rounds();
    let whole = played.store().postings;
    let find = |postings: Vec<Posting>, about: &Posting| {
        let mut store = played.store();
        store.postings = postings;
        let problem = problem_of(&mut store, &Trust::default());
        let Cause::Round(round) = about.cause else { panic!("only rounds pay here") };
        check(&problem, Fault::Posting, round.0, Some(about.member.as_str()));
        problem
    };
    for (index, posting) in whole.iter().enumerate() {
        let mut altered = whole.clone();
        altered[index].micros += 1;
        assert_eq!(find(altered, posting).entry, posting.entry);
        let mut missing = whole.clone();
        missing.remove(index);
        find(missing, posting);
    }
    // For an entry that has its postings already, and for one that was never written.
    for entry in [whole[0].entry, played.entries.len() as u64 + 1] {
        let extra = Posting { number: whole.len() as u64 + 1, entry, ..whole[0].clone() };
        let problem = find([whole.clone(), vec![extra.clone()]].concat(), &extra);
        assert_eq!((problem.entry, problem.expected.as_str()), (entry, "none"));
    }
}

#[test]
fn a_removed_row_is_found_wherever_it_was() {
    let played = Played::with_rounds();
    for place in 0..played.entries.len() - 1 {
        let mut store = played.store();
        store.rows.remove(place);
        let problem = problem_of(&mut store, &Trust::default());
        check(&problem, Fault::MissingEntry, 0, None);
        assert_eq!(problem.entry, place as u64 + 1);
    }
}

#[test]
fn a_reordered_chain_is_found() {
    let played = Played::with_rounds();
    let mut store = played.store();
    store.rows.swap(8, 9);
    check(&problem_of(&mut store, &Trust::default()), Fault::MissingEntry, 0, None);
    // With the numbers mended.
    (store.rows[8].number, store.rows[9].number) = (9, 10);
    let problem = problem_of(&mut store, &Trust::default());
    check(&problem, Fault::BrokenChain, 0, None);
    assert_eq!(problem.entry, 9);
    // With the hashes mended too, the next checkpoint does not fit.
    let mut entries = played.entries.clone();
    let first = position(&entries, 0, is_offer);
    // The first opens the round.
    entries.swap(first + 1, first + 2);
    check(&find(&entries), Fault::Checkpoint, 0, None);
    // And with a checkpoint signed again, the one outside of the store.
    let trust = Trust { checkpoint: played.store().checkpoint(), ..Trust::default() };
    check(&problem_of(&mut Memory::of(&played.federation.sign_again(&entries)), &trust), Fault::Checkpoint, 0, None);
}

#[test]
fn a_swapped_offer_is_found() {
    let played = Played::with_rounds();
    let first = position(&played.entries, 0, is_offer);
    let swap = |entries: &mut Vec<Entry>| {
        let [one, other] = &mut entries[first..first + 2] else { panic!("two offers") };
        std::mem::swap(offer_of(one), offer_of(other));
    };
    let problem = check_fraud(&played, swap, Fault::Context, 1, Some("a"));
    assert_eq!((problem.expected.as_str(), problem.found.as_str()), ("a", "b"));
}

#[test]
fn a_dropped_offer_is_found() {
    let played = Played::with_rounds();
    let opening = position(&played.entries, 0, is_offer);
    let dropped = |entries: &mut Vec<Entry>| drop(entries.remove(opening));
    check_fraud(&played, dropped, Fault::OutOfTurn, 1, Some("b"));
    for skip in 1..4 {
        let mut entries = played.entries.clone();
        let place = position(&entries, skip, is_offer);
        let Entry::Offered { member, .. } = entries.remove(place) else { panic!("an offer") };
        check(&find(&entries), Fault::Time, 1, None);
        let entries = delayed(entries, place);
        check(&find(&entries), Fault::Seal, 1, None);
        // Sealed and vouched for again without it.
        let problem = find(&played.federation.sign_again(&entries));
        assert_eq!(problem.round, Some(RoundId(1)), "{member}: {problem}");
        assert!(matches!(problem.fault, Fault::Winners | Fault::Payment), "{member}: {problem}");
    }
}

#[test]
fn an_offer_added_after_sealing_is_found() {
    let mut played = Played::new(&["a", "b", "c"]);
    played.begin();
    played.offers(&[("a", 3), ("b", 4)]);
    played.pass_time();
    let late = played.offer_entry("c", 1);
    let winners = played.winners();
    played.deliver_all(&winners);
    check_right(&mut played.store(), &Trust::default(), "ledger verified: 1 rounds, 2 payments, 0 problems");
    let seal = position(&played.entries, 0, is_seal);
    for place in [seal + 1, seal + 2, seal + 3] {
        let add = |entries: &mut Vec<Entry>| entries.insert(place, late.clone());
        let problem = check_fraud(&played, add, Fault::AfterSealing, 1, Some("c"));
        assert_eq!(problem.entry, place as u64 + 1);
    }
    // Put before the seal, the seal is another, and with it signed again the outcome is.
    let mut entries = played.entries.clone();
    entries.insert(seal, late);
    check(&find(&entries), Fault::Seal, 1, None);
    let problem = find(&played.federation.sign_again(&entries));
    assert!(matches!(problem.fault, Fault::Winners | Fault::Payment), "{problem}");
}

#[test]
fn an_outcome_computed_with_another_reserve_is_found() {
    let mut played = Played::under(RawTerms { reserve: Amount::from_units(50), ..terms(2) }, &["a", "b"]);
    played.full_round();
    let problem = find(&played.pretending(&terms(2)));
    assert_eq!((problem.fault, problem.round), (Fault::Payment, Some(RoundId(1))), "{problem}");
    assert_eq!((problem.expected.as_str(), problem.found.as_str()), ("100", "50"));
}

#[test]
fn an_outcome_of_another_mechanism_is_found() {
    let mut other = terms(2);
    other.mechanism = MechanismSetting::named("everyone").unwrap().into();
    let mut played = Played::under(other, &["a", "b", "c"]);
    played.full_round();
    let problem = find(&played.pretending(&terms(2)));
    assert!(matches!(problem.fault, Fault::Winners | Fault::Payment), "{problem}");
}

#[test]
fn terms_changed_afterwards_are_not_the_ones_that_were_signed() {
    let played = Played::with_rounds();
    type Change = fn(&mut RawTerms);
    let changes: [(Change, Fault, u64, Option<&str>); 2] = [
        (|terms| terms.reserve = Amount::from_units(50), Fault::Context, 1, Some("a")),
        (|terms| terms.norm = -1.0, Fault::Terms, 0, None),
    ];
    for (change, fault, round, member) in changes {
        let change = |entries: &mut Vec<Entry>| {
            let Entry::Genesis { terms, .. } = &mut entries[0] else { panic!("genesis") };
            change(terms);
        };
        check_fraud(&played, change, fault, round, member);
    }
}

#[test]
fn an_older_backup_is_found_by_the_checkpoint_outside() {
    let played = Played::with_rounds();
    let trust = Trust { checkpoint: played.store().checkpoint(), ..Trust::default() };
    let older = played.history.iter().find(|store| store.standing.is_some()).unwrap();
    let (end, mut older) = (older.rows.len(), older.clone());
    assert!(verify(&mut older, &Trust::default()).unwrap().is_right());
    let problem = problem_of(&mut older, &trust);
    check(&problem, Fault::CheckpointAhead, 0, None);
    assert_eq!(problem.found, format!("the end at entry {end}"));
    // A checkpoint that somebody else made up says nothing.
    let mut forged = played.store().checkpoint().unwrap();
    forged.entry += 1;
    let trust = Trust { checkpoint: Some(forged), ..Trust::default() };
    check(&problem_of(&mut played.store(), &trust), Fault::Signature, 0, None);
}

#[test]
fn of_two_frauds_the_first_is_named_though_signatures_are_checked_later() {
    let played = Played::with_rounds();
    let signed = |entry: &Entry| matches!(entry, Entry::Offered { .. } | Entry::Delivered { .. });
    let places: Vec<usize> = (0..played.entries.len()).filter(|&place| signed(&played.entries[place])).collect();
    for &forged in &places {
        let mut entries = played.entries.clone();
        if let Entry::Offered { offer: signed, .. } | Entry::Delivered { delivery: signed, .. } = &mut entries[forged] {
            signed.signature.0[7] ^= 1;
        }
        let entries = played.federation.sign_again(&entries);
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
