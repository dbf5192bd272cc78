//! A PostgreSQL database for the stores of tests.

#![allow(clippy::unwrap_used)] // test code, although other crates' tests call it

use ::postgres::{Client, NoTls};

use crate::digest::Nonce;
use crate::testing::{Dialect, Place};

/// Name the server in the environment: by its socket, and by a port that wants TLS and a password.
const SERVER: &str = "TRUTHFED_TEST_POSTGRES";
const ENCRYPTED: &str = "TRUTHFED_TEST_POSTGRES_TLS";

/// A new database on the server that the environment names.
pub struct Database {
    url: String,
    name: String,
}

impl Database {
    /// Whether the environment names a server.
    pub fn is_there() -> bool {
        std::env::var_os(SERVER).is_some()
    }

    pub fn create() -> Database {
        let name = format!("test_{}", Nonce::random());
        server().batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        Database { url: url(SERVER, &name), name }
    }

    /// Its address over TLS, with a password.
    pub fn encrypted(&self) -> String {
        url(ENCRYPTED, &self.name)
    }

    pub fn connect(&self) -> Client {
        Client::connect(&self.url, NoTls).unwrap()
    }
}

impl Place for Database {
    fn address(&self) -> &str {
        &self.url
    }

    fn execute(&self, sql: &str) -> Result<(), String> {
        self.connect().batch_execute(sql).map_err(|error| error.as_db_error().unwrap().message().to_owned())
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            schema: "truthfed.",
            set_version: "UPDATE truthfed.version SET version =",
            age_lease: "UPDATE truthfed.lease SET granted = granted - interval '1 h', expires = expires - interval '1 h'",
            move_lease: "UPDATE truthfed.lease SET granted = granted + '1 year', expires = expires + '1 year'",
            before_payouts: concat!(
                "CREATE SCHEMA truthfed;
                 CREATE TABLE truthfed.version (id INTEGER PRIMARY KEY CHECK (id = 1), version BIGINT NOT NULL);
                 INSERT INTO truthfed.version VALUES (1, 1);",
                include_str!("../../../migrations/postgres/0001_journal.sql"),
                "INSERT INTO truthfed.journal VALUES (1, '{}', decode(repeat('00', 32), 'hex'));
                 INSERT INTO truthfed.postings VALUES (1, 1, 3, 'a', 'treasury', -7), (2, 1, 3, 'a', 'escrow', 7);"
            ),
            unknown_tables: "CREATE SCHEMA truthfed; CREATE TABLE truthfed.journal (number BIGINT)",
            alterations: &[
                (
                    "DROP TRIGGER journal_is_append_only ON truthfed.journal",
                    "CREATE TRIGGER journal_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON truthfed.journal \
                     FOR EACH STATEMENT EXECUTE FUNCTION truthfed.refuse_change()",
                ),
                ("ALTER TABLE truthfed.replies DISABLE TRIGGER ALL", "ALTER TABLE truthfed.replies ENABLE TRIGGER ALL"),
                (
                    "CREATE TRIGGER sly AFTER INSERT ON truthfed.lease FOR EACH STATEMENT \
                     EXECUTE FUNCTION truthfed.refuse_change()",
                    "DROP TRIGGER sly ON truthfed.lease",
                ),
                (
                    "CREATE RULE sly AS ON DELETE TO truthfed.replies DO INSTEAD NOTHING",
                    "DROP RULE sly ON truthfed.replies",
                ),
                (
                    "DROP INDEX truthfed.postings_paid_once",
                    "CREATE UNIQUE INDEX postings_paid_once ON truthfed.postings (round, member) \
                     WHERE account = 'member'",
                ),
                (
                    "ALTER TABLE truthfed.journal ENABLE ROW LEVEL SECURITY",
                    "ALTER TABLE truthfed.journal DISABLE ROW LEVEL SECURITY",
                ),
                ("CREATE TABLE truthfed.theirs (a INT)", "DROP TABLE truthfed.theirs"),
                (
                    "CREATE OR REPLACE FUNCTION truthfed.refuse_change() RETURNS trigger LANGUAGE plpgsql AS \
                     'BEGIN RETURN NULL; END'",
                    "DROP SCHEMA truthfed CASCADE",
                ),
            ],
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        server().batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).unwrap();
    }
}

fn server() -> Client {
    Client::connect(&server_url(SERVER), NoTls).unwrap()
}

fn server_url(variable: &str) -> String {
    std::env::var(variable).expect(
        "TRUTHFED_TEST_POSTGRES holds no address: run the tests with `make test`, or with \
         `scripts/postgres.sh run cargo test ...`, which start a PostgreSQL for them",
    )
}

fn url(variable: &str, database: &str) -> String {
    let server = server_url(variable);
    let (address, options) = server.split_once('?').unwrap_or((&server, ""));
    let (host, _) = address.rsplit_once('/').expect("the address names a database");
    format!("{host}/{database}?{options}")
}
