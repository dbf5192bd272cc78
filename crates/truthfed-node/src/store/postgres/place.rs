//! A PostgreSQL database for the stores of tests.

#![allow(clippy::unwrap_used)] // test code, although other crates' tests call it

use ::postgres::{Client, NoTls};

use crate::digest::Nonce;
use crate::testing::{Dialect, Place};

/// A new database on the server that the environment names.
pub struct Database {
    url: String,
    name: String,
}

impl Database {
    pub fn create() -> Database {
        let name = format!("test_{}", Nonce::random());
        server().batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        Database { url: url(&name), name }
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
            move_lease: "UPDATE truthfed.lease SET granted = granted + '1 year', expires = expires + '1 year'",
            unknown_tables: "CREATE SCHEMA truthfed; CREATE TABLE truthfed.journal (number BIGINT)",
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        server().batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name)).unwrap();
    }
}

fn server() -> Client {
    Client::connect(&server_url(), NoTls).unwrap()
}

fn server_url() -> String {
    std::env::var("TRUTHFED_TEST_POSTGRES").expect(
        "TRUTHFED_TEST_POSTGRES holds no address: run the tests with `make test`, or with \
         `scripts/postgres.sh run cargo test ...`, which start a PostgreSQL for them",
    )
}

fn url(database: &str) -> String {
    let server = server_url();
    let (address, options) = server.split_once('?').unwrap_or((&server, ""));
    let (host, _) = address.rsplit_once('/').expect("the address names a database");
    format!("{host}/{database}?{options}")
}
