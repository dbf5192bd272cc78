//! The coordinator's server as the network sees it: loopback TLS, a SQLite file, and requests made by hand.
#![allow(clippy::unwrap_used)]

mod admin;
mod bad_input;
mod browser;
mod heads;
mod lifecycle;
mod limits;
mod page;
mod pauses;
mod payouts;
mod phases;
mod privacy;
mod renewal;
mod revocation;
mod roles;
mod round;
mod schema;
mod support;
mod trouble;
