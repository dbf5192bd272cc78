//! Real connections over loopback: who gets in, who does not, and what ends them.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod client;
mod handshake;
mod limits;
mod world;
