//! Two coordinators on one PostgreSQL, and an auction that takes longer than the lease lasts: while both are well nothing
//! happens, and when the active one is killed in the middle of it, the other takes over.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::task::JoinSet;

use crate::load::agent::{Agent, Member, Role};
use crate::load::figures::Figure;
use crate::load::plan::Plan;
use crate::load::rounds::{Talking, connect, offer};
use crate::load::server::{Admin, Server};
use crate::load::world::{Shape, World};

/// So low that not everybody wins, in hundreds of dimensions.
const COVERAGE: f64 = 1e-150;
/// It prices each winner by auctions without it: tens of members are enough for a long one.
const MECHANISM: &str = "ratchet";
/// How long a standby may take, with the lease that `truthfed serve` takes by itself.
const MOST_S: f64 = 6.0;
/// How long the auction has run when its coordinator is killed: later ones, on top of what the first settled, are shorter.
const UNDER_WAY: Duration = Duration::from_secs(1);
/// Between two looks at the roles.
const LOOK: Duration = Duration::from_millis(50);

/// The federation whose auction takes long, on a database.
pub fn shape(plan: &Plan, database: &str) -> Shape {
    let shape = Shape::new(plan.bidders, 2 * plan.bidders, COVERAGE).with_database(database);
    Shape { dimension: plan.dimension, mechanism: MECHANISM, ..shape }
}

/// Measures both. The second coordinator has a copy of the folder.
pub async fn takeover(world: &World, program: &Path, plan: &Plan) -> anyhow::Result<Vec<Figure>> {
    let lease = Duration::from_millis(plan.lease_ms);
    let second = world.second()?;
    let active = Server::leasing(program, &world.folder, lease).await?;
    active.admin().until_role("active").await?;
    let standby = Server::leasing(program, &second, lease).await?;
    let agents = world.agents(active.address())?;

    let watch = Watch::begin([(active.admin(), "active"), (standby.admin(), "standby")]);
    let auction = undisturbed(&agents).await?;
    let changes = watch.changes();
    drop(watch);
    ensure!(
        auction > lease,
        "the auction took {auction:?}, less than the lease of {lease:?}: let more members take part with --bidders"
    );

    let (members, mut last) = all_but_one(&agents).await?;
    let (after, offering) = (last.part.after(), tokio::spawn(async move { last.until_offered().await }));
    tokio::time::sleep(UNDER_WAY).await;
    ensure!(!offering.is_finished(), "the auction was over before the coordinator could be killed");
    active.kill().await?;
    let killed = Instant::now();
    standby.admin().until_role("active").await?;
    let serves = killed.elapsed();
    offering.abort();

    let agents = world.agents(standby.address())?;
    let last = Member::new(agents.last().context("there are members")?.clone(), Role::Offers, after);
    let moved = members.into_iter().zip(&agents).map(|(member, agent)| member.moved(agent.clone()));
    let (settled, _) = Talking::begin(moved.chain([last])).end().await?;
    standby.stop().await?;
    let (count, dimension) = (plan.bidders, plan.dimension);
    Ok(vec![
        Figure::told(format!("auction of {count} in {dimension} dimensions"), auction.as_secs_f64(), "s"),
        Figure::bounded("changes of a role while it ran, with a standby", changes as f64, "", 0.0),
        Figure::bounded("killed in the middle of it, until the standby is active", serves.as_secs_f64(), "s", MOST_S),
        Figure::told("the same, until the round has settled", (settled - killed).as_secs_f64(), "s"),
    ])
}

/// A whole round. How long the last offer took, and with it the auction.
async fn undisturbed(agents: &[Arc<Agent>]) -> anyhow::Result<Duration> {
    let (members, mut last) = all_but_one(agents).await?;
    let started = Instant::now();
    last.until_offered().await?;
    let took = started.elapsed();
    Talking::begin(members.into_iter().chain([last])).end().await?;
    Ok(took)
}

/// A round in which only one offer is missing. When it comes, the auction begins.
async fn all_but_one(agents: &[Arc<Agent>]) -> anyhow::Result<(Vec<Member>, Member)> {
    let (last, others) = agents.split_last().context("there are members")?;
    let views = connect(std::slice::from_ref(last)).await?;
    Ok((offer(others).await?, Member::new(last.clone(), Role::Offers, views[0].closed)))
}

/// Looks at roles again and again, until it is dropped.
struct Watch {
    changes: Arc<AtomicUsize>,
    _looking: JoinSet<()>,
}

impl Watch {
    fn begin(expected: [(Admin, &'static str); 2]) -> Watch {
        let (changes, mut looking) = (Arc::new(AtomicUsize::new(0)), JoinSet::new());
        let counted = changes.clone();
        looking.spawn(async move {
            loop {
                for (admin, role) in expected {
                    if !admin.role().await.is_ok_and(|seen| seen == role) {
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                }
                tokio::time::sleep(LOOK).await;
            }
        });
        Watch { changes, _looking: looking }
    }

    fn changes(&self) -> usize {
        self.changes.load(Ordering::Relaxed)
    }
}
