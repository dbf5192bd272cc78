//! What `federation.toml` says. The meaning of each key stands in the commented file.

use serde::{Deserialize, Serialize};
use truthfed::protocol::RawTerms;

/// Settings as they are written down; all keys are needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawFederation {
    pub name: String,
    /// Where the coordinator listens.
    pub listen: String,
    /// Where members reach it, `host:port`.
    pub address: String,
    /// What its certificate is issued for.
    pub names: Vec<String>,
    /// Where it answers in plain text.
    pub admin: String,
    /// A file, or the address of a PostgreSQL database.
    pub store: String,
    /// What the federation agrees on.
    pub terms: RawTerms,
    /// How much the coordinator gives.
    pub limits: RawLimits,
}

/// Limits as they are written down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLimits {
    pub connections: usize,
    /// Connections of one address before it is authenticated.
    pub connections_per_address: usize,
    pub connections_per_member: usize,
    /// Requests of one member in the long run.
    pub requests_per_second: u32,
    /// Requests of one member at once.
    pub burst: u32,
    /// Time for a handshake.
    pub handshake_ms: u64,
    /// Time for headers, and longest idle time.
    pub header_ms: u64,
    /// Time for a body.
    pub body_ms: u64,
    /// Time that a response may be left unread.
    pub stall_ms: u64,
    /// Longest wait for news.
    pub poll_ms: u64,
    /// Time for requests under way at the end.
    pub grace_ms: u64,
}
