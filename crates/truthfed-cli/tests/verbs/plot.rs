//! `truthfed plot` from outside.

use std::collections::BTreeMap;
use std::path::Path;

use crate::folders::{check_same, records, tree, truthfed};

const SMALL: [&str; 8] =
    ["--set", "world.clients=5", "--set", "world.steps=300", "--set", "world.arm_count=50", "--seeds", "3"];

/// A run with liars in `run`, another in `other`, and a sweep in `grid`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lying = ["--set", "behaviour.kind=over", "--set", "behaviour.factor=2", "--set", "behaviour.share=0.4"];
    let simulate = |out: &str, more: &[&str]| {
        truthfed(folder.path(), &[&["simulate", "--no-rounds", "--out", out], &SMALL[..], more].concat(), "").done();
    };
    simulate("run", &lying);
    simulate("other", &["--set", "rounds.mechanism=alone"]);
    std::fs::write(folder.path().join("sweep.toml"), crate::sweep::SMALL).unwrap();
    truthfed(folder.path(), &["sweep", "sweep.toml", "--out", "grid"], "").done();
    folder
}

fn plot(folder: &Path, args: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let said = truthfed(folder, &[&["plot"], args, &["--out", "drawn/p"]].concat(), "").done();
    let files = tree(&folder.join("drawn"));
    let names = ["p-column.pdf", "p-seeds.csv", "p.csv", "p.pdf", "p.png", "p.svg"];
    assert!(files.keys().eq(names.iter()) && names.iter().all(|name| said.contains(name)), "{said}");
    files
}

/// The width that an SVG says it has.
fn width(svg: &[u8]) -> f64 {
    let text = std::str::from_utf8(svg).unwrap();
    let (_, rest) = text.split_once(" width=\"").unwrap();
    rest.split_once('"').unwrap().0.parse().unwrap()
}

fn number(record: &BTreeMap<String, String>, column: &str) -> f64 {
    record[column].parse().unwrap()
}

#[test]
fn a_figure_has_the_mean_of_the_seeds_and_the_seeds_beside_it() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("drawn")).unwrap();
    let files = plot(folder.path(), &["run", "other", "-x", "step", "-y", "regret", "-y", "incentive"]);
    assert_eq!(width(&files["p.svg"]), 840.0);
    let (points, seeds) = (records(&files["p.csv"]), records(&files["p-seeds.csv"]));
    let curves = records(&std::fs::read(folder.path().join("run/curves.csv")).unwrap());
    assert_eq!(seeds.len(), 2 * 2 * curves.len(), "two folders, two charts");
    for point in points.iter().filter(|point| point["chart"] == "regret" && point["series"] == "run") {
        let at = |record: &&BTreeMap<String, String>| number(record, "step") == number(point, "x");
        let values: Vec<f64> = curves.iter().filter(at).map(|record| number(record, "regret")).collect();
        assert_eq!(values.len(), 3);
        assert!((values.iter().sum::<f64>() / 3.0 - number(point, "mean")).abs() < 1e-9, "{point:?}");
        let own = seeds.iter().filter(|seed| seed["figure"] == "regret" && seed["series"] == "run").filter(at);
        assert_eq!(own.map(|seed| number(seed, "value")).collect::<Vec<_>>(), values);
    }
    let steps: Vec<f64> =
        points.iter().filter(|point| point["series"] == "other").map(|point| number(point, "x")).collect();
    assert!(steps[..steps.len() / 2].is_sorted(), "{steps:?}");
}

#[test]
fn names_give_bars_and_keys_of_a_grid_give_series() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("drawn")).unwrap();
    let files = plot(folder.path(), &["run", "-x", "behaviour", "-y", "utility", "--width", "3.3in"]);
    assert_eq!(width(&files["p.svg"]), 317.0);
    let bars = records(&files["p.csv"]);
    assert_eq!(bars.iter().map(|bar| bar["group"].as_str()).collect::<Vec<_>>(), ["truthful", "over"]);
    // Many offers of each seed are behind a bar, and each seed counts once.
    assert_eq!(records(&files["p-seeds.csv"]).len(), 2 * 3);
    let files = plot(folder.path(), &["grid", "-x", "world.clients", "-y", "incentive", "--log-y"]);
    let points: Vec<(String, String)> =
        records(&files["p.csv"]).iter().map(|point| (point["series"].clone(), point["x"].clone())).collect();
    let expected = [("clock", "4"), ("clock", "6"), ("greedy", "4"), ("greedy", "6")];
    assert_eq!(points, expected.map(|(series, x)| (series.to_owned(), x.to_owned())));
    let files = plot(folder.path(), &["grid", "-x", "rounds.mechanism", "-y", "rounds"]);
    let names: Vec<String> =
        records(&files["p.csv"]).iter().map(|bar| format!("{} {}", bar["group"], bar["bar"])).collect();
    assert_eq!(names, ["clock 4", "clock 6", "greedy 4", "greedy 6"]);
}

#[test]
fn the_same_tables_give_the_same_files() {
    let folder = folder();
    let draw = |out: &str, threads: &str| {
        std::fs::create_dir(folder.path().join(out)).unwrap();
        let out = format!("{out}/p");
        let args = ["plot", "run", "-x", "step", "-y", "regret", "--out", &out, "--threads", threads];
        truthfed(folder.path(), &args, "").done();
    };
    draw("one", "1");
    draw("two", "2");
    check_same(&folder.path().join("one"), &folder.path().join("two"));
}

#[test]
fn what_is_wrong_is_named_with_what_there_is() {
    let folder = folder();
    let check =
        |args: &[&str], expected: &str| truthfed(folder.path(), &[&["plot"], args].concat(), "").refused(expected);
    check(&["run", "-x", "steps", "-y", "regret"], "run has no column `steps`: curves.csv has seed, step, regret, ");
    check(
        &["run", "-x", "step", "-y", "lies"],
        "offers.csv.gz has seed, step, round, client, behaviour, true_cost, ask, gain",
    );
    check(&["run", "-x", "ask", "-y", "regret"], "no table of run has all of `regret`, `ask`: curves.csv has");
    check(
        &["grid", "-x", "step", "-y", "regret"],
        "grid has no column `step`: results.csv has world.clients, rounds.mechanism, seed",
    );
    check(&["run", "-x", "step", "-y", "ending"], "column `ending` holds `settled`, which is no number");
    check(
        &["sweep.toml", "-x", "step", "-y", "regret"],
        "sweep.toml is not a folder of `truthfed simulate` or `truthfed sweep`",
    );
    check(&["run", "-y", "regret"], "-x <COLUMN>");
    check(&["run", "-x", "step"], "-y <COLUMN>");
    check(&["run", "-x", "step", "-y", "regret", "--width", "1in"], "1in must lie between 2in and 20in");
    check(&["run", "-x", "step", "-y", "regret", "--width", "wide"], "`wide` is not a width such as 3.3in");
    check(&["run", "-x", "step", "-y", "regret", "--out", "a.svg"], "--out a.svg: it must end in a name of letters");
    check(&["run", "-x", "step", "-y", "regret", "--out", "no/such/p"], "cannot write no/such/p.svg: No such file");
    let manifest = folder.path().join("run/manifest.json");
    let text = std::fs::read_to_string(&manifest).unwrap();
    std::fs::write(&manifest, text.replace("\"complete\": true", "\"complete\": false")).unwrap();
    check(&["run", "-x", "step", "-y", "regret"], "run is not complete: run `truthfed simulate` again");
    std::fs::write(&manifest, text.replace("simulation/2", "simulation/1")).unwrap();
    check(&["run", "-x", "step", "-y", "regret"], "its manifest is of schema truthfed.simulation/1");
}
