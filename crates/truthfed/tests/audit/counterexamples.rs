//! Counterexamples are small, are read as they were written, and replay.

use truthfed::auction::{Clock, Greedy, Mechanism, RoundDocument, TruthFedBan, Vcg};
use truthfed::audit::{Audit, Counterexample, Effort, Property};

use crate::{all, refs, rounds};

#[test]
fn every_counterexample_is_small_and_replays() {
    let mechanisms = all();
    let findings = Audit::new(Property::ALL).rounds(&refs(&mechanisms), rounds(120), || {});
    let mut found = 0;
    for verdict in findings.verdicts.iter().filter(|verdict| !verdict.holds()) {
        let mechanism = mechanisms.iter().find(|mechanism| mechanism.name() == verdict.mechanism).unwrap();
        let small = verdict.counterexample(mechanism.as_ref()).unwrap();
        let text = small.to_string();
        let again = Counterexample::read(&text).unwrap();
        assert_eq!(again.to_string(), text);
        let replay = again.replay(again.setting().unwrap().mechanism().as_ref()).unwrap();
        assert!(replay.reproduces, "{text}");
        assert!(!replay.to_string().is_empty());
        assert!(small.round.admitted() <= 6, "{text}");
        found += 1;
    }
    assert!(found > 15, "{found}");
}

#[test]
fn the_printed_algorithm_is_refuted_with_at_most_four_clients() {
    let printed = TruthFedBan::default();
    let audit = Audit::new([Property::Monotone, Property::Truthful]);
    for verdict in audit.rounds(&[&printed], rounds(300), || {}).verdicts {
        let small = verdict.counterexample(&printed).unwrap();
        let replay = small.replay(&printed).unwrap();
        assert!(replay.reproduces && small.round.admitted() <= 4, "{small}");
        // Not just by staying away.
        assert!(replay.accounts[0].second.payment.is_some(), "{small}");
    }
}

/// One of each pair lies a lot, and the other has to answer with just the right ask: the lies of a kind missed the second.
#[test]
fn pairs_in_which_both_gain_are_found() {
    let vectors = [
        (include_str!("../vectors/greedy-pair-1.json"), &Greedy as &dyn Mechanism),
        (include_str!("../vectors/greedy-pair-2.json"), &Greedy),
        (include_str!("../vectors/vcg-pair.json"), &Vcg::default()),
    ];
    let audit = Audit::new([Property::Collusion]).with_effort(Effort::THOROUGH);
    for (text, mechanism) in vectors {
        let vector: serde_json::Value = serde_json::from_str(text).unwrap();
        let round = RoundDocument::read_round(&vector["round"].to_string()).unwrap();
        let findings = audit.rounds(&[mechanism], vec![round.clone()], || {});
        assert!(!findings.verdicts[0].holds(), "{}", vector["what"]);
        // And the clock has none.
        assert!(audit.rounds(&[&Clock], vec![round], || {}).verdicts[0].holds());
    }
}

#[test]
fn a_property_that_holds_has_no_counterexample() {
    let findings = Audit::new([Property::Truthful]).rounds(&[&Clock], rounds(5), || {});
    assert!(findings.verdicts[0].counterexample(&Clock).is_none());
}

const VALID: &str = r#"{"schema": "truthfed.counterexample/2", "mechanism": {"name":"inc-feducb","data_incentive":false},
 "property": "truthful", "lies": [{"client":"b","ask":50}],
 "round": {"schema": "truthfed.round/1", "lambda": 0.1, "coverage": 0.5, "reserve": 100, "base": [[0.0]],
  "offers": [{"client":"a","ask":3,"gram":[[4.0]]}, {"client":"b","ask":5,"gram":[[6.0]]}, {"client":"c","ask":101,"gram":[[1.0]]}]}}"#;

fn check_refused(from: &str, to: &str, expected: &str) {
    assert!(VALID.contains(from), "{from}");
    let read = Counterexample::read(&VALID.replacen(from, to, 1)).and_then(|read| read.setting().map(|_| ()));
    let error = read.unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn whatever_is_wrong_with_a_document_is_named() {
    Counterexample::read(VALID).unwrap();
    check_refused("counterexample/2", "counterexample/1", "schema: is `truthfed.counterexample/1`");
    check_refused("\"mechanism\"", "\"mechanisms\"", "unknown field `mechanisms`");
    check_refused("\"property\": \"truthful\",", "", "missing field `property`");
    check_refused("inc-feducb", "own", "mechanism.name is `own`: it must be one of everyone");
    check_refused("\"truthful\"", "\"honest\"", "property: `honest` is no property");
    let check_mechanism = |other: &str, expected: &str| {
        check_refused(r#"{"name":"inc-feducb","data_incentive":false}"#, other, expected);
    };
    check_mechanism(r#"{"name":"ratchet","epsilon":0}"#, "mechanism.epsilon is 0: it must lie between 1e-9 and 1e9");
    check_mechanism(r#"{"name":"ratchet","eps":1.0}"#, "mechanism.eps is not a parameter of ratchet, which has");
    check_mechanism(r#"{"name":"clock","epsilon":1}"#, "mechanism.epsilon is not a parameter of clock, but of");
    check_mechanism(r#"{"name":"truth-fedban","gamma":"-1"}"#, "mechanism.gamma is no amount: `-1` is negative");
    check_mechanism(r#"{"epsilon":0}"#, "mechanism: missing field `name`");
    check_mechanism(r#""clock""#, "mechanism: expected an object");
    check_refused("\"client\":\"b\",\"ask\":50", "\"client\":\"z\",\"ask\":50", "lies[0].client: z does not offer");
    check_refused("\"client\":\"b\",\"ask\":50", "\"client\":\"\",\"ask\":50", "lies[0].client: client name is empty");
    check_refused("\"ask\":50", "\"ask\":1e-9", "lies[0].ask: `1e-9` has more than 6 decimal places");
    check_refused("[{\"client\":\"b\",\"ask\":50}]", "[[\"b\",50]]", "lies[0]: expected an object");
    check_refused("[{\"client\":\"b\",\"ask\":50}]", "[]", "lies: truthful needs the lie of one client");
    check_refused("\"truthful\"", "\"monotone\"", "lies: monotone needs two asks of one client, the lower first");
    check_refused("\"truthful\"", "\"coverage\"", "lies: coverage needs no lies");
    check_refused("\"lambda\": 0.1", "\"lambda\": -1", "round: lambda is -1");
    check_refused("truthfed.round/1", "truthfed.round/9", "round: schema: is `truthfed.round/9`");
    check_refused("[[1.0]]}]}}", "[[1.0]]}]}} x", "trailing characters");
    check_refused(VALID, "[]", "counterexample: expected an object");
}

#[test]
fn a_lie_that_does_not_pay_does_not_reproduce() {
    let replay = |text: &str| {
        let read = Counterexample::read(text).unwrap();
        read.replay(read.setting().unwrap().mechanism().as_ref()).unwrap()
    };
    let pays = replay(VALID);
    assert!(pays.reproduces);
    assert_eq!(pays.to_string(), "b, at cost 5, asks 50 and gains 45");
    assert!(!replay(&VALID.replace(r#""inc-feducb","data_incentive":false"#, "\"clock\"")).reproduces);
    assert!(!replay(&VALID.replace("\"ask\":50", "\"ask\":5")).reproduces);
}
