//! Starting, standing by, taking over, waiting and stopping.

use std::time::{Duration, Instant, SystemTime};

use truthfed_node::coordinator::{self, Config, ServerError};
use truthfed_node::engine::EngineError;
use truthfed_node::error::Code;
use truthfed_node::federation::{self, InitOptions};
use truthfed_node::identity::{Identity, Validity};
use truthfed_node::store::{Sqlite, Store, StoreError};
use truthfed_node::wire::{Phase, ReceiptReply, View};

use super::support::{PATIENCE, World, logged, plain, some_data, until_in_flight};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn a_view_waits_for_a_change_and_comes_with_it() {
    let (_world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let version = m1.view().await.version;
    let path = format!("/v1/view?after={version}&wait_ms=30000");
    let (waited, round) = tokio::join!(m1.client.get(&path), m2.opens());
    let view: View = waited.ok();
    assert_eq!(view.open.map(|open| (open.round, open.phase)), Some((round, Phase::Offers)));
    assert!(view.version > version);
    // Nothing happens: the answer is the same view after the wait, and at once without one.
    let version = view.version;
    for wait in [0, 30] {
        let started = Instant::now();
        let view: View = m1.client.get(&format!("/v1/view?after={version}&wait_ms={wait}")).await.ok();
        assert_eq!(view.version, version);
        assert!(started.elapsed() >= Duration::from_millis(wait));
    }
    // A version of another time is not waited for.
    for known in [0, version - 1, version + 5, u64::MAX] {
        let view: View = m1.client.get(&format!("/v1/view?after={known}&wait_ms=30000")).await.ok();
        assert_eq!(view.version, version);
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn whoever_waits_is_told_when_the_coordinator_stops() {
    let (world, running, [m1]) = World::running(["m1"]).await;
    let version = m1.view().await.version;
    let path = format!("/v1/view?after={version}&wait_ms=30000");
    let started = Instant::now();
    let (waited, stopped) = tokio::join!(m1.client.get(&path), async {
        until_in_flight(running.addresses(), 1).await;
        running.stop().await
    });
    stopped.unwrap();
    assert_eq!((waited.code(), waited.headers["retry-after"].as_str()), (Code::ShuttingDown, "1"));
    assert!(started.elapsed() < PATIENCE / 2);
    // The lease was given back: another coordinator need not wait for its end.
    let mut store = Sqlite::open(&world.store()).unwrap();
    store.acquire(1000).unwrap();
}

#[tokio::test]
async fn a_second_coordinator_stands_by_and_takes_over_in_the_middle_of_a_round() {
    let mut world = World::new(&["m1", "m2"], |_| {});
    world.lease_ms = 1000;
    let first = world.start().await;
    let m1 = world.party("m1", first.addresses());
    let (open, data) = (m1.round().await, some_data());
    let offer = m1.offers(&open, &data, 1_000_000).await;

    let second = world.start().await;
    assert_eq!(plain(second.addresses().admin, "/healthz").await, (503, r#"{"role":"standby"}"#.to_owned()));
    let [n1, n2] = ["m1", "m2"].map(|name| world.party(name, second.addresses()));
    let refused = n1.client.get("/v1/view").await;
    assert_eq!((refused.code(), refused.headers["retry-after"].as_str()), (Code::NotLeader, "1"));
    first.stop().await.unwrap();
    let taken_over = async { while plain(second.addresses().admin, "/healthz").await.0 != 200 {} };
    tokio::time::timeout(PATIENCE, taken_over).await.expect("the second takes over");
    assert_eq!(n1.open().await.nonce, open.nonce, "the round goes on");
    n2.decline(open.round).await;
    let delivery = n1.delivery_of(&open, &data, offer.digest());
    n1.send_delivery(open.round, &delivery).await.ok::<ReceiptReply>();
    assert_eq!(n2.view().await.closed, open.round);
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_coordinator_that_stands_by_can_be_stopped() {
    let world = World::new(&["m1"], |_| {});
    let (first, second) = (world.start().await, world.start().await);
    second.stop().await.unwrap();
    assert_eq!(plain(first.addresses().admin, "/healthz").await.0, 200);
    first.stop().await.unwrap();
}

#[tokio::test]
async fn a_coordinator_ends_when_another_took_over() {
    let mut world = World::new(&["m1"], |_| {});
    world.lease_ms = 300;
    let running = world.start().await;
    // The lease is taken behind its back, as after a pause in which it could not renew it.
    let usurp = tokio::task::spawn_blocking({
        let path = world.store();
        move || {
            let connection = rusqlite::Connection::open(path).unwrap();
            connection.busy_timeout(PATIENCE).unwrap();
            connection.execute("UPDATE lease SET epoch = epoch + 1", []).unwrap();
        }
    });
    usurp.await.unwrap();
    let ended = tokio::time::timeout(PATIENCE, running.run_until(std::future::pending())).await.expect("it ends");
    assert!(matches!(ended, Err(ServerError::Engine(EngineError::Store(StoreError::NotLeader(1))))), "{ended:?}");
}

#[tokio::test]
async fn a_coordinator_does_not_start_on_the_store_of_another_federation() {
    let (world, other) = (World::new(&["m1"], |_| {}), World::new(&["m1"], |_| {}));
    world.start().await.stop().await.unwrap();
    std::fs::copy(world.store(), other.store()).unwrap();
    let refused = coordinator::start(other.config()).await.unwrap_err();
    assert!(matches!(refused, ServerError::Engine(EngineError::Foreign(_))), "{refused}");
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let world = World::new(&["m1"], |_| {});
    let running = world.start().await;
    let mut config = world.config();
    config.listen = running.addresses().members;
    let refused = coordinator::start(config).await.unwrap_err();
    assert!(refused.to_string().contains(&running.addresses().members.to_string()), "{refused}");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_coordinator_is_started_from_the_folder_of_a_federation() {
    let folder = truthfed_node::testing::folder();
    let path = folder.path().join("fed");
    let changes = vec!["listen=\"127.0.0.1:0\"".to_owned(), "admin=\"127.0.0.1:0\"".to_owned()];
    federation::init(&path, &InitOptions { changes, ..InitOptions::with_members(2) }).unwrap();
    let federation = federation::open(&path).unwrap();
    let running = coordinator::start(Config::of(&federation, 10_000)).await.unwrap();
    assert_eq!(plain(running.addresses().admin, "/healthz").await.0, 200);
    running.stop().await.unwrap();
    assert!(path.join(coordinator::CHECKPOINT).exists());
}

/// A certificate for the coordinator, valid until then.
fn certified(world: &World, until: SystemTime) -> Identity {
    let validity = Validity { from: SystemTime::UNIX_EPOCH, until };
    world.identities.authority.issue_server(&["127.0.0.1".to_owned()], validity).unwrap()
}

#[tokio::test]
async fn a_coordinator_whose_certificate_had_expired_started_without_a_word() {
    let world = World::new(&["m1"], |_| {});
    let mut config = world.config();
    config.plan.server = certified(&world, SystemTime::UNIX_EPOCH + 365 * DAY);
    let refused = coordinator::start(config).await.unwrap_err().to_string();
    assert!(refused.contains("expired on 1971-01-01") && refused.contains("truthfed renew"), "{refused}");
}

#[tokio::test]
async fn a_certificate_that_expires_within_thirty_days_is_told_at_the_start() {
    let mut told = Vec::new();
    for (days, is_told) in [(29, true), (31, false)] {
        let world = World::new(&["m1"], |_| {});
        let mut config = world.config();
        config.plan.server = certified(&world, SystemTime::now() + days * DAY);
        let digest = config.plan.server.certificate().digest().to_string();
        coordinator::start(config).await.unwrap().stop().await.unwrap();
        told.push((logged().iter().any(|line| line["certificate"] == digest && line["level"] == "WARN"), is_told));
    }
    assert!(told.iter().all(|(told, expected)| told == expected), "{told:?}");
}

#[tokio::test]
async fn the_log_of_the_start_counted_revoked_members() {
    let names: Vec<String> = (1..=11).map(|number| format!("m{number}")).collect();
    let world = World::new(&names.iter().map(String::as_str).collect::<Vec<_>>(), |_| {});
    let running = world.start().await;
    world.operator(running.addresses()).delete("/v1/operator/members/m7").await;
    running.stop().await.unwrap();
    world.start().await.stop().await.unwrap();
    let entries = world.head().0;
    let lines = logged();
    let active = lines.iter().find(|line| line["message"] == "active" && line["entries"] == entries).unwrap();
    assert_eq!(active["members"], 10);
}
