//! `truthfed pause`, `resume` and `drain`: whether rounds may open.

use std::time::{Duration, Instant};

use anyhow::bail;
use truthfed::protocol::RoundId;
use truthfed_node::calendar::minute;
use truthfed_node::coordinator::operator::{Order, OrderReply, PauseReply, PauseRequest};
use truthfed_node::federation::{Federation, open};
use truthfed_node::ledger::{Pause, Reason};

use super::args::{FolderArgs, PauseArgs};
use super::block_on;
use super::operator::{an_engine, ask, is_unreachable, unexpected};
use crate::report::{Report, json};

/// How often `drain` looks whether the round has ended.
const LOOK: Duration = Duration::from_millis(250);
/// How much longer than a round may last `drain` waits for its end.
const MARGIN: Duration = Duration::from_secs(60);

pub(crate) fn run_pause(PauseArgs { of, reason }: &PauseArgs) -> anyhow::Result<Report> {
    let federation = open(&of.folder)?;
    Ok(report(of, &block_on(change(&federation, Some(reason.clone())))?))
}

pub(crate) fn run_resume(of: &FolderArgs) -> anyhow::Result<Report> {
    let federation = open(&of.folder)?;
    Ok(report(of, &block_on(change(&federation, None))?))
}

pub(crate) fn run_drain(PauseArgs { of, reason }: &PauseArgs) -> anyhow::Result<Report> {
    let federation = open(&of.folder)?;
    let drained = block_on(async {
        let paused = change(&federation, Some(reason.clone())).await?;
        match paused.open {
            Some(round) => ended(&federation, round).await,
            None => Ok(paused),
        }
    });
    Ok(report(of, &drained?))
}

fn report(of: &FolderArgs, reply: &PauseReply) -> Report {
    Report::done(if of.json { json(reply) } else { in_words(reply) })
}

fn in_words(PauseReply { paused, open }: &PauseReply) -> String {
    let state = match paused {
        Some(Pause { reason, since_ms }) => format!("No round opens, since {} UTC: {reason}.", minute(*since_ms)),
        None => "Rounds may open.".to_owned(),
    };
    let open = open.map_or("No round is open.".to_owned(), |round| format!("Round {round} is open and goes on."));
    format!("{state} {open}\n")
}

/// Pauses rounds for a reason, or resumes them.
async fn change(federation: &Federation, reason: Option<Reason>) -> anyhow::Result<PauseReply> {
    let order = match &reason {
        Some(reason) => Order::Pause(PauseRequest { reason: reason.clone() }),
        None => Order::Resume,
    };
    match ask(federation, &order).await {
        Ok(OrderReply::Pause(reply) | OrderReply::Resume(reply)) => Ok(reply),
        Err(error) if is_unreachable(&error) => by_an_engine(federation, reason).await,
        reply => unexpected(reply),
    }
}

async fn by_an_engine(federation: &Federation, reason: Option<Reason>) -> anyhow::Result<PauseReply> {
    let running = an_engine(federation).await?;
    let handle = running.handle();
    let changed = match reason {
        Some(reason) => handle.pause(reason).await,
        None => handle.resume().await,
    };
    let reply = PauseReply::of(&handle);
    drop(handle);
    running.stop().await?;
    changed?;
    Ok(reply)
}

/// Waits until the open round has ended. Fails when no coordinator runs that could end it, or it takes longer than a round may.
async fn ended(federation: &Federation, round: RoundId) -> anyhow::Result<PauseReply> {
    let terms = federation.settings.agreement.raw();
    // A phase that a restart interrupts has its whole time again.
    let patience = Duration::from_millis(2 * (terms.offers_ms + terms.deliveries_ms)) + MARGIN;
    let until = Instant::now() + patience;
    loop {
        let status = match ask(federation, &Order::Status).await {
            Ok(OrderReply::Status(status)) => status,
            Err(error) if is_unreachable(&error) => {
                bail!("rounds are paused, but round {round} is open and no coordinator runs to end it: start one")
            }
            reply => return unexpected(reply),
        };
        if status.open.is_none() {
            return Ok(PauseReply { paused: status.paused, open: None });
        }
        if Instant::now() > until {
            bail!("rounds are paused, but round {round} is still open after {} s: see the log", patience.as_secs());
        }
        tokio::time::sleep(LOOK).await;
    }
}
