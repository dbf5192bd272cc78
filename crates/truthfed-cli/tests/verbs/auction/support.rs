//! Running an auction, and reading what it prints.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::folders::{self, Run};

/// Runs `truthfed` with nothing on standard input.
pub(crate) fn truthfed(args: &[&str]) -> Run {
    run(args, b"")
}

/// Runs `truthfed auction -` with a round on standard input.
pub(crate) fn auction(round: impl AsRef<[u8]>, args: &[&str]) -> Run {
    run(&[&["auction", "-"], args].concat(), round.as_ref())
}

/// What ends well says nothing on standard error.
#[track_caller]
fn run(args: &[&str], input: &[u8]) -> Run {
    let run = folders::truthfed(Path::new("."), args, input);
    assert!(run.code == 2 || run.err.is_empty(), "{}", run.err);
    run
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

pub(crate) fn mechanisms() -> Vec<Listed> {
    let mut list: BTreeMap<String, Vec<Listed>> = truthfed(&["mechanisms", "--json"]).object();
    list.remove("mechanisms").unwrap()
}

pub(crate) fn example() -> String {
    truthfed(&["auction", "--example"]).done()
}

/// The object that was printed, without what differs from run to run.
pub(crate) fn without_seconds(run: Run) -> Value {
    let mut value: Value = run.object();
    value.as_object_mut().unwrap().remove("seconds").unwrap();
    value
}
