//! Everyone offers at the same moment.
//!
//! All are connected as agents are: one connection for polls, another for everything else. Times run from the moment at which
//! all begin to send until each has its receipt in hand, so they include sending.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::agent::{Link, Output};
use truthfed_node::digest::Digest;
use truthfed_node::journal::Entry;
use truthfed_node::wire::{Call, ReceiptKind};

use crate::load::agent::{Agent, Member, Part, Role};
use crate::load::figures::{Figure, Spread, ms};
use crate::load::plan::burst_bound_ms;
use crate::load::rounds::connect;
use crate::load::server::Server;
use crate::load::world::World;

/// About half of the members win the first round.
pub const COVERAGE: f64 = 0.5;
const CHUNK: usize = 1024;

struct Ended {
    acknowledged: Duration,
    offer: Digest,
    payments: u64,
}

/// Measures one burst of all members of a new federation.
pub async fn burst(world: &World, program: &Path) -> anyhow::Result<Vec<Figure>> {
    let server = Server::start(program, &world.folder).await?;
    let agents = world.agents(server.address())?;
    agents[0].connect().await?;
    let before = server.resident_bytes()?;
    connect(&agents).await?;
    let connections = 2 * (agents.len() - 1);
    let bytes = server.resident_bytes()?.saturating_sub(before) as f64 / connections as f64;
    let asked = Instant::now();
    let round = agents[0].open_round().await?;
    let ended = all_at_once(&server, &agents).await?;
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
async fn all_at_once(server: &Server, agents: &[Arc<Agent>]) -> anyhow::Result<BTreeMap<ClientId, Ended>> {
    // Also shows that every connection is still there.
    connect(agents).await?;
    let (stage, staged) = watch::channel(Stage::Preparing);
    let (ready, acknowledged) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let mut talking = JoinSet::new();
    for agent in agents {
        let member = Member::new(agent.clone(), Role::Offers, RoundId(0));
        talking.spawn(take_part(member, staged.clone(), ready.clone(), acknowledged.clone()));
    }
    all(&ready, &mut talking).await?;
    server.admin().until_idle().await?;
    stage.send_replace(Stage::Offering(Instant::now()));
    all(&acknowledged, &mut talking).await?;
    stage.send_replace(Stage::Ending);
    let mut ended = BTreeMap::new();
    while let Some(member) = talking.join_next().await {
        ended.extend([member??]);
    }
    Ok(ended)
}

/// Waits until all have come so far; fails if one of them does.
async fn all<T: 'static>(come: &Semaphore, talking: &mut JoinSet<anyhow::Result<T>>) -> anyhow::Result<()> {
    let count = u32::try_from(talking.len()).context("there are not that many agents")?;
    tokio::select! {
        _ = come.acquire_many(count) => Ok(()),
        failed = talking.join_next() => failed.context("there are agents")??.map(drop),
    }
}

/// What everyone does at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Preparing,
    Offering(Instant),
    /// Checks its receipts, delivers, and sees the end. Nobody begins before all have their receipts, so that the work of
    /// checking is not in their times.
    Ending,
}

/// One member's round, from the common moment on.
async fn take_part(
    mut member: Member,
    mut stage: watch::Receiver<Stage>,
    ready: Arc<Semaphore>,
    acknowledged: Arc<Semaphore>,
) -> anyhow::Result<(ClientId, Ended)> {
    let agent = member.part.agent.clone();
    let prepared = member.until(|_, _, output| matches!(output, Output::Send(Call::Offer(..)))).await?;
    let Output::Send(offer) = prepared else { bail!("an offer is sent") };
    ready.add_permits(1);
    let Stage::Offering(started) = *stage.wait_for(|stage| *stage != Stage::Preparing).await? else {
        bail!("offers are sent before the end")
    };
    let reply = agent.call(offer).await;
    let took = started.elapsed();
    acknowledged.add_permits(1);
    stage.wait_for(|stage| *stage == Stage::Ending).await?;
    member.conversation.reply(reply);
    let (offer, payments) = settle(member.until_closed().await?).await?;
    Ok((agent.party.name().clone(), Ended { acknowledged: took, offer, payments }))
}

/// All receipts of a member belong together: taken and decided; and delivered and paid, now or once it is confirmed, if it won.
async fn settle(part: Part) -> anyhow::Result<(Digest, u64)> {
    part.check()?;
    let Part { agent, offer, mut receipts, .. } = part;
    let (party, offer, delivered) = (&agent.party, offer.context("it was checked")?, receipts.len() - 1);
    let statement = agent.statement().await?;
    ensure!(statement.decisions.len() == 1, "{} was not told a decision", party.name());
    let won = party.receipt(&statement.decisions[0], &offer)?.kind == ReceiptKind::Won;
    receipts.extend(statement.decisions.into_iter().chain(statement.settlements).chain(statement.resolutions));
    let summary = party.check_receipts(&receipts)?;
    ensure!(usize::from(won) == delivered, "{} won and delivered nothing, or the reverse", party.name());
    let owed = summary.payments + summary.waiting;
    ensure!(owed == u64::from(won), "{} won and is neither paid nor waits, or the reverse", party.name());
    Ok((offer.digest, summary.payments))
}

/// The ledger is right, and holds every offer that was acknowledged and every payment.
fn check_journal(world: &World, round: RoundId, ended: &BTreeMap<ClientId, Ended>) -> anyhow::Result<()> {
    let report = world.check_ledger()?;
    ensure!(report.rounds == round.0, "{report}");
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
