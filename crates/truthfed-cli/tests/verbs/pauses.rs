//! Rounds paused and resumed by hand, without a coordinator that runs.

use serde_json::Value;

use crate::accounts::run_before;
use crate::folders::{Run, truthfed};

#[test]
fn a_pause_is_recorded_shown_and_verified_and_ends_when_the_operator_says_so() {
    let place = run_before();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let paused: Value = run(&["pause", "fed", "--reason", "a new disk", "--json"]).object();
    assert_eq!(paused["paused"]["reason"], "a new disk");
    let status: Value = run(&["status", "fed", "--json"]).object();
    assert_eq!(status["paused"], paused["paused"]);
    assert!(run(&["status", "fed"]).done().contains("paused        no round opens, since "));
    let again: Value = run(&["pause", "fed", "--json"]).object();
    assert_eq!(again, paused, "the first reason stands");
    if paused["open"].is_null() {
        assert!(run(&["drain", "fed"]).done().ends_with(" UTC: a new disk. No round is open.\n"));
    } else {
        run(&["drain", "fed"]).refused("no coordinator runs to end it: start one");
    }
    assert!(run(&["ledger", "verify", "fed"]).done().contains(" 0 problems"));
    assert!(run(&["resume", "fed"]).done().starts_with("Rounds may open. "));
    let status: Value = run(&["status", "fed", "--json"]).object();
    assert_eq!(status["paused"], Value::Null);
    assert!(run(&["ledger", "verify", "fed"]).done().contains(" 0 problems"));
}
