//! `truthfed-proof`: looks for violations under simulated faults, and measures a coordinator under load and attack.
//!
//! Exit codes as those of `truthfed`: 0 done, 1 the answer is no (something is violated, a bound is missed), 2 the input is
//! wrong or something could not be measured.

mod args;
mod measure;
mod soak;

use std::process::ExitCode;

use clap::Parser;
use truthfed_cli::report::Report;
use truthfed_cli::{show, use_threads};

use crate::args::{Cli, Command};

/// As in `truthfed`: what is measured is what ships.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = use_threads(cli.threads).and_then(|()| match cli.command {
        Command::Soak(args) => Ok(soak::run(&args)),
        Command::Load(args) => measure::run(&args),
        Command::Journal(args) => measure::make_journal(&args),
        Command::Truthfed { args } => {
            let args = std::iter::once("truthfed".into()).chain(args);
            Ok(Report { text: String::new(), code: truthfed_cli::main_with(args) })
        }
    });
    show(done)
}
