//! Proof of truthfed under fault and load. Not published: the shipped binary has none of it.
//!
//! - [`disk`]: a disk in memory for SQLite that can fail, fill up and lose power.
//! - [`chaos`]: coordinator, members, disks and network in one deterministic simulation, under faults.
//! - [`forwarder`]: a proxy that can be cut.
//! - [`load`]: load and attacks on a real coordinator over loopback, and the figures they give.
//!
//! `tests/killed` kills real processes at every durable step. Tests build this crate, and everything it depends on, with
//! the features `planted-faults` and `kill-points`; its binary runs without them.

pub mod chaos;
pub mod disk;
pub mod forwarder;
pub mod load;
