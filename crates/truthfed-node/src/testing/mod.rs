//! What tests of this crate and of others share: stores, a federation's keys and messages, and an engine driven by hand.
//! Only in tests, and with the feature `testing`.

#![allow(clippy::unwrap_used)] // test code, although other crates' tests call it

mod federation;
mod forwarding;
mod identities;
mod memory;
mod place;
mod played;
mod stepwise;

use truthfed::auction::ClientId;

pub use self::federation::{Data, Federation, Numbers, terms, wide_terms};
pub use self::forwarding::{Fate, Forwarding, Step};
pub use self::identities::Identities;
pub use self::memory::Memory;
pub use self::place::{Dialect, Place};
pub use self::played::Played;
pub use self::stepwise::{Nowhere, Stepwise};
pub use crate::store::postgres::place::Database;
pub use crate::store::sqlite::place::File;

/// A temporary folder, in memory if the system has such a place: SQLite syncs every commit, and on a disk tests mostly wait
/// for that. What a disk loses is tested in `truthfed-proof`.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

pub fn id(name: &str) -> ClientId {
    name.parse().unwrap()
}
