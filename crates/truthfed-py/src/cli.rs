//! The command line, within Python's process.

use std::ffi::OsString;
use std::panic::catch_unwind;

use pyo3::prelude::*;

use crate::error;
use crate::work::Job;

/// Exit code of a program in Rust that panicked.
const PANICKED: u8 = 101;

/// Runs `truthfed` with these arguments, the first of which is its name; returns the exit code. For the command itself: output goes
/// to the process, and signals end it as they end the binary.
#[pyfunction]
pub(crate) fn main_with(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| catch_unwind(|| truthfed_cli::main_with(args)).unwrap_or(PANICKED))
}

/// Runs `truthfed` with these arguments; returns what it would print, and the exit code. Raises what it would say on standard error.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, args: Vec<OsString>) -> PyResult<(String, u8)> {
    let done = Job::new().run(py, move |_| truthfed_cli::report(args).map_err(|failure| format!("{failure:#}")))?;
    done.map(|report| (report.text, report.code)).map_err(|message| error::failed(&message))
}
