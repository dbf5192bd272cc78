//! What members may ask.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::route::{Call, Json, Nothing, Query, Reply};
use crate::error::{Code, Refusal};
use crate::schema::Signed;
use crate::terms::TermsDocument;
use crate::wire::{
    AskReply, DeclineReply, DeliveryContent, OfferContent, ReceiptReply, StatementReply, SyncReply, SyncRequest, View,
};

/// Which view a member has seen.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Seen {
    /// The version it has; without it the answer comes at once.
    after: Option<u64>,
    /// How long to wait for another one; the coordinator may answer sooner, 30000 is the longest.
    wait_ms: u64,
}

pub(super) async fn terms(call: Call, _: ClientId, _: Nothing) -> Result<Reply<TermsDocument>, Refusal> {
    Ok(Reply::written(call.service.terms.clone()))
}

/// Waits until there is another version than the one seen. A version that is higher than any was seen of a store that an
/// older one has replaced: there is nothing to wait for.
pub(super) async fn view(call: Call, member: ClientId, query: Query<Seen>) -> Result<Reply<View>, Refusal> {
    let Query(Seen { after, wait_ms }) = query;
    if let Some(version) = after
        && call.engine.published().news() == version
    {
        let wait = Duration::from_millis(wait_ms).min(call.service.poll);
        tokio::select! {
            () = call.engine.news_after(version) => {}
            () = tokio::time::sleep(wait) => {}
            () = call.service.stopping() => return Err(Code::ShuttingDown.into()),
        }
    }
    let published = call.engine.published();
    published.check_member(&member)?;
    Ok(Reply::new(&published.view(&member)))
}

pub(super) async fn ask(call: Call, member: ClientId, _: Nothing) -> Result<Reply<AskReply>, Refusal> {
    call.engine.ask(&member).await.map(Reply::written)
}

pub(super) async fn offer(
    call: Call,
    member: ClientId,
    Json(offer): Json<Signed<OfferContent>>,
) -> Result<Reply<ReceiptReply>, Refusal> {
    let round = call.parameter("round").map(RoundId)?;
    call.engine.offer(&member, round, offer.envelope).await.map(Reply::written)
}

pub(super) async fn decline(call: Call, member: ClientId, _: Nothing) -> Result<Reply<DeclineReply>, Refusal> {
    let round = call.parameter("round").map(RoundId)?;
    call.engine.decline(&member, round).await.map(Reply::written)
}

pub(super) async fn delivery(
    call: Call,
    member: ClientId,
    Json(delivery): Json<Signed<DeliveryContent>>,
) -> Result<Reply<ReceiptReply>, Refusal> {
    let round = call.parameter("round").map(RoundId)?;
    call.engine.deliver(&member, round, delivery.envelope).await.map(Reply::written)
}

pub(super) async fn sync(
    call: Call,
    member: ClientId,
    Json(request): Json<SyncRequest>,
) -> Result<Reply<SyncReply>, Refusal> {
    call.engine.sync(&member, request).await.map(Reply::written)
}

pub(super) async fn statement(call: Call, member: ClientId, _: Nothing) -> Result<Reply<StatementReply>, Refusal> {
    call.engine.statement(&member).await.map(Reply::written)
}
