//! How an agent reaches its coordinator.

use std::future::Future;

use truthfed::auction::ClientId;

use crate::engine;
use crate::error::Refusal;
use crate::wire::Call;

/// Why the coordinator gave no useful reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Nobody's: it cannot be reached now, or did not answer in time.
    #[error("the coordinator cannot be reached: {0}")]
    Away(String),
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Coordinator: its reply cannot be read; it may be of another version.
    #[error("the coordinator's reply cannot be read: {0}")]
    Garbled(String),
}

/// Carries calls to the coordinator. A call that was not answered may have been taken.
pub trait Link: Send + Sync {
    /// The bytes of the reply, for [`Call::read_reply`].
    fn call(&self, call: Call) -> impl Future<Output = Result<Vec<u8>, LinkError>> + Send;
}

/// A link within one process, to a coordinator's engine.
#[derive(Clone)]
pub struct Direct {
    engine: engine::Handle,
    member: ClientId,
}

impl Direct {
    pub fn new(engine: engine::Handle, member: ClientId) -> Direct {
        Direct { engine, member }
    }
}

impl Link for Direct {
    async fn call(&self, call: Call) -> Result<Vec<u8>, LinkError> {
        Ok(self.engine.call(&self.member, call).await?.into_pieces().concat())
    }
}
