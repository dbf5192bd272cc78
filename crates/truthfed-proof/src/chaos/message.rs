//! What crosses the network: bytes, as over HTTP.

use std::fmt;
use std::sync::Arc;

use truthfed::protocol::RoundId;
use truthfed_node::engine::Call;
use truthfed_node::error::Refusal;
use truthfed_node::reading::read_json;

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// What the member sees, once it is newer than a version.
    View(Option<u64>),
    Ask,
    Offer(RoundId),
    Decline(RoundId),
    Deliver(RoundId),
    Sync,
}

impl Path {
    /// The same in another round.
    pub(crate) fn readdressed(self, round: RoundId) -> Path {
        match self {
            Path::Offer(_) => Path::Offer(round),
            Path::Decline(_) => Path::Decline(round),
            Path::Deliver(_) => Path::Deliver(round),
            other => other,
        }
    }

    /// Whether both ask for the same kind of reply.
    pub(crate) fn is_like(self, other: Path) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    /// The round it belongs to.
    pub(crate) fn round(self) -> Option<RoundId> {
        match self {
            Path::Offer(round) | Path::Decline(round) | Path::Deliver(round) => Some(round),
            _ => None,
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::View(None) => write!(f, "view"),
            Path::View(Some(after)) => write!(f, "view after {after}"),
            Path::Ask => write!(f, "ask"),
            Path::Offer(round) => write!(f, "offer {round}"),
            Path::Decline(round) => write!(f, "decline {round}"),
            Path::Deliver(round) => write!(f, "delivery {round}"),
            Path::Sync => write!(f, "sync"),
        }
    }
}

/// A request of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// Names it for whoever waits for the reply; 0 when nobody does.
    pub(crate) id: u64,
    /// Who sends it: told by its certificate.
    pub(crate) member: usize,
    pub(crate) path: Path,
    pub(crate) body: String,
}

impl Request {
    /// What is asked of the engine; none for a view.
    pub(crate) fn call(&self) -> Result<Option<Call>, Refusal> {
        let body = self.body.as_bytes();
        Ok(Some(match self.path {
            Path::View(_) => return Ok(None),
            Path::Ask => Call::Ask,
            Path::Offer(round) => Call::Offer(round, read_json(body)?),
            Path::Decline(round) => Call::Decline(round),
            Path::Deliver(round) => Call::Deliver(round, read_json(body)?),
            Path::Sync => Call::Sync(read_json(body)?),
        }))
    }
}

/// What it is answered with.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) request: Arc<Request>,
    /// A reply, or a refusal.
    pub(crate) outcome: Result<String, String>,
}

/// Something on its way.
#[derive(Debug, Clone)]
pub(crate) enum Parcel {
    Request(Arc<Request>),
    Reply(Reply),
}

impl Parcel {
    /// At whose end of the network it is.
    pub(crate) fn member(&self) -> usize {
        match self {
            Parcel::Request(request) => request.member,
            Parcel::Reply(reply) => reply.request.member,
        }
    }
}

/// As a message has it.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("messages are JSON")
}
