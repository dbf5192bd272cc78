//! What an auditor can do with public files alone.

use std::path::Path;

use serde_json::Value;

use crate::accounts::run_before;
use crate::folders::{Run, tree, truthfed};

/// A bundle `audit` in a folder of its own, and the folder of its federation.
fn audited() -> (tempfile::TempDir, tempfile::TempDir) {
    let (place, fed) = (tempfile::tempdir().unwrap(), run_before());
    let out = place.path().join("audit");
    let written = truthfed(fed.path(), &["ledger", "bundle", "fed", "--out", out.to_str().unwrap()], "").done();
    assert!(written.contains("with certificates and no key"), "{written}");
    (place, fed)
}

fn run_in(place: &Path, args: &[&str]) -> Run {
    truthfed(place, args, "")
}

#[test]
fn an_auditor_verifies_and_reads_everything_from_public_files() {
    let (place, fed) = audited();
    let (audit, own) = (|args: &[&str]| run_in(place.path(), args), |args: &[&str]| run_in(fed.path(), args));
    let before = tree(place.path());
    assert!(before.values().all(|bytes| !String::from_utf8_lossy(bytes).contains("PRIVATE")));
    let verified = audit(&["ledger", "verify", "audit"]).done();
    let expected = own(&["ledger", "verify", "fed"]).done();
    let (federation, report) = verified.split_once(": ").unwrap();
    assert_eq!(report, expected);
    let id = federation.strip_prefix("federation ").unwrap();
    audit(&["ledger", "verify", "audit", "--federation", id]).done();
    let other = audit(&["ledger", "verify", "audit", "--federation", &"0".repeat(64)]);
    assert!(other.code == 1 && other.out.contains("not of this federation"), "{other:?}");
    for verb in [
        &["ledger", "totals"][..],
        &["round", "list"],
        &["ledger", "export", "--csv"],
        &["ledger", "export", "--journal"],
    ] {
        let of = |folder: &'static str| [verb, &[folder]].concat();
        assert_eq!(audit(&of("audit")).done(), own(&of("fed")).done(), "{verb:?}");
    }
    let statement = ["ledger", "statement", "audit", "m1", "--json"];
    assert_eq!(audit(&statement).done(), own(&["ledger", "statement", "fed", "m1", "--json"]).done());
    assert!(tree(place.path()) == before, "nothing is written");
    own(&["ledger", "bundle", "fed", "--out", "fed"]).refused("exists already");
}

#[test]
fn a_member_compares_its_receipts_with_a_journal_and_another_federation_is_told_apart() {
    let (place, fed) = audited();
    let bundle = fed.path().join("fed/members/m1");
    let verify = ["ledger", "verify", "audit", "--member", bundle.to_str().unwrap()];
    let agreed = run_in(place.path(), &verify).done();
    assert!(agreed.contains("m1: enrolled with its own key; its ") && agreed.contains(" receipts agree"), "{agreed}");
    let json: Value = run_in(place.path(), &[&verify[..], &["--json"]].concat()).object();
    assert!(json["receipts"]["receipts"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(json["ledger"]["problem"], Value::Null);
    let of_another = tempfile::tempdir().unwrap();
    run_in(of_another.path(), &["init", "fed", "--members", "1"]).done();
    let stranger = of_another.path().join("fed/members/m1");
    let told = run_in(place.path(), &["ledger", "verify", "audit", "--member", stranger.to_str().unwrap()]);
    assert!(told.code == 1 && told.out.contains("not of this federation"), "{told:?}");
}

#[test]
fn an_altered_bundle_is_refuted_with_the_file_that_was_altered() {
    let (place, _fed) = audited();
    for name in ["bundle.json", "journal.jsonl", "checkpoint.json", "authority.pem", "server.pem", "members/m1.pem"] {
        let path = place.path().join("audit").join(name);
        let honest = std::fs::read(&path).unwrap();
        let mut altered = honest.clone();
        let place_of_change = honest.len() / 2;
        altered[place_of_change] ^= 1;
        std::fs::write(&path, &altered).unwrap();
        let run = run_in(place.path(), &["ledger", "verify", "audit"]);
        assert_eq!(run.code, 1, "{name}: {run:?}");
        assert!(!run.out.is_empty(), "{name}: {run:?}");
        std::fs::write(&path, &honest).unwrap();
    }
    run_in(place.path(), &["ledger", "verify", "audit"]).done();
}

#[test]
fn a_recorded_round_gives_the_same_outcome_when_it_is_run_again() {
    let (place, _fed) = audited();
    let run = |args: &[&str], input: &str| truthfed(place.path(), args, input);
    let rounds: Value = run(&["round", "list", "audit", "--json"], "").object();
    let settled: Vec<u64> = rounds["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|round| round["state"] == "settled")
        .map(|round| round["round"].as_u64().unwrap())
        .collect();
    assert!(!settled.is_empty(), "{rounds}");
    for number in settled {
        let document = run(&["round", "export", "audit", &number.to_string()], "").done();
        let again: Value = run(&["auction", "-", "--json"], &document).object();
        let shown: Value = run(&["round", "show", "audit", &number.to_string(), "--json"], "").object();
        let recorded: Vec<(String, f64)> = shown["awards"]
            .as_array()
            .unwrap()
            .iter()
            .map(|award| {
                (award["member"].as_str().unwrap().to_owned(), award["payment_micros"].as_f64().unwrap() / 1e6)
            })
            .collect();
        let computed: Vec<(String, f64)> = again["winners"]
            .as_array()
            .unwrap()
            .iter()
            .map(|winner| (winner["client"].as_str().unwrap().to_owned(), winner["payment"].as_f64().unwrap()))
            .collect();
        assert_eq!(computed, recorded, "round {number}: {again}");
    }
    run(&["round", "export", "audit", "9999"], "").refused("is not settled, or there is none");
}
