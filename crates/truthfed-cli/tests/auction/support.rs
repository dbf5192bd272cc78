//! Running the binary, and reading what it prints.

use std::time::Duration;

use assert_cmd::cargo::cargo_bin_cmd;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs `truthfed` with nothing on standard input.
pub(crate) fn truthfed(args: &[&str]) -> Run {
    run(args, b"")
}

/// Runs `truthfed auction -` with a round on standard input.
pub(crate) fn auction(round: impl AsRef<[u8]>, args: &[&str]) -> Run {
    run(&[&["auction", "-"], args].concat(), round.as_ref())
}

fn run(args: &[&str], input: &[u8]) -> Run {
    let output = cargo_bin_cmd!("truthfed").args(args).write_stdin(input).timeout(LIMIT).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap_or_else(|| panic!("{args:?} hung or crashed"));
    Run { code, out: text(output.stdout), err: text(output.stderr) }
}

impl Run {
    /// What was printed, when all went well.
    #[track_caller]
    pub(crate) fn done(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        self.out
    }

    /// The outcome that was printed with `--json`, when all went well.
    #[track_caller]
    pub(crate) fn outcome(self) -> Outcome {
        serde_json::from_str(&self.done()).unwrap()
    }

    /// The input is wrong: code 2, nothing on standard output, and the reason on standard error.
    #[track_caller]
    pub(crate) fn refused(self, expected: &str) {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{}", self.err);
        assert!(self.err.contains(expected), "`{expected}` is not in: {}", self.err);
    }
}

/// An outcome as JSON, with money in micro-units.
#[derive(Debug, Deserialize)]
pub(crate) struct Outcome {
    pub(crate) mechanism: String,
    pub(crate) coverage: f64,
    pub(crate) target: f64,
    pub(crate) social_cost: Micros,
    pub(crate) payments: Micros,
    pub(crate) winners: Vec<Winner>,
    pub(crate) turned_away: Vec<String>,
    pub(crate) certified: Option<bool>,
    pub(crate) violations: Option<Vec<String>>,
    pub(crate) optimum_ratio: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Winner {
    pub(crate) client: String,
    pub(crate) ask: Micros,
    pub(crate) payment: Micros,
    pub(crate) essential: bool,
}

impl Outcome {
    pub(crate) fn names(&self) -> Vec<&str> {
        self.winners.iter().map(|winner| winner.client.as_str()).collect()
    }
}

/// Micro-units, read from a plain decimal with at most six places and from nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "Box<RawValue>")]
pub(crate) struct Micros(pub(crate) i128);

impl From<Box<RawValue>> for Micros {
    fn from(text: Box<RawValue>) -> Micros {
        let (units, places) = text.get().split_once('.').unwrap_or((text.get(), ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        assert!(!units.is_empty() && digits(units) && digits(places) && places.len() <= 6, "{text}");
        Micros(format!("{units}{places:0<6}").parse().unwrap())
    }
}

/// A mechanism as `truthfed mechanisms --json` lists it.
#[derive(Debug, Deserialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) individually_rational: String,
    pub(crate) truthful: String,
    pub(crate) default: bool,
}

impl Listed {
    pub(crate) fn is_truthful(&self) -> bool {
        self.truthful == "yes"
    }
}

/// Every mechanism there is.
pub(crate) fn mechanisms() -> Vec<Listed> {
    #[derive(Deserialize)]
    struct List {
        mechanisms: Vec<Listed>,
    }
    let list: List = serde_json::from_str(&truthfed(&["mechanisms", "--json"]).done()).unwrap();
    list.mechanisms
}

/// The round of `--example`.
pub(crate) fn example() -> String {
    truthfed(&["auction", "--example"]).done()
}

/// A JSON object without what differs from run to run.
pub(crate) fn without_seconds(text: &str) -> Value {
    let mut value: Value = serde_json::from_str(text).unwrap();
    value.as_object_mut().unwrap().remove("seconds").unwrap();
    value
}
