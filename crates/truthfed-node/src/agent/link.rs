//! How an agent reaches its coordinator.

use std::future::Future;
use std::time::Duration;

use serde::de::DeserializeOwned;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use crate::engine;
use crate::error::Refusal;
use crate::reading::read_json;
use crate::wire::{AskReply, DeclineReply, Envelope, ReceiptReply, SyncReply, SyncRequest, View};

/// Why the coordinator gave no useful reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Nobody's: it cannot be reached now, or did not answer in time.
    #[error("the coordinator cannot be reached: {0}")]
    Away(String),
    /// It said no, and why.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Coordinator: its reply cannot be read; it may be of another version.
    #[error("the coordinator's reply cannot be read: {0}")]
    Garbled(String),
}

/// What an agent can say to its coordinator. A request that was not answered may have been taken.
pub trait Link: Send + Sync {
    /// What the member sees: at once, or as soon as it is newer than a version, and at the latest after a while.
    fn view(&self, after: Option<u64>, wait_ms: u64) -> impl Future<Output = Result<View, LinkError>> + Send;

    /// Asks for a round.
    fn ask(&self) -> impl Future<Output = Result<AskReply, LinkError>> + Send;

    /// Offers.
    fn offer(&self, round: RoundId, offer: Envelope) -> impl Future<Output = Result<ReceiptReply, LinkError>> + Send;

    /// Says that there is no offer.
    fn decline(&self, round: RoundId) -> impl Future<Output = Result<DeclineReply, LinkError>> + Send;

    /// Delivers.
    fn deliver(
        &self,
        round: RoundId,
        delivery: Envelope,
    ) -> impl Future<Output = Result<ReceiptReply, LinkError>> + Send;

    /// Fetches what is settled.
    fn sync(&self, request: SyncRequest) -> impl Future<Output = Result<SyncReply, LinkError>> + Send;
}

/// A link within one process, to a coordinator's engine.
#[derive(Clone)]
pub struct Direct {
    engine: engine::Handle,
    member: ClientId,
}

impl Direct {
    /// As that member.
    pub fn new(engine: engine::Handle, member: ClientId) -> Direct {
        Direct { engine, member }
    }
}

impl Link for Direct {
    async fn view(&self, after: Option<u64>, wait_ms: u64) -> Result<View, LinkError> {
        if let Some(version) = after {
            let changed = self.engine.news_after(version);
            // Whatever is there when the time is over is the view.
            let _ = tokio::time::timeout(Duration::from_millis(wait_ms), changed).await;
        }
        Ok(self.engine.view(&self.member))
    }

    async fn ask(&self) -> Result<AskReply, LinkError> {
        read_reply(self.engine.ask(&self.member).await?)
    }

    async fn offer(&self, round: RoundId, offer: Envelope) -> Result<ReceiptReply, LinkError> {
        read_reply(self.engine.offer(&self.member, round, offer).await?)
    }

    async fn decline(&self, round: RoundId) -> Result<DeclineReply, LinkError> {
        read_reply(self.engine.decline(&self.member, round).await?)
    }

    async fn deliver(&self, round: RoundId, delivery: Envelope) -> Result<ReceiptReply, LinkError> {
        read_reply(self.engine.deliver(&self.member, round, delivery).await?)
    }

    async fn sync(&self, request: SyncRequest) -> Result<SyncReply, LinkError> {
        read_reply(self.engine.sync(&self.member, request).await?)
    }
}

/// Reads a reply, strictly.
pub(super) fn read_reply<T: DeserializeOwned>(reply: impl AsRef<[u8]>) -> Result<T, LinkError> {
    read_json(reply.as_ref()).map_err(|refusal| LinkError::Garbled(refusal.message))
}
