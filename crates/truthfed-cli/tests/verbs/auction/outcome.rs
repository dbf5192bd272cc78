//! What `truthfed auction` prints: one JSON object for scripts, sentences for people.

use serde_json::Value;

use super::corner_cases::check_promises;
use super::support::{Outcome, auction, example, mechanisms, truthfed, without_seconds};

fn check_keys(value: &Value, expected: &[&str]) {
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(value.as_object().unwrap().keys().collect::<Vec<_>>(), expected);
}

const KEYS: [&str; 9] =
    ["mechanism", "coverage", "target", "social_cost", "payments", "log_dets", "seconds", "winners", "turned_away"];

#[test]
fn the_json_object_has_the_documented_keys_and_no_others() {
    let outcome: Value = auction(example(), &["--json"]).object();
    check_keys(&outcome, &KEYS);
    check_keys(&outcome["log_dets"], &["select", "price"]);
    assert!(outcome["seconds"].as_f64().is_some_and(|seconds| seconds >= 0.0));
    for winner in outcome["winners"].as_array().unwrap() {
        check_keys(winner, &["client", "ask", "payment", "essential"]);
    }
    let certified: Value = auction(example(), &["--json", "--certify"]).object();
    check_keys(&certified, &[&KEYS[..], &["certified", "violations"]].concat());
}

#[test]
fn amounts_are_plain_decimals() {
    let text = auction(example(), &["--json"]).done();
    for line in ["\"social_cost\": 35.5,", "\"payments\": 209.99,", "\"ask\": 12.5,", "\"payment\": 100,"] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    let tiny = example().replace("9.99", "0.000001");
    assert!(auction(tiny, &["--json"]).done().contains("\"ask\": 0.000001,"));
}

#[test]
fn winners_are_sorted_and_what_they_get_adds_up() {
    for mechanism in mechanisms() {
        let run = truthfed(&["auction", "--generate", "30,3", "--json", "-m", &mechanism.name]);
        check_promises(&mechanism, &run.object());
    }
}

#[test]
fn the_example_certifies_with_every_truthful_mechanism() {
    for mechanism in mechanisms().iter().filter(|mechanism| mechanism.is_truthful()) {
        let outcome = auction(example(), &["--json", "--certify", "-m", &mechanism.name]).object::<Outcome>();
        assert_eq!((outcome.certified, outcome.violations), (Some(true), Some(Vec::new())));
        let text = auction(example(), &["--certify", "-m", &mechanism.name]).done();
        assert!(text.contains("Certified: each of "), "{text}");
    }
}

#[test]
fn paying_the_ask_is_not_certified_and_ends_with_code_1() {
    let reason = "ann is paid 12.5, but would still win if it asked 12.500001";
    let run = auction(example(), &["--json", "--certify", "-m", "inc-feducb"]);
    let outcome: Outcome = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, run.err.as_str(), outcome.certified), (1, "", Some(false)));
    assert_eq!(outcome.violations.unwrap()[0], reason);
    let run = auction(example(), &["--certify", "-m", "inc-feducb"]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("NOT certified: 3 of 3 payments") && run.out.contains(reason), "{}", run.out);
}

#[test]
fn coverage_and_reserve_on_the_command_line_override_the_round() {
    let outcome = |args: &[&str]| auction(example(), &[args, &["--json"]].concat()).object::<Outcome>();
    assert_eq!(outcome(&[]).turned_away, ["eve"]);
    assert_eq!(outcome(&["--reserve", "200"]).turned_away, [""; 0]);
    assert_eq!(outcome(&["--reserve", "12.5"]).turned_away, ["cyd", "eve"]);
    assert_eq!(outcome(&["--reserve", "12.499999"]).turned_away, ["ann", "cyd", "eve"]);
    assert_eq!(outcome(&[]).target, 0.6);
    assert_eq!(outcome(&["--coverage", "1"]).names(), ["ann", "bob", "cyd", "dan"]);
    assert_eq!(outcome(&["--coverage", "0.02"]).names(), [""; 0]);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for mechanism in ["clock", "greedy", "ratchet", "truth-fedban"] {
        let run = |threads: &str| {
            let args = ["auction", "--generate", "120,3", "--json", "-m", mechanism, "--threads", threads];
            without_seconds(truthfed(&args))
        };
        assert_eq!(run("1"), run("4"), "{mechanism}");
    }
}

/// The line about a client in the table of winners.
fn line<'t>(text: &'t str, client: &str) -> &'t str {
    text.lines().find(|line| line.split_whitespace().next() == Some(client)).unwrap_or_else(|| panic!("{text}"))
}

fn check_reason(args: &[&str], client: &str, expected: &str) {
    let text = auction(example(), args).done();
    assert!(line(&text, client).ends_with(expected), "{text}");
}

#[test]
fn every_winner_is_told_why_it_is_paid() {
    check_reason(&[], "ann", "essential: without it the target is missed, so it is paid the reserve");
    check_reason(&[], "bob", "the largest ask with which it would still win");
    check_reason(&["-m", "everyone"], "ann", "nobody is paid");
    check_reason(&["-m", "inc-feducb"], "ann", "winners are paid what they ask");
    check_reason(&["-m", "inc-feducb", "--data-incentive"], "bob", "less what the data it receives is worth");
    check_reason(&["-m", "truth-fedban", "--coverage", "0.3"], "bob", "bisection stopped, within gamma");
}

#[test]
fn the_text_says_what_happened() {
    let headline = |args: &[&str]| auction(example(), args).done().lines().next().unwrap().to_owned();
    assert_eq!(headline(&[]), "clock: 3 of 5 clients win. They ask 35.5 in all and are paid 209.99.");
    let met = "clock: nobody is needed; what is settled already meets the target.";
    assert_eq!(headline(&["--coverage", "0.01"]), met);
    assert_eq!(headline(&["--reserve", "1"]), "clock: nobody wins; every ask is above the reserve.");
    let text = auction(example(), &[]).done();
    assert!(text.contains("1 turned away, above the reserve of 100: eve asks 120.\n"), "{text}");
    // Of many winners the first are shown, and the rest counted.
    let text = truthfed(&["auction", "--generate", "200,3"]).done();
    assert!(text.contains("and 54 more winners (--json lists all)\n"), "{text}");
}
