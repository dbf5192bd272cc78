//! Everyone offers at the same moment.
//!
//! All are connected as agents are, one connection waiting for news while the other speaks. Times run from the one moment at
//! which all begin to send until each has its receipt in hand, so that they hold whatever it takes to send as well.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::digest::Digest;
use truthfed_node::journal::Entry;
use truthfed_node::wire::{Envelope, Phase, ReceiptKind, View};

use crate::load::agent::{Agent, Offer, opened_after, text};
use crate::load::figures::{Figure, Spread, ms};
use crate::load::plan::burst_bound_ms;
use crate::load::rounds::connect;
use crate::load::server::Server;
use crate::load::world::World;

/// About half of the members win the first round.
pub const COVERAGE: f64 = 0.5;
/// Rows of the journal read at once.
const CHUNK: usize = 1024;

/// What became of one member's offer.
struct Ended {
    acknowledged: Duration,
    offer: Digest,
    payments: u64,
}

/// Measures one burst of all members of a new federation.
pub async fn burst(world: &World, program: &Path) -> anyhow::Result<Vec<Figure>> {
    let server = Server::start(program, world.folder()).await?;
    let agents = world.agents(server.address())?;
    agents[0].connect().await?;
    let before = server.resident_bytes()?;
    connect(&agents).await?;
    let connections = 2 * (agents.len() - 1);
    let bytes = server.resident_bytes()?.saturating_sub(before) as f64 / connections as f64;
    let asked = Instant::now();
    let round = agents[0].ask().await?;
    let ended = all_at_once(&server, &agents, round).await?;
    let settled = asked.elapsed();
    server.stop().await?;
    check_journal(world, round, &ended)?;
    let (count, times) = (agents.len(), Spread::of(ended.values().map(|ended| ended.acknowledged).collect()));
    Ok(vec![
        Figure::told(format!("memory of one of {connections} idle connections"), bytes, "bytes"),
        Figure::told(format!("{count} offers at once: acknowledged, p50"), ms(times.median()), "ms"),
        Figure::bounded(
            format!("{count} offers at once: acknowledged, p99"),
            ms(times.percentile(99)),
            "ms",
            burst_bound_ms(count),
        ),
        Figure::told(format!("{count} offers at once: acknowledged, all"), ms(times.max()), "ms"),
        Figure::told(format!("{count} offers at once: asked for to settled, with preparing"), ms(settled), "ms"),
    ])
}

/// Everyone prepares, waits for the same moment, and goes through the round.
async fn all_at_once(
    server: &Server,
    agents: &[Arc<Agent>],
    round: RoundId,
) -> anyhow::Result<BTreeMap<ClientId, Ended>> {
    // Also shows that every connection is still there.
    let views = connect(agents).await?;
    let open = opened_after(&views[0], RoundId(0)).context("the round is open")?;
    let offers: Vec<Offer> = agents.par_iter().map(|agent| agent.party.offer(round, open.nonce)).collect();
    let (stage, staged) = watch::channel(Stage::Preparing);
    let (mut parts, acknowledged) = (JoinSet::new(), Arc::new(Semaphore::new(0)));
    for ((agent, view), offer) in agents.iter().cloned().zip(views).zip(offers) {
        parts.spawn(part(agent, view, offer, staged.clone(), acknowledged.clone()));
    }
    server.until_waiting(agents.len()).await?;
    stage.send_replace(Stage::Offering(Instant::now()));
    let all = u32::try_from(agents.len()).context("there are not that many agents")?;
    tokio::select! {
        _ = acknowledged.acquire_many(all) => drop(stage.send_replace(Stage::Ending)),
        failed = parts.join_next() => drop(failed.context("there are agents")???),
    }
    let mut ended = BTreeMap::new();
    while let Some(part) = parts.join_next().await {
        ended.extend([part??]);
    }
    Ok(ended)
}

/// What everyone does at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Preparing,
    /// Offers, from this moment on.
    Offering(Instant),
    /// Checks its receipts, delivers, and sees the end. Nobody begins before all have their receipts, so that the work of
    /// checking is not in their times.
    Ending,
}

/// One member's round, from the common moment on.
async fn part(
    agent: Arc<Agent>,
    view: View,
    offer: Offer,
    mut stage: watch::Receiver<Stage>,
    acknowledged: Arc<Semaphore>,
) -> anyhow::Result<(ClientId, Ended)> {
    let (round, body) = (offer.round(), text(&offer.envelope));
    let decided = move |view: &View| {
        view.closed >= round || view.open.as_ref().is_some_and(|open| open.phase == Phase::Deliveries)
    };
    let news = tokio::spawn({
        let agent = agent.clone();
        async move { agent.until(view, decided).await }
    });
    let Stage::Offering(started) = *stage.wait_for(|stage| *stage != Stage::Preparing).await? else {
        bail!("offers are sent before the end")
    };
    let receipt = agent.send_offer(round, body).await?;
    let took = started.elapsed();
    acknowledged.add_permits(1);
    stage.wait_for(|stage| *stage == Stage::Ending).await?;
    ensure!(agent.party.receipt(&receipt, &offer)?.kind == ReceiptKind::OfferTaken, "the offer is not taken");
    let view = news.await??;
    let mut receipts = vec![receipt];
    let decision = view.open.as_ref().and_then(|open| open.decision.clone());
    if let Some(decision) = &decision
        && agent.party.receipt(decision, &offer)?.kind == ReceiptKind::Won
    {
        receipts.push(agent.deliver(&offer).await?);
    }
    agent.until(view, |view| view.closed >= round).await?;
    let payments = settle(&agent, receipts, &offer).await?;
    Ok((agent.party.name().clone(), Ended { acknowledged: took, offer: offer.digest, payments }))
}

/// All receipts of a member belong together: taken and decided; and delivered and paid, if it won.
async fn settle(agent: &Agent, mut receipts: Vec<Envelope>, offer: &Offer) -> anyhow::Result<u64> {
    let delivered = receipts.len() - 1;
    let statement = agent.statement().await?;
    ensure!(statement.decisions.len() == 1, "{} was not told a decision", agent.party.name());
    let won = agent.party.receipt(&statement.decisions[0], offer)?.kind == ReceiptKind::Won;
    receipts.extend(statement.decisions.into_iter().chain(statement.settlements));
    let summary = agent.party.check_receipts(&receipts)?;
    ensure!(usize::from(won) == delivered, "{} won and delivered nothing, or the reverse", agent.party.name());
    ensure!(summary.payments == u64::from(won), "{} won and is not paid, or the reverse", agent.party.name());
    Ok(summary.payments)
}

/// The ledger is right, and holds every offer that was acknowledged and every payment.
fn check_journal(world: &World, round: RoundId, ended: &BTreeMap<ClientId, Ended>) -> anyhow::Result<()> {
    let report = world.verify()?;
    ensure!(report.is_right() && report.rounds == round.0, "{report}");
    let payments: u64 = ended.values().map(|ended| ended.payments).sum();
    ensure!(report.payments == payments, "{} payments in the ledger, {payments} in receipts", report.payments);
    let (mut store, mut after, mut kept) = (world.store()?, 0, BTreeMap::new());
    loop {
        let rows = store.rows(after, CHUNK)?;
        let Some(last) = rows.last() else { break };
        after = last.number;
        for row in &rows {
            if let Entry::Offered { member, offer, .. } = row.entry()? {
                kept.insert(member, offer.digest());
            }
        }
    }
    let acknowledged: BTreeMap<ClientId, Digest> =
        ended.iter().map(|(name, ended)| (name.clone(), ended.offer)).collect();
    ensure!(kept == acknowledged, "the journal has other offers than were acknowledged");
    Ok(())
}
