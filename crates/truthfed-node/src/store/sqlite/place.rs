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
            age_lease: "UPDATE lease SET granted_ms = granted_ms - 3600000, expires_ms = expires_ms - 3600000",
            move_lease: "UPDATE lease SET granted_ms = granted_ms + 31536000000, expires_ms = expires_ms + 31536000000",
            before_payouts: concat!(
                include_str!("../../../migrations/sqlite/0001_journal.sql"),
                "PRAGMA application_id = 1952867684; PRAGMA user_version = 1;
                 INSERT INTO journal VALUES (1, '{}', zeroblob(32));
                 INSERT INTO postings VALUES (1, 1, 3, 'a', 'treasury', -7), (2, 1, 3, 'a', 'escrow', 7);"
            ),
            unknown_tables: "CREATE TABLE journal (number BIGINT)",
            alterations: &[
                (
                    "DROP TRIGGER journal_keeps_rows",
                    "CREATE TRIGGER journal_keeps_rows BEFORE UPDATE ON journal \
                     BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END",
                ),
                (
                    "DROP TRIGGER replies_loses_none; \
                     CREATE TRIGGER replies_loses_none BEFORE DELETE ON replies BEGIN SELECT 1; END",
                    "DROP TRIGGER replies_loses_none; CREATE TRIGGER replies_loses_none BEFORE DELETE ON replies \
                     BEGIN SELECT RAISE(ABORT, 'replies is append-only'); END",
                ),
                (
                    "CREATE TRIGGER sly AFTER INSERT ON replies BEGIN UPDATE standing SET body = ''; END",
                    "DROP TRIGGER sly",
                ),
                (
                    "DROP INDEX postings_paid_once",
                    "CREATE UNIQUE INDEX postings_paid_once ON postings (round, member) WHERE account = 'member'",
                ),
                ("CREATE TABLE theirs (a)", "DROP TABLE theirs"),
            ],
        }
    }
}
