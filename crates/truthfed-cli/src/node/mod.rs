//! The verbs of the service: a federation's folder, its coordinator, agents, members, ledger and rounds.

mod agent;
pub(crate) mod args;
mod demo;
mod init;
mod ledger;
mod members;
mod round;
mod serve;

use anyhow::Context;
use truthfed_node::federation::Federation;
use truthfed_node::store::Store;

use self::args::NodeCommand;
use crate::report::Report;

pub(crate) fn run(command: &NodeCommand) -> anyhow::Result<Report> {
    match command {
        NodeCommand::Init(args) => init::run(args),
        NodeCommand::Serve(args) => serve::run(args),
        NodeCommand::Agent(args) => agent::run(args),
        NodeCommand::Demo(args) => demo::run(args),
        NodeCommand::Members(args) => members::run(args),
        NodeCommand::Ledger(args) => ledger::run(args),
        NodeCommand::Round(args) => round::run(args),
    }
}

/// What is done over the network, and until it is done.
fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("cannot start the network's threads")?.block_on(work)
}

/// The store of a federation that has begun, to be read only.
fn existing_store(federation: &Federation) -> anyhow::Result<Box<dyn Store>> {
    let store = federation.store();
    if let Some(path) = store.path() {
        anyhow::ensure!(path.exists(), "{} is missing: has `truthfed serve` run yet?", path.display());
    }
    store.open_existing().with_context(|| store.to_string())
}

/// Until somebody presses Ctrl-C, or the system says that it is time.
async fn told_to_stop() {
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
            // Without the one signal there is still the other.
            Err(_) => drop(interrupt.await),
        }
    }
    #[cfg(not(unix))]
    drop(interrupt.await);
}
