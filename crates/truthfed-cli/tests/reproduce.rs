//! `truthfed reproduce`, from outside, as a first look (`--quick`).

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn reproduce(out: &Path, more: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("truthfed").unwrap();
    command.args(["reproduce", "--quick", "--seeds", "2", "--out"]).arg(out).args(more).assert()
}

/// Every file of a folder, by its name, with its bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    found
}

const FIGURES: [&str; 12] = [
    "figure-1a",
    "figure-1b",
    "figure-1cd",
    "figure-2",
    "selection-work",
    "optimum",
    "growth",
    "triggers",
    "collusion",
    "across-rounds",
    "parameters",
    "scaling",
];

#[test]
fn the_report_is_whole_and_the_same_at_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("report");
    let printed = reproduce(&out, &["--threads", "1"]).success();
    let printed = String::from_utf8(printed.get_output().stdout.clone()).unwrap();
    assert!(printed.contains("index.html") && printed.contains("truth-fedban"), "{printed}");
    let one = files(&out);
    // Over the first report: every file in the folder is known as ours.
    reproduce(&out, &["--threads", "4"]).success();
    let four = files(&out);
    assert_eq!(one.keys().collect::<Vec<_>>(), four.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert_eq!(bytes, &four[name], "{name}");
    }
    for figure in FIGURES {
        for kind in ["svg", "pdf", "png", "csv"] {
            assert!(one.contains_key(&format!("figures/{figure}.{kind}")), "{figure}.{kind}");
        }
    }
    check_page(&String::from_utf8(one["index.html"].clone()).unwrap());
    check_claims(&serde_json::from_slice(&one["claims.json"]).unwrap());
    check_rounds(&one);
}

fn check_page(page: &str) {
    for figure in FIGURES {
        assert!(page.contains(&format!("figures/{figure}.png")), "{figure}");
    }
    let addresses = page.matches("://").count() - page.matches("http://www.w3.org/").count();
    assert_eq!(addresses, 0, "the page needs no network");
}

fn check_claims(claims: &Value) {
    let claims = claims["claims"].as_array().unwrap();
    assert!(claims.len() >= 18, "{}", claims.len());
    for claim in claims {
        let verdict = claim["verdict"].as_str().unwrap();
        assert!(["reproduced", "not-reproduced", "refuted"].contains(&verdict), "{verdict}");
        for key in ["id", "claim", "measured", "command"] {
            assert!(!claim[key].as_str().unwrap().is_empty(), "{key}");
        }
        assert!(claim["command"].as_str().unwrap().starts_with("truthfed "), "{claim}");
    }
    let verdict = |id: &str| claims.iter().find(|claim| claim["id"] == id).unwrap()["verdict"].clone();
    assert_eq!(verdict("monotone"), "refuted");
    assert_eq!(verdict("v2-equals-greedy"), "reproduced");
}

/// Recorded rounds replay, and the counterexamples show what they are for.
fn check_rounds(files: &BTreeMap<String, Vec<u8>>) {
    let rounds = String::from_utf8(files["rounds/clock-seed-1.jsonl"].clone()).unwrap();
    assert!(rounds.lines().count() > 5);
    auction(rounds.lines().next_back().unwrap(), &["--certify"]);
    let wins = |name: &str| {
        let round = String::from_utf8(files[name].clone()).unwrap();
        let outcome = auction(&round, &["--json", "--mechanism", "truth-fedban"]);
        let outcome: Value = serde_json::from_str(&outcome).unwrap();
        outcome["winners"].as_array().unwrap().iter().any(|winner| winner["client"] == "c01")
    };
    assert!(!wins("counterexamples/printed-grid.json") && wins("counterexamples/printed-grid-lie.json"));
}

fn auction(round: &str, more: &[&str]) -> String {
    let mut command = Command::cargo_bin("truthfed").unwrap();
    let done = command.args(["auction", "-"]).args(more).write_stdin(round).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

#[test]
fn a_folder_with_anything_else_in_it_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    let refused = reproduce(folder.path(), &[]).code(2);
    assert!(refused.get_output().stdout.is_empty());
    let message = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    assert!(message.contains("holds thesis.tex, which `truthfed reproduce` did not write"), "{message}");
    assert_eq!(std::fs::read_to_string(folder.path().join("thesis.tex")).unwrap(), "years of work");
}
