//! `truthfed`: federated bandits whose clients are paid, and have no reason to lie.
//!
//! The one binary. Each verb is a module: it takes its parsed arguments and returns a [`Report`], which is
//! printed only when the whole is ready, so a failure leaves nothing on standard output.
//!
//! Exit codes: 0 done, 1 the answer is no (a payment is not certified, a claim is refuted), 2 the input is wrong.

mod args;
mod auction;
mod audit;
mod mechanisms;
mod node;
mod progress;
mod report;
mod reproduce;
mod simulate;
mod soak;
mod source;
mod sweep;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Cli, Command};
use crate::report::Report;

/// Memory is often given back by another thread than took it, for which the system's allocator takes locks: without them
/// a ledger is verified in two thirds of the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(report) => print(&report),
        Err(error) => fail(&error),
    }
}

fn run(cli: Cli) -> anyhow::Result<Report> {
    if let Some(threads) = cli.threads {
        rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global()?;
    }
    match cli.command {
        Command::Auction(args) => auction::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Soak(args) => Ok(soak::run(&args)),
        Command::Sweep(args) => sweep::run(&args),
        Command::Mechanisms(args) => Ok(mechanisms::run(&args)),
        Command::Node(command) => node::run(&command),
        Command::Completions { shell } => Ok(completions(shell)),
    }
}

fn completions(shell: clap_complete::Shell) -> Report {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "truthfed", &mut script);
    Report::done(String::from_utf8(script).expect("completion scripts are text"))
}

/// Prints the report; a reader that went away (`| head`) is no error.
fn print(report: &Report) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(report.text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => fail(&error.into()),
        _ => report.code,
    }
}

/// Says on standard error what is wrong. Control characters out of a file do not reach the terminal.
fn fail(error: &anyhow::Error) -> ExitCode {
    let plain = |c: char| if c.is_control() && c != '\n' { c.escape_default().collect() } else { c.to_string() };
    let text: String = format!("{error:#}").chars().map(plain).collect();
    // Nothing is left to do when standard error is closed too.
    let _ = writeln!(std::io::stderr(), "error: {text}");
    ExitCode::from(2)
}
