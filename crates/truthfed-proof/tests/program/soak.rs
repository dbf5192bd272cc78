//! `truthfed-proof soak` from outside.

use std::time::Duration;

use assert_cmd::assert::Assert;
use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;

/// What takes longer hangs.
const LIMIT: Duration = Duration::from_secs(300);

fn soak(args: &[&str]) -> Assert {
    cargo_bin_cmd!("truthfed-proof").arg("soak").args(args).timeout(LIMIT).assert()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn object(args: &[&str]) -> Value {
    serde_json::from_slice(&soak(args).success().get_output().stdout).unwrap()
}

/// The input is wrong: code 2, nothing on standard output, and the reason on standard error.
#[track_caller]
fn check_refused(args: &[&str], reason: &str) {
    let refused = soak(args).code(2).stdout("");
    let said = text(&refused.get_output().stderr);
    assert!(said.contains(reason), "`{reason}` is not in: {said}");
}

#[test]
fn a_seed_gives_the_same_bytes_every_time() {
    let first = object(&["--seed", "7", "--json"]);
    assert_eq!(object(&["--seed", "7", "--json"]), first);
    assert_eq!(first["schema"], "truthfed.soak/1");
    assert_eq!((&first["first_seed"], &first["seeds"], &first["violation"]), (&7.into(), &1.into(), &().into()));
    let (settled, aborted) = (first["settled"].as_u64().unwrap(), first["aborted"].as_u64().unwrap());
    assert_eq!(first["rounds"].as_u64().unwrap(), settled + aborted);
    let trace = text(&soak(&["--seed", "7", "--trace"]).success().get_output().stdout);
    assert!(trace.contains("the faults stop"), "{trace}");
    assert!(trace.contains(&format!("trace {}", first["trace"].as_str().unwrap())), "{trace}");
}

#[test]
fn fresh_seeds_are_named_and_run_until_there_were_rounds_enough() {
    let ended = soak(&["--rounds", "30"]).success();
    let (out, err) = (text(&ended.get_output().stdout), text(&ended.get_output().stderr));
    assert!(err.contains("seeds from "), "{err}");
    assert!(out.contains("0 violations"), "{out}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    check_refused(&["--seed", "7", "--seconds", "3"], "cannot be used with");
    check_refused(&["--trace"], "--seed");
    check_refused(&["--seconds", "0"], "0 is not in");
}
