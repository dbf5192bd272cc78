//! A store that fails now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::coordinator;
use truthfed_node::error::Code;
use truthfed_node::journal::{Head, Row};
use truthfed_node::ledger::Posting;
use truthfed_node::store::{
    Batch, Lease, RequestKey, RequestKind, Sqlite, StandingRow, Store, StoreError, StoredReply,
};
use truthfed_node::wire::AskReply;

use super::support::{World, plain};

/// A store whose disk is full while somebody says so.
struct Failing {
    store: Sqlite,
    is_full: Arc<AtomicBool>,
}

impl Store for Failing {
    fn acquire(&mut self, lease_ms: u64) -> Result<Lease, StoreError> {
        self.store.acquire(lease_ms)
    }

    fn renew(&mut self, lease: Lease, lease_ms: u64) -> Result<(), StoreError> {
        self.store.renew(lease, lease_ms)
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.store.release(lease)
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        match self.is_full.load(Ordering::SeqCst) {
            true => Err(StoreError::Full),
            false => self.store.commit(lease, batch),
        }
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        self.store.head()
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        self.store.standing()
    }

    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        self.store.rows(after, most)
    }

    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        self.store.reply(key)
    }

    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        self.store.replies(member, kind, after)
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        self.store.postings(after, most)
    }
}

#[tokio::test]
async fn a_full_disk_is_told_to_members_and_monitoring_and_passes_when_there_is_room() {
    let world = World::new(&["m1"], |_| {});
    let is_full = Arc::new(AtomicBool::new(false));
    let mut config = world.config();
    let (path, full) = (world.store(), is_full.clone());
    config.plan.store =
        Arc::new(
            move || Ok(Box::new(Failing { store: Sqlite::open(&path)?, is_full: full.clone() }) as Box<dyn Store>),
        );
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
