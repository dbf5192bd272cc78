//! `truthfed simulate` from outside.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::folders::{Run, check_manifest, check_same, records, tree, truthfed, unpacked};

/// A world that is quick and in which everything happens.
const SMALL: &str = "\
[world]
clients = 6
dimension = 3
steps = 400
arm_count = 50
arms_per_step = 8

[faults]
offline = 0.2
dropout = 0.2
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("small.toml"), SMALL).unwrap();
    folder
}

fn simulate(folder: &Path, args: &[&str]) -> Run {
    truthfed(folder, &[&["simulate", "small.toml", "--seeds", "3"], args].concat(), "")
}

#[test]
fn every_number_of_threads_writes_the_same_bytes() {
    let folder = folder();
    let printed = |threads: &str| simulate(folder.path(), &["--json", "--out", threads, "--threads", threads]).done();
    let first = printed("1");
    let one = folder.path().join("1");
    for threads in ["2", "8"] {
        assert_eq!(printed(threads), first);
        check_same(&folder.path().join(threads), &one);
    }
    let manifest = check_manifest(&one);
    assert_eq!((&manifest["seeds"], &manifest["config"]["world"]["clients"]), (&3.into(), &6.into()));
    assert_eq!(manifest["schema"], "truthfed.simulation/2");
    let tables = ["clients.csv", "config.toml", "curves.csv", "manifest.json", "offers.csv.gz", "rounds.csv"];
    let rounds = ["rounds/seed-1.jsonl.gz", "rounds/seed-2.jsonl.gz", "rounds/seed-3.jsonl.gz"];
    assert!(tree(&one).keys().eq(tables.iter().chain(&rounds)), "{:?}", tree(&one).keys());
    let short = simulate(folder.path(), &["--out", "1", "--no-rounds"]).done();
    assert!(short.ends_with("Wrote 6 files to 1.\n") && tree(&one).keys().eq(&tables), "{:?}", tree(&one).keys());
    check_manifest(&one);
    simulate(folder.path(), &["--no-rounds"]).refused("--out <DIR>");
}

/// Runs every recorded round again: the same clients win and are paid the same.
fn check_replays(settings: &[&str]) {
    let folder = folder();
    let set: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    simulate(folder.path(), &[&["--out", "run"], set.as_slice()].concat()).done();
    let files = tree(&folder.path().join("run"));
    let documents = unpacked(&files["rounds/seed-1.jsonl.gz"]);
    let documents: Vec<&str> = documents.lines().collect();
    let of_one = |record: &BTreeMap<String, String>| record["seed"] == "1";
    let settled = records(&files["rounds.csv"]).into_iter().filter(|record| record["ending"] == "settled");
    let offers: Vec<_> = records(unpacked(&files["offers.csv.gz"]).as_bytes()).into_iter().filter(of_one).collect();
    let mechanism = settings[0].strip_prefix("rounds.mechanism=").unwrap();
    let mut lines = Vec::new();
    for record in settled.filter(of_one) {
        let line: usize = record["line"].parse().unwrap();
        lines.push(line);
        let args = ["auction", "-", "--json", "-m", mechanism];
        let own: Vec<_> = offers.iter().filter(|offer| offer["round"] == record["round"]).collect();
        check_replay(&truthfed(folder.path(), &args, documents[line - 1]).object(), &record, &own);
    }
    assert!(lines.len() > 2 && lines.iter().copied().eq(1..=documents.len()), "{settings:?}: {lines:?}");
}

fn check_replay(outcome: &Value, record: &BTreeMap<String, String>, offers: &[&BTreeMap<String, String>]) {
    let winners = outcome["winners"].as_array().unwrap();
    let award = |winner: &Value| (winner["client"].as_str().unwrap().to_owned(), number(&winner["payment"]));
    let won = offers.iter().filter(|offer| offer["won"] == "1");
    let won: BTreeMap<String, String> = won.map(|offer| (offer["client"].clone(), offer["payment"].clone())).collect();
    assert_eq!(winners.iter().map(award).collect::<BTreeMap<_, _>>(), won);
    assert_eq!(offers.len().to_string(), record["offers"]);
    assert_eq!(winners.len().to_string(), record["winners"]);
    for (key, column) in [("payments", "payments"), ("social_cost", "social_cost_by_asks")] {
        assert_eq!(number(&outcome[key]), record[column], "{key}");
    }
    for key in ["coverage", "target"] {
        assert_eq!(outcome[key], record[key].parse::<f64>().unwrap(), "{key}");
    }
}

/// A number as the tables have it.
fn number(value: &Value) -> String {
    value.as_f64().unwrap().to_string()
}

#[test]
fn a_recorded_round_replays_to_the_same_winners_and_payments() {
    check_replays(&["rounds.mechanism=clock"]);
    check_replays(&["rounds.mechanism=clock", "rounds.coverage=monopoly-free"]);
    check_replays(&["rounds.mechanism=greedy", "rounds.coverage=0.7", "behaviour.kind=under", "behaviour.factor=0.1"]);
    check_replays(&["rounds.mechanism=truth-fedban"]);
    check_replays(&["rounds.mechanism=vcg", "rounds.reserve=60.0"]);
}

#[test]
fn the_object_and_the_tables_agree() {
    let folder = folder();
    let object: Value = simulate(folder.path(), &["--json", "--out", "run"]).object();
    let files = tree(&folder.path().join("run"));
    let (curves, clients) = (records(&files["curves.csv"]), records(&files["clients.csv"]));
    let offers = records(unpacked(&files["offers.csv.gz"]).as_bytes());
    for run in object["seeds"].as_array().unwrap() {
        let seed = run["seed"].to_string();
        let last = curves.iter().rfind(|record| record["seed"] == seed).unwrap();
        assert_eq!((last["step"].as_str(), run["steps"].to_string().as_str()), ("400", "400"));
        let keys = ["regret", "reward", "blind_reward", "scalars", "packed_scalars"];
        for key in keys.into_iter().chain(["incentive", "social_cost", "rounds"]) {
            assert_eq!(number(&run[key]), last[key], "{key}");
        }
        let own: Vec<_> = clients.iter().filter(|record| record["seed"] == seed).collect();
        assert_eq!(own.len(), 6);
        for (column, key) in [("incentive", "incentive"), ("cost", "social_cost"), ("regret", "regret")] {
            let sum: f64 = own.iter().map(|record| record[column].parse::<f64>().unwrap()).sum();
            assert!((sum - run[key].as_f64().unwrap()).abs() < 1e-6, "{key}");
        }
        let rounds = records(&files["rounds.csv"]);
        let rounds = rounds.iter().filter(|record| record["seed"] == seed).count();
        assert_eq!(rounds as u64, run["rounds"].as_u64().unwrap());
        let sum = |column: &str, of: &dyn Fn(&BTreeMap<String, String>) -> bool| -> f64 {
            let own = offers.iter().filter(|offer| offer["seed"] == seed && of(offer));
            own.map(|offer| offer[column].parse::<f64>().unwrap()).sum()
        };
        let delivered = |offer: &BTreeMap<String, String>| offer["delivered"] == "1";
        assert!((sum("paid", &|_| true) - run["incentive"].as_f64().unwrap()).abs() < 1e-6);
        assert!((sum("true_cost", &delivered) - run["social_cost"].as_f64().unwrap()).abs() < 1e-6);
        let utilities: f64 = own.iter().map(|record| record["utility"].parse::<f64>().unwrap()).sum();
        assert!((sum("utility", &|_| true) - utilities).abs() < 1e-6);
        assert_eq!(sum("delivered", &|_| true), run["participations"].as_f64().unwrap());
        assert!(sum("won", &|_| true) > sum("delivered", &|_| true), "some winners vanish");
    }
    let regrets: Vec<f64> = (0..3).map(|seed| object["seeds"][seed]["regret"].as_f64().unwrap()).collect();
    let mean = regrets.iter().sum::<f64>() / 3.0;
    let sd = (regrets.iter().map(|regret| (regret - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    assert!((object["mean"]["regret"].as_f64().unwrap() - mean).abs() < 1e-9);
    assert!((object["sd"]["regret"].as_f64().unwrap() - sd).abs() < 1e-9);
}

#[test]
fn every_offer_says_who_lied_and_how_and_what_came_of_it() {
    let folder = folder();
    let set = ["behaviour.kind=over", "behaviour.factor=1.5", "behaviour.share=0.5", "rounds.hold=4"];
    let set: Vec<&str> = set.iter().flat_map(|change| ["--set", change]).collect();
    simulate(folder.path(), &[&["--out", "run"], set.as_slice()].concat()).done();
    let files = tree(&folder.path().join("run"));
    let (offers, clients) = (records(unpacked(&files["offers.csv.gz"]).as_bytes()), records(&files["clients.csv"]));
    let number = |offer: &BTreeMap<String, String>, column: &str| offer[column].parse::<f64>().unwrap();
    for offer in &offers {
        let factor = if offer["behaviour"] == "over" { 1.5 } else { 1.0 };
        assert!((number(offer, "ask") - factor * number(offer, "true_cost")).abs() < 1e-6, "{offer:?}");
        assert!(
            number(offer, "gain") >= 0.0 && number(offer, "payment") * number(offer, "won") == number(offer, "payment")
        );
        assert!(number(offer, "paid") == 0.0 || offer["paid"] == offer["payment"], "{offer:?}");
    }
    let liars = |seed: &str| {
        let of_seed = offers.iter().filter(|offer| offer["seed"] == seed && offer["behaviour"] == "over");
        of_seed.map(|offer| offer["client"].clone()).collect::<std::collections::BTreeSet<_>>()
    };
    assert!(liars("1").len() == 3 && liars("1") != liars("2"), "{:?} {:?}", liars("1"), liars("2"));
    // What waited and was paid later counts for the round in which it was earned.
    for client in &clients {
        let own = offers.iter().filter(|offer| ["seed", "client"].iter().all(|key| offer[*key] == client[*key]));
        let paid: f64 = own.map(|offer| number(offer, "paid")).sum();
        assert!((paid - number(client, "incentive")).abs() < 1e-6, "{client:?}");
    }
}

#[test]
fn the_table_has_every_figure_and_each_seed_when_they_are_few() {
    let folder = folder();
    let text = simulate(folder.path(), &[]).done();
    assert!(text.starts_with("clock: 6 clients, dimension 3, 400 steps, seeds 1 to 3.\n"), "{text}");
    let rows = ["regret", "reward of blind choice", "scalars", "packed scalars", "rounds", "participations"];
    for row in rows.iter().chain(&["social cost", "incentive", "essential payments", "reward"]) {
        assert!(text.contains(&format!("\n {row} ")), "{row}: {text}");
    }
    assert!(text.contains("seed 3"));
    assert!(!truthfed(folder.path(), &["simulate", "small.toml", "--seeds", "6"], "").done().contains("seed 6 "));
}

#[test]
fn the_printed_configuration_is_what_runs_without_one() {
    let folder = folder();
    let printed = truthfed(folder.path(), &["simulate", "--print-config"], "").done();
    let run =
        |args: &[&str], input: &str| truthfed(folder.path(), &[&["simulate", "--json"], args].concat(), input).done();
    assert_eq!(run(&["-", "--seeds", "1"], &printed), run(&["--seeds", "1"], ""));
}

#[test]
fn the_written_configuration_runs_again_to_the_same_bytes() {
    let folder = folder();
    simulate(folder.path(), &["--set", "world.noise=0.3", "--set", "rounds.mechanism=ratchet", "--out", "a"]).done();
    truthfed(folder.path(), &["simulate", "a/config.toml", "--seeds", "3", "--out", "b"], "").done();
    check_same(&folder.path().join("a"), &folder.path().join("b"));
    let manifest = check_manifest(&folder.path().join("b"));
    assert_eq!(manifest["config"]["world"]["noise"], 0.3);
    assert_eq!(manifest["config"]["rounds"]["mechanism"], "ratchet");
}

#[test]
fn the_schema_names_every_section_and_key() {
    let folder = folder();
    let schema: Value = truthfed(folder.path(), &["simulate", "--print-schema"], "").object();
    let object: Value = simulate(folder.path(), &["--json"]).object();
    for (section, keys) in object["config"].as_object().unwrap() {
        let reference = schema["properties"][section]["$ref"].as_str().unwrap();
        let definition = &schema["$defs"][reference.rsplit('/').next().unwrap()];
        for key in keys.as_object().unwrap().keys() {
            assert!(definition["properties"][key].is_object(), "{section}.{key}");
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let folder = folder();
    let check = |text: &str, set: &[&str], expected: &str| {
        let set = set.iter().flat_map(|change| ["--set", change]);
        let args: Vec<&str> = ["simulate", "-", "--seeds", "1"].into_iter().chain(set).collect();
        truthfed(folder.path(), &args, text).refused(expected);
    };
    check("[world]\n\nclients = 0", &[], "standard input: line 3: world.clients is 0: it must lie between 1 and");
    check("[world]\nclient = 3", &[], "unknown field `client`");
    check("[rounds]\nmechanism = \"x\"", &[], "it must be one of everyone, inc-feducb");
    check("world", &[], "line 1");
    check(SMALL, &["world.clients=0"], "error: --set world.clients=0: world.clients is 0: it must lie between");
    check(SMALL, &["world.noise=0", "world.steps=x"], "--set world.steps=x: invalid type: string \"x\"");
    check(SMALL, &["clients"], "`clients` is not of the form section.key=value");
    check(SMALL, &["world.arms=missing.csv"], "missing.csv: No such file");
    let refused = |args: &[&str], expected: &str| truthfed(folder.path(), args, "").refused(expected);
    refused(&["simulate", "missing.toml"], "cannot read missing.toml: No such file");
    refused(&["simulate", "--seeds", "0"], "0 is not in 1..=10000");
    refused(&["simulate", "--print-config", "--json"], "cannot be used with");
}

#[test]
fn a_folder_with_anything_else_in_it_is_left_alone() {
    let folder = folder();
    let before = tree(folder.path());
    simulate(folder.path(), &["--out", "."]).refused(". holds small.toml, which `truthfed simulate` did not write");
    simulate(folder.path(), &["--out", "small.toml"]).refused("cannot make the folder small.toml: File exists");
    simulate(folder.path(), &["--out", "small.toml/x"]).refused("cannot make the folder small.toml/x: Not a directory");
    assert_eq!(tree(folder.path()), before);
    // Names like ours are not ours without a manifest, nor with that of something else.
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("config.toml"), SMALL).unwrap();
    truthfed(&own, &["simulate", "config.toml", "--out", "."], "").refused(". holds config.toml, which");
    std::fs::write(own.join("manifest.json"), "{\"schema\": \"other\"}").unwrap();
    truthfed(&own, &["simulate", "config.toml", "--out", "."], "").refused(". holds config.toml, which");
    assert_eq!(std::fs::read_to_string(own.join("config.toml")).unwrap(), SMALL);
}

#[test]
fn a_folder_of_an_earlier_run_is_replaced_whole() {
    let folder = folder();
    let run = folder.path().join("run");
    simulate(folder.path(), &["--out", "run", "--set", "world.noise=0.4"]).done();
    std::fs::write(run.join("rounds/spare.txt"), "").unwrap();
    simulate(folder.path(), &["--out", "run"]).refused("run holds rounds/spare.txt, which");
    std::fs::remove_file(run.join("rounds/spare.txt")).unwrap();
    // As a process that was killed leaves it.
    std::fs::write(run.join(".truthfed-x7Ak2P"), "half").unwrap();
    std::fs::write(run.join(".truthfed-lock"), "").unwrap();
    for out in ["run", "fresh"] {
        truthfed(folder.path(), &["simulate", "small.toml", "--seeds", "2", "--out", out], "").done();
    }
    check_same(&run, &folder.path().join("fresh"));
    check_manifest(&run);
}
