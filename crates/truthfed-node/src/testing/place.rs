//! Places where tests keep a store: each store has one of its own, in its `place.rs`. Gone when dropped.

use crate::store::{Location, Store, StoreError};

/// What differs between stores in the SQL that runs behind their backs.
pub struct Dialect {
    /// Before the name of a table.
    pub schema: &'static str,
    /// Marks the tables as of another version, whose number follows.
    pub set_version: &'static str,
    /// Moves the lease a year into the future.
    pub move_lease: &'static str,
    /// Makes a lease as old as an hour.
    pub age_lease: &'static str,
    /// Makes a table of ours without saying of which version.
    pub unknown_tables: &'static str,
    /// Makes the tables of version 1, with an entry and its two postings.
    pub before_payouts: &'static str,
    /// Changes to the tables and what protects them, each with what undoes it.
    pub alterations: &'static [(&'static str, &'static str)],
}

/// A place where a store can be opened, and opened again.
pub trait Place: Sync {
    fn address(&self) -> &str;

    /// Runs SQL behind the store's back.
    fn execute(&self, sql: &str) -> Result<(), String>;

    fn dialect(&self) -> Dialect;

    fn location(&self) -> Location {
        self.address().parse().expect("a place has the address of a store")
    }

    fn open(&self) -> Box<dyn Store> {
        self.try_open().expect("the store can be opened")
    }

    fn try_open(&self) -> Result<Box<dyn Store>, StoreError> {
        self.location().open()
    }

    fn try_open_existing(&self) -> Result<Box<dyn Store>, StoreError> {
        self.location().open_existing()
    }
}
