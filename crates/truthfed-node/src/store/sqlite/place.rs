//! A file for the stores of tests.

#![allow(clippy::unwrap_used)] // test code, although other crates' tests call it

use crate::testing::Place;

/// A file in a temporary folder.
pub struct File {
    _folder: tempfile::TempDir,
    path: String,
}

impl File {
    /// The file itself does not exist yet.
    pub fn create() -> File {
        let folder = crate::testing::folder();
        let path = folder.path().join("ledger.db").to_str().unwrap().to_owned();
        File { _folder: folder, path }
    }
}

impl Place for File {
    fn address(&self) -> &str {
        &self.path
    }

    fn execute(&self, sql: &str) -> Result<(), String> {
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection.execute_batch(sql).map_err(|error| error.to_string())
    }

    fn table(&self, name: &str) -> String {
        name.to_owned()
    }

    fn set_version(&self, version: i64) -> String {
        format!("PRAGMA user_version = {version}")
    }

    fn move_lease(&self) -> &str {
        "UPDATE lease SET granted_ms = granted_ms + 31536000000, expires_ms = expires_ms + 31536000000"
    }

    fn unknown_tables(&self) -> &str {
        "CREATE TABLE journal (number BIGINT)"
    }
}
