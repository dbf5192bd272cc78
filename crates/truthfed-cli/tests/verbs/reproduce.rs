//! `truthfed reproduce`, from outside, as a first look (`--quick`).

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::auction::support::{Outcome, auction};
use crate::folders::{Run, tree, truthfed};

fn reproduce(folder: &Path, more: &[&str]) -> Run {
    truthfed(folder, &[&["reproduce", "--quick", "--seeds", "2"], more].concat(), "")
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
    let printed = reproduce(folder.path(), &["--out", "report", "--threads", "1"]).done();
    assert!(printed.contains("index.html") && printed.contains("truth-fedban"), "{printed}");
    let one = tree(&out);
    // Over the first report: every file in the folder is known as ours.
    reproduce(folder.path(), &["--out", "report", "--threads", "4"]).done();
    let four = tree(&out);
    assert!(one.keys().eq(four.keys()), "{:?}\n{:?}", one.keys(), four.keys());
    for (name, bytes) in &one {
        assert!(bytes == &four[name], "{name}");
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
    let rounds: Vec<&str> = std::str::from_utf8(&files["rounds/clock-seed-1.jsonl"]).unwrap().lines().collect();
    assert!(rounds.len() > 5);
    auction(rounds.last().unwrap(), &["--certify"]).done();
    let wins = |name: &str| {
        let outcome: Outcome = auction(&files[name], &["--json", "--mechanism", "truth-fedban"]).object();
        outcome.names().contains(&"c01")
    };
    assert!(!wins("counterexamples/printed-grid.json") && wins("counterexamples/printed-grid-lie.json"));
}

#[test]
fn a_folder_with_anything_else_in_it_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    let expected = "holds thesis.tex, which `truthfed reproduce` did not write";
    reproduce(folder.path(), &["--out", "."]).refused(expected);
    assert_eq!(std::fs::read_to_string(folder.path().join("thesis.tex")).unwrap(), "years of work");
}
