//! Copies of a federation, and another store for it.

use std::path::Path;

use serde_json::Value;
use truthfed_node::testing::{Database, Place};

use crate::accounts::run_before;
use crate::folders::{Run, tree, truthfed};

fn run_in(place: &Path, args: &[&str]) -> Run {
    truthfed(place, args, "")
}

/// What everybody can read of a ledger.
fn told(place: &Path, folder: &str) -> Vec<String> {
    let verbs: [&[&str]; 4] = [
        &["ledger", "totals"],
        &["ledger", "export", "--journal"],
        &["round", "list", "--json"],
        &["ledger", "verify"],
    ];
    verbs.iter().map(|verb| run_in(place, &[verb, &[folder][..]].concat()).done()).collect()
}

#[test]
fn a_backup_is_a_federation_of_its_own_and_is_put_back() {
    let place = run_before();
    let run = |args: &[&str]| run_in(place.path(), args);
    let before = tree(&place.path().join("fed"));
    let made = run(&["backup", "fed", "--out", "copy"]).done();
    assert!(
        made.starts_with("copy is a copy of fed, and can be served as it is: ") && made.ends_with("0 problems\n"),
        "{made}"
    );
    let named = |name: &String| !name.starts_with("ledger.db");
    let kept = |files: std::collections::BTreeMap<String, Vec<u8>>| -> Vec<_> {
        files.into_iter().filter(|(name, _)| named(name)).collect()
    };
    assert_eq!(kept(tree(&place.path().join("fed"))), kept(before), "nothing is changed");
    assert_eq!(told(place.path(), "copy"), told(place.path(), "fed"));
    assert!(!tree(&place.path().join("copy")).keys().any(|name| name.starts_with("members/")), "no bundles");
    run(&["backup", "fed", "--out", "copy"]).refused("copy exists already");
    run(&["restore", "copy", "fed"]).refused("fed exists already");
    // Something happens after the backup.
    run(&["members", "add", "fed", "late"]).done();
    std::fs::rename(place.path().join("fed"), place.path().join("lost")).unwrap();
    let back = ["restore", "copy", "fed", "--checkpoint", "lost/checkpoint.json"];
    run(&back).refused("the backup ends before the checkpoint");
    assert!(!place.path().join("fed").exists(), "nothing is left behind");
    run(&["restore", "copy", "fed", "--checkpoint", "none.json"]).refused("none.json is missing");
    let json: Value = run(&[&back[..], &["--behind", "--json"]].concat()).object();
    assert!(json["entries"].as_u64().unwrap() > 0 && json["ledger"]["problem"].is_null(), "{json}");
    assert_eq!(told(place.path(), "fed"), told(place.path(), "copy"));
    // It goes on from there.
    run(&["members", "add", "fed", "late"]).done();
    run(&["ledger", "verify", "fed"]).done();
}

#[test]
fn a_ledger_moves_to_postgresql_and_back_and_stays_the_same() {
    let (place, database) = (run_before(), Database::create());
    let run = |args: &[&str]| run_in(place.path(), args);
    let before = told(place.path(), "fed");
    let moved = run(&["migrate", "fed", "--to", database.address()]).done();
    assert!(moved.contains("the old one is left as it was"), "{moved}");
    assert_eq!(told(place.path(), "fed"), before);
    let settings = std::fs::read_to_string(place.path().join("fed/federation.toml")).unwrap();
    assert!(settings.contains(database.address()) && settings.contains("# "), "only the line of the store is changed");
    // A backup of it is in a file again.
    run(&["backup", "fed", "--out", "copy"]).done();
    assert_eq!(told(place.path(), "copy"), before);
    run(&["migrate", "fed", "--to", database.address()]).refused("is this one already");
    run(&["migrate", "fed", "--to", "ledger.db"]).refused("has");
    run(&["migrate", "fed", "--to", "back.db"]).done();
    assert_eq!(told(place.path(), "fed"), before);
    run(&["members", "add", "fed", "late"]).done();
    run(&["ledger", "verify", "fed"]).done();
    run(&["migrate", "fed", "--to", "ftp://x"]).refused("is an address, but not a postgres:// one");
}

#[test]
fn a_ledger_moves_over_tls_and_no_answer_tells_the_password() {
    let (place, database) = (run_before(), Database::create());
    let run = |args: &[&str]| run_in(place.path(), args);
    let (before, address) = (told(place.path(), "fed"), database.encrypted());
    let password = address.split([':', '@']).nth(2).unwrap().to_owned();
    let (plain, root) = (address.split_once('?').unwrap().0, address.rsplit_once('=').unwrap().1);
    let foreign = place.path().join("fed/authority/authority.pem");
    let refused = [
        (plain.to_owned(), "no encryption"),
        (address.replace("verify-full", "require"), "sslmode must be verify-full, with sslrootcert=FILE"),
        (address.replace(root, foreign.to_str().unwrap()), "invalid peer certificate: UnknownIssuer"),
        (address.replace(root, "none.pem"), "sslrootcert none.pem"),
        (address.replace(&password, "another"), "password authentication failed"),
    ];
    for (address, expected) in refused {
        let run = run(&["migrate", "fed", "--to", &address]);
        assert!(!run.err.contains(&password) && !run.err.contains("another"), "{run:?}");
        run.refused(expected);
    }
    run(&["migrate", "fed", "--to", &address]).done();
    assert_eq!(told(place.path(), "fed"), before);
    let found = run(&["doctor", "fed"]);
    assert!(found.out.contains("vouched for") && !format!("{found:?}").contains(&password), "{found:?}");
    run(&["backup", "fed", "--out", "copy"]).done();
    assert_eq!(told(place.path(), "copy"), before);
}

#[test]
fn what_is_wrong_in_a_ledger_is_not_copied_as_if_it_were_right() {
    let place = run_before();
    let run = |args: &[&str]| run_in(place.path(), args);
    let ledger = rusqlite::Connection::open(place.path().join("fed/ledger.db")).unwrap();
    ledger.execute_batch("UPDATE standing SET body = replace(body, '0', '1')").unwrap();
    drop(ledger);
    run(&["backup", "fed", "--out", "copy"]).refused("the ledger is not right");
    let before = std::fs::read(place.path().join("fed/federation.toml")).unwrap();
    run(&["migrate", "fed", "--to", "other.db"]).refused("the ledger is not right");
    assert_eq!(std::fs::read(place.path().join("fed/federation.toml")).unwrap(), before);
    assert!(!place.path().join("copy").exists());
}
