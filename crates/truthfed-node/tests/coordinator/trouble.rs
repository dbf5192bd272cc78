//! A store that fails now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use truthfed::protocol::RoundId;
use truthfed_node::coordinator;
use truthfed_node::error::Code;
use truthfed_node::store::{Sqlite, Store, StoreError};
use truthfed_node::testing::{Fate, Forwarding, Step};
use truthfed_node::wire::AskReply;

use super::support::{World, logged, plain};

#[tokio::test]
async fn a_full_disk_is_told_to_members_and_monitoring_and_passes_when_there_is_room() {
    let world = World::new(&["m1"], |_| {});
    let is_full = Arc::new(AtomicBool::new(false));
    let mut config = world.config();
    let (path, full) = (world.store(), is_full.clone());
    config.plan.store = Arc::new(move || {
        let full = full.clone();
        let hook = move |step: Step<'_>| match step {
            Step::Commit(_) if full.load(Ordering::SeqCst) => Fate::Fail(StoreError::Full),
            _ => Fate::Pass,
        };
        Ok(Box::new(Forwarding::with(Sqlite::open(&path)?, hook)) as Box<dyn Store>)
    });
    let running = coordinator::start(config).await.unwrap();
    let m1 = world.party("m1", running.addresses());
    let (before, head) = (m1.view().await, world.head());

    is_full.store(true, Ordering::SeqCst);
    let refused = m1.client.post("/v1/ask", "").await;
    assert_eq!((refused.code(), refused.headers["retry-after"].as_str()), (Code::StorageFull, "1"));
    let admin = running.addresses().admin;
    assert_eq!(plain(admin, "/healthz").await, (503, r#"{"status":"failing"}"#.to_owned()));
    assert!(plain(admin, "/metrics").await.1.contains("truthfed_healthy 0"));
    let view = m1.view().await;
    assert_eq!((view.version, view.open.is_none(), world.head()), (before.version, true, head), "reads go on");

    is_full.store(false, Ordering::SeqCst);
    assert_eq!(m1.client.post("/v1/ask", "").await.ok::<AskReply>().round, RoundId(1));
    assert_eq!(plain(admin, "/healthz").await.0, 200);
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
    assert_eq!(m1.client.post("/v1/ask", "").await.ok::<AskReply>().round, RoundId(1));
    assert_eq!(attempts.load(Ordering::SeqCst), 12);
    running.stop().await.unwrap();
    let lines = logged().into_iter().filter(|line| line["problem"] == "the flooded link broke");
    assert_eq!(lines.count(), 1);
}
