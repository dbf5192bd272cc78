//! The built binary from outside, as a user or a script sees it: one module per verb.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod accounts;
mod auction;
mod audit;
mod backup;
mod bundle;
mod doctor;
mod federation;
mod folders;
mod help;
mod own_experiment;
mod pauses;
mod plot;
mod proofs;
mod renewals;
mod reproduce;
mod simulate;
mod status;
mod sweep;
mod upgrade;
mod view;
mod wrong_inputs;
