//! A store that fails now and then, or takes its time.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use truthfed::protocol::RoundId;
use truthfed_node::coordinator::{self, Addresses, Running};
use truthfed_node::error::Code;
use truthfed_node::store::{Sqlite, Store, StoreError};
use truthfed_node::testing::{Fate, Forwarding, Step};
use truthfed_node::wire::ReceiptReply;

use super::support::{PATIENCE, World, logged, plain, some_data};

/// Where a store fails while a switch is on.
type Switch = Arc<AtomicBool>;

/// Which steps of a store are meant.
type Steps = fn(&Step<'_>) -> bool;

/// A coordinator whose store fails at some steps, while a switch is on. Its lease is short: renewals are frequent.
async fn failing(world: &mut World, is_meant: Steps, error: fn() -> StoreError) -> (Running, Switch) {
    world.lease_ms = 300;
    let switch = Switch::default();
    let mut config = world.config();
    let (path, is_on) = (world.store(), switch.clone());
    config.plan.store = Arc::new(move || {
        let is_on = is_on.clone();
        let hook = move |step: Step<'_>| match is_meant(&step) && is_on.load(Ordering::SeqCst) {
            true => Fate::Fail(error()),
            false => Fate::Pass,
        };
        Ok(Box::new(Forwarding::with(Sqlite::open(&path)?, hook)) as Box<dyn Store>)
    });
    (coordinator::start(config).await.unwrap(), switch)
}

fn away() -> StoreError {
    StoreError::Unavailable("a test".to_owned())
}

/// Asks a probe until it gives this answer. Sends nothing else.
async fn until(addresses: Addresses, probe: &str, answer: (u16, &str)) {
    let answered = async {
        while plain(addresses.admin, probe).await != (answer.0, answer.1.to_owned()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.unwrap_or_else(|_| panic!("{probe} never answers {answer:?}"));
}

const ACTIVE: (u16, &str) = (200, r#"{"role":"active"}"#);
const AWAY: &str = r#"{"role":"failing","why":"the store does not answer: a test"}"#;

async fn check_metrics(addresses: Addresses, lines: [&str; 2]) {
    let metrics = plain(addresses.admin, "/metrics").await.1;
    for line in lines {
        assert!(metrics.lines().any(|known| known == line), "{line} is not in\n{metrics}");
    }
}

#[tokio::test]
async fn a_full_disk_is_told_to_members_and_monitoring_and_passes_when_there_is_room() {
    let mut world = World::new(&["m1"], |_| {});
    let writes: Steps = |step| matches!(step, Step::Commit(_) | Step::Renew);
    let (running, is_full) = failing(&mut world, writes, || StoreError::Full).await;
    let m1 = world.party("m1", running.addresses());
    let (before, head) = (m1.view().await, world.head());

    is_full.store(true, Ordering::SeqCst);
    let offer = m1.offer_of(&m1.round().await, &some_data(), 1_000_000);
    let refused = m1.send_offer(RoundId(1), &offer).await;
    assert_eq!((refused.code(), refused.headers["retry-after"].as_str()), (Code::StorageFull, "1"));
    let failing = r#"{"role":"failing","why":"the store is full: nothing was written, make room"}"#;
    assert_eq!(plain(running.addresses().admin, "/healthz").await, (503, failing.to_owned()));
    let view = m1.view().await;
    assert_eq!((view.version, view.open.is_none(), world.head()), (before.version, true, head), "reads go on");

    is_full.store(false, Ordering::SeqCst);
    until(running.addresses(), "/healthz", ACTIVE).await;
    m1.send_offer(RoundId(1), &offer).await.ok::<ReceiptReply>();
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_database_that_was_away_flooded_the_log() {
    let world = World::new(&["m1"], |_| {});
    let attempts = Arc::new(AtomicUsize::new(0));
    let mut config = world.config();
    let (path, tried) = (world.store(), attempts.clone());
    config.plan.store = Arc::new(move || {
        let tried = tried.clone();
        // The first commit founds the federation; the next one is in doubt ten times.
        let hook = move |step: Step<'_>| match step {
            Step::Commit(_) if (1..=10).contains(&tried.fetch_add(1, Ordering::SeqCst)) => {
                Fate::Fail(StoreError::InDoubt("the flooded link broke".to_owned()))
            }
            _ => Fate::Pass,
        };
        Ok(Box::new(Forwarding::with(Sqlite::open(&path)?, hook)) as Box<dyn Store>)
    });
    let running = coordinator::start(config).await.unwrap();
    let m1 = world.party("m1", running.addresses());
    assert_eq!(m1.opens().await, RoundId(1));
    assert_eq!(attempts.load(Ordering::SeqCst), 12);
    running.stop().await.unwrap();
    let lines = logged()
        .into_iter()
        .filter(|line| line["error"].as_str().is_some_and(|error| error.contains("the flooded link broke")));
    assert_eq!(lines.count(), 1);
}

#[tokio::test]
async fn a_store_that_is_away_is_seen_and_so_is_its_return_although_nobody_asks_for_anything() {
    let mut world = World::new(&["m1"], |_| {});
    let (running, is_away) = failing(&mut world, |_| true, away).await;
    let addresses = running.addresses();
    until(addresses, "/healthz", ACTIVE).await;

    is_away.store(true, Ordering::SeqCst);
    until(addresses, "/healthz", (503, AWAY)).await;
    until(addresses, "/readyz", (503, AWAY)).await;
    until(addresses, "/livez", (200, AWAY)).await;
    check_metrics(addresses, ["truthfed_healthy 0", r#"truthfed_role{role="failing"} 1"#]).await;

    is_away.store(false, Ordering::SeqCst);
    for probe in ["/healthz", "/readyz", "/livez"] {
        until(addresses, probe, ACTIVE).await;
    }
    check_metrics(addresses, ["truthfed_healthy 1", r#"truthfed_role{role="failing"} 0"#]).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn after_a_commit_that_failed_a_coordinator_is_healthy_without_another_one() {
    let mut world = World::new(&["m1"], |_| {});
    let (running, is_away) = failing(&mut world, |_| true, away).await;
    let m1 = world.party("m1", running.addresses());
    let offer = m1.offer_of(&m1.round().await, &some_data(), 1_000_000);
    is_away.store(true, Ordering::SeqCst);
    // It is answered when the store is back, and nothing is asked after that.
    let (refused, ()) = tokio::join!(m1.send_offer(RoundId(1), &offer), async {
        until(running.addresses(), "/healthz", (503, AWAY)).await;
        is_away.store(false, Ordering::SeqCst);
    });
    assert_eq!(refused.code(), Code::Busy);
    until(running.addresses(), "/healthz", ACTIVE).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_standby_is_healthy_until_it_cannot_reach_the_store() {
    let world = World::new(&["m1"], |_| {});
    let first = world.start().await;
    let (path, is_away, mut config) = (world.store(), Switch::default(), world.config());
    let switch = is_away.clone();
    config.plan.store = Arc::new(move || match switch.load(Ordering::SeqCst) {
        true => Err(away()),
        false => Ok(Box::new(Sqlite::open(&path)?) as Box<dyn Store>),
    });
    let second = coordinator::start(config).await.unwrap();
    let addresses = second.addresses();
    let standby = r#"{"role":"standby"}"#;
    until(addresses, "/readyz", (503, standby)).await;
    until(addresses, "/livez", (200, standby)).await;
    check_metrics(addresses, ["truthfed_healthy 1", r#"truthfed_role{role="standby"} 1"#]).await;

    is_away.store(true, Ordering::SeqCst);
    until(addresses, "/healthz", (503, AWAY)).await;
    check_metrics(addresses, ["truthfed_healthy 0", r#"truthfed_role{role="standby"} 0"#]).await;
    is_away.store(false, Ordering::SeqCst);
    until(addresses, "/healthz", (503, standby)).await;
    second.stop().await.unwrap();
    first.stop().await.unwrap();
}

/// Renewals, as they happen.
type Renewals = (Sender<()>, Arc<Mutex<Receiver<()>>>);

/// A store that is busy at the first step of a kind, for longer than a lease of 900 ms lasts if nobody renews it.
fn slow(path: &Path, is_meant: Steps, is_slow: &Switch, renewals: &Renewals) -> Box<dyn Store> {
    let ((renewed, seen), path, is_slow) = (renewals.clone(), path.to_owned(), is_slow.clone());
    let store = Sqlite::open(&path).unwrap();
    let hook = move |step: Step<'_>| {
        if matches!(step, Step::Renew) {
            renewed.send(()).unwrap();
        } else if is_meant(&step) && is_slow.swap(false, Ordering::SeqCst) {
            for _ in 0..4 {
                seen.lock().unwrap().recv_timeout(PATIENCE).expect("the lease is renewed meanwhile");
            }
            let taken = Sqlite::open(&path).unwrap().acquire(900);
            assert!(matches!(taken, Err(StoreError::Held)), "{taken:?}");
        }
        Fate::Pass
    };
    Box::new(Forwarding::with(store, hook))
}

#[tokio::test]
async fn a_coordinator_that_is_busy_for_longer_than_its_lease_lasts_keeps_it() {
    // It reads before it works, as after a crash; it commits what it computed, such as an auction.
    let (reads, commits): (Steps, Steps) =
        (|step| matches!(step, Step::Rows(..)), |step| matches!(step, Step::Commit(_)));
    for is_meant in [reads, commits] {
        let mut world = World::new(&["m1"], |_| {});
        world.lease_ms = 900;
        let (path, is_slow) = (world.store(), Arc::new(AtomicBool::new(true)));
        let (renewed, seen) = channel();
        let renewals = (renewed, Arc::new(Mutex::new(seen)));
        let mut config = world.config();
        let switch = is_slow.clone();
        config.plan.store = Arc::new(move || Ok(slow(&path, is_meant, &switch, &renewals)));
        let running = coordinator::start(config).await.unwrap();
        assert!(!is_slow.load(Ordering::SeqCst), "it was slow");
        world.party("m1", running.addresses()).opens().await;
        running.stop().await.unwrap();
    }
}
