//! The audit refutes what is false, and nothing else.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod counterexamples;
mod faults;
#[allow(dead_code)]
#[path = "../../examples/own_mechanism.rs"]
mod own_mechanism;

use faults::Fault::{self, OwnGrid};
use faults::Faulty;
use rayon::prelude::*;
use truthfed::auction::catalog::{self, Claim, Entry};
use truthfed::auction::{
    Clock, Greedy, Mechanism, Outcome, RawMechanism, Refusal, Round, RoundDocument, Seat, TruthFedBan,
};
use truthfed::audit::{Audit, Counterexample, Effort, Property};
use truthfed::generate::varied_within;

pub(crate) fn rounds(count: u64) -> Vec<Round> {
    (0..count).map(|seed| varied_within(seed, (3, 8), (1, 3))).collect()
}

pub(crate) fn all() -> Vec<Box<dyn Mechanism>> {
    catalog::entries().iter().map(Entry::mechanism).collect()
}

pub(crate) fn refs(mechanisms: &[Box<dyn Mechanism>]) -> Vec<&dyn Mechanism> {
    mechanisms.iter().map(AsRef::as_ref).collect()
}

#[test]
fn nothing_is_found_against_what_is_claimed() {
    let without_purse = Property::ALL.into_iter().filter(|property| *property != Property::Purse);
    let findings = Audit::new(without_purse.clone()).rounds(&refs(&all()), rounds(300), || {});
    assert_eq!((findings.rounds, findings.verdicts.len()), (300, catalog::entries().len() * (Property::ALL.len() - 1)));
    for entry in catalog::entries() {
        for property in without_purse.clone().filter(|property| property.claim_of(&entry.claims()) == Claim::Yes) {
            let verdict = findings.verdict(entry.name, property).unwrap();
            assert!(verdict.holds() && verdict.cases > 0 && verdict.refused == 0, "{verdict:?}");
        }
    }
}

#[test]
fn within_a_purse_nothing_is_found_against_what_is_claimed() {
    for share in [100, 50, 10, 1] {
        let bound = |round: &Round| {
            let cost = Clock.run(round).unwrap().payments().micros();
            round.with_purse(Some(truthfed::Amount::saturating(cost * share / 100)))
        };
        let rounds: Vec<Round> = rounds(200).iter().map(bound).collect();
        let findings = Audit::new(Property::ALL).rounds(&[&Clock, &Greedy], rounds, || {});
        for property in Property::ALL {
            let claimed = property.claim_of(&catalog::find("clock").unwrap().claims()) == Claim::Yes;
            let verdict = findings.verdict("clock", property).unwrap();
            assert!(!claimed || (verdict.holds() && verdict.cases > 0 && verdict.refused == 0), "{verdict:?}");
            // What cannot keep to a purse refuses the round.
            let refused = findings.verdict("greedy", property).unwrap();
            assert!(refused.cases == 0 && refused.refused > 0, "{refused:?}");
        }
    }
}

#[test]
fn what_is_known_to_be_false_is_found() {
    let findings = Audit::new(Property::ALL).rounds(&refs(&all()), rounds(300), || {});
    let known = [
        ("truth-fedban", Property::Monotone),
        ("truth-fedban", Property::Truthful),
        ("truth-fedban", Property::IndividuallyRational),
        ("inc-feducb", Property::Truthful),
        ("inc-feducb", Property::Certified),
        ("inc-feducb", Property::Collusion),
        ("vcg", Property::CollusionInTotal),
        ("clock", Property::CollusionInTotal),
        ("ratchet", Property::Collusion),
        ("greedy", Property::Optimum),
        ("everyone", Property::IndividuallyRational),
    ];
    for (mechanism, property) in known {
        assert!(!findings.verdict(mechanism, property).unwrap().holds(), "{mechanism} {property}");
    }
}

/// Every truthful mechanism with that fault fails that property.
fn check_refuted(fault: Fault, property: Property, count: u64) {
    let rounds = rounds(count);
    // The smallest ask always fits the first budget of its own grid: there only the price of the ratchet is wrong.
    let is_sound = |entry: &Entry| (fault, property, entry.name) == (OwnGrid, Property::Monotone, "ratchet");
    let is_truthful = |entry: &'static Entry| entry.claims().truthful == Claim::Yes;
    for entry in catalog::entries().iter().filter(|entry| is_truthful(entry) && !is_sound(entry)) {
        let mechanism = entry.mechanism();
        let faulty = Faulty { inner: mechanism.as_ref(), fault };
        let findings = Audit::new([property]).rounds(&[&faulty], &rounds, || {});
        let verdict = &findings.verdicts[0];
        assert!(!verdict.holds(), "{fault:?} of {} passes as {property}", verdict.mechanism);
    }
}

#[test]
fn planted_faults_are_refuted() {
    check_refuted(Fault::High, Property::Certified, 20);
    check_refuted(Fault::Low, Property::Certified, 20);
    check_refuted(Fault::FirstPrice, Property::Truthful, 20);
    check_refuted(Fault::FirstPrice, Property::Certified, 20);
    check_refuted(Fault::TiesByAsk, Property::Monotone, 200);
    check_refuted(OwnGrid, Property::Monotone, 300);
    check_refuted(OwnGrid, Property::Certified, 300);
    check_refuted(Fault::Peeking, Property::Truthful, 20);
    check_refuted(Fault::Peeking, Property::Certified, 20);
}

#[test]
fn a_choice_that_disagrees_with_the_payments_is_refuted() {
    struct Absent;
    impl Mechanism for Absent {
        fn name(&self) -> &str {
            "absent"
        }
        fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
            Clock.run(round)
        }
        fn select(&self, _: &Round) -> Result<Vec<Seat>, Refusal> {
            Ok(Vec::new())
        }
    }
    let findings = Audit::new([Property::Certified]).rounds(&[&Absent], rounds(20), || {});
    assert!(!findings.verdicts[0].holds());
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let mechanisms = all();
    let audited = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let audit = || Audit::new(Property::ALL).rounds(&refs(&mechanisms), rounds(60).into_par_iter(), || {});
        format!("{:?}", pool.install(audit))
    };
    let one = audited(1);
    assert!(audited(2) == one && audited(7) == one);
}

fn vector(text: &str) -> Round {
    let vector: serde_json::Value = serde_json::from_str(text).unwrap();
    RoundDocument::read_round(&vector["round"].to_string()).unwrap()
}

#[test]
fn the_known_counterexamples_are_found_again() {
    let audit = Audit::new([Property::Monotone, Property::Truthful]).with_effort(Effort::THOROUGH);
    let printed = vector(include_str!("../vectors/printed-grid-not-monotone.json"));
    let findings = audit.rounds(&[&TruthFedBan::default()], [printed].as_slice(), || {});
    assert!(findings.verdicts.iter().all(|verdict| !verdict.holds()), "{findings:?}");
    let fixed = vector(include_str!("../vectors/fixed-grid-not-monotone.json"));
    let quarter = TruthFedBan::new(0.25, "1".parse().unwrap()).unwrap();
    let findings = audit.rounds(&[&quarter], [fixed].as_slice(), || {});
    assert!(!findings.verdict("truth-fedban", Property::Monotone).unwrap().holds(), "{findings:?}");
}

#[test]
fn a_mechanism_from_outside_is_audited_like_our_own() {
    let own = own_mechanism::CheapestFirst::default();
    let findings = Audit::new(Property::ALL).rounds(&[&own], rounds(100), || {});
    let fails = |property| !findings.verdict("cheapest-first", property).unwrap().holds();
    let sound = [Property::Monotone, Property::IndividuallyRational, Property::Truthful, Property::Certified];
    assert!(!sound.into_iter().any(fails) && !fails(Property::Coverage));
    assert!(fails(Property::Optimum) && fails(Property::CollusionInTotal));
    let found = findings.verdict("cheapest-first", Property::Optimum).unwrap().counterexample(&own).unwrap();
    let read = Counterexample::read(&found.to_string()).unwrap();
    assert_eq!(read.mechanism, RawMechanism::of(&own));
    assert!(read.replay(&own).unwrap().reproduces && read.setting().is_err());
    let refusal = own_mechanism::CheapestFirst { most_clients: 1 }.run(&found.round).unwrap_err();
    assert!(refusal.to_string().ends_with("too many: cheapest-first takes 1"), "{refusal}");
}

#[test]
fn a_search_that_is_given_up_is_no_case() {
    let vcg = truthfed::auction::Vcg { node_limit: 1 };
    let round = truthfed::generate::federation(14, 3, 1);
    let findings = Audit::new(Property::ALL).rounds(&[&vcg], [round].as_slice(), || {});
    for verdict in findings.verdicts.iter().filter(|verdict| verdict.property != Property::Purse) {
        assert!(verdict.holds() && verdict.cases == 0 && verdict.refused > 0, "{verdict:?}");
    }
}
