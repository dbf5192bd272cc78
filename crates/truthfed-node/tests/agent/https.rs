//! Agents over TLS, with the bundles of a federation folder and the real coordinator.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use truthfed::protocol::RoundId;
use truthfed_node::agent::{Agent, Handle, Https, Link, LinkError, Membership, Policy, Runner};
use truthfed_node::coordinator::operator::Order;
use truthfed_node::coordinator::{self, Config};
use truthfed_node::error::Code;
use truthfed_node::federation::{self, Bundle, InitOptions};
use truthfed_node::net::{Client, client_tls};
use truthfed_node::testing::Numbers;
use truthfed_node::wire::Call;

use crate::support::{play, settle};

fn bundle(folder: &Path, name: &str, address: SocketAddr) -> Bundle {
    let bundle = federation::open_bundle(&folder.join("members").join(name)).unwrap();
    Bundle { coordinator: address.to_string(), ..bundle }
}

#[tokio::test]
async fn agents_with_issued_bundles_play_a_round_over_tls() {
    let place = truthfed_node::testing::folder();
    let folder = place.path().join("fed");
    let changes = ["bandit.dimension=3", "norm=2.0", "coverage=0.9", "least_samples=0", "quality.rule=flag"];
    let changes = changes.iter().map(|change| format!("terms.{change}")).collect();
    federation::init(&folder, &InitOptions { changes, ..InitOptions::with_members(2) }).unwrap();
    let mut config = Config::of(&federation::open(&folder).unwrap(), 60_000);
    config.listen.set_port(0);
    config.admin.set_port(0);
    let coordinator = coordinator::start(config).await.unwrap();
    let address = coordinator.addresses().members;
    let runner = |name: &str| {
        let bundle = bundle(&folder, name, address);
        let agent = Agent::open(Membership::of(&bundle), &bundle.folder.join("agent.db")).unwrap();
        Runner::new(Handle::new(agent), Https::new(&bundle).unwrap(), Policy::default())
    };
    let runners = [runner("m1"), runner("m2")];
    let mut numbers = Numbers(71);
    while !runners[0].agent().with(|agent| Agent::wants_round(agent)).await {
        play(runners[0].agent(), &mut numbers).await;
        play(runners[1].agent(), &mut numbers).await;
    }
    settle(&runners).await;
    for runner in &runners {
        let status = runner.agent().status().await.unwrap();
        assert!(status.coordinator_reachable);
        assert_eq!((status.last_round, status.unshared, status.in_flight), (RoundId(1), 0, 0));
        assert_ne!(status.earned, "0");
    }
    let link = Https::new(&bundle(&folder, "m1", address)).unwrap();
    let Err(LinkError::Refused(refusal)) = link.call(Call::Decline(RoundId(1))).await else {
        panic!("the round is over")
    };
    assert_eq!(refusal.code, Code::ConflictingRetry);
    // Revoked, it is told so at once, and later at the door.
    let operator = federation::open(&folder).unwrap();
    let tls = client_tls(&operator.operator_identity().unwrap(), &operator.authority).unwrap();
    let client = Client::new(&address.to_string(), "127.0.0.1", tls).unwrap();
    let revoke = Order::Revoke("m1".parse().unwrap());
    assert!(client.send(revoke.message(), None).await.unwrap().status.is_success());
    let mut unheard = None;
    loop {
        let refusal = match link.call(Call::Decline(RoundId(1))).await {
            Err(LinkError::Refused(refusal)) => refusal,
            // One call may get no answer; the next is told.
            Err(LinkError::Away(why)) if unheard.is_none() => {
                unheard = Some(why);
                continue;
            }
            other => panic!("it is revoked: {other:?}, after {unheard:?}"),
        };
        assert_eq!(refusal.code, Code::MemberRevoked);
        // At the door nothing more is said than the code.
        if refusal.message == Code::MemberRevoked.advice() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    coordinator.stop().await.unwrap();
    assert!(matches!(link.call(Call::Decline(RoundId(1))).await, Err(LinkError::Away(_))));
}
