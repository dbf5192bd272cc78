//! `truthfed audit` from outside.

use std::path::Path;

use serde_json::Value;

use crate::folders::{Run, check_same, tree, truthfed, unpacked};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn audit(folder: &Path, args: &[&str]) -> Run {
    truthfed(folder, &[&["audit"], args].concat(), "")
}

/// Simulates a small federation into the folder `run`.
pub(crate) fn record(folder: &Path) {
    let simulate = ["simulate", "--seeds", "1", "--set", "world.clients=5", "--set", "world.steps=200", "--out", "run"];
    truthfed(folder, &simulate, "").done();
}

fn verdict<'v>(object: &'v Value, mechanism: &str, property: &str) -> &'v Value {
    let verdicts = object["verdicts"].as_array().unwrap();
    let found = verdicts.iter().find(|verdict| verdict["mechanism"] == mechanism && verdict["property"] == property);
    found.unwrap_or_else(|| panic!("{mechanism} {property}"))
}

/// Whoever is paid what it asks, asks more.
const OVERSTATED: &str = r#"{"schema": "truthfed.counterexample/2", "mechanism": {"name":"inc-feducb"},
 "property": "truthful", "lies": [{"client":"bob","ask":50}],
 "round": {"schema": "truthfed.round/1", "lambda": 0.1, "coverage": 0.5, "reserve": 100, "base": [[0.0]],
  "offers": [{"client":"ann","ask":3,"gram":[[4.0]]}, {"client":"bob","ask":5,"gram":[[6.0]]}]}}"#;

#[test]
fn every_mechanism_keeps_what_it_claims_and_the_printed_algorithm_is_refuted() {
    let folder = folder();
    let object: Value = audit(folder.path(), &["--random", "150", "--json"]).object();
    assert_eq!(object["verdicts"].as_array().unwrap().len(), 8 * 8);
    for verdict in object["verdicts"].as_array().unwrap() {
        assert!(verdict["claimed"] == false || verdict["verdict"] == "holds", "{verdict}");
        assert_eq!(verdict["worst_gain"].is_null(), verdict["verdict"] == "holds", "{verdict}");
        assert!(verdict["counterexample"].is_null() && verdict["refused"] == 0);
        assert!(verdict["cases"].as_u64().unwrap() >= verdict["violations"].as_u64().unwrap());
    }
    for property in ["monotone", "truthful", "ir"] {
        assert_eq!(verdict(&object, "truth-fedban", property)["verdict"], "refuted");
    }
    assert_eq!(verdict(&object, "inc-feducb", "collusion")["verdict"], "refuted");
    assert_eq!(verdict(&object, "clock", "collusion")["claimed"], true);
    assert_eq!(verdict(&object, "clock", "coverage")["cases"], 150);
    let economics = object["economics"].as_array().unwrap();
    assert_eq!(economics.len(), 8);
    assert_eq!(economics[7]["social_cost_per_optimum"]["worst"], 1.0);
}

#[test]
fn the_text_has_verdicts_counterexamples_and_costs() {
    let folder = folder();
    let text = audit(folder.path(), &["--random", "60", "-m", "truth-fedban"]).done();
    assert!(text.starts_with("60 random rounds of 3 to 12 clients in 1 to 5 dimensions (seed 1).\n"), "{text}");
    for part in ["refuted in ", "holds in 60 of 60 rounds", "Counterexamples, made small:", "social cost / optimum"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn every_number_of_jobs_writes_the_same_bytes() {
    let folder = folder();
    let printed =
        |jobs: &str| audit(folder.path(), &["--random", "40", "--json", "--jobs", jobs, "--out", jobs]).done();
    let one = printed("1");
    assert_eq!(std::fs::read_to_string(folder.path().join("1/verdicts.json")).unwrap(), one);
    for jobs in ["2", "5"] {
        assert_eq!(printed(jobs), one);
        check_same(&folder.path().join(jobs), &folder.path().join("1"));
    }
}

#[test]
fn what_is_written_is_explained() {
    let folder = folder();
    let args = ["--random", "100", "-m", "truth-fedban", "--check", "monotone,truthful", "--json", "--out", "found"];
    let object: Value = audit(folder.path(), &args).object();
    assert_eq!(object["verdicts"].as_array().unwrap().len(), 2);
    for verdict in object["verdicts"].as_array().unwrap() {
        let file = format!("found/{}", verdict["counterexample"].as_str().unwrap());
        let text = audit(folder.path(), &["--replay", &file]).done();
        assert!(text.contains("It reproduces: truth-fedban fails "), "{text}");
        let replayed: Value = audit(folder.path(), &["--replay", &file, "--json"]).object();
        assert_eq!((&replayed["reproduces"], &replayed["claimed"]), (&Value::from(true), &Value::from(false)));
        let written: Value = serde_json::from_slice(&std::fs::read(folder.path().join(file)).unwrap()).unwrap();
        assert!(written["round"]["offers"].as_array().unwrap().len() <= 4, "{written}");
    }
    let expected = ["truth-fedban-monotone.json", "truth-fedban-truthful.json", "verdicts.json"];
    assert!(tree(&folder.path().join("found")).keys().eq(expected));
    // A later audit replaces what an earlier one found.
    audit(folder.path(), &["--random", "5", "-m", "clock", "--check", "ir", "--out", "found"]).done();
    assert!(tree(&folder.path().join("found")).keys().eq(["verdicts.json"]));
}

#[test]
fn a_replay_says_who_gains_what_by_which_lie() {
    let folder = folder();
    let replay = |text: &str| truthfed(folder.path(), &["audit", "--replay", "-"], text);
    assert_eq!(
        replay(OVERSTATED).done(),
        "inc-feducb, truthful: no ask may be better for a client than its true cost.\n\
         The round has 2 clients in 1 dimension, coverage 0.5, reserve 100. True costs: ann 3, bob 5.\n\
         When all tell the truth:\n  bob asks its true cost, 5: it wins and is paid 5; that leaves it 0.\n\
         With the lie:\n  bob asks 50: it wins and is paid 50; that leaves it 45, 45 more than with the truth.\n\
         It reproduces: inc-feducb fails truthful, and does not claim it.\n"
    );
    let harmless = replay(&OVERSTATED.replace("inc-feducb", "clock")).done();
    assert!(harmless.contains("It does not reproduce: truthful is not broken here."), "{harmless}");
}

#[test]
fn recorded_rounds_are_found_in_files_folders_and_on_standard_input() {
    let folder = folder();
    record(folder.path());
    std::fs::write(folder.path().join("run/other.json"), "{\"schema\": \"other\"}").unwrap();
    std::fs::write(folder.path().join("run/list.json"), "[1, 2]").unwrap();
    let packed = std::fs::read(folder.path().join("run/rounds/seed-1.jsonl.gz")).unwrap();
    let lines = unpacked(&packed);
    let rounds = |args: &[&str], input: &[u8]| {
        let args = [&["audit", "-m", "clock", "--check", "coverage,truthful", "--json"], args].concat();
        let object: Value = truthfed(folder.path(), &args, input).object();
        verdict(&object, "clock", "coverage")["cases"].as_u64().unwrap()
    };
    let count = lines.lines().count() as u64;
    assert!(count > 1);
    assert_eq!(rounds(&["--rounds", "run/rounds/seed-1.jsonl.gz"], b""), count);
    assert_eq!(rounds(&["--rounds", "-"], &packed), count);
    assert_eq!(rounds(&["--rounds", "-"], lines.as_bytes()), count);
    assert_eq!(rounds(&["--rounds", "-"], lines.lines().next().unwrap().as_bytes()), 1);
    std::fs::write(folder.path().join("run/one.json"), lines.lines().next().unwrap()).unwrap();
    assert_eq!(rounds(&["--rounds", "run"], b""), count + 1);
    std::fs::write(folder.path().join("run/lines.jsonl"), &lines).unwrap();
    assert_eq!(rounds(&["--rounds", "run", "--random", "3"], b""), 2 * count + 4);
}

#[test]
fn what_is_wrong_is_named() {
    let folder = folder();
    let refused = |args: &[&str], expected: &str| audit(folder.path(), args).refused(expected);
    refused(&["--clients", "5..3"], "5..3 must go upwards and lie in 1..60");
    refused(&["--clients", "x"], "`x` is not of the form FROM..TO");
    refused(&["--dim", "0..5"], "0..5 must go upwards and lie in 1..20");
    refused(&["--random", "0"], "0 is not in 1..=1000000");
    refused(&["--check", "honest"], "invalid value 'honest'");
    refused(&["-m", "second-price"], "invalid value 'second-price'");
    refused(&["--rounds", "missing.json"], "cannot read missing.json: No such file");
    refused(&["--replay", "missing.json"], "cannot read missing.json: No such file");
    refused(&["--replay", "x.json", "--random", "3"], "cannot be used with");
    refused(&["--epsilon", "0"], "epsilon is 0");
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    refused(&["--rounds", "empty"], "empty holds no rounds");
    std::fs::create_dir(folder.path().join("broken")).unwrap();
    std::fs::write(folder.path().join("broken/a.json"), "{\n\"schema\": }").unwrap();
    refused(&["--rounds", "broken"], "broken/a.json: expected value at line 2");
    std::fs::write(folder.path().join("bad.jsonl"), "\n{}\n").unwrap();
    refused(&["--rounds", "bad.jsonl"], "bad.jsonl, line 2: missing field");
    refused(&["--random", "1", "--out", "broken"], "broken holds a.json, which `truthfed audit` did not write");
    let replay = |from: &str, to: &str, expected: &str| {
        truthfed(folder.path(), &["audit", "--replay", "-"], OVERSTATED.replace(from, to)).refused(expected);
    };
    replay("inc-feducb", "own", "standard input: mechanism.name is `own`: it must be one of everyone");
    replay("bob\",\"ask\":50", "eve\",\"ask\":50", "standard input: lies[0].client: eve does not offer in the round");
}
