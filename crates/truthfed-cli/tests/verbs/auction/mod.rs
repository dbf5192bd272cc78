//! `truthfed auction` and `truthfed mechanisms`: one module per theme.

mod bad_arguments;
mod bad_rounds;
mod compare;
mod corner_cases;
mod files;
mod outcome;
pub(crate) mod support;
mod vectors;
