//! How a federation is, on one screen.

use serde_json::Value;

use crate::accounts::run_before;
use crate::folders::{Run, truthfed};

#[test]
fn a_status_says_what_the_other_verbs_say_and_that_no_coordinator_runs() {
    let place = run_before();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let status: Value = run(&["status", "fed", "--json"]).object();
    assert_eq!(status["coordinator"]["role"], "stopped");
    let totals: Value = run(&["ledger", "totals", "fed", "--json"]).object();
    assert_eq!(status["money"]["owed_micros"], totals["total"]["owed_micros"]);
    let rounds: Value = run(&["round", "list", "fed", "--json"]).object();
    let last = rounds["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .rfind(|round| ["settled", "ruled", "aborted"].iter().any(|state| round["state"] == *state));
    assert_eq!(Some(&status["last_round"]), last);
    let doubts: Value = run(&["members", "doubts", "fed", "--json"]).object();
    let waiting = doubts["doubts"].as_array().unwrap().iter().map(|line| line["payments"].as_u64().unwrap()).sum();
    assert_eq!(status["money"]["waiting_payments"].as_u64(), Some(waiting));
    let of: Vec<&str> =
        status["certificates"].as_array().unwrap().iter().map(|line| line["of"].as_str().unwrap()).collect();
    assert_eq!(of, ["authority", "coordinator", "operator"], "those of members last for long");
    let words = run(&["status", "fed"]).done();
    for expected in ["coordinator   stopped, asked at ", "last round", "certificate   coordinator: until ", "days left"]
    {
        assert!(words.contains(expected), "{expected} is not in: {words}");
    }
}

#[test]
fn a_federation_that_has_not_begun_has_a_status_and_gets_no_ledger_from_it() {
    let place = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    run(&["init", "fed", "--members", "2", "--set", "admin=127.0.0.1:1"]).done();
    let status: Value = run(&["status", "fed", "--json"]).object();
    assert_eq!((&status["entries"], &status["members"]["present"]), (&Value::Null, &2.into()));
    assert!(run(&["status", "fed"]).done().contains("ledger        none yet\n"));
    assert!(!place.path().join("fed/ledger.db").exists());
    run(&["status", "nothing"]).refused("is missing");
}
