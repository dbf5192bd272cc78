//! A file for the stores of tests.

#![allow(clippy::unwrap_used)] // test code, although other crates' tests call it

use crate::testing::{Dialect, Place};

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

    fn dialect(&self) -> Dialect {
        Dialect {
            schema: "",
            set_version: "PRAGMA user_version =",
            move_lease: "UPDATE lease SET granted_ms = granted_ms + 31536000000, expires_ms = expires_ms + 31536000000",
            unknown_tables: "CREATE TABLE journal (number BIGINT)",
        }
    }
}
