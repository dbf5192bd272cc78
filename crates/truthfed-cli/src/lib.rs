//! `truthfed`: federated bandits whose clients are paid, and have no reason to lie.
//!
//! The library behind the binary, so that `truthfed-proof` and the Python package can run and show things as it does. No API to
//! build on.
//!
//! Each verb is a module: it takes its parsed arguments and returns a [`Report`], which is
//! printed only when the whole is ready, so a failure leaves nothing on standard output.
//!
//! Exit codes: 0 done, 1 the answer is no (a payment is not certified, a claim is refuted), 2 the input is wrong.

mod args;
mod auction;
mod audit;
mod mechanisms;
mod node;
mod parameters;
mod plot;
pub mod progress;
mod purse;
pub mod report;
mod reproduce;
mod simulate;
mod source;
mod sweep;
mod view;

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use truthfed_node::error::Refusal;

use crate::args::{Cli, Command};
use crate::report::Report;

/// Runs `truthfed` with these arguments; the first is the program's name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(main_with(args))
}

/// The same for a caller that goes on afterwards: returns the exit code, and never ends the process.
pub fn main_with(args: impl IntoIterator<Item = OsString>) -> u8 {
    match Cli::try_parse_from(args) {
        Ok(cli) => say(run(cli)),
        Err(error) => {
            // Nothing is left to do when there is nobody to tell.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    }
}

/// What `truthfed` has to say with these arguments, without printing it.
pub fn report(args: impl IntoIterator<Item = OsString>) -> anyhow::Result<Report> {
    run(Cli::try_parse_from(args)?)
}

/// Prints what a verb has to say, or why it failed, which is exit code 2.
pub fn show(done: anyhow::Result<Report>) -> ExitCode {
    ExitCode::from(say(done))
}

fn say(done: anyhow::Result<Report>) -> u8 {
    match done {
        Ok(report) => print(&report),
        Err(error) => fail(&error),
    }
}

fn run(cli: Cli) -> anyhow::Result<Report> {
    use_threads(cli.threads)?;
    match cli.command {
        Command::Auction(args) => auction::run(&args),
        Command::Audit(args) => audit::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Plot(args) => plot::run(&args),
        Command::View(args) => view::run(&args),
        Command::Mechanisms { json } => Ok(mechanisms::run(json)),
        Command::Node(command) => node::run(&command),
        Command::Completions { shell } => Ok(completions(shell)),
    }
}

/// Lets everything work with so many threads; one per core without a number. Fails when they cannot be started.
pub fn use_threads(threads: Option<u16>) -> anyhow::Result<()> {
    match threads {
        Some(threads) => Ok(rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global()?),
        None => Ok(()),
    }
}

fn completions(shell: clap_complete::Shell) -> Report {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "truthfed", &mut script);
    Report::done(String::from_utf8(script).expect("completion scripts are text"))
}

/// Prints the report; a reader that went away (`| head`) is no error.
fn print(report: &Report) -> u8 {
    let mut out = std::io::stdout().lock();
    match out.write_all(report.text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => fail(&error.into()),
        _ => report.code,
    }
}

/// Says on standard error what is wrong. Control characters out of a file do not reach the terminal.
fn fail(error: &anyhow::Error) -> u8 {
    let plain = |c: char| if c.is_control() && c != '\n' { c.escape_default().collect() } else { c.to_string() };
    // What a coordinator refuses has advice of its own.
    let advice = error.chain().find_map(|cause| cause.downcast_ref::<Refusal>()).map(|refusal| refusal.code.advice());
    let advice = advice.filter(|advice| !format!("{error:#}").contains(advice)).map(|advice| format!("\n  {advice}"));
    let text: String = format!("{error:#}{}", advice.unwrap_or_default()).chars().map(plain).collect();
    // Nothing is left to do when standard error is closed too.
    let _ = writeln!(std::io::stderr(), "error: {text}");
    2
}
