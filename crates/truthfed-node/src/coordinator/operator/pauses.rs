//! Whether rounds may open, as the operator says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truthfed::protocol::RoundId;

use super::CHUNK;
use crate::engine::Handle;
use crate::error::Refusal;
use crate::journal::Entry;
use crate::ledger::{Pause, Reason, StandingBody};
use crate::schema;
use crate::store::{Store, StoreError};

/// Why no round is to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseRequest {
    /// What members are told.
    #[schemars(with = "schema::Reason")]
    pub reason: Reason,
}

/// Whether rounds may open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseReply {
    /// Since when and why none does.
    pub paused: Option<Pause>,
    /// The round that is open and goes on to its end.
    #[schemars(with = "Option<schema::Round>")]
    pub open: Option<RoundId>,
}

impl PauseReply {
    /// How it is now.
    pub fn of(engine: &Handle) -> PauseReply {
        let published = engine.published();
        PauseReply { paused: published.paused().cloned(), open: published.open_round() }
    }
}

pub(super) async fn pause(engine: &Handle, request: PauseRequest) -> Result<PauseReply, Refusal> {
    engine.pause(request.reason).await?;
    Ok(PauseReply::of(engine))
}

pub(super) async fn resume(engine: &Handle) -> Result<PauseReply, Refusal> {
    engine.resume().await?;
    Ok(PauseReply::of(engine))
}

/// Whether rounds are paused, read from a store without its coordinator. Fails when the store does not answer, or an entry
/// cannot be read.
pub fn read_pause(store: &mut dyn Store) -> Result<Option<Pause>, StoreError> {
    let (mut paused, mut last) = (None, 0);
    if let Some(row) = store.standing()? {
        let unreadable =
            |error: serde_json::Error| StoreError::Damaged(format!("the standing cannot be read: {error}"));
        let body: StandingBody = serde_json::from_str(&row.body).map_err(unreadable)?;
        (paused, last) = (body.paused, row.entry);
    }
    loop {
        let rows = store.rows(last, CHUNK)?;
        let Some(end) = rows.last() else { return Ok(paused) };
        last = end.number;
        for row in &rows {
            match row.entry()? {
                Entry::Paused { reason, at_ms } => paused = Some(Pause { reason, since_ms: at_ms }),
                Entry::Resumed { .. } => paused = None,
                _ => {}
            }
        }
    }
}
