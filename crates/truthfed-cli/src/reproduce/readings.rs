//! The readings of the paper under which its claims are judged.
//!
//! Two lines of the paper can be read in two ways that matter. Algorithm 1 stops at (1 - 1/e) log c, which is the relaxation
//! that Theorem 9 calls it only if g is normalised. Algorithm 6 counts what a client learned since its last *delivery*,
//! Section 3 since the last *communication*.

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
        about: "normalised target, since-round: the most charitable. Winners must bring (1-1/e) of the information that is \
                missing, as the proof of Theorem 9 needs; clients count what they learned since the last communication, as \
                Section 3 defines it.",
    },
    Reading {
        name: "B",
        target: TARGETS[1],
        trigger: TRIGGERS[0],
        about: "printed target, since-round: Algorithm 1 to the letter, which asks for more than coverage c.",
    },
    Reading {
        name: "C",
        target: TARGETS[0],
        trigger: TRIGGERS[1],
        about: "normalised target, since-delivery: Algorithm 6 to the letter, where a client that lost asks for a round again \
                at every step.",
    },
    Reading {
        name: "D",
        target: TARGETS[1],
        trigger: TRIGGERS[1],
        about: "printed target, since-delivery: both to the letter.",
    },
];

/// Truth-FedBan in a reading of its target, with other parameters.
pub(super) fn truth_fedban(target: &str, parameters: &[(&str, &str)]) -> Box<dyn Mechanism> {
    let setting = MechanismSetting::named("truth-fedban").and_then(|setting| setting.with("target", target));
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
