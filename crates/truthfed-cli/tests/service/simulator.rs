//! One seed through the simulator and through the real service, over TLS on loopback with SQLite.

use std::path::Path;

use truthfed::auction::ClientId;
use truthfed::protocol::{Ending, Time};
use truthfed::statistics::Statistics;
use truthfed_node::agent::{Agent, Handle, Https, Membership, Policy, Runner};
use truthfed_node::coordinator::operator::read_rounds;
use truthfed_node::coordinator::{self, Config as ServerConfig};
use truthfed_node::digest::Digest;
use truthfed_node::engine::Clock;
use truthfed_node::federation::{self, Bundle, InitOptions};
use truthfed_node::ledger::aggregate_digest;
use truthfed_node::store::Sqlite;
use truthfed_sim::config::Config;
use truthfed_sim::federation::client_id;
use truthfed_sim::simulation::Simulation;
use truthfed_sim::world::{Source, World};

const CLIENTS: usize = 4;
const STEPS: usize = 120;
const SEED: u64 = 3;
/// What taking part costs each client, in units.
const COSTS: [u32; CLIENTS] = [40, 10, 25, 17];

/// One round: winners with their payments in micro-units, and the hash of all that is settled after it.
#[derive(Debug, PartialEq)]
struct Decided {
    winners: Vec<(ClientId, i64)>,
    aggregate: Digest,
}

fn config((mechanism, purse, quota, hold, least): (&str, u32, f64, u64, u64)) -> Config {
    let changes = [
        format!("world.clients={CLIENTS}"),
        "world.dimension=3".to_owned(),
        format!("world.steps={STEPS}"),
        "rounds.threshold=3.0".to_owned(),
        format!("rounds.mechanism={mechanism}"),
        format!("rounds.purse={purse}"),
        format!("rounds.quota={quota}"),
        format!("rounds.hold={hold}"),
        format!("rounds.least_samples={least}"),
    ];
    Config::read("", &changes).unwrap()
}

fn simulated(config: &Config) -> Vec<Decided> {
    let mut settled: Vec<Statistics> = Vec::new();
    let simulation = Simulation::new(config, SEED).unwrap();
    let simulation = simulation.with_cost(|client: usize, _: &Statistics| f64::from(COSTS[client]));
    let run = simulation.run_watched(|federation| settled.push(federation.settled().clone()));
    let decided = |((_, record), settled): (&(u64, truthfed::protocol::RoundRecord), &Statistics)| {
        let Ending::Settled { outcome, .. } = &record.ending else { panic!("every round is settled") };
        let winner = |winner: &truthfed::auction::Winner| (winner.client.clone(), winner.payment.micros());
        Decided { winners: outcome.winners().iter().map(winner).collect(), aggregate: aggregate_digest(settled) }
    };
    // The first look is at the start.
    run.rounds.iter().zip(&settled[1..]).map(decided).collect()
}

fn make(folder: &Path, config: &Config) {
    let members = (0..CLIENTS).map(|client| client_id(client, CLIENTS).to_string()).collect();
    let terms = config.terms().raw();
    let changes = [
        "terms.bandit.dimension=3".to_owned(),
        format!("terms.reserve={}", terms.reserve),
        format!("terms.purse={}", terms.purse.map_or("none".to_owned(), |purse| purse.to_string())),
        "terms.daily_purse=none".to_owned(),
        format!("terms.trigger.threshold={:?}", config.terms().trigger().threshold),
        format!("terms.norm={:?}", terms.norm),
        "terms.reward=100".to_owned(),
        "limits.requests_per_second=10000".to_owned(),
        "limits.burst=10000".to_owned(),
        "terms.offers_ms=60000".to_owned(),
        "terms.deliveries_ms=60000".to_owned(),
        "terms.gap_ms=0".to_owned(),
        format!("terms.quota.samples={}", terms.quota.samples),
        format!("terms.quota.per_ms={}", terms.quota.per_ms),
        format!("terms.least_samples={}", config.terms().least_samples()),
        format!("terms.quality.rule={}", if terms.quality.is_default() { "flag" } else { "hold" }),
        format!("terms.quality.rounds={}", terms.quality.rounds),
        format!("terms.mechanism.name={}", config.terms().mechanism().name()),
    ];
    let options = InitOptions { members, changes: changes.to_vec(), ..InitOptions::default() };
    federation::init(folder, &options).unwrap();
}

async fn served(config: &Config, folder: &Path) -> Vec<Decided> {
    make(folder, config);
    let mut server = ServerConfig::of(&federation::open(folder).unwrap(), 60_000);
    server.listen.set_port(0);
    server.admin.set_port(0);
    let clock = Clock::simulated();
    server.plan.clock = clock.clone();
    let coordinator = coordinator::start(server).await.unwrap();
    let address = coordinator.addresses().members.to_string();
    let runner = |client: usize| {
        let bundle = federation::open_bundle(&folder.join("members").join(client_id(client, CLIENTS).as_str()));
        let bundle = Bundle { coordinator: address.clone(), ..bundle.unwrap() };
        let agent = Agent::open(Membership::of(&bundle), &bundle.folder.join("agent.db")).unwrap();
        let policy = Policy::from_toml(&format!("kind = \"constant\"\nask = \"{}\"", COSTS[client])).unwrap();
        Runner::new(Handle::new(agent), Https::new(&bundle).unwrap(), policy)
    };
    let runners: Vec<Runner<Https>> = (0..CLIENTS).map(runner).collect();
    let mut world = Source::read(config).unwrap().world(config, SEED);
    for step in 0..STEPS {
        clock.set(Time(1000 * (step as u64 + 1)));
        // With time, more may be offered.
        exchange(&runners).await;
        act(world.as_mut(), &runners[step % CLIENTS], step % CLIENTS).await;
        exchange(&runners).await;
    }
    coordinator.stop().await.unwrap();
    let mut store = Sqlite::open_existing(&folder.join("ledger.db")).unwrap();
    let decided = |round: truthfed_node::coordinator::operator::RoundReply| Decided {
        winners: round.awards.into_iter().map(|award| (award.member, award.payment_micros.micros())).collect(),
        aggregate: round.aggregate.expect("every round is settled"),
    };
    read_rounds(&mut store).unwrap().into_iter().map(decided).collect()
}

/// One step of a client: see, choose, learn.
async fn act(world: &mut dyn World, runner: &Runner<Https>, client: usize) {
    let shown: Vec<usize> = world.present(client).to_vec();
    let arms: Vec<Vec<f64>> = shown.iter().map(|&arm| world.arm(arm).to_vec()).collect();
    let (decision, index) = runner.agent().choose(arms).await.unwrap();
    let played = world.play(client, shown[index]);
    runner.agent().learn(decision, played.reward).await.unwrap();
}

/// Until nobody has anything to say.
async fn exchange(runners: &[Runner<Https>]) {
    loop {
        let mut happened = false;
        for runner in runners {
            happened |= runner.exchange().await.unwrap();
        }
        if !happened {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_seed_gives_the_same_rounds_bit_for_bit_in_the_simulator_and_in_the_service() {
    let settings = [
        ("clock", 0, 0.0, 0, 0),
        ("clock", 90, 0.0, 5, 6),
        ("greedy", 0, 0.0, 0, 0),
        ("clock", 90, 0.8, 2, 0),
        ("clock", 0, 1.5, 0, 4),
    ];
    for setting in settings {
        let config = config(setting);
        let expected = simulated(&config);
        assert!(expected.len() >= 4, "{} rounds", expected.len());
        let place = tempfile::tempdir().unwrap();
        assert_eq!(served(&config, &place.path().join("fed")).await, expected, "{setting:?}");
    }
}
