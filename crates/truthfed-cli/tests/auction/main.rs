//! The built binary from outside, as a user or a script sees it: one module per theme.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod bad_arguments;
mod bad_rounds;
mod compare;
mod corner_cases;
mod files;
mod help;
mod outcome;
mod support;
mod vectors;
