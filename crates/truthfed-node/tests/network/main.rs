//! Rounds over a simulated network with real TLS: the real service, real agents and real stores, under a clock and faults
//! that follow from one seed.
//!
//! A seed that fails is run alone with `TRUTHFED_NETWORK_SEEDS=17..18 cargo test -p truthfed-node --test network thousand`.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod application;
mod audit;
mod faults;
mod federation;
mod roads;
mod rounds;
mod slow;
mod world;
