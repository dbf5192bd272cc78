//! Connections: TLS 1.3 with certificates on both sides, bounded in number, size and time.
//!
//! [`serve`] runs an axum router behind [`ServerTls`]; each request carries a [`Peer`], the only thing that says who
//! asks. [`Client`] is the other end. [`Limits`] bounds whatever a stranger or a member could take too much of.
//!
//! Promises: a certificate that is missing, expired, foreign or revoked is refused in the handshake; a revoked member's open
//! connections end at once, and those of one whose certificate expires at the next request; nothing is allocated for a body
//! beyond its limit; strangers take no seat of a member, and members take none of each other's bytes.
//!
//! Not here: what requests mean, and who of the certified is a member.

mod admission;
mod body;
mod bucket;
mod client;
mod limits;
mod refusals;
mod revocation;
mod serve;
mod stall;
mod tls;

pub use admission::Part;
pub use body::{Intake, Taken, read_body};
pub use bucket::TokenBucket;
pub use client::{Client, ClientLimits, Connect, NetError, Reply, Tcp};
pub use limits::{Limits, body_bytes, message_bytes};
pub use refusals::Refusals;
pub use revocation::Revocations;
pub use serve::{Listen, Peer, serve, serve_plain};
pub use tls::{ServerTls, TlsError, client_tls};
