//! `truthfed sweep` from outside.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::folders::{Run, check_manifest, check_same, records, tree, truthfed};

pub(crate) const SMALL: &str = "\
[world]
dimension = 3
steps = 300
arm_count = 50
arms_per_step = 8

[sweep]
seeds = 2

[sweep.grid]
\"world.clients\" = [4, 6]
\"rounds.mechanism\" = [\"clock\", \"greedy\"]
";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sweep.toml"), SMALL).unwrap();
    folder
}

fn sweep(folder: &Path, args: &[&str]) -> Run {
    truthfed(folder, &[&["sweep", "sweep.toml"], args].concat(), "")
}

/// The names of the cells in a folder of a sweep.
fn cells(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder.join("cells")) else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_number_of_jobs_and_threads_writes_the_same_bytes() {
    let folder = folder();
    let run = |out: &str, jobs: &str, threads: &str| {
        sweep(folder.path(), &["--json", "--out", out, "--jobs", jobs, "--threads", threads]).done()
    };
    let first = run("a", "1", "1");
    for (out, jobs, threads) in [("b", "2", "8"), ("c", "8", "2"), ("d", "3", "1")] {
        assert_eq!(run(out, jobs, threads), first);
        check_same(&folder.path().join(out), &folder.path().join("a"));
    }
    let manifest = check_manifest(&folder.path().join("a"));
    assert_eq!(manifest["grid"]["world.clients"], Value::from(vec![4, 6]));
    assert_eq!((&manifest["seeds"], cells(&folder.path().join("a")).len()), (&Value::from(2), 8));
}

#[test]
fn cells_are_what_a_simulation_of_the_point_gives() {
    let folder = folder();
    let object: Value = sweep(folder.path(), &["--json", "--out", "run"]).object();
    let results = records(&tree(&folder.path().join("run"))["results.csv"]);
    let summary = records(&tree(&folder.path().join("run"))["summary.csv"]);
    assert_eq!((results.len(), summary.len()), (8, 4));
    let (plain, _) = SMALL.split_once("[sweep]").unwrap();
    for (index, point) in object["points"].as_array().unwrap().iter().enumerate() {
        let (clients, mechanism) = (&point["grid"]["world.clients"], &point["grid"]["rounds.mechanism"]);
        let set = [format!("world.clients={clients}"), format!("rounds.mechanism={mechanism}")];
        let args = ["simulate", "-", "--json", "--seeds", "2", "--set", &set[0], "--set", &set[1]];
        let simulated: Value = truthfed(folder.path(), &args, plain).object();
        for key in ["seeds", "mean", "sd"] {
            assert_eq!(point[key], simulated[key], "{set:?}");
        }
        for (seed, record) in results[2 * index..2 * index + 2].iter().enumerate() {
            let cells = ["world.clients", "rounds.mechanism", "seed", "regret"].map(|column| record[column].as_str());
            let (number, regret) = ((seed + 1).to_string(), point["seeds"][seed]["regret"].to_string());
            assert_eq!(cells, [&clients.to_string(), mechanism.as_str().unwrap(), &number, &regret]);
        }
        assert_eq!(summary[index]["regret_mean"].parse::<f64>().unwrap(), point["mean"]["regret"]);
        assert_eq!(summary[index]["regret_sd"].parse::<f64>().unwrap(), point["sd"]["regret"]);
    }
}

/// Enough work that it can be stopped in the middle.
const LONGER: &str = "[sweep]\nseeds = 6\n[sweep.grid]\n\"world.noise\" = [0.1, 0.2, 0.3, 0.4, 0.5]\n";

/// Starts a sweep and kills it once it has written some cells.
fn run_and_kill(folder: &Path, out: &str, enough: usize) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("truthfed"))
        .current_dir(folder)
        .args(["sweep", "sweep.toml", "--out", out, "--jobs", "1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while cells(&folder.join(out)).len() < enough && child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(120), "no cell appears");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_sweep_that_was_killed_goes_on_to_the_same_bytes() {
    let folder = folder();
    std::fs::write(folder.path().join("sweep.toml"), LONGER).unwrap();
    let killed = folder.path().join("killed");
    for enough in [2, 5] {
        run_and_kill(folder.path(), "killed", enough);
        let there = cells(&killed).len();
        assert!((enough..30).contains(&there), "{there} cells after {enough}");
        let manifest: Value = serde_json::from_slice(&tree(&killed)["manifest.json"]).unwrap();
        assert_eq!(manifest["complete"], false);
    }
    let kept = cells(&killed);
    let resumed = sweep(folder.path(), &["--out", "killed", "--json"]);
    assert!(resumed.err.contains(&format!("{} of 30 cells are already done", kept.len())), "{}", resumed.err);
    let whole = sweep(folder.path(), &["--out", "whole", "--json"]);
    assert_eq!(resumed.done(), whole.done());
    check_same(&killed, &folder.path().join("whole"));
    check_manifest(&killed);
}

#[test]
fn cells_that_do_not_fit_are_computed_again() {
    let folder = folder();
    let run = folder.path().join("run");
    sweep(folder.path(), &["--out", "whole"]).done();
    sweep(folder.path(), &["--out", "run"]).done();
    let names = cells(&run);
    let path = |index: usize| run.join("cells").join(&names[index]);
    let text = std::fs::read_to_string(path(0)).unwrap();
    std::fs::write(path(0), text.replacen("\"participations\":", "\"participations\":1", 1)).unwrap();
    std::fs::write(path(1), &text[..text.len() / 2]).unwrap();
    std::fs::copy(path(3), path(2)).unwrap();
    let again = sweep(folder.path(), &["--out", "run"]);
    for (index, problem) in [
        (0, "its content is not what its hash says"),
        (1, "it cannot be read"),
        (2, "it belongs to another configuration"),
    ] {
        let notice = format!("computing cells/{} again: {problem}\n", names[index]);
        assert!(again.err.contains(&notice), "`{notice}` is not in: {}", again.err);
    }
    assert!(again.err.contains("5 of 8 cells are already done"), "{}", again.err);
    check_same(&run, &folder.path().join("whole"));
}

#[test]
fn a_grid_that_grew_takes_its_cells_over() {
    let folder = folder();
    sweep(folder.path(), &["--out", "run"]).done();
    std::fs::write(folder.path().join("sweep.toml"), SMALL.replace("[4, 6]", "[6, 5, 4]")).unwrap();
    let grown = sweep(folder.path(), &["--out", "run"]);
    assert!(grown.err.contains("8 of 12 cells are already done"), "{}", grown.err);
    sweep(folder.path(), &["--out", "fresh"]).done();
    check_same(&folder.path().join("run"), &folder.path().join("fresh"));
    // Of a sweep over something else nothing is left.
    std::fs::write(folder.path().join("sweep.toml"), SMALL.replace("steps = 300", "steps = 200")).unwrap();
    let other = sweep(folder.path(), &["--out", "run"]);
    assert!(other.err.contains("no point of this sweep, removed at the end: 12\n"), "{}", other.err);
    assert_eq!(cells(&folder.path().join("run")).len(), 8);
    check_manifest(&folder.path().join("run"));
}

#[test]
fn cells_are_computed_again_when_a_file_they_read_has_changed() {
    let folder = folder();
    let text = "[world]\ndimension = 2\nsteps = 50\narms = \"arms.csv\"\narms_per_step = 2\n";
    let grid = "[sweep]\nseeds = 2\n[sweep.grid]\n\"world.clients\" = [2, 3]\n";
    std::fs::write(folder.path().join("sweep.toml"), format!("{text}{grid}")).unwrap();
    std::fs::write(folder.path().join("arms.csv"), "1,0\n0,1\n").unwrap();
    sweep(folder.path(), &["--out", "run"]).done();
    let first = check_manifest(&folder.path().join("run"));
    std::fs::write(folder.path().join("arms.csv"), "1,0\n0,0.5\n").unwrap();
    assert!(!sweep(folder.path(), &["--out", "run"]).err.contains("already"));
    let second = check_manifest(&folder.path().join("run"));
    assert_ne!(first["inputs"]["arms.csv"], second["inputs"]["arms.csv"]);
    std::fs::remove_file(folder.path().join("arms.csv")).unwrap();
    sweep(folder.path(), &["--out", "run"]).refused("cannot read arms.csv: No such file");
}

#[test]
fn the_table_has_a_row_for_every_point() {
    let folder = folder();
    let text = sweep(folder.path(), &[]).done();
    assert!(text.starts_with("4 points, 2 seeds each (mean ± standard deviation).\n"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().skip(3).map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(rows, [["4", "clock"], ["4", "greedy"], ["6", "clock"], ["6", "greedy"]]);
    let values: Vec<String> = (1..=50).map(|value| value.to_string()).collect();
    let many = SMALL.replace("[4, 6]", &format!("[{}]", values.join(", "))).replace("seeds = 2", "seeds = 1");
    let many = truthfed(folder.path(), &["sweep", "-"], &many).done();
    assert!(many.ends_with("and 60 more points (all with --out or --json)\n"), "{many}");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let folder = folder();
    let check = |grid: &str, expected: &str| {
        let text = format!("[world]\nsteps = 5\n[sweep.grid]\n{grid}\n");
        truthfed(folder.path(), &["sweep", "-"], &text).refused(expected);
    };
    check("", "there is no grid: a sweep needs a table [sweep.grid]");
    check("\"world.client\" = [1]", "line 4: sweep.grid, \"world.client\": unknown field `client`, expected one of");
    check("\"wold.clients\" = [1]", "\"wold.clients\": unknown field `wold`, expected one of `world`");
    check("\"clients\" = [1]", "\"clients\": a key is of the form section.key");
    check("world.clients = [1]", "the whole key stands in quotes: \"world.clients\" = [...]");
    check("\"world.clients\" = 3", "is 3: it must be a list, such as [3]");
    check("\"world.clients\" = []", "\"world.clients\": the list is empty");
    check("\"world.noise\" = [1, 1.0]", "1.0 stands there twice");
    check("\"world.clients\" = [\"x\"]", "\"world.clients\": invalid type: string \"x\"");
    check("\"world.clients\" = [1, 0]", "at world.clients = 0: world.clients is 0: it must lie between 1 and 100000");
    check("\"rounds.mechanism\" = [\"x\"]", "rounds.mechanism is `x`: it must be one of everyone");
    check("\"costs.base_low\" = [1, 300]", "at costs.base_low = 300: costs.base_high is 100: it must lie between 300");
    check("\"world.clients\" = [1]\n[sweep]\nseeds = 0", "sweep.seeds is 0: it must be at least 1");
    check("\"world.clients\" = [1]\n[sweep]\nseed = 1", "unknown field `seed`, expected `seeds` or `grid`");
    check("\"world.clients\" = [1, 2]\n[sweep]\nseeds = 50001", "the sweep has 100002 cells");
    check("\"world.clients\" = [1]\n[learning]\nlambda = 0", "line 6: learning.lambda is 0: it must lie between");
    check("\"world.clients\" = [1", "line 4");
    let refused = |args: &[&str], expected: &str| truthfed(folder.path(), args, "").refused(expected);
    refused(&["sweep"], "SWEEP.toml");
    refused(&["sweep", "missing.toml"], "cannot read missing.toml: No such file");
    refused(&["sweep", "sweep.toml", "--jobs", "0"], "0 is not in 1..=1024");
    refused(&["sweep", "sweep.toml", "--out", "."], ". holds sweep.toml, which `truthfed sweep` did not write");
    refused(&["sweep", "sweep.toml", "--out", "sweep.toml/x"], "cannot make the folder sweep.toml/x");
    let inline = "sweep = { grid = { \"world.clients\" = [1] } }\n";
    truthfed(folder.path(), &["sweep", "-"], inline).refused("must be written as tables of its own");
}

#[test]
fn parts_that_run_at_the_same_time_are_collected_to_the_bytes_of_one_run() {
    let folder = folder();
    let one = sweep(folder.path(), &["--out", "one"]).done();
    sweep(folder.path(), &["--out", "parts", "--collect"]).refused("8 of 8 cells are missing");
    std::thread::scope(|scope| {
        let path = folder.path();
        for part in ["1/3", "2/3"] {
            scope.spawn(move || sweep(path, &["--out", "parts", "--part", part]).done());
        }
    });
    sweep(folder.path(), &["--out", "parts", "--collect"]).refused("2 of 8 cells are missing");
    let last = sweep(folder.path(), &["--out", "parts", "--part", "3/3"]).done();
    assert_eq!(last, "2 of 8 cells are in parts.\n");
    let collected = sweep(folder.path(), &["--out", "parts", "--collect"]).done();
    assert_eq!(collected, one.replace("to one", "to parts"));
    check_same(&folder.path().join("parts"), &folder.path().join("one"));
    for wrong in ["0/3", "4/3", "1", "1/0", "x/y"] {
        sweep(folder.path(), &["--out", "parts", "--part", wrong]).refused("--part");
    }
}
