//! Honest rounds, quiet and under attack.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use truthfed::protocol::RoundId;
use truthfed_node::federation::Bundle;
use truthfed_node::wire::Call;

use crate::load::agent::{Agent, Role};
use crate::load::figures::{Figure, Spread, ms};
use crate::load::flood::{Flood, Says};
use crate::load::hostile::{Attack, Attacker, Kind};
use crate::load::plan::Plan;
use crate::load::rounds::timed;
use crate::load::server::Server;
use crate::load::world::{World, honest_address, hostile_address};

/// Nearly all win, for thousands of rounds.
pub const COVERAGE: f64 = 0.999;
/// Connections of one member that the coordinator takes.
pub const PER_MEMBER: usize = 8;
/// Of these, connections of a slow member that attack: one speaks and one waits, as an agent's.
const SLOW_PER_MEMBER: usize = PER_MEMBER - 2;
/// Connections of one address that are not authenticated.
pub const PER_ADDRESS: usize = 32;
/// Addresses of honest members from which attackers come too, each twice as many as are heard.
const SHARED: usize = 4;
/// How many times as long a round may take under attack.
pub const BOUND: f64 = 2.0;

/// Honest members, hostile ones that decline every round as is their right, and who floods.
struct Cast {
    members: Vec<(Arc<Agent>, Role)>,
    hostile: Vec<Bundle>,
    flooder: Bundle,
}

pub fn members(plan: &Plan) -> usize {
    plan.honest + hostile_members(plan.hostile) + 1
}

fn hostile_members(connections: usize) -> usize {
    (0..connections).filter(|&number| Kind::of(number).is_authenticated()).count().div_ceil(SLOW_PER_MEMBER).max(1)
}

/// Times rounds in quiet, among slow and half open connections, and beside a flood.
pub async fn attack(world: &World, program: &Path, plan: &Plan) -> anyhow::Result<Vec<Figure>> {
    let server = Server::start(program, &world.folder).await?;
    let mut cast = Cast::of(world, server.address(), plan)?;
    // The first rounds make the files that all later ones grow.
    timed(&cast.members, Duration::ZERO).await?;
    let quiet = Spread::of(timed(&cast.members, Duration::from_secs(plan.attacked_s)).await?).median();
    let mut figures = vec![Figure::told(format!("quiet round of {}, median", plan.honest), ms(quiet), "ms")];
    figures.extend(slow(world, server.address(), &cast, plan, quiet).await?);
    figures.extend(flooded(server.address(), &mut cast, plan, quiet).await?);
    server.stop().await?;
    world.check_ledger()?;
    Ok(figures)
}

/// Rounds among slow connections, and how long a new connection takes.
async fn slow(
    world: &World,
    coordinator: SocketAddr,
    cast: &Cast,
    plan: &Plan,
    quiet: Duration,
) -> anyhow::Result<Vec<Figure>> {
    let attack = Attack::begin(attackers(coordinator, plan, &cast.hostile)?).await?;
    let open = attack.open();
    let rounds = Spread::of(timed(&cast.members, Duration::from_secs(plan.attacked_s)).await?);
    let mut connected = Vec::new();
    // Whoever shares an address with an attacker keeps its connections, but may not get another.
    for (number, bundle) in world.bundles.iter().enumerate().take(plan.honest).skip(SHARED) {
        let (newcomer, started) = (Agent::new(bundle, coordinator, honest_address(number), 0)?, Instant::now());
        newcomer.connect().await?;
        connected.push(started.elapsed() / 2);
    }
    Ok(vec![
        Figure::told(format!("round among {open} slow connections, median"), ms(rounds.median()), "ms"),
        Figure::bounded("round among slow connections, to a quiet one", ratio(&rounds, quiet), "times", BOUND),
        Figure::told("new connection among slow ones, p99", ms(Spread::of(connected).percentile(99)), "ms"),
    ])
}

/// Rounds beside a flood. Who floods takes no other part any more.
async fn flooded(
    coordinator: SocketAddr,
    cast: &mut Cast,
    plan: &Plan,
    quiet: Duration,
) -> anyhow::Result<Vec<Figure>> {
    let (flooder, _) = cast.members.pop().context("who floods is the last")?;
    let last = flooder.connect().await?.closed;
    drop(flooder);
    let declines = Arc::new(Declines(AtomicU64::new(last.0 + 1)));
    let flood = Flood::begin(&declines, coordinator, &cast.flooder, PER_MEMBER)?;
    let rounds = Spread::of(timed(&cast.members, Duration::from_secs(plan.attacked_s)).await?);
    let [heard, turned_away] = flood.rates()?;
    ensure!(turned_away > 0.0, "nobody told the flood that it is one");
    Ok(vec![
        Figure::told("round beside a flood, median", ms(rounds.median()), "ms"),
        Figure::bounded("round beside a flood, to a quiet one", ratio(&rounds, quiet), "times", BOUND),
        Figure::told("requests of the flood that were heard", heard, "per s"),
        Figure::told("requests of the flood told `rate-limited`", turned_away, "per s"),
    ])
}

pub fn ratio(rounds: &Spread, quiet: Duration) -> f64 {
    rounds.median().as_secs_f64() / quiet.as_secs_f64()
}

impl Cast {
    /// The first members are honest, the last one floods, and those between are slow.
    fn of(world: &World, coordinator: SocketAddr, plan: &Plan) -> anyhow::Result<Cast> {
        let (honest, others) = world.bundles.split_at(plan.honest);
        let roles = honest.iter().map(|_| Role::Offers).chain(others.iter().map(|_| Role::Declines));
        let members = world.agents(coordinator)?.into_iter().zip(roles).collect();
        let (flooder, hostile) = others.split_last().expect("a plan has hostile members");
        Ok(Cast { members, hostile: hostile.to_vec(), flooder: flooder.clone() })
    }
}

/// As many of each address and member as the coordinator hears at once; of addresses of honest members more.
fn attackers(to: SocketAddr, plan: &Plan, hostile: &[Bundle]) -> anyhow::Result<Vec<Attacker>> {
    let mut authenticated = 0;
    (0..plan.hostile)
        .map(|number| {
            let kind = Kind::of(number);
            let from = match number / PER_ADDRESS {
                place if place < 2 * SHARED => honest_address(place / 2),
                place => hostile_address(place),
            };
            let bundle = &hostile[authenticated / SLOW_PER_MEMBER];
            authenticated += usize::from(kind.is_authenticated());
            Attacker::new(kind, to, from, bundle)
        })
        .collect()
}

/// What a flood says: that it declines the next round. Once in each it is taken, so that the round need not wait for it.
struct Declines(AtomicU64);

impl Says for Declines {
    fn next(&self) -> Call {
        Call::Decline(RoundId(self.0.load(Ordering::Relaxed)))
    }

    fn taken(&self, call: &Call) {
        if let Call::Decline(round) = call {
            self.0.fetch_max(round.0 + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_members_enough_for_all_authenticated_attackers() {
        assert_eq!(hostile_members(2000), 399_usize.div_ceil(SLOW_PER_MEMBER));
        assert_eq!(hostile_members(1), 1, "somebody must be there to be named");
        assert_eq!(members(&Plan::default()), 50 + 67 + 1);
    }
}
