//! Heads, proofs and witnesses on the command line.

use std::path::Path;

use serde_json::Value;

use crate::accounts::run_before;
use crate::folders::{Run, truthfed};

/// Runs a verb, and keeps what it prints in a file beside the federation.
fn keep(place: &Path, args: &[&str], name: &str) -> String {
    let text = truthfed(place, args, "").done();
    std::fs::write(place.join(name), &text).unwrap();
    text
}

fn check(place: &Path, files: &[&str], more: &[&str]) -> Run {
    truthfed(place, &[&["ledger", "check"], files, more].concat(), "")
}

/// A copy of the federation whose journal goes on another way.
fn split(place: &Path) {
    let copied = std::process::Command::new("cp").args(["-a", "fed", "split"]).current_dir(place).status().unwrap();
    assert!(copied.success());
    for (folder, member) in [("fed", "m1"), ("split", "m2")] {
        truthfed(place, &["members", "revoke", folder, member], "").done();
    }
}

fn size(head: &str) -> u64 {
    head.lines().nth(1).unwrap().parse().unwrap()
}

#[test]
fn whoever_has_a_key_checks_what_a_member_said_and_how_the_journal_grew() {
    let (fed, key) = (run_before(), ["--key", "fed/members/m1"]);
    let place = fed.path();
    let said = keep(place, &["ledger", "prove", "fed", "--round", "1", "--member", "m1", "--from", "3"], "said");
    let proof: Value = serde_json::from_str(&said).unwrap();
    let entries = proof["entries"].as_array().unwrap();
    let speaks = |entry: &Value| entry["entry"].as_object().unwrap().values().all(|of| of["member"] == "m1");
    assert!(!entries.is_empty() && entries.iter().all(speaks), "{said}");
    let checked: Value = check(place, &["said"], &[&key[..], &["--json"]].concat()).object();
    assert_eq!(checked["entries"].as_array().unwrap().len(), entries.len());
    for of in [["--key", "fed/server/server.pem"], ["--key", "fed/members/m2"]] {
        check(place, &["said"], &of).done();
    }
    let third = keep(place, &["ledger", "prove", "fed", "--size", "3", "--note"], "third");
    let last = keep(place, &["ledger", "prove", "fed", "--note"], "last");
    assert_eq!((size(&third), checked["heads"].as_object().unwrap().len()), (3, 1));
    let unlinked = check(place, &["third", "last"], &key).done();
    assert!(unlinked.contains("Nothing here links the head of 3 entries to the next"), "{unlinked}");
    let linked = check(place, &["third", "last", "said"], &key).done();
    assert!(
        linked.contains(&format!("2 heads, of 3, {} entries", size(&last))) && !linked.contains("Nothing"),
        "{linked}"
    );
    // What it said in another round is not what the journal has there.
    let altered = said.replacen("\"round\":1,", "\"round\":2,", 1);
    assert_ne!(altered, said);
    std::fs::write(place.join("said"), altered).unwrap();
    let refuted = check(place, &["said"], &key);
    assert!(refuted.code == 1 && refuted.out.contains("is not what the head of"), "{refuted:?}");
}

#[test]
fn two_histories_are_told_by_heads_by_a_bundle_and_by_a_witness() {
    let (fed, key) = (run_before(), ["--key", "fed/members/m1"]);
    let place = fed.path();
    let run = |args: &[&str]| truthfed(place, args, "");
    let log = run(&["ledger", "prove", "fed", "--key"]).done();
    let made = run(&["witness", "init", "w", "--name", "witness.example", "--log", log.trim()]).done();
    let witness = made.lines().next().unwrap();
    let first = keep(place, &["ledger", "prove", "fed"], "first");
    let signed = keep(place, &["witness", "sign", "w", "first"], "signed");
    check(place, &["signed"], &[&key[..], &["--witness", witness]].concat()).done();
    let unsigned = check(place, &["first"], &[&key[..], &["--witness", witness]].concat());
    assert!(unsigned.code == 1 && unsigned.out.contains("is not signed by witness.example"), "{unsigned:?} {first}");
    split(place);
    let head = keep(place, &["ledger", "prove", "fed", "--note"], "one");
    keep(place, &["ledger", "prove", "split", "--note"], "other");
    let told = check(place, &["one", "other"], &key);
    assert!(told.code == 1 && told.out.contains("the coordinator signed two histories: both "), "{told:?}");
    // An auditor has one of the journals, and a head of the other.
    run(&["ledger", "bundle", "split", "--out", "audit"]).done();
    let told = run(&["ledger", "prove", "audit", "--head", "one"]);
    assert!(told.code == 1 && told.out.contains("is not that of the head"), "{told:?}");
    run(&["ledger", "prove", "audit", "--head", "other"]).done();
    run(&["ledger", "prove", "audit", "--head", "signed"]).done();
    // A witness goes on with one of them, and refuses the other.
    let (seen, end) = (size(&signed).to_string(), size(&head).to_string());
    keep(place, &["ledger", "prove", "fed", "--from", &seen], "on");
    keep(place, &["ledger", "prove", "split", "--from", &end], "off");
    run(&["witness", "sign", "w", "on"]).done();
    let told = run(&["witness", "sign", "w", "off"]);
    assert!(told.code == 1 && told.out.contains("the log signed two histories"), "{told:?}");
    let shown: Value = run(&["witness", "show", "w", "--json"]).object();
    assert_eq!((shown["key"].as_str(), shown["entries"].to_string()), (Some(witness), end));
}

#[test]
fn a_member_compares_the_head_that_its_agent_has_seen_with_a_journal() {
    let fed = run_before();
    let run = |args: &[&str]| truthfed(fed.path(), args, "");
    let verify = ["ledger", "verify", "fed", "--member", "fed/members/m1"];
    let agreed = run(&verify).done();
    assert!(agreed.contains("; its signed head of ") && agreed.contains(" entries is of this journal."), "{agreed}");
    let json: Value = run(&[&verify[..], &["--json"]].concat()).object();
    assert_eq!(json["head"]["journal"], "same");
}
