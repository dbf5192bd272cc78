//! Databases of the server that the environment names.

use std::sync::atomic::{AtomicU16, Ordering};

use postgres::{Client, NoTls};

/// A fresh one. Gone when dropped.
pub(crate) struct Database {
    pub(crate) url: String,
    name: String,
}

impl Database {
    pub(crate) fn new() -> Database {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let name = format!("killed_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        server().batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        let server = server_url();
        let (host, _) = server.rsplit_once('/').expect("the address names a database");
        Database { url: format!("{host}/{name}"), name }
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
    std::env::var("TRUTHFED_TEST_POSTGRES")
        .expect("TRUTHFED_TEST_POSTGRES holds no address: run the tests with `scripts/postgres.sh run cargo test ...`")
}
