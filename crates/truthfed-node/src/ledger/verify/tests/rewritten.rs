//! What was written is changed afterwards.

use truthfed::Amount;
use truthfed::auction::MechanismSetting;

use super::*;
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
    let mut entries = played.entries.clone();
    let place = position(&entries, 1, is_award);
    let award = &mut winners_of(&mut entries[place])[0];
    let (member, before) = (award.member.to_string(), award.payment_micros);
    award.payment_micros = Amount::from_micros(before.micros() + 1).unwrap();
    let after = award.payment_micros;
    let problem = find(&played.federation.sign_again(&entries));
    check(&problem, Fault::Payment, 2, Some(&member));
    assert_eq!(
        (problem.entry, problem.expected, problem.found),
        (place as u64 + 1, before.to_string(), after.to_string())
    );
}

#[test]
fn an_altered_missing_or_added_posting_is_found() {
    let played = Played::with_rounds();
    let whole = played.store().postings;
    for (index, posting) in whole.iter().enumerate() {
        let mut store = played.store();
        store.postings[index].micros += 1;
        let problem = problem_of(&mut store, &Trust::default());
        check(&problem, Fault::Posting, posting.round.0, Some(posting.member.as_str()));
        assert_eq!(problem.entry, posting.entry);
        let mut store = played.store();
        store.postings.remove(index);
        check(
            &problem_of(&mut store, &Trust::default()),
            Fault::Posting,
            posting.round.0,
            Some(posting.member.as_str()),
        );
    }
    let mut store = played.store();
    let mut extra = whole[0].clone();
    extra.number = whole.len() as u64 + 1;
    store.postings.push(extra);
    let problem = problem_of(&mut store, &Trust::default());
    check(&problem, Fault::Posting, 1, Some(whole[0].member.as_str()));
    assert_eq!(problem.expected, "none");
}

#[test]
fn a_posting_for_an_entry_that_was_never_written_is_found() {
    let played = Played::with_rounds();
    let mut store = played.store();
    let mut extra = store.postings[0].clone();
    (extra.number, extra.entry) = (store.postings.len() as u64 + 1, played.entries.len() as u64 + 1);
    store.postings.push(extra.clone());
    let problem = problem_of(&mut store, &Trust::default());
    check(&problem, Fault::Posting, 1, Some(extra.member.as_str()));
    assert_eq!((problem.entry, problem.expected.as_str()), (extra.entry, "none"));
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
    entries.swap(first, first + 1);
    check(&find(&entries), Fault::Checkpoint, 0, None);
    // And with a checkpoint signed again, the one outside of the store.
    let trust = Trust { checkpoint: played.store().checkpoint(), ..Trust::default() };
    check(&problem_of(&mut Memory::of(&played.federation.sign_again(&entries)), &trust), Fault::Checkpoint, 0, None);
}

#[test]
fn a_swapped_offer_is_found() {
    let played = Played::with_rounds();
    let mut entries = played.entries.clone();
    let first = position(&entries, 0, is_offer);
    let (one, other) = (offer_of(&mut entries[first]).clone(), offer_of(&mut entries[first + 1]).clone());
    (*offer_of(&mut entries[first]), *offer_of(&mut entries[first + 1])) = (other, one);
    let problem = find(&played.federation.sign_again(&entries));
    check(&problem, Fault::Context, 1, Some("a"));
    assert_eq!((problem.expected.as_str(), problem.found.as_str()), ("a", "b"));
}

#[test]
fn a_dropped_offer_is_found() {
    let played = Played::with_rounds();
    for skip in 0..4 {
        let mut entries = played.entries.clone();
        let place = position(&entries, skip, is_offer);
        let Entry::Offered { member, .. } = entries.remove(place) else { panic!("an offer") };
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
    played.ask("a");
    played.offer("a", 3);
    played.offer("b", 4);
    played.pass_time();
    let late = played.offer_entry("c", 1);
    let winners = played.winners();
    played.deliver_all(&winners);
    check_right(&mut played.store(), &Trust::default(), "ledger verified: 1 rounds, 2 payments, 0 problems");
    let seal = position(&played.entries, 0, |entry| matches!(entry, Entry::Sealed { .. }));
    for place in [seal + 1, seal + 2, seal + 3] {
        let mut entries = played.entries.clone();
        entries.insert(place, late.clone());
        let problem = find(&played.federation.sign_again(&entries));
        check(&problem, Fault::AfterSealing, 1, Some("c"));
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
    let mut entries = played.entries.clone();
    let Entry::Genesis { terms, .. } = &mut entries[0] else { panic!("genesis") };
    terms.reserve = Amount::from_units(50);
    check(&find(&played.federation.sign_again(&entries)), Fault::Context, 1, Some("a"));
    let Entry::Genesis { terms, .. } = &mut entries[0] else { panic!("genesis") };
    terms.norm = -1.0;
    check(&find(&entries), Fault::Terms, 0, None);
}

#[test]
fn an_older_backup_is_found_by_the_checkpoint_outside() {
    let played = Played::with_rounds();
    let trust = Trust { checkpoint: played.store().checkpoint(), ..Trust::default() };
    let end = position(&played.entries, 1, |entry| matches!(entry, Entry::Checkpoint { .. })) + 1;
    let mut older = Memory::of(&played.entries[..end]);
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
