//! How much of everything a server allows.

use std::time::Duration;

use tokio::sync::watch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all; default 1024. Those that no member has a seat for, or that are not authenticated yet, fill half
    /// of them at most: whoever waits longest makes way. When members fill them all, further ones are closed unheard.
    pub connections: usize,
    /// Connections of one address that are not authenticated yet; default 32. Further ones are closed unheard.
    pub connections_per_address: usize,
    /// Connections of one certificate; default 8. Further ones are told `too-many-connections`.
    pub connections_per_member: usize,
    /// Requests of one certificate in the long run; default 50. Further ones are told `rate-limited`, no sooner
    /// than they could have been heard.
    pub requests_per_second: u32,
    /// Requests of one certificate at once; default 100.
    pub burst: u32,
    /// Time for a TLS handshake; default 10 s.
    pub handshake: Duration,
    /// Time until a request's headers are complete, counted from the connection or the last response: also the longest
    /// idle time; default 30 s.
    pub header: Duration,
    /// Time for the body of a request; default 30 s.
    pub body: Duration,
    /// Largest body; default that of dimension 512.
    pub body_bytes: usize,
    /// Time that the other side may leave a write waiting; default 30 s.
    pub stall: Duration,
    /// The longest that a request for news waits for some, 30 s at most; default 25 s.
    pub poll: Duration,
    /// Time for requests under way when the server stops; default 10 s.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            connections_per_address: 32,
            connections_per_member: 8,
            requests_per_second: 50,
            burst: 100,
            handshake: Duration::from_secs(10),
            header: Duration::from_secs(30),
            body: Duration::from_secs(30),
            body_bytes: body_bytes(truthfed::statistics::MAX_DIMENSION),
            stall: Duration::from_secs(30),
            poll: Duration::from_secs(25),
            grace: Duration::from_secs(10),
        }
    }
}

impl Limits {
    /// As a server takes them, never to change.
    pub fn fixed(self) -> watch::Receiver<Limits> {
        watch::channel(self).1
    }
}

/// The largest body of an honest member: it has a packed triangle.
pub const fn body_bytes(dimension: usize) -> usize {
    message_bytes(dimension * (dimension + 1) / 2)
}

/// The largest message of so many numbers: of 32 bytes (17 digits, sign, point and exponent are 24), and 8 KiB for the rest,
/// of which an envelope with its context and hashes takes about 700 bytes.
pub const fn message_bytes(numbers: usize) -> usize {
    32 * numbers + 8192
}
