//! How many instructions the core cases take, compared with `bench/baseline.json`.
//!
//! A count moves by a fraction of a percent from machine to machine, where a time moves by a quarter. So a change that makes a case
//! slower by a tenth shows, whatever else the machine does. `make counts` (part of `make lint`) compares and fails if a case
//! differs by more than 5 %, in either direction; `make baseline` writes the counts down, and the commit says why they moved.
//!
//! This program runs itself once per case under callgrind, which counts only between the beginning and the end of
//! [`counted_work`], and of that only what is in this program: the C library picks its functions by the processor. `scripts/counts.sh` builds
//! it without AVX-512, so that all machines with AVX2 run the same instructions.
//!
//! A count is no time: it knows neither caches nor how many instructions a processor does at once.

#![allow(clippy::print_stdout, clippy::print_stderr)] // a table of counts is what this program is for

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use truthfed::auction::{Clock, Mechanism, RoundDocument, Seat, catalog, certify};
use truthfed::bandit::{Config as BanditConfig, LinUcb, RawConfig};
use truthfed::generate::{self, Stream};
use truthfed_sim::config::Config;
use truthfed_sim::simulation::Simulation;

/// A change of more than this fraction has to be said: smaller ones come from where the compiler puts registers.
const TOLERANCE: f64 = 0.05;
const ARMS: usize = 25;
const SEED: u64 = 1;

type Work = Box<dyn FnOnce()>;

/// What is counted, and how to get ready for it.
struct Case {
    name: String,
    prepare: Box<dyn Fn() -> Work + Sync>,
}

fn main() -> ExitCode {
    // Cargo adds `--bench` to the arguments.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", name] => run(name),
        ["check"] => check(),
        ["write"] => write(),
        _ => {
            eprintln!("usage: counts check | write | run CASE");
            cases().iter().for_each(|case| println!("{}", case.name));
            ExitCode::SUCCESS
        }
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (dimension, times) in [(5, 800), (25, 200), (100, 20)] {
        cases.push(case(format!("choose of {ARMS} arms, d {dimension}, {times} times"), move || {
            let (bandit, arms, _) = experienced(dimension);
            Box::new(move || (0..times).for_each(|_| drop(black_box(bandit.choose(black_box(&arms))))))
        }));
        cases.push(case(format!("learn, d {dimension}, {times} times"), move || {
            let (mut bandit, arms, rewards) = experienced(dimension);
            Box::new(move || (0..times).for_each(|i| learn(&mut bandit, &arms[i % ARMS], rewards[i % ARMS])))
        }));
    }
    cases.push(case("refresh of a bandit, d 100".to_owned(), || {
        let (mut bandit, ..) = experienced(100);
        let snapshot = bandit.known().clone();
        Box::new(move || bandit.refresh(snapshot).expect("it knew as much"))
    }));
    for (dimension, times) in [(5, 16), (25, 2), (64, 1)] {
        cases.push(case(format!("log determinants of 256 clients, d {dimension}, {times} times"), move || {
            let round = generate::federation(256, dimension, SEED);
            let seats: Vec<Seat> = round.seats().collect();
            Box::new(move || (0..times).for_each(|_| drop(black_box(round.losses(black_box(&seats))))))
        }));
    }
    for mechanism in catalog::entries() {
        // Those that search take much longer, and a few seconds are enough.
        let clients = match mechanism.name {
            "vcg" => 12,
            "truth-fedban" => 40,
            _ => 100,
        };
        cases.push(auction(mechanism.name, clients, 5));
    }
    for (name, clients, dimension) in
        [("clock", 10_000, 5), ("clock", 500, 25), ("greedy", 500, 5), ("greedy", 100, 25), ("ratchet", 25, 25)]
    {
        cases.push(auction(name, clients, dimension));
    }
    cases.push(case("certify clock 300,5".to_owned(), || {
        let round = generate::federation(300, 5, SEED);
        let outcome = Clock.run(&round).expect("it is small");
        Box::new(move || certify(&round, &Clock, &outcome).expect("its payments are critical"))
    }));
    cases.push(case("read a round of 200,5 from JSON".to_owned(), || {
        let text = RoundDocument::of(&generate::federation(200, 5, SEED).spec()).to_string();
        Box::new(move || drop(black_box(RoundDocument::read_round(&text).expect("we wrote it"))))
    }));
    cases.push(case("a simulation of the paper's setting".to_owned(), || {
        let config = Config::read("", &[]).expect("the defaults are valid");
        Box::new(move || drop(black_box(Simulation::new(&config, SEED).expect("it reads no file").run())))
    }));
    cases
}

fn case(name: String, prepare: impl Fn() -> Work + Sync + 'static) -> Case {
    Case { name, prepare: Box::new(prepare) }
}

/// A mechanism with all its payments.
fn auction(name: &'static str, clients: usize, dimension: usize) -> Case {
    case(format!("{name} {clients},{dimension}"), move || {
        let round = generate::federation(clients, dimension, SEED);
        let mechanism = catalog::find(name).expect("it is listed").mechanism();
        Box::new(move || drop(black_box(mechanism.run(&round).expect("it is small"))))
    })
}

/// A bandit that has learned a little, arms, and rewards of them.
fn experienced(dimension: usize) -> (LinUcb, Vec<Vec<f64>>, Vec<f64>) {
    let mut stream = Stream::new(SEED, dimension as u64);
    let raw = RawConfig { dimension, ..RawConfig::default() };
    let mut bandit = LinUcb::new(BanditConfig::try_from(raw).expect("a valid dimension"));
    let arms: Vec<Vec<f64>> = (0..ARMS).map(|_| stream.context(dimension)).collect();
    let rewards = stream.normals(ARMS);
    arms.iter().zip(&rewards).for_each(|(arm, &reward)| learn(&mut bandit, arm, reward));
    (bandit, arms, rewards)
}

fn learn(bandit: &mut LinUcb, arm: &[f64], reward: f64) {
    bandit.learn(arm, reward).expect("rewards are finite");
}

/// Runs one case: what callgrind sees.
fn run(name: &str) -> ExitCode {
    let Some(case) = cases().into_iter().find(|case| case.name == name) else {
        eprintln!("there is no case {name:?}");
        return ExitCode::FAILURE;
    };
    // This thread does all the work: the order of what several do is not the same each time.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    let _pool = pool.expect("the thread is there already");
    counted_work((case.prepare)());
    ExitCode::SUCCESS
}

/// Callgrind knows it by this name.
#[inline(never)]
fn counted_work(work: Work) {
    work();
}

/// The counts of all cases, as they were when they were last written down.
#[derive(Serialize, Deserialize)]
struct Baseline {
    note: String,
    rustc: String,
    instructions: BTreeMap<String, u64>,
}

impl Baseline {
    fn measured() -> Result<Baseline, String> {
        let cases = cases();
        let counts = cases.par_iter().map(|case| Ok((case.name.clone(), instructions(&case.name)?)));
        let note = "Instructions of the cases of crates/truthfed-sim/benches/counts.rs, by callgrind: `make baseline` writes this file.";
        let instructions = counts.collect::<Result<_, String>>()?;
        Ok(Baseline { note: note.to_owned(), rustc: rustc(), instructions })
    }

    fn read() -> Result<Baseline, String> {
        let text = std::fs::read_to_string(file()).map_err(|error| error.to_string());
        text.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
            .map_err(|error| format!("bench/baseline.json: {error}; `make baseline` writes it"))
    }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/baseline.json")
}

fn rustc() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

fn write() -> ExitCode {
    let written = Baseline::measured().and_then(|measured| {
        let text = serde_json::to_string_pretty(&measured).expect("names and numbers are JSON");
        std::fs::write(file(), text + "\n").map_err(|error| format!("bench/baseline.json: {error}"))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn check() -> ExitCode {
    if !has_avx2() {
        println!("counts: nothing is compared: bench/baseline.json has the counts of x86-64 with AVX2.");
        return ExitCode::SUCCESS;
    }
    match Baseline::read().and_then(|baseline| Ok((baseline, Baseline::measured()?))) {
        Ok((baseline, measured)) => compare(&baseline, &measured),
        Err(error) => failed(&error),
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx2() -> bool {
    false
}

fn failed(error: &str) -> ExitCode {
    eprintln!("counts: {error}");
    ExitCode::FAILURE
}

fn compare(baseline: &Baseline, measured: &Baseline) -> ExitCode {
    let differences: Vec<String> = cases()
        .iter()
        .filter_map(|case| difference(&case.name, &baseline.instructions, &measured.instructions))
        .chain(gone(baseline, measured))
        .collect();
    if differences.is_empty() {
        println!("counts: {} cases take the instructions of bench/baseline.json.", measured.instructions.len());
        return ExitCode::SUCCESS;
    }
    differences.iter().for_each(|difference| eprintln!("{difference}"));
    if baseline.rustc != measured.rustc {
        eprintln!("The baseline is from {}, this is {}.", baseline.rustc, measured.rustc);
    }
    failed("if that is meant, run `make baseline` and say why in the commit")
}

/// How a case differs from the baseline, if by more than the tolerance.
fn difference(name: &str, baseline: &BTreeMap<String, u64>, measured: &BTreeMap<String, u64>) -> Option<String> {
    let now = measured[name];
    let Some(&before) = baseline.get(name) else {
        return Some(format!("{name}: {now} instructions; the baseline does not have it"));
    };
    let change = now as f64 / before as f64 - 1.0;
    (change.abs() > TOLERANCE)
        .then(|| format!("{name}: {now} instructions, {:+.1} % of the {before} in the baseline", 100.0 * change))
}

/// Cases that only the baseline has.
fn gone(baseline: &Baseline, measured: &Baseline) -> impl Iterator<Item = String> {
    let gone = baseline.instructions.keys().filter(|name| !measured.instructions.contains_key(*name));
    gone.map(|name| format!("{name}: it is in the baseline only"))
}

/// What callgrind counts in a case.
fn instructions(name: &str) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let profile = folder.path().join("profile");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--collect-atstart=no", "--toggle-collect=*counted_work*"])
        .args(["--compress-strings=no", "--compress-pos=no", "--dump-line=no"])
        .arg(format!("--callgrind-out-file={}", profile.display()))
        .arg(&program)
        .args(["run", name])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    if !output.status.success() {
        return Err(format!("{name}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let profile = std::fs::read_to_string(&profile).map_err(|error| format!("{name}: {error}"))?;
    match own_instructions(&profile, &program.display().to_string()) {
        0 => Err(format!("{name}: callgrind counted nothing")),
        count => Ok(count),
    }
}

/// The sum of what a program's own functions took. In a profile each line of cost (its position, and the instructions) belongs to
/// the last object named, but for those after a call: they repeat what the callee took.
fn own_instructions(profile: &str, program: &str) -> u64 {
    let (mut is_own, mut is_callee, mut sum) = (false, false, 0);
    for line in profile.lines() {
        if let Some(object) = line.strip_prefix("ob=") {
            is_own = object == program;
        } else if line.starts_with("calls=") {
            is_callee = true;
        } else if let Some((_, cost)) = line.split_once(' ').filter(|_| line.starts_with(|c: char| c.is_ascii_digit()))
        {
            if is_own && !is_callee {
                sum += cost.parse::<u64>().unwrap_or(0);
            }
            is_callee = false;
        }
    }
    sum
}
