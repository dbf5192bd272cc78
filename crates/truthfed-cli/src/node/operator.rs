//! What the operator asks of a running coordinator, over the network, with its certificate; if none runs, an engine is started
//! just for the change. The lease keeps the two apart.

use anyhow::{Context, bail, ensure};
use truthfed_node::coordinator::Config;
use truthfed_node::coordinator::operator::{Order, OrderReply};
use truthfed_node::engine;
use truthfed_node::federation::Federation;
use truthfed_node::net::{Client, NetError, client_tls};

/// The lease of an engine that makes one change: long enough for it, short enough to wait for after a crash.
const LEASE_MS: u64 = 10_000;

/// What the coordinator replies to an order of the operator.
pub(super) async fn ask(federation: &Federation, order: &Order) -> anyhow::Result<OrderReply> {
    let settings = &federation.settings;
    let tls = client_tls(&federation.operator_identity()?, &federation.authority)?;
    let client = Client::new(&settings.address, &settings.server_name, tls)?;
    let reply = client.send(order.message(), None).await?;
    if let Some(refusal) = reply.refusal() {
        return Err(refusal.into());
    }
    ensure!(reply.status.is_success(), "the coordinator answered with status {}", reply.status);
    Ok(order.read_reply(&reply.body)?)
}

/// An engine for one change.
pub(super) async fn an_engine(federation: &Federation) -> anyhow::Result<engine::Running> {
    let plan = Config::of(federation, LEASE_MS).plan;
    let begin = move || anyhow::Ok(engine::start(plan.setup(), &plan.store, &mut engine::Ahead::default())?);
    tokio::task::spawn_blocking(begin).await?.with_context(|| {
        format!("no coordinator answers at {}, and the store cannot be used either", federation.settings.address)
    })
}

pub(super) fn is_unreachable(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(NetError::Unreachable { .. }))
}

pub(super) fn unexpected<T>(reply: anyhow::Result<OrderReply>) -> anyhow::Result<T> {
    reply.and_then(|_| bail!("the coordinator answered something else than was asked"))
}
