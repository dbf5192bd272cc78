//! What is fuzzed: every decoder, validator and file format, and the machines behind them.
//!
//! A target is a plain function that takes any bytes. It panics when a promise is broken, and says whether the input got
//! through to what the target is about. libFuzzer finds inputs (`fuzz_targets/`); the tests here run those that are kept
//! in `corpus/`, without it.

#![forbid(unsafe_code)]

mod agent;
mod auction;
mod bytes;
mod certificate;
mod engine;
mod federation;
mod intake;
mod journal;
mod messages;
mod money;
mod proof;
mod protocol;
mod receipts;
mod saved;
mod seeds;
mod settings;
mod simulation;
mod statistics;
#[cfg(test)]
mod tests;
mod text;
mod verify;

pub use agent::agent;
pub use auction::{auction, counterexample, round};
pub use certificate::{bundle, certificate};
pub use engine::engine;
pub use intake::{delivery, offer};
pub use journal::{journal, ledger, recovery};
pub use messages::messages;
pub use money::{money, policy};
pub use proof::proof;
pub use protocol::protocol;
pub use receipts::receipts;
pub use saved::saved;
pub use seeds::{Seed, seeds};
pub use settings::{settings, terms};
pub use simulation::{ratings, simulation, sweep};
pub use statistics::{honest, statistics};
pub use verify::verify;

/// A target: whether an input was valid, after everything that must hold of it was checked.
pub type Target = fn(&[u8]) -> bool;

/// All targets by name; each has a program in `fuzz_targets/` and a folder in `corpus/`.
pub const TARGETS: &[(&str, Target)] = &[
    ("agent", agent),
    ("auction", auction),
    ("bundle", bundle),
    ("certificate", certificate),
    ("counterexample", counterexample),
    ("delivery", delivery),
    ("engine", engine),
    ("honest", honest),
    ("journal", journal),
    ("ledger", ledger),
    ("messages", messages),
    ("money", money),
    ("offer", offer),
    ("policy", policy),
    ("proof", proof),
    ("protocol", protocol),
    ("ratings", ratings),
    ("receipts", receipts),
    ("recovery", recovery),
    ("round", round),
    ("saved", saved),
    ("settings", settings),
    ("simulation", simulation),
    ("statistics", statistics),
    ("sweep", sweep),
    ("terms", terms),
    ("verify", verify),
];
