//! The Rust side of the Python package `truthfed`: arguments in, results out.
//!
//! Nothing is decided here. Whatever can take long runs on threads of its own with Python's lock released, stops at Ctrl-C, and
//! raises an exception of `truthfed.errors` whatever happens ([`work`]). Python's names are those of `python/truthfed/_core.pyi`,
//! which has the documentation too.

#![allow(clippy::needless_pass_by_value, reason = "pyo3 hands over the arguments of a call")]

mod agent;
mod audit;
mod bandit;
mod cli;
mod convert;
mod coordinator;
mod error;
mod gather;
mod mechanism;
mod member;
mod office;
mod outcome;
mod round;
mod seen;
mod sim;
mod terms;
mod work;

#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use super::agent::PySigningMember;
    #[pymodule_export]
    use super::audit::{PyCounterexample, PyFindings, audit};
    #[pymodule_export]
    use super::bandit::PyLinUcb;
    #[pymodule_export]
    use super::cli::{main_with, report};
    #[pymodule_export]
    use super::coordinator::PyCoordinator;
    #[pymodule_export]
    use super::gather::PyGathering;
    #[pymodule_export]
    use super::member::PyMember;
    #[pymodule_export]
    use super::office::PyOffice;
    #[pymodule_export]
    use super::outcome::{PyOutcome, solve_again};
    #[pymodule_export]
    use super::round::{PyRound, mechanisms};
    #[pymodule_export]
    use super::seen::PySeen;
    #[pymodule_export]
    use super::sim::{PyStatistics, PySweep, default_config, paired, simulate};
    #[pymodule_export]
    use super::terms::PyTerms;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
