//! The verbs of the service: a federation's folder, its coordinator, agents, members, ledger and rounds.

mod agent;
pub(crate) mod args;
mod backup;
mod demo;
mod doctor;
mod evidence;
mod export;
mod init;
mod ledger;
mod member;
mod members;
mod operator;
mod page;
mod pause;
mod payout;
mod proofs;
mod renew;
mod round;
mod serve;
mod status;
mod witness;

use std::path::Path;

use anyhow::Context;
use truthfed_node::federation::{Federation, PublicBundle, open};
use truthfed_node::store::Store;

use self::args::NodeCommand;
use crate::report::Report;

pub(crate) fn run(command: &NodeCommand) -> anyhow::Result<Report> {
    match command {
        NodeCommand::Init(args) => init::run(args),
        NodeCommand::Serve(args) => serve::run(args),
        NodeCommand::Agent(args) => agent::run(args),
        NodeCommand::Demo(args) => demo::run(args),
        NodeCommand::Backup(args) => backup::run_backup(args),
        NodeCommand::Restore(args) => backup::run_restore(args),
        NodeCommand::Migrate(args) => backup::run_migrate(args),
        NodeCommand::Status(args) => status::run(args),
        NodeCommand::Doctor(args) => doctor::run(args),
        NodeCommand::Page(args) => page::run(args),
        NodeCommand::Pause(args) => pause::run_pause(args),
        NodeCommand::Resume(args) => pause::run_resume(args),
        NodeCommand::Drain(args) => pause::run_drain(args),
        NodeCommand::Renew(args) => renew::run(args),
        NodeCommand::Member(command) => member::run(command),
        NodeCommand::Members(command) => members::run(command),
        NodeCommand::Ledger(command) => ledger::run(command),
        NodeCommand::Round(command) => round::run(command),
        NodeCommand::Witness(command) => witness::run(command),
    }
}

pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("cannot start the network's threads")?.block_on(work)
}

/// The store of a federation whose coordinator has run, for reading.
fn existing_store(federation: &Federation) -> anyhow::Result<Box<dyn Store>> {
    let store = federation.store();
    if let Some(path) = store.path() {
        anyhow::ensure!(
            path.exists(),
            "there is no ledger yet: {} is missing (has `truthfed serve` run yet?)",
            path.display()
        );
    }
    store.open_existing().with_context(|| store.to_string())
}

/// What is recorded in a federation's folder, or in a bundle for auditors, for reading.
fn recorded(folder: &Path) -> anyhow::Result<Box<dyn Store>> {
    match PublicBundle::is_there(folder) {
        true => Ok(Box::new(PublicBundle::open(folder)?)),
        false => existing_store(&open(folder)?),
    }
}

/// What a closed terminal sends: it must not end a service, from the moment at which this is made.
struct Hangups {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangups {
    fn watch() -> anyhow::Result<Hangups> {
        Ok(Hangups {
            #[cfg(unix)]
            signal: {
                use tokio::signal::unix::{SignalKind, signal};
                signal(SignalKind::hangup()).context("cannot watch for SIGHUP")?
            },
        })
    }

    /// Does this at every SIGHUP, those that came since the watch began among them.
    #[cfg_attr(not(unix), expect(unused_variables, reason = "only there is a SIGHUP"))]
    fn each(mut self, act: impl Fn() + Send + 'static) {
        #[cfg(unix)]
        tokio::spawn(async move {
            while self.signal.recv().await.is_some() {
                act();
            }
        });
    }
}

/// Waits for Ctrl-C or SIGTERM.
pub(crate) async fn told_to_stop() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = interrupt => {}
                    _ = terminate.recv() => {}
                }
            }
            // SIGTERM cannot be watched: wait for Ctrl-C alone.
            Err(_) => drop(interrupt.await),
        }
    }
    #[cfg(not(unix))]
    drop(interrupt.await);
}
