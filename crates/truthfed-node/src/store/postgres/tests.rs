//! What only servers can suffer: connections that break, at the worst moment too.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use ::postgres::config::Host;
use ::postgres::{Config, NoTls};

use super::*;
use crate::journal::Entry;
use crate::testing::{Database, Place};

const LONG_MS: u64 = 600_000;

fn batch(head: &mut Head) -> Batch {
    let row = head.append(&Entry::Revoked { member: "a".parse().unwrap() });
    Batch { rows: vec![row], ..Batch::default() }
}

#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Never,
    /// Breaks before the server hears of it.
    Before,
    /// Breaks before the client hears of the answer, and works again.
    After,
    /// As `After`, and takes no connection until it is mended.
    AfterForLong,
    Down,
}

struct Link {
    cut: Arc<Mutex<Cut>>,
    url: String,
}

impl Link {
    fn to(database: &Database) -> Link {
        let config: Config = database.address().parse().unwrap();
        let Host::Unix(folder) = config.get_hosts()[0].clone() else { panic!("the server of tests has a socket") };
        let socket = folder.join(".s.PGSQL.5432");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (user, name) = (config.get_user().unwrap(), config.get_dbname().unwrap());
        let url = format!("postgres://{user}@{}/{name}", listener.local_addr().unwrap());
        let cut = Arc::new(Mutex::new(Cut::Never));
        let shared = cut.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                if *shared.lock().unwrap() != Cut::Down {
                    let server = UnixStream::connect(&socket).unwrap();
                    carry(client.unwrap(), server, shared.clone());
                }
            }
        });
        Link { cut, url }
    }

    fn set(&self, cut: Cut) {
        *self.cut.lock().unwrap() = cut;
    }
}

fn carry(client: TcpStream, server: UnixStream, cut: Arc<Mutex<Cut>>) {
    let (mut from_server, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_server, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || carry_up(client, server, &cut));
}

/// Until the link ends or is cut.
fn carry_up(mut client: TcpStream, mut server: UnixStream, cut: &Mutex<Cut>) {
    let mut buffer = [0; 65536];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let is_commit = buffer[..length].windows(7).any(|bytes| bytes == b"COMMIT\0");
        let now = if is_commit { std::mem::replace(&mut *cut.lock().unwrap(), Cut::Never) } else { Cut::Never };
        if matches!(now, Cut::After | Cut::AfterForLong) {
            if now == Cut::AfterForLong {
                *cut.lock().unwrap() = Cut::Down;
            }
            let _ = client.shutdown(Shutdown::Both);
        }
        if now != Cut::Before {
            let _ = server.write_all(&buffer[..length]);
        }
        if now != Cut::Never {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Write);
}

/// A store behind a link, with a lease.
fn linked(database: &Database, lease_ms: u64) -> (Link, Postgres, Lease) {
    let link = Link::to(database);
    let mut store = Postgres::open(&link.url).unwrap();
    let lease = store.acquire(lease_ms).unwrap();
    (link, store, lease)
}

#[test]
fn a_commit_that_was_not_heard_of_or_whose_answer_was_lost_is_written_once() {
    for cut in [Cut::Before, Cut::After] {
        let database = Database::create();
        let (link, mut store, lease) = linked(&database, LONG_MS);
        let mut head = Head::START;
        for _ in 0..3 {
            link.set(cut);
            store.commit(lease, &batch(&mut head)).unwrap();
            assert_eq!(store.head().unwrap(), head);
        }
        assert_eq!(store.rows(0, 10).unwrap().len(), 3);
    }
}

#[test]
fn a_commit_in_doubt_is_said_to_be_and_is_cleared_up_by_committing_it_again() {
    let database = Database::create();
    let (link, mut store, lease) = linked(&database, LONG_MS);
    let mut head = Head::START;
    let first = batch(&mut head);
    link.set(Cut::AfterForLong);
    for _ in 0..2 {
        let unknown = store.commit(lease, &first).unwrap_err();
        assert!(matches!(unknown, StoreError::InDoubt(_)), "{unknown:?}");
    }
    assert!(matches!(store.head(), Err(StoreError::Unavailable(_))));
    link.set(Cut::Never);
    store.commit(lease, &first).unwrap();
    assert_eq!(store.head().unwrap(), head);
    // No longer in doubt.
    assert!(matches!(store.commit(lease, &first), Err(StoreError::OutOfOrder { .. })));
    store.commit(lease, &batch(&mut head)).unwrap();
}

#[test]
fn a_commit_that_was_written_counts_even_if_somebody_else_took_over_meanwhile() {
    let database = Database::create();
    let (link, mut store, lease) = linked(&database, 0);
    let mut head = Head::START;
    let first = batch(&mut head);
    link.set(Cut::AfterForLong);
    assert!(matches!(store.commit(lease, &first), Err(StoreError::InDoubt(_))));
    let mut other = database.open();
    let new = other.acquire(LONG_MS).unwrap();
    while other.head().unwrap() != head {
        std::thread::yield_now();
    }
    other.commit(new, &batch(&mut head)).unwrap();
    link.set(Cut::Never);
    store.commit(lease, &first).unwrap();
    assert!(matches!(store.commit(lease, &batch(&mut head)), Err(StoreError::NotLeader(_))));
}

#[test]
fn a_lost_connection_is_made_again() {
    let database = Database::create();
    let mut store = database.open();
    let lease = store.acquire(LONG_MS).unwrap();
    let mut head = Head::START;
    for _ in 0..3 {
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                      WHERE datname = current_database() AND pid <> pg_backend_pid()";
        database.execute(others).unwrap();
        store.commit(lease, &batch(&mut head)).unwrap();
        database.execute(others).unwrap();
        assert_eq!(store.head().unwrap(), head);
        database.execute(others).unwrap();
        store.renew(lease, LONG_MS).unwrap();
    }
}

#[test]
fn a_transaction_that_loses_a_race_is_tried_again_and_then_given_up() {
    let database = Database::create();
    let mut store = Postgres::open(database.address()).unwrap();
    for losses in [ATTEMPTS - 1, ATTEMPTS] {
        let mut calls = 0;
        let outcome = store.attempt(|client| {
            calls += 1;
            if calls <= losses {
                client.batch_execute("DO $$ BEGIN RAISE EXCEPTION 'raced' USING ERRCODE = '40001'; END $$")?;
            }
            Ok(())
        });
        match outcome {
            Ok(()) => assert_eq!((losses, calls), (ATTEMPTS - 1, ATTEMPTS)),
            Err(error) => {
                assert_eq!((losses, calls), (ATTEMPTS, ATTEMPTS));
                assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
            }
        }
    }
}

#[test]
fn what_the_server_says_has_the_words_of_a_store() {
    let database = Database::create();
    let mut store = Postgres::open(database.address()).unwrap();
    type Expected = fn(&StoreError) -> bool;
    let cases: [(&str, Expected); 8] = [
        ("53100", |error| matches!(error, StoreError::Full)),
        ("40P01", |error| matches!(error, StoreError::Unavailable(_))),
        ("55P03", |error| matches!(error, StoreError::Unavailable(_))),
        ("57014", |error| matches!(error, StoreError::Unavailable(_))),
        ("23505", |error| matches!(error, StoreError::Conflict(_))),
        ("XX001", |error| matches!(error, StoreError::Damaged(_))),
        ("42P01", |error| matches!(error, StoreError::Damaged(_))),
        ("42501", |error| matches!(error, StoreError::Unusable(_))),
    ];
    for (code, expected) in cases {
        let sql = format!("DO $$ BEGIN RAISE EXCEPTION 'why' USING ERRCODE = '{code}'; END $$");
        let error = store.attempt(|client| Ok(client.batch_execute(&sql)?)).unwrap_err();
        assert!(expected(&error), "{code}: {error:?}");
    }
}

#[test]
fn addresses_that_cannot_be_used_are_refused_without_telling_a_password() {
    let refused = [
        ("localhost:port/d", "port"),
        ("localhost:1/d?sslmode=require", "sslmode must be verify-full"),
        ("localhost:1/d?sslmode=secret", "sslmode must be verify-full"),
        ("localhost:1/d?sslmode=verify-full", "needs sslrootcert=FILE"),
        ("localhost:1/d?sslrootcert=root.pem", "add sslmode=verify-full"),
        ("localhost:1/d?sslmode=verify-full&sslrootcert=%2Fnone%2Froot.pem", "sslrootcert /none/root.pem"),
        ("localhost:1/d?sslmode=verify-full&sslrootcert=/dev/null", "has no certificate"),
    ];
    for (rest, expected) in refused {
        let error = Postgres::open(&format!("postgres://u:secret@{rest}")).unwrap_err();
        assert!(matches!(error, StoreError::Unusable(_)), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    }
    let away = Postgres::open("postgres://u:secret@127.0.0.1:1/d").unwrap_err();
    assert!(matches!(away, StoreError::Unavailable(_)), "{away:?}");
    let database = Database::create();
    let nobody = database.address().replace("truthfed@", "nobody@");
    assert!(matches!(Postgres::open(&nobody), Err(StoreError::Unusable(_))));
    let nowhere = database.address().replace("/test_", "/no_test_");
    assert!(matches!(Postgres::open(&nowhere), Err(StoreError::Unusable(_))));
}

#[test]
fn a_connection_is_encrypted_to_the_server_that_the_authority_certified_and_to_no_other() {
    let database = Database::create();
    let address = database.encrypted();
    let mut store = Postgres::open(&address).unwrap();
    let sql = "SELECT ssl AND version = 'TLSv1.3' FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert!(store.client().unwrap().query_one(sql, &[]).unwrap().get::<_, bool>(0));
    let lease = store.acquire(LONG_MS).unwrap();
    let mut head = Head::START;
    store.commit(lease, &batch(&mut head)).unwrap();
    assert_eq!(Postgres::open_existing(&address).unwrap().rows(0, 9).unwrap().len(), 1);

    let (password, file) = (address.split([':', '@']).nth(2).unwrap(), address.rsplit_once("sslrootcert=").unwrap().1);
    let refused = |address: &str, expected: &str| {
        let error = Postgres::open(address).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error:?} {error}").contains(password), "{error:?}");
    };
    refused(&address.replace(password, "another"), "password authentication failed");
    refused(address.split_once('?').unwrap().0, "no encryption");
    // The certificate is not for the server's other name, and another authority did not issue it.
    let host = address.split(['@', '/']).nth(3).unwrap();
    refused(&(address.replace(host, "db.example.org") + "&hostaddr=" + host), "not valid for name");
    let place = crate::testing::folder();
    let other = place.path().join("other.pem");
    let authority = crate::identity::Authority::create("other", crate::identity::Validity::authority()).unwrap();
    std::fs::write(&other, authority.identity().certificate().pem()).unwrap();
    refused(&address.replace(file, other.to_str().unwrap()), "UnknownIssuer");
}

#[test]
fn what_is_acknowledged_is_on_disk_even_if_the_server_would_not_wait() {
    let database = Database::create();
    let name = database.address().rsplit_once("/test_").map(|(_, name)| name.trim_end_matches('?')).unwrap();
    database.execute(&format!("ALTER DATABASE test_{name} SET synchronous_commit = off")).unwrap();
    let mut store = Postgres::open(database.address()).unwrap();
    let setting: String = store.client().unwrap().query_one("SHOW synchronous_commit", &[]).unwrap().get(0);
    assert_eq!(setting, "on");
    assert!(format!("{store:?}").starts_with("Postgres"));
}

#[test]
fn a_client_that_is_gone_in_the_middle_does_not_keep_others_out() {
    let database = Database::create();
    let mut store = database.open();
    let lease = store.acquire(LONG_MS).unwrap();
    let mut stuck = ::postgres::Client::connect(database.address(), NoTls).unwrap();
    stuck.batch_execute("SET idle_in_transaction_session_timeout = '200ms'; BEGIN").unwrap();
    stuck.query("SELECT epoch FROM truthfed.lease FOR UPDATE", &[]).unwrap();
    let mut head = Head::START;
    store.commit(lease, &batch(&mut head)).unwrap();
    let mut other = Postgres::open(database.address()).unwrap();
    let bound: String =
        other.client().unwrap().query_one("SHOW idle_in_transaction_session_timeout", &[]).unwrap().get(0);
    assert_eq!(bound, "5s");
}
