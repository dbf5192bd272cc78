//! Disks that fail, fill up and lose power: what SQLite finds on them, and what the real stores keep.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod database;
mod losses;
mod sqlite;
mod stores;
