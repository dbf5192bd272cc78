//! A long journal: made by a real engine, served again after a kill, and verified.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use truthfed::protocol::RoundId;
use truthfed_node::agent::Output;
use truthfed_node::coordinator::Config;
use truthfed_node::digest::Nonce;
use truthfed_node::engine::{Command, Core};
use truthfed_node::wire::{Call, NextRound, ReceiptKind, View};

use crate::load::agent::{Agent, Offer, Party};
use crate::load::figures::Figure;
use crate::load::rounds::offer;
use crate::load::server::Server;
use crate::load::world::{World, honest_address};

/// Of a thousand members nearly all win the first round, half of them the four hundredth.
pub const COVERAGE: f64 = 0.99;
/// The lease while the journal is made.
const LEASE_MS: u64 = 600_000;
/// The most that it may take to serve again, and to verify a million entries, in seconds.
const BOUNDS: (f64, f64) = (1.0, 15.0);

/// Fills the store of a new federation with whole rounds of all members, to at least so many entries. Gives their number.
///
/// All of it is real: signed offers and deliveries, the engine's checks, decisions, receipts and synced commits. Only the
/// network is left out.
pub fn fill(world: &World, rows: u64) -> anyhow::Result<u64> {
    let federation = world.federation()?;
    let setup = Config::of(&federation, LEASE_MS).plan.setup();
    let mut core = Core::start(setup, federation.store().open()?)?;
    let parties: Vec<Party> =
        world.bundles.iter().enumerate().map(|(number, bundle)| Party::new(bundle, number as u64)).collect();
    while core.version() < rows {
        round(&mut core, &parties)?;
        core.renew()?;
    }
    let entries = core.version();
    core.release()?;
    Ok(entries)
}

/// One round in which everyone offers and every winner delivers.
fn round(core: &mut Core, parties: &[Party]) -> anyhow::Result<()> {
    let parties: Vec<&Party> = parties.iter().collect();
    let next = core.published().view(parties[0].name()).next.context("no round is open")?;
    let NextRound { round, nonce } = next;
    let offers = take_offers(core, &parties, round, nonce)?;
    deliver(core, &parties, &offers, round)?;
    ensure!(core.published().closed() == round, "round {round} is settled");
    Ok(())
}

/// All of these offer, the first of them to open the round.
pub(crate) fn take_offers(
    core: &mut Core,
    parties: &[&Party],
    round: RoundId,
    nonce: Nonce,
) -> anyhow::Result<Vec<Offer>> {
    let published = core.published();
    let offering = |party: &&Party| {
        let offer = party.offer(round, nonce);
        let call = Call::Offer(round, offer.envelope.clone());
        Ok((offer, Command::of(&published, party.name(), call)?))
    };
    let offering: anyhow::Result<Vec<(Offer, Command)>> = parties.par_iter().map(offering).collect();
    let (offers, commands): (Vec<Offer>, Vec<Command>) = offering?.into_iter().unzip();
    work(core, commands)?;
    Ok(offers)
}

/// Those that have won deliver.
pub(crate) fn deliver(core: &mut Core, parties: &[&Party], offers: &[Offer], round: RoundId) -> anyhow::Result<()> {
    let published = core.published();
    let delivering = |(party, offer): (&&Party, &Offer)| {
        let decision = published.view(party.name()).open?.decision?;
        let has_won = party.receipt(&decision, offer).is_ok_and(|receipt| receipt.kind == ReceiptKind::Won);
        has_won.then(|| Command::of(&published, party.name(), Call::Deliver(round, party.delivery(offer))))
    };
    let commands: Result<Vec<Command>, _> = parties.par_iter().zip(offers).filter_map(delivering).collect();
    work(core, commands?)
}

pub(crate) fn work(core: &mut Core, commands: Vec<Command>) -> anyhow::Result<()> {
    for answer in core.work(commands, &mut |_| false)? {
        answer?;
    }
    Ok(())
}

/// Kills a coordinator in the middle of a round, and measures how soon the next one answers a member.
pub async fn restart(world: &World, program: &Path) -> anyhow::Result<Figure> {
    let server = Server::start(program, &world.folder).await?;
    let offers = half_a_round(&world.agents(server.address())?).await?;
    server.kill().await?;

    let started = Instant::now();
    let server = Server::start(program, &world.folder).await?;
    server.admin().until_role("active").await?;
    let again = Agent::new(&world.bundles[0], server.address(), honest_address(0), 0)?;
    let view = again.connect().await?;
    let took = started.elapsed().as_secs_f64();
    let decision = view.open.and_then(|open| open.decision).context("the round goes on")?;
    again.party.receipt(&decision, &offers[0])?;
    server.stop().await?;
    let entries = world.store()?.head()?.number;
    Ok(Figure::bounded(format!("killed at entry {entries}, until a member is answered"), took, "s", BOUNDS.0))
}

/// Everyone offers, and one of the winners delivers.
async fn half_a_round(agents: &[Arc<Agent>]) -> anyhow::Result<Vec<Offer>> {
    let mut members = offer(agents).await?;
    for member in &mut members {
        let is_decided = |view: &View| view.open.as_ref().is_some_and(|open| open.decision.is_some());
        let decided = member.until(|_, view, _| view.is_some_and(is_decided)).await?;
        if matches!(decided, Output::Send(Call::Deliver(..))) {
            member.carry_out(decided).await?;
            member.until(|part, _, _| part.receipts.len() == 2).await?;
            return members.into_iter().map(|member| member.part.offer.context("it was taken")).collect();
        }
    }
    bail!("nobody wins")
}

/// Verifies the ledger as `truthfed ledger verify` does, and measures it.
pub fn verify(world: &World) -> anyhow::Result<Vec<Figure>> {
    let started = Instant::now();
    let report = world.check_ledger()?;
    let took = started.elapsed().as_secs_f64();
    let million = 1e6 * took / report.entries as f64;
    Ok(vec![
        Figure::told(format!("ledger verify, {} entries, {} payments", report.entries, report.payments), took, "s"),
        Figure::bounded("ledger verify, for a million entries", million, "s", BOUNDS.1),
    ])
}
