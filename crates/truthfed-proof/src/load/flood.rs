//! Members that send as fast as they are answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::ensure;
use tokio::task::JoinSet;
use truthfed_node::error::Code;
use truthfed_node::federation::Bundle;
use truthfed_node::net::{Client, client_tls};
use truthfed_node::wire::Call;

use crate::load::agent::From;
use crate::load::world::hostile_address;

/// What is sent.
pub trait Says: Send + Sync + 'static {
    fn next(&self) -> Call;

    fn taken(&self, _call: &Call) {}
}

/// One member at work, until this is dropped.
#[derive(Debug)]
pub struct Flood {
    counts: Arc<Counts>,
    started: Instant,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Counts {
    heard: AtomicU64,
    turned_away: AtomicU64,
}

impl Flood {
    pub fn begin<S: Says>(says: &Arc<S>, to: SocketAddr, bundle: &Bundle, connections: usize) -> anyhow::Result<Flood> {
        let (counts, mut tasks) = (Arc::new(Counts::default()), JoinSet::new());
        let tls = client_tls(&bundle.identity, &bundle.authority)?;
        for number in 0..connections {
            let from = From(hostile_address(number));
            let client = Client::over(from, &to.to_string(), &bundle.server_name, tls.clone())?;
            tasks.spawn(counts.clone().send(says.clone(), client));
        }
        Ok(Flood { counts, started: Instant::now(), _tasks: tasks })
    }

    /// How many requests a second were heard, and how many told `rate-limited`. Fails if none were heard.
    pub fn rates(&self) -> anyhow::Result<[f64; 2]> {
        let seconds = self.started.elapsed().as_secs_f64();
        let [heard, turned_away] =
            [&self.counts.heard, &self.counts.turned_away].map(|count| count.load(Ordering::Relaxed) as f64 / seconds);
        ensure!(heard > 0.0, "nobody heard the flood");
        Ok([heard, turned_away])
    }
}

impl Counts {
    async fn send<S: Says>(self: Arc<Counts>, says: Arc<S>, client: Client<From>) {
        loop {
            let call = says.next();
            let Ok(reply) = client.send(call.message(), None).await else {
                tokio::task::yield_now().await;
                continue;
            };
            let count = match reply.refusal().map(|refusal| refusal.code) {
                Some(Code::RateLimited) => &self.turned_away,
                _ => &self.heard,
            };
            count.fetch_add(1, Ordering::Relaxed);
            if reply.status.is_success() {
                says.taken(&call);
            }
        }
    }
}
