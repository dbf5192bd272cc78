//! The readings of the paper under which its claims are judged.
//!
//! Two lines of the paper can be read in two ways that matter. Algorithm 1 stops at (1 - 1/e) log c, which is the relaxation
//! that Theorem 9 calls it only if g is normalised. Algorithm 6 counts what a client learned since its last *delivery*,
//! Section 3 since the last *communication*. Two smaller choices follow these: Algorithm 2 prints "less than" the budget where
//! the proofs have "at most", and Algorithm 7 begins its bisection at 0 where the text around it names the ask.

use serde::Serialize;
use truthfed::auction::{Mechanism, MechanismSetting};

/// How the two lines are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Reading {
    /// Its column.
    pub(super) name: &'static str,
    /// A value of `rounds.target`.
    pub(super) target: &'static str,
    /// A value of `rounds.trigger`.
    pub(super) trigger: &'static str,
    /// Whether purchases must cost less than the budget, as Algorithm 2 prints it, or may cost as much, as the proofs have it.
    pub(super) strict_budget: bool,
    /// Where the bisection of a payment begins: at 0, as Algorithm 7 prints it.
    pub(super) bisection_from: &'static str,
    pub(super) about: &'static str,
}

pub(super) const TARGETS: [&str; 2] = ["normalised", "printed"];
pub(super) const TRIGGERS: [&str; 2] = ["since-round", "since-delivery"];

/// The most charitable first, the printed one last.
pub(super) const READINGS: [Reading; 4] = [
    Reading {
        name: "A",
        target: TARGETS[0],
        trigger: TRIGGERS[0],
        strict_budget: false,
        bisection_from: "zero",
        about: "normalised target, since-round: the most charitable on both. Winners must bring (1-1/e) of the information that is \
                missing, as the proof of Theorem 9 needs; clients count what they learned since the last communication, as \
                Section 3 defines it. Purchases may spend the budget whole, as in the proofs. Bisections begin at 0, as Algorithm 7 prints it, in all readings.",
    },
    Reading {
        name: "B",
        target: TARGETS[1],
        trigger: TRIGGERS[0],
        strict_budget: true,
        bisection_from: "zero",
        about: "printed target, since-round: Algorithms 1 and 2 to the letter. Winners must bring more than coverage c, and cost \
                less than the budget.",
    },
    Reading {
        name: "C",
        target: TARGETS[0],
        trigger: TRIGGERS[1],
        strict_budget: false,
        bisection_from: "zero",
        about: "normalised target, since-delivery: Algorithm 6 to the letter, where a client that lost asks for a round again \
                at every step.",
    },
    Reading {
        name: "D",
        target: TARGETS[1],
        trigger: TRIGGERS[1],
        strict_budget: true,
        bisection_from: "zero",
        about: "printed target, since-delivery: all to the letter.",
    },
];

/// A bisection to the micro-unit, to tell what a payment is from where the bisection stops.
pub(super) const FINEST: (&str, &str) = ("gamma", "0.000001");

/// Whether the readings with a target want purchases to cost less than the budget.
pub(super) fn is_strict(target: &str) -> bool {
    READINGS.iter().any(|reading| reading.target == target && reading.strict_budget)
}

/// The flags that make `truthfed auction` and `truthfed audit` run Truth-FedBan so.
pub(super) fn flags(target: &str) -> String {
    format!("--target {target}{}", if is_strict(target) { " --strict-budget" } else { "" })
}

/// Truth-FedBan in a reading of its target, with other parameters.
pub(super) fn truth_fedban(target: &str, parameters: &[(&str, &str)]) -> Box<dyn Mechanism> {
    let setting = MechanismSetting::named("truth-fedban")
        .and_then(|setting| setting.with("target", target)?.with("strict_budget", is_strict(target)));
    let with = |setting: MechanismSetting, (name, text): &(&str, &str)| {
        let parameter = setting.entry().parameter(name).expect("a parameter of truth-fedban");
        setting.with(name, parameter.read(text).expect("a valid value"))
    };
    parameters.iter().try_fold(setting.expect("a valid target"), with).expect("valid parameters").mechanism()
}

/// Greedy V2 in a reading of its target.
pub(super) fn greedy_v2(target: &str) -> Box<dyn Mechanism> {
    let setting = MechanismSetting::named("greedy-v2").and_then(|setting| setting.with("target", target));
    setting.expect("a valid target").mechanism()
}

/// The columns with a target.
pub(super) fn with_target(target: &str) -> Vec<&'static str> {
    names(|reading| reading.target == target)
}

/// The columns with a trigger.
pub(super) fn with_trigger(trigger: &str) -> Vec<&'static str> {
    names(|reading| reading.trigger == trigger)
}

/// All columns.
pub(super) fn all() -> Vec<&'static str> {
    names(|_| true)
}

fn names(is_one: impl Fn(&Reading) -> bool) -> Vec<&'static str> {
    READINGS.iter().filter(|reading| is_one(reading)).map(|reading| reading.name).collect()
}
