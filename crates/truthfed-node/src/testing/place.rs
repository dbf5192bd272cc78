//! Places where tests keep a store: each store has one of its own, in its `place.rs`. Gone when dropped.

use crate::store::{Location, Store, StoreError};

/// A place where a store can be opened, and opened again.
pub trait Place: Sync {
    /// A path or a URL.
    fn address(&self) -> &str;

    /// Runs SQL behind the store's back.
    ///
    /// # Errors
    /// What the database says.
    fn execute(&self, sql: &str) -> Result<(), String>;

    /// The name of a table in SQL.
    fn table(&self, name: &str) -> String;

    /// SQL that marks the tables as of another version.
    fn set_version(&self, version: i64) -> String;

    /// SQL that moves the lease a year into the future.
    fn move_lease(&self) -> &str;

    /// SQL that makes a table of ours without saying of which version.
    fn unknown_tables(&self) -> &str;

    fn location(&self) -> Location {
        self.address().parse().expect("a place has the address of a store")
    }

    /// # Panics
    /// When the store cannot be opened.
    fn open(&self) -> Box<dyn Store> {
        self.try_open().expect("the store can be opened")
    }

    /// # Errors
    /// As [`Location::open`].
    fn try_open(&self) -> Result<Box<dyn Store>, StoreError> {
        self.location().open()
    }

    /// # Errors
    /// As [`Location::open_existing`].
    fn try_open_existing(&self) -> Result<Box<dyn Store>, StoreError> {
        self.location().open_existing()
    }
}
