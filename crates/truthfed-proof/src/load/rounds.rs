//! Whole rounds of members over the network.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::task::JoinSet;
use truthfed_node::wire::{Phase, ReceiptKind, View};

use crate::load::agent::{Agent, opened_after, text};

/// Members that connect at the same time.
const AT_ONCE: usize = 64;
/// From one round to the next, so that nobody sends more than the coordinator hears from one member in the long run.
const PACE: Duration = Duration::from_millis(200);
/// Rounds that are timed at least.
const LEAST: usize = 5;

/// What a member does when a round is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Offers, and delivers when it wins.
    Offers,
    /// Declines, so that nobody waits for it.
    Declines,
}

/// Lets everyone connect, some at a time, and gives what each sees.
pub async fn connect(agents: &[Arc<Agent>]) -> anyhow::Result<Vec<View>> {
    let mut views = Vec::with_capacity(agents.len());
    for some in agents.chunks(AT_ONCE) {
        let connecting: Vec<_> =
            some.iter().cloned().map(|agent| tokio::spawn(async move { agent.connect().await })).collect();
        for connected in connecting {
            views.push(connected.await??);
        }
    }
    Ok(views)
}

/// One member's part in the next round: from its opening to its end, which it sees last.
async fn take_part(agent: &Agent, role: Role, seen: View) -> anyhow::Result<View> {
    let last = seen.closed;
    let view = agent.until(seen, |view| opened_after(view, last).is_some()).await?;
    let open = opened_after(&view, last).context("it was waited for")?;
    let (round, nonce) = (open.round, open.nonce);
    if role == Role::Declines {
        agent.decline(round).await?;
        return agent.until(view, |view| view.closed >= round).await;
    }
    let offer = agent.party.offer(round, nonce);
    let receipt = agent.send_offer(round, text(&offer.envelope)).await?;
    ensure!(agent.party.receipt(&receipt, &offer)?.kind == ReceiptKind::OfferTaken, "the offer is not taken");
    let is_decided = |view: &View| {
        let decided = |open: &truthfed_node::wire::OpenRound| open.phase == Phase::Deliveries;
        view.closed >= round || view.open.as_ref().is_some_and(decided)
    };
    let view = agent.until(view, is_decided).await?;
    if let Some(decision) = view.open.as_ref().and_then(|open| open.decision.as_ref())
        && agent.party.receipt(decision, &offer)?.kind == ReceiptKind::Won
    {
        agent.deliver(&offer).await?;
    }
    agent.until(view, |view| view.closed >= round).await
}

/// Times whole rounds, one after the other: from the request for one until every member has seen its end.
pub async fn timed(members: &[(Arc<Agent>, Role)], at_least: Duration) -> anyhow::Result<Vec<Duration>> {
    let agents: Vec<Arc<Agent>> = members.iter().map(|(agent, _)| agent.clone()).collect();
    let mut views = connect(&agents).await?;
    let (started, mut times) = (Instant::now(), Vec::new());
    while started.elapsed() < at_least || times.len() < LEAST {
        let mut parts = JoinSet::new();
        for (place, ((agent, role), view)) in members.iter().cloned().zip(views.drain(..)).enumerate() {
            parts.spawn(async move { take_part(&agent, role, view).await.map(|view| (place, view)) });
        }
        let asked = Instant::now();
        members[0].0.ask().await?;
        let mut seen = Vec::with_capacity(members.len());
        while let Some(part) = parts.join_next().await {
            seen.push(part??);
        }
        times.push(asked.elapsed());
        seen.sort_unstable_by_key(|(place, _)| *place);
        views.extend(seen.into_iter().map(|(_, view)| view));
        tokio::time::sleep(PACE.saturating_sub(asked.elapsed())).await;
    }
    Ok(times)
}
