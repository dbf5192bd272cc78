//! Two journals under one name: the same keys, and members on each.

use std::net::SocketAddr;
use std::path::Path;

use tokio::sync::watch;
use truthfed_node::agent::{Agent, Handle, Heads, Https, Link, Membership, Policy, Runner};
use truthfed_node::coordinator::{self, Config, Running};
use truthfed_node::federation::{self, Bundle, InitOptions};
use truthfed_node::log::{NoteKey, Proof};
use truthfed_node::testing::Numbers;
use truthfed_node::wire::{After, Call};

use crate::support::{eventually, play};

/// Two coordinators that began as one, each in a folder of its own.
struct Split {
    place: tempfile::TempDir,
    sides: Vec<Running>,
}

const SIDES: [&str; 2] = ["fed", "other"];
const MEMBERS: [&str; 2] = ["m1", "m2"];

impl Split {
    /// A federation whose journal begins on both sides alike, and goes on apart.
    async fn new() -> Split {
        let place = truthfed_node::testing::folder();
        let folder = place.path().join(SIDES[0]);
        let changes = ["bandit.dimension=3", "norm=2.0", "coverage=0.9", "least_samples=0", "quality.rule=flag"];
        let changes = changes.iter().map(|change| format!("terms.{change}")).collect();
        federation::init(&folder, &InitOptions { changes, ..InitOptions::with_members(2) }).unwrap();
        serve(&folder).await.stop().await.unwrap();
        copy(&folder, &place.path().join(SIDES[1]));
        let mut sides = Vec::new();
        for side in SIDES {
            sides.push(serve(&place.path().join(side)).await);
        }
        Split { place, sides }
    }

    fn bundle(&self, side: usize, name: &str) -> Bundle {
        let bundle = federation::open_bundle(&self.place.path().join(SIDES[0]).join("members").join(name)).unwrap();
        Bundle { coordinator: self.sides[side].addresses().members.to_string(), ..bundle }
    }

    fn agent(&self, name: &str, file: &str) -> Handle {
        let bundle = self.bundle(0, name);
        Handle::new(Agent::open(Membership::of(&bundle), &bundle.folder.join(file)).unwrap())
    }

    /// Lets agents talk with a side until something holds.
    async fn talk<F: Future<Output = bool>>(&self, side: usize, agents: &[Handle], until: impl Fn() -> F) {
        let (stop, stopped) = watch::channel(false);
        let running: Vec<_> = agents
            .iter()
            .map(|agent| {
                let link = Https::new(&self.bundle(side, agent.member().as_str())).unwrap();
                let runner = Runner::new(agent.clone(), link, Policy::default());
                let stopped = stopped.clone();
                tokio::spawn(async move { runner.run(stopped).await })
            })
            .collect();
        eventually(until).await;
        stop.send_replace(true);
        for task in running {
            task.await.unwrap();
        }
    }

    /// Plays a round on a side, and waits until all have the head after it.
    async fn round(&self, side: usize, agents: &[Handle], numbers: &mut Numbers) {
        let before = agents[0].status().await.unwrap().last_round;
        while !agents[0].with(|agent| Agent::wants_round(agent)).await {
            for agent in agents {
                play(agent, numbers).await;
            }
        }
        let sizes: Vec<u64> = sizes(agents).await;
        self.talk(side, agents, || async {
            for (agent, size) in agents.iter().zip(&sizes) {
                if agent.status().await.unwrap().last_round == before || heads(agent).await.0 <= *size {
                    return false;
                }
            }
            true
        })
        .await;
    }
}

async fn serve(folder: &Path) -> Running {
    let mut config = Config::of(&federation::open(folder).unwrap(), 60_000);
    let anywhere: SocketAddr = "127.0.0.1:0".parse().unwrap();
    (config.listen, config.admin) = (anywhere, anywhere);
    coordinator::start(config).await.unwrap()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            std::fs::copy(path, to.join(name)).unwrap();
        }
    }
}

/// The size of the newest head, and of one of another history; 0 for none.
async fn heads(agent: &Handle) -> (u64, u64) {
    let Heads { newest, other } = agent.with(|agent| agent.heads()).await.unwrap();
    let size = |head: Option<truthfed_node::log::SignedHead>| head.map_or(0, |head| head.size());
    (size(newest), size(other))
}

async fn sizes(agents: &[Handle]) -> Vec<u64> {
    let mut sizes = Vec::new();
    for agent in agents {
        sizes.push(heads(agent).await.0);
    }
    sizes
}

#[tokio::test]
async fn an_agent_that_is_shown_another_history_keeps_both_heads_and_takes_no_part_any_more() {
    let split = Split::new().await;
    let (agents, mut numbers) = (MEMBERS.map(|name| split.agent(name, "agent.db")), Numbers(5));
    split.round(0, &agents, &mut numbers).await;
    let (newest, _) = heads(&agents[0]).await;
    // The other side has a round of its own, with agents that know nothing of the first.
    let others = MEMBERS.map(|name| split.agent(name, "others.db"));
    for _ in 0..2 {
        split.round(1, &others, &mut numbers).await;
    }
    let taken_in = &agents[..1];
    split.talk(1, taken_in, || async { heads(&taken_in[0]).await.1 > 0 }).await;
    let (same, other) = heads(&agents[0]).await;
    assert!(same == newest && other > newest, "{newest} {same} {other}");
    // Both are evidence for anybody: no proof leads from the one to the other.
    let (bundle, link) = (split.bundle(1, "m1"), Https::new(&split.bundle(1, "m1")).unwrap());
    let key = NoteKey::of_log(bundle.federation, bundle.coordinator_key);
    let kept = agents[0].with(|agent| agent.heads()).await.unwrap();
    assert!([&kept.newest, &kept.other].into_iter().flatten().all(|head| head.is_signed_by(&key)));
    let reply = link.call(Call::Head(After { from: Some(newest) })).await.unwrap();
    let proof: Proof = serde_json::from_slice(&reply).unwrap();
    assert_ne!((newest, proof.grown.unwrap().root), kept.newest.unwrap().top());
    // Also back where it was, and after a restart: it cannot know who else was shown what.
    drop(agents);
    let again = [split.agent("m1", "agent.db")];
    let problem = || async { again[0].status().await.unwrap().problem };
    split.talk(0, &again, || async { problem().await.is_some() }).await;
    let problem = problem().await.unwrap();
    assert!(problem.contains("the coordinator signed two histories"), "{problem}");
    assert!(problem.contains(&format!("of {other} entries does not go on from that of {newest} entries")), "{problem}");
    for side in split.sides {
        side.stop().await.unwrap();
    }
}

#[tokio::test]
async fn members_who_are_each_shown_one_journal_find_out_when_they_compare_heads() {
    let split = Split::new().await;
    let (mut shown, mut numbers) = (Vec::new(), Numbers(6));
    for (side, file) in [(0, "agent.db"), (1, "others.db")] {
        let agents = MEMBERS.map(|name| split.agent(name, file));
        for _ in 0..=side {
            split.round(side, &agents, &mut numbers).await;
            // All that it is shown fits: alone, it notices nothing.
            assert_eq!(agents[side].status().await.unwrap().problem, None);
        }
        shown.push(agents[side].with(|agent| agent.heads()).await.unwrap().newest.unwrap());
    }
    // Whichever side is asked to link the two heads, it cannot.
    let (from, to) = (&shown[0], &shown[1]);
    assert!(from.size() < to.size());
    for side in [0, 1] {
        let link = Https::new(&split.bundle(side, "m1")).unwrap();
        let reply = link.call(Call::Head(After { from: Some(from.size()) })).await.unwrap();
        let proof: Proof = serde_json::from_slice(&reply).unwrap();
        assert!(!proof.grown.unwrap().leads(from.top(), to.top()), "side {side}");
    }
    for side in split.sides {
        side.stop().await.unwrap();
    }
}
