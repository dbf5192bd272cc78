//! A renewal is the member's own word, on both stores.

use super::stores::write;
use super::*;
use crate::error::Code;
use crate::identity::Renewal;
use crate::signature::Signer;
use crate::testing::{Database, Federation, File, Place};

/// A round, a renewal, and a round with the new key.
fn renewed() -> Played {
    let mut played = Played::new(&["a", "b", "c"]);
    played.full_round();
    played.renew("a");
    played.full_round();
    played
}

fn is_renewal(entry: &Entry) -> bool {
    matches!(entry, Entry::Renewed { .. })
}

fn check_renewed(place: &dyn Place) {
    let played = renewed();
    write(place, &played);
    let report = verify(place.try_open_existing().unwrap().as_mut(), &Trust::default()).unwrap();
    assert!(report.is_right() && report.rounds == 2, "{report}");
}

#[test]
fn a_renewed_member_is_verified_in_a_file() {
    check_renewed(&File::create());
}

#[test]
fn a_renewed_member_is_verified_in_a_database() {
    check_renewed(&Database::create());
}

#[test]
fn a_journal_with_renewals_is_right_at_every_committed_end() {
    for mut store in renewed().history {
        let report = verify(&mut store, &Trust::default()).unwrap();
        assert!(report.is_right(), "{report}");
    }
}

#[test]
fn an_offer_that_was_checked_before_its_member_renewed_is_not_recorded() {
    let mut played = Played::new(&["a", "b", "c"]);
    played.begin();
    assert_eq!(played.offer_and_renew("a", 3).code, Code::CertificateReplaced);
    played.full_round();
    let report = verify(&mut played.store(), &Trust::default()).unwrap();
    assert!(report.is_right() && report.rounds == 1, "{report}");
}

/// A coordinator renews a member onto a key that it holds itself, and signs everything again.
fn check_forged(signer: impl Fn(&Signer) -> Signer) {
    let played = renewed();
    let foreign = Federation::key(250);
    let forge = |entries: &mut Vec<Entry>| {
        let at = position(entries, 0, is_renewal);
        let Entry::Renewed { member, key, signature, .. } = &mut entries[at] else { unreachable!() };
        *key = foreign.public();
        let renewal = Renewal { federation: played.federation.id, member: member.clone(), key: *key };
        *signature = renewal.sign(&signer(&foreign));
    };
    check_fraud(&played, forge, Fault::Signature, 0, Some("a"));
}

#[test]
fn a_renewal_onto_a_foreign_key_is_found() {
    check_forged(Signer::clone);
    let played = renewed();
    check_forged(|_| played.federation.members[&id("b")].clone());
    check_forged(|_| played.federation.coordinator.clone());
}

#[test]
fn a_renewal_of_nobody_in_a_round_or_onto_a_used_key_is_found() {
    let played = renewed();
    let name = |to: &'static str| {
        move |entries: &mut Vec<Entry>| {
            let at = position(entries, 0, is_renewal);
            let Entry::Renewed { member, .. } = &mut entries[at] else { unreachable!() };
            *member = id(to);
        }
    };
    check_fraud(&played, name("nobody"), Fault::Membership, 0, Some("nobody"));
    check_fraud(&played, name("b"), Fault::Signature, 0, Some("b"));
    let reuse = |entries: &mut Vec<Entry>| {
        let Entry::Enrolled { key: used, .. } = entries[2].clone() else { unreachable!() };
        let at = position(entries, 0, is_renewal);
        let Entry::Renewed { key, .. } = &mut entries[at] else { unreachable!() };
        *key = used;
    };
    check_fraud(&played, reuse, Fault::Membership, 0, Some("a"));
    let in_a_round = |entries: &mut Vec<Entry>| {
        let renewal = entries.remove(position(entries, 0, is_renewal));
        let at = position(entries, 0, is_offer) + 1;
        entries.insert(at, renewal);
    };
    check_fraud(&played, in_a_round, Fault::OutOfTurn, 0, Some("a"));
    let twice = |entries: &mut Vec<Entry>| {
        let at = position(entries, 0, is_renewal);
        entries.insert(at, entries[at].clone());
    };
    check_fraud(&played, twice, Fault::Membership, 0, Some("a"));
}
