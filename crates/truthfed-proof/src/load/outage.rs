//! A database that is away for a minute, behind a coordinator that is behind a proxy which follows `/healthz`: nothing gets
//! through to the coordinator before it says by itself that it is well again.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::task::JoinSet;

use crate::forwarder::{Forwarder, Target};
use crate::load::agent::{Agent, Member, Role};
use crate::load::figures::{Figure, Spread, ms};
use crate::load::plan::Plan;
use crate::load::rounds::{Talking, connect, timed};
use crate::load::server::Server;
use crate::load::world::{Shape, World};

const MEMBERS: usize = 6;
const COVERAGE: f64 = 0.5;
/// How often a proxy asks, and how often someone whose round was not opened asks again.
const ASKED: Duration = Duration::from_secs(1);
/// The most, in seconds, until an outage is seen: a coordinator looks once a second.
const SEEN: f64 = 3.0;
/// The most, in seconds, from the end of an outage until a round has settled: agents pause for at most 10 s.
const HEALED: f64 = 15.0;

/// The federation, on a database.
pub fn shape(database: &str) -> Shape {
    Shape::new(MEMBERS, 2 * MEMBERS, COVERAGE).with_database(database)
}

/// The way to a database that can be cut.
pub struct Gate {
    forwarder: Forwarder,
    socket: PathBuf,
}

impl Gate {
    /// A gate to the database at an address of PostgreSQL, which has a Unix socket; and the address by way of the gate.
    pub fn to(database: &str) -> anyhow::Result<(Gate, String)> {
        let forwarder = Forwarder::new(0, Target::Nobody)?;
        let (socket, address) = by_port(database, forwarder.port).context("the database has no Unix socket")?;
        let gate = Gate { forwarder, socket };
        gate.open();
        Ok((gate, address))
    }

    fn open(&self) {
        self.forwarder.point_to(Target::Socket(self.socket.clone()));
    }

    fn close(&self) {
        self.forwarder.point_to(Target::Nobody);
    }
}

/// The socket that an address names, and the address with a port instead.
fn by_port(address: &str, port: u16) -> Option<(PathBuf, String)> {
    let (user, place) = address.split_once('@')?;
    let (folder, database) = place.split_once('/')?;
    let folder = PathBuf::from(folder.replace("%2F", "/"));
    folder.is_absolute().then(|| (folder.join(".s.PGSQL.5432"), format!("{user}@127.0.0.1:{port}/{database}")))
}

/// Takes the database away while members are idle, lets them want a round, and measures how soon they get it afterwards.
pub async fn outage(world: &World, program: &Path, gate: &Gate, plan: &Plan) -> anyhow::Result<Vec<Figure>> {
    let (server, lasts) = (Server::start(program, &world.folder).await?, Duration::from_secs(plan.outage_s));
    let (admin, proxy) = (server.admin(), Proxy::before(&server)?);
    let agents = world.agents(proxy.address)?;
    let cast: Vec<(Arc<Agent>, Role)> = agents.iter().map(|agent| (agent.clone(), Role::Offers)).collect();
    let quiet = Spread::of(timed(&cast, Duration::ZERO).await?).median();
    let closed = connect(&agents).await?[0].closed;

    gate.close();
    let cut = Instant::now();
    admin.until_role("failing").await?;
    let seen = cut.elapsed();
    let idle = lasts / 2;
    fails_until(&server, cut + idle).await?;
    let patient = |agent: &Arc<Agent>| Member { is_patient: true, ..Member::new(agent.clone(), Role::Offers, closed) };
    let talking = Talking::begin(agents.iter().map(patient));
    let opening = tokio::spawn(open_round(agents[0].clone()));
    fails_until(&server, cut + lasts).await?;

    gate.open();
    let back = Instant::now();
    admin.until_role("active").await?;
    let active = back.elapsed();
    let (settled, _) = talking.end().await?;
    opening.await?;
    drop(proxy);
    server.stop().await?;
    Ok(vec![
        Figure::told(format!("quiet round of {MEMBERS} through a proxy, median"), ms(quiet), "ms"),
        Figure::bounded("database gone, until an idle coordinator says so", seen.as_secs_f64(), "s", SEEN),
        Figure::told(
            format!("back after {} s, until the coordinator is active", lasts.as_secs()),
            active.as_secs_f64(),
            "s",
        ),
        Figure::bounded("the same, until a round has settled", (settled - back).as_secs_f64(), "s", HEALED),
    ])
}

/// Looks once a second until then.
async fn fails_until(server: &Server, then: Instant) -> anyhow::Result<()> {
    while Instant::now() < then {
        let role = server.admin().role().await?;
        ensure!(role == "failing", "the database is away, and the coordinator says that it is {role}");
        tokio::time::sleep(ASKED.min(then.saturating_duration_since(Instant::now()))).await;
    }
    Ok(())
}

async fn open_round(agent: Arc<Agent>) {
    while agent.open_round().await.is_err() {
        tokio::time::sleep(ASKED).await;
    }
}

/// Leads members to a coordinator as long as it is active, until it is dropped.
struct Proxy {
    address: SocketAddr,
    _asking: JoinSet<()>,
}

impl Proxy {
    /// Before a coordinator that is active.
    fn before(server: &Server) -> anyhow::Result<Proxy> {
        let (admin, to) = (server.admin(), Target::Port(server.address().port()));
        let (forwarder, mut asking) = (Forwarder::new(0, to.clone())?, JoinSet::new());
        let address = (Ipv4Addr::LOCALHOST, forwarder.port).into();
        asking.spawn(async move {
            let mut leads = true;
            loop {
                let is_active = admin.role().await.is_ok_and(|role| role == "active");
                if leads != is_active {
                    forwarder.point_to(if is_active { to.clone() } else { Target::Nobody });
                    leads = is_active;
                }
                tokio::time::sleep(ASKED).await;
            }
        });
        Ok(Proxy { address, _asking: asking })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_replaced_by_a_port_and_a_host_is_not() {
        let (socket, address) = by_port("postgres://truthfed@%2Ftmp%2Fpg.1/test_7?", 5000).unwrap();
        assert_eq!(socket, Path::new("/tmp/pg.1/.s.PGSQL.5432"));
        assert_eq!(address, "postgres://truthfed@127.0.0.1:5000/test_7?");
        assert_eq!(by_port("postgres://truthfed@localhost/test_7", 5000), None);
    }
}
