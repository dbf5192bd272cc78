//! The network service of truthfed: a coordinator, agents, and a ledger that survives.
//!
//! The protocol machines of [`truthfed::protocol`] over a real network. A coordinator takes requests over mutual TLS, drives
//! the same machine as the simulator, and commits every step to a [`store`] before it answers. An agent stands beside a
//! member's application, decides locally and takes part in rounds.
//!
//! - [`wire`]: messages; [`terms`]: what a federation agreed on; [`digest`]: hashes and signatures as text.
//! - [`identity`]: certificates and keys; [`federation`]: the folder they lie in; [`net`]: TLS; [`error`]: refusals.
//! - [`engine`]: the coordinator's one writer; [`carried`]: what travels where somebody else carries it.
//! - [`journal`]: every durable step, hash-chained; [`store`]: where it is kept; [`ledger`]: what it comes to; [`log`]: its signed heads,
//!   and proofs about it.

/// A point at which a process can be killed. Nothing at all without the feature `kill-points`.
macro_rules! kill_point {
    ($($call:tt)*) => {
        #[cfg(feature = "kill-points")]
        $crate::kill::$($call)*;
    };
}

pub mod agent;
pub mod calendar;
pub mod call;
pub mod carried;
mod claims;
pub mod client;
pub mod coordinator;
pub mod digest;
pub mod engine;
pub mod error;
pub mod federation;
pub mod identity;
pub mod journal;
#[cfg(feature = "kill-points")]
pub mod kill;
pub mod ledger;
pub mod log;
mod loopback;
pub mod net;
mod page;
pub mod reading;
mod schema;
mod seldom;
pub mod signature;
mod sqlite_file;
pub mod store;
pub mod terms;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod viewer;
pub mod wire;
