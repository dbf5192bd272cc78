//! What crosses the network: bytes, as over HTTP.

use std::fmt;
use std::sync::Arc;

use truthfed::protocol::RoundId;
use truthfed_node::error::Refusal;
use truthfed_node::wire::{Call, Seen};

#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Names it for whoever waits for the reply; 0 when nobody does.
    pub(crate) id: u64,
    /// Who sends it: told by its certificate.
    pub(crate) member: usize,
    /// Where it goes.
    pub(crate) to: Call,
    /// What is sent there: the body of the call, unless somebody lies.
    pub(crate) body: String,
}

impl Request {
    /// An honest one.
    pub(crate) fn of(id: u64, member: usize, call: &Call) -> Request {
        let body = String::from_utf8(call.message().body.into()).expect("messages are text");
        Request { id, member, to: call.clone(), body }
    }

    /// What is asked of the coordinator.
    pub(crate) fn call(&self) -> Result<Call, Refusal> {
        self.to.with_body(self.body.as_bytes())
    }

    /// The same sent to another round.
    pub(crate) fn readdressed(&self, round: RoundId) -> Request {
        let to = match self.to.clone() {
            Call::Offer(_, offer) => Call::Offer(round, offer),
            Call::Decline(_) => Call::Decline(round),
            Call::Deliver(_, delivery) => Call::Deliver(round, delivery),
            other => other,
        };
        Request { id: 0, to, ..self.clone() }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.to, self.to.round()) {
            (Call::View(Seen { after: Some(after), .. }), _) => write!(f, "View after {after}"),
            (call, Some(round)) => write!(f, "{} {round}", call.name()),
            (call, None) => write!(f, "{}", call.name()),
        }
    }
}

/// What it is answered with.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) request: Arc<Request>,
    /// A reply, or a refusal.
    pub(crate) outcome: Result<String, String>,
}

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
