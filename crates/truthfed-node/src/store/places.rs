//! Places for the stores of tests: a file in a temporary folder, or a fresh PostgreSQL database. Gone when dropped.

use ::postgres::{Client, NoTls};

use super::{Store, StoreError, open, open_existing};
use crate::digest::Nonce;

/// A place where a store can be opened, and opened again.
pub(crate) trait Place: Sync {
    /// Its address.
    fn address(&self) -> &str;

    /// Runs SQL behind the back of the store.
    fn execute(&self, sql: &str) -> Result<(), String>;

    /// The name of a table in SQL.
    fn table(&self, name: &str) -> String;

    /// SQL that marks the tables as of another version.
    fn set_version(&self, version: i64) -> String;

    /// The store, made when it is not there.
    fn open(&self) -> Box<dyn Store> {
        self.try_open().unwrap()
    }

    /// The store, or why not.
    fn try_open(&self) -> Result<Box<dyn Store>, StoreError> {
        open(self.address())
    }

    /// The store for reading.
    fn try_open_existing(&self) -> Result<Box<dyn Store>, StoreError> {
        open_existing(self.address())
    }
}

/// A file.
pub(crate) struct File {
    _folder: tempfile::TempDir,
    path: String,
}

impl File {
    /// A name in a new folder; the file itself is not there yet.
    pub(crate) fn new() -> File {
        let folder = tempfile::tempdir().unwrap();
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
}

/// A database of the server that the environment names.
pub(crate) struct Database {
    url: String,
    name: String,
}

impl Database {
    /// A new database.
    pub(crate) fn new() -> Database {
        let name = format!("test_{}", Nonce::random());
        server().batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        Database { url: url(&name), name }
    }

    /// A connection of its own.
    pub(crate) fn connect(&self) -> Client {
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

    fn table(&self, name: &str) -> String {
        format!("truthfed.{name}")
    }

    fn set_version(&self, version: i64) -> String {
        format!("UPDATE truthfed.version SET version = {version}")
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

/// The address of another database of the server.
fn url(database: &str) -> String {
    let server = server_url();
    let (address, options) = server.split_once('?').unwrap_or((&server, ""));
    let (host, _) = address.rsplit_once('/').expect("the address names a database");
    format!("{host}/{database}?{options}")
}
