//! Honest rounds in 512 dimensions, where an offer is a megabyte to read and much to check, beside strangers that stall and two
//! members that do what they can.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use truthfed::protocol::RoundId;
use truthfed_node::digest::Nonce;
use truthfed_node::federation::Bundle;
use truthfed_node::net::{body_bytes, message_bytes};
use truthfed_node::wire::{Call, Seen};

use crate::load::agent::{Agent, Party, Role};
use crate::load::attack::{BOUND, COVERAGE, PER_ADDRESS, PER_MEMBER, ratio};
use crate::load::figures::{Figure, Spread, ms};
use crate::load::flood::{Flood, Says};
use crate::load::hostile::{Attack, Attacker, Kind};
use crate::load::plan::Plan;
use crate::load::rounds::timed;
use crate::load::server::Server;
use crate::load::world::{Shape, World, hostile_address};

/// As many as must conspire to take anything from a third.
const HOSTILE: usize = 2;
/// Connections of a hostile member that offer, as many as are checked at once.
const OFFERING: usize = 2;
/// Those that stall: all that are left beside the two of an agent, which declines, and one that looks for rounds.
const STALLING: usize = PER_MEMBER - OFFERING - 3;
/// Bytes of a share that are left, so that hostile members can decline: a round must not wait for them.
const SPARE: usize = 1024;
/// Strangers come from addresses after those of hostile members.
const STRANGERS_FROM: usize = 250;
/// Longest wait of a hostile member for news.
const WAIT_MS: u64 = 20_000;
const PAUSE: Duration = Duration::from_millis(100);

/// The federation, with seats for all strangers: they have half of them.
pub fn shape(plan: &Plan) -> Shape {
    let members = plan.wide_honest + HOSTILE;
    let shape = Shape::new(members, 2 * (plan.strangers + PER_MEMBER * members), COVERAGE);
    Shape { dimension: plan.dimension, ..shape }
}

/// Times rounds in quiet, under attack, and in quiet again.
pub async fn wide(world: &World, program: &Path, plan: &Plan) -> anyhow::Result<Vec<Figure>> {
    let server = Server::start(program, &world.folder).await?;
    let (honest, hostile) = world.bundles.split_at(plan.wide_honest);
    let roles = honest.iter().map(|_| Role::Offers).chain(hostile.iter().map(|_| Role::Declines));
    let cast: Vec<(Arc<Agent>, Role)> = world.agents(server.address())?.into_iter().zip(roles).collect();
    let measured = Duration::from_secs(plan.wide_s);
    timed(&cast, Duration::ZERO).await?;
    let mut quiet = timed(&cast, measured / 2).await?;

    let attack = Attack::begin(attackers(server.address(), plan.strangers, hostile)?).await?;
    let refused: anyhow::Result<Vec<Refused>> =
        hostile.iter().map(|bundle| Refused::begin(server.address(), bundle)).collect();
    let (refused, open) = (refused?, attack.open());
    let attacked = Spread::of(timed(&cast, measured).await?);
    let rates: anyhow::Result<Vec<[f64; 2]>> = refused.iter().map(|refused| refused.flood.rates()).collect();
    let checked: f64 = rates?.iter().map(|[heard, _]| heard).sum();
    drop((attack, refused));

    quiet.extend(timed(&cast, measured / 2).await?);
    let quiet = Spread::of(quiet).median();
    server.stop().await?;
    let (dimension, count) = (plan.dimension, plan.wide_honest);
    Ok(vec![
        Figure::told(format!("quiet round of {count} in {dimension} dimensions, median"), ms(quiet), "ms"),
        Figure::told(
            format!("the same beside {HOSTILE} hostile members and {open} stalled connections, median"),
            ms(attacked.median()),
            "ms",
        ),
        Figure::bounded("the same, to a quiet one", ratio(&attacked, quiet), "times", BOUND),
        Figure::told("offers of hostile members that were checked and refused", checked, "per s"),
    ])
}

/// Strangers, as many of each address as the coordinator hears at once; and bodies that leave of a member's share just what
/// its refused offers take.
fn attackers(to: SocketAddr, strangers: usize, hostile: &[Bundle]) -> anyhow::Result<Vec<Attacker>> {
    let mut attackers = Vec::new();
    for number in 0..strangers {
        let kind = if number % 2 == 0 { Kind::Silent } else { Kind::HalfHandshake };
        let from = hostile_address(STRANGERS_FROM + number / PER_ADDRESS);
        attackers.push(Attacker::new(kind, to, from, &hostile[0])?);
    }
    for bundle in hostile {
        let dimension = bundle.agreement.dimension();
        let offers =
            OFFERING * Refused::offer(&Party::new(bundle, 0), RoundId(1), Nonce::random()).message().body.len();
        let share = body_bytes(dimension) + message_bytes(dimension);
        let stalled = share.saturating_sub(offers + SPARE) / STALLING;
        for number in 0..STALLING {
            attackers.push(Attacker::new(Kind::SlowBody(stalled), to, hostile_address(number), bundle)?);
        }
    }
    Ok(attackers)
}

/// A member that offers what is refused, as fast as it is answered.
struct Refused {
    flood: Flood,
    _looking: JoinSet<()>,
}

/// The offer for the round that is open.
struct Latest(Mutex<Call>);

impl Refused {
    fn begin(to: SocketAddr, bundle: &Bundle) -> anyhow::Result<Refused> {
        let agent = Agent::new(bundle, to, hostile_address(PER_MEMBER), 0)?;
        let latest = Arc::new(Latest(Mutex::new(Refused::offer(&agent.party, RoundId(1), Nonce::random()))));
        let (flood, mut looking) = (Flood::begin(&latest, to, bundle, OFFERING)?, JoinSet::new());
        looking.spawn(async move { latest.follow(&agent).await });
        Ok(Refused { flood, _looking: looking })
    }

    fn offer(party: &Party, round: RoundId, nonce: Nonce) -> Call {
        Call::Offer(round, party.refused_offer(round, nonce))
    }
}

impl Latest {
    async fn follow(&self, agent: &Agent) {
        let mut seen = Seen::default();
        loop {
            let Ok(view) = agent.look(seen).await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            seen = Seen { after: Some(view.version), wait_ms: WAIT_MS };
            if let Some(open) = view.open {
                let offer = Refused::offer(&agent.party, open.round, open.nonce);
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = offer;
            }
        }
    }
}

impl Says for Latest {
    fn next(&self) -> Call {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
