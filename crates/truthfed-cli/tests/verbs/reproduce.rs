//! `truthfed reproduce`, from outside, as a first look (`--quick`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::auction::support::{Outcome, auction};
use crate::folders::{Run, tree, truthfed};
use crate::view;

fn reproduce(folder: &Path, more: &[&str]) -> Run {
    truthfed(folder, &[&["reproduce", "--quick", "--seeds", "2"], more].concat(), "")
}

const FIGURES: [&str; 18] = [
    "against-greedy",
    "figure-1a",
    "figure-1a-communication",
    "figure-1b",
    "figure-1cd",
    "figure-2",
    "figure-2-printed",
    "selection-work",
    "optimum",
    "growth",
    "triggers",
    "collusion",
    "across-rounds",
    "quota",
    "purse",
    "false-data",
    "parameters",
    "scaling",
];

#[test]
fn the_report_is_whole_and_the_same_at_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out/reproduce");
    let printed = reproduce(folder.path(), &["--threads", "1"]).done();
    assert!(printed.contains("index.html") && printed.contains("truth-fedban"), "{printed}");
    let one = tree(&out);
    // Over the first report: every file in the folder is known as ours.
    reproduce(folder.path(), &["--threads", "4"]).done();
    let four = tree(&out);
    assert!(one.keys().eq(four.keys()), "{:?}\n{:?}", one.keys(), four.keys());
    for (name, bytes) in &one {
        assert!(bytes == &four[name], "{name}");
    }
    for figure in FIGURES {
        for ending in [".svg", ".pdf", "-column.pdf", ".png", ".csv", "-seeds.csv"] {
            assert!(one.contains_key(&format!("figures/{figure}{ending}")), "{figure}{ending}");
        }
        let text = |ending: &str| std::str::from_utf8(&one[&format!("figures/{figure}{ending}")]).unwrap();
        let header = text(".csv").lines().next().unwrap();
        assert!(header.contains(",half_95"), "{figure}: {header}");
        check_seeds(figure, text(".csv"), text("-seeds.csv"));
    }
    check_page(&String::from_utf8(one["index.html"].clone()).unwrap());
    check_claims(&serde_json::from_slice(&one["claims.json"]).unwrap());
    check_rounds(&one);
    check_counterexamples(&out, &one);
    assert!(one.keys().filter(|name| name.ends_with(".png")).count() == FIGURES.len(), "a figure is not listed here");
    check_view(folder.path(), &one);
}

/// The page of `truthfed view` shows every figure and claim as they stand in the files.
fn check_view(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    let claims: Value = serde_json::from_slice(&files["claims.json"]).unwrap();
    for example in view::examples("out/reproduce") {
        let page = view::Page::open(folder, &[&example]);
        let contents = page.view("contents");
        for (statement, shown) in ["paper", "ours"].iter().flat_map(|kind| {
            let (all, shown) = (claims[kind].as_array().unwrap(), contents["claims"][kind].as_array().unwrap());
            assert_eq!(all.len(), shown.len());
            all.iter().zip(shown)
        }) {
            let keys = ["id", "claim", "verdict", "measured", "command", "sample"];
            assert!(keys.iter().all(|key| statement[key] == shown[key]), "{statement}\n{shown}");
            let verdicts = |of: &Value| -> Vec<Value> {
                of["cells"].as_array().into_iter().flatten().map(|cell| cell["verdict"].clone()).collect()
            };
            assert_eq!(verdicts(statement), verdicts(shown));
        }
        let ids: BTreeSet<&str> =
            contents["figures"].as_array().unwrap().iter().map(|figure| figure["id"].as_str().unwrap()).collect();
        assert_eq!(ids, if example.ends_with(".json") { BTreeSet::new() } else { BTreeSet::from(FIGURES) });
        for id in ids {
            let drawn = page.view(&format!("figure?id={id}"));
            let charts = drawn["figure"]["charts"].as_array().unwrap().iter();
            let values = charts.map(|chart| {
                let lines = chart["data"]["lines"]["series"].as_array().into_iter().flatten();
                let groups = chart["data"]["bars"].as_array().into_iter().flatten();
                let points: usize = lines.map(|line| line["points"].as_array().unwrap().len()).sum();
                points + groups.map(|group| group["bars"].as_array().unwrap().len()).sum::<usize>()
            });
            let csv = std::str::from_utf8(&files[&format!("figures/{id}.csv")]).unwrap();
            assert_eq!(values.sum::<usize>(), csv.lines().count() - 1, "{id}");
        }
        page.end();
    }
    // What an earlier program wrote has no figures as data.
    std::fs::remove_file(folder.join("out/reproduce/figures.json")).unwrap();
    let page = view::Page::open(folder, &["out/reproduce"]);
    assert!(page.view("contents")["missing"].as_str().unwrap().contains("an earlier program wrote this folder"));
    page.end();
}

/// Every mean of a figure is the mean of its values by seed.
fn check_seeds(figure: &str, means: &str, seeds: &str) {
    let mut behind: BTreeMap<Vec<String>, Vec<f64>> = BTreeMap::new();
    assert!(seeds.lines().next().unwrap().ends_with(",seed,value"), "{figure}");
    for record in seeds.lines().skip(1).map(fields) {
        behind.entry(record[..3].to_vec()).or_default().push(record[4].parse().unwrap());
    }
    let mut rows = 0;
    for record in means.lines().skip(1).map(fields) {
        let key = &record[..3];
        let values = behind.get(key).unwrap_or_else(|| panic!("{figure}: no values of {key:?}"));
        let (mean, shown) = (values.iter().sum::<f64>() / values.len() as f64, record[3].parse::<f64>().unwrap());
        let size = values.iter().fold(1e-9, |most: f64, value| most.max(value.abs()));
        assert!((mean - shown).abs() <= 1e-9 * size, "{figure} {key:?}: {mean} and {shown}");
        rows += 1;
    }
    assert!(rows > 0 && behind.len() == rows, "{figure}: {rows} means, values of {}", behind.len());
}

/// The fields of a line of CSV without line breaks in them.
fn fields(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    // Between quotes a comma is text.
    let marked: String =
        parts.map(|(at, part)| if at % 2 == 0 { part.replace(',', "\n") } else { part.to_owned() }).collect();
    marked.split('\n').map(str::to_owned).collect()
}

fn check_page(page: &str) {
    for figure in FIGURES {
        assert!(page.contains(&format!("figures/{figure}.png")), "{figure}");
        assert!(page.contains(&format!("figures/{figure}-seeds.csv")), "{figure}");
    }
    let addresses = page.matches("://").count() - page.matches("http://www.w3.org/").count();
    assert_eq!(addresses, 0, "the page needs no network");
}

fn check_claims(claims: &Value) {
    let (paper, ours) = (claims["paper"].as_array().unwrap(), claims["ours"].as_array().unwrap());
    assert!(paper.len() >= 40 && ours.len() >= 6, "{} and {}", paper.len(), ours.len());
    let is_told = |measured: &Value, keys: &[&str]| {
        let verdict = measured["verdict"].as_str().unwrap();
        assert!(["reproduced", "not-reproduced", "refuted", "undecided"].contains(&verdict), "{verdict}");
        keys.iter().for_each(|key| assert!(!measured[*key].as_str().unwrap().is_empty(), "{key}"));
        let command = measured["command"].as_str().unwrap();
        assert!(command.starts_with("truthfed ") || command.starts_with("for size in "), "{measured}");
        assert!(measured["sample"]["to"].is_u64(), "{measured}");
        check_decision(measured);
    };
    ours.iter().for_each(|claim| is_told(claim, &["id", "claim", "measured"]));
    for claim in paper {
        for key in ["id", "source", "claim", "synthesis"] {
            assert!(!claim[key].as_str().unwrap().is_empty(), "{key}");
        }
        let cells = claim["cells"].as_array().unwrap();
        let readings = cells.iter().flat_map(|cell| cell["readings"].as_array().unwrap());
        let mut readings: Vec<&str> = readings.map(|reading| reading.as_str().unwrap()).collect();
        readings.sort_unstable();
        assert_eq!(readings, ["A", "B", "C", "D"], "{claim}");
        for cell in cells {
            is_told(cell, &["measured"]);
        }
    }
    let ids: BTreeSet<&str> = paper.iter().map(|claim| claim["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), paper.len(), "no two have one name");
    let verdicts = |id: &str| {
        let claim = paper.iter().find(|claim| claim["id"] == id).unwrap();
        claim["cells"].as_array().unwrap().iter().map(|cell| cell["verdict"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(verdicts("monotone"), ["refuted"; 2]);
    assert_eq!(verdicts("v2-equals-greedy"), ["reproduced", "refuted"], "to the letter a budget is not spent whole");
    assert_eq!(verdicts("social-cost-1"), ["refuted"; 2], "in the constructed round");
    assert_eq!(verdicts("wolsey"), ["refuted"], "in the constructed round");
    assert_eq!(verdicts("monopoly-free"), ["reproduced", "refuted", "reproduced", "refuted"]);
    let held = ours.iter().find(|claim| claim["id"] == "held").unwrap();
    assert_ne!(held["verdict"], "refuted", "{held}: too few rounds refute nothing");
}

/// The verdict follows from the numbers that decide by the one rule of the report.
fn check_decision(measured: &Value) {
    let numbers = measured["numbers"].as_array().unwrap().iter().filter(|number| number["claimed"].is_object());
    let verdict = |number: &Value| {
        let end = |at: usize| number["interval"][at].as_f64().or(number["value"].as_f64()).unwrap();
        let (low, high) = (end(0), end(1));
        let (side, bound) = number["claimed"].as_object().unwrap().iter().next().unwrap();
        let bound = bound.as_f64().unwrap();
        let (on, off) = match side.as_str() {
            "above" => (low > bound, high <= bound),
            "below" => (high < bound, low >= bound),
            "at-most" => (high <= bound, low > bound),
            "at-least" => (low >= bound, high < bound),
            "within" => (low.abs().max(high.abs()) <= bound, low > bound || high < -bound),
            other => panic!("{other}"),
        };
        match (on, off) {
            (true, _) => "reproduced".to_owned(),
            (_, true) => number["otherwise"].as_str().unwrap().to_owned(),
            _ => "undecided".to_owned(),
        }
    };
    let verdicts: Vec<String> = numbers.map(verdict).collect();
    let order = ["refuted", "not-reproduced", "undecided", "reproduced"];
    let expected = order.into_iter().find(|kind| verdicts.iter().any(|verdict| verdict == kind));
    assert_eq!(measured["verdict"].as_str(), Some(expected.expect("something decides")), "{measured}");
}

/// What the audit found against a reading is found again from its file.
fn check_counterexamples(out: &Path, files: &BTreeMap<String, Vec<u8>>) {
    let found: Vec<&String> = files.keys().filter(|name| name.contains("counterexamples/truth-fedban-")).collect();
    assert!(found.iter().any(|name| name.contains("normalised")), "{found:?}");
    for name in found {
        let replayed = truthfed(out, &["audit", "--replay", name], "").done();
        assert!(replayed.contains("It reproduces: truth-fedban fails "), "{name}: {replayed}");
    }
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
