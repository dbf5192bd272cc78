//! What a doctor finds.

use serde_json::Value;
use truthfed_node::identity::{Authority, Validity};

use crate::accounts::run_before;
use crate::folders::{Run, truthfed};

/// What was found about something.
fn about(run: &Run, what: &str) -> Vec<(String, String)> {
    let found: Value = serde_json::from_str(&run.out).unwrap();
    let of = |finding: &&Value| finding["what"] == what;
    let pair = |finding: &Value| {
        let text = |field: &str| finding[field].as_str().unwrap().to_owned();
        assert_eq!(finding["remedy"].is_string(), text("state") != "fine", "{finding}");
        (text("state"), text("found"))
    };
    found["findings"].as_array().unwrap().iter().filter(of).map(pair).collect()
}

#[test]
fn a_doctor_says_what_is_wrong_and_what_to_do_and_changes_nothing() {
    let place = run_before();
    let folder = |name: &str| place.path().join("fed").join(name);
    let examine = || truthfed(place.path(), &["doctor", "fed", "--json"], "");
    let first = examine();
    assert_eq!(first.code, 0, "{first:?}");
    assert_eq!(about(&first, "keys")[0].0, "look", "{first:?}");
    assert!(about(&first, "ledger")[0].1.contains("vouched for"), "{first:?}");
    assert_eq!(about(&first, "clock"), [("fine".to_owned(), "not behind the journal".to_owned())]);
    assert_eq!(about(&first, "disk").len(), 1);
    let words = truthfed(place.path(), &["doctor", "fed"], "").done();
    assert!(words.contains("move it off this machine"), "{words}");

    // A member's certificate that has expired, and a ledger that is older than what was vouched for.
    let read = |name: &str| std::fs::read_to_string(folder(name)).unwrap();
    let authority = Authority::from_pem(&read("authority/authority.pem"), &read("authority/authority.key")).unwrap();
    let past =
        Validity { from: std::time::UNIX_EPOCH, until: std::time::UNIX_EPOCH + std::time::Duration::from_secs(86_400) };
    let member = std::fs::read_dir(folder("roster")).unwrap().next().unwrap().unwrap().path();
    let name = member.file_stem().unwrap().to_str().unwrap();
    let expired = authority.issue_member(&name.parse().unwrap(), past).unwrap();
    std::fs::write(&member, expired.certificate().pem()).unwrap();
    let checkpoint = read("checkpoint.json");
    let mut later: Value = serde_json::from_str(&checkpoint).unwrap();
    later["entry"] = 1_000_000.into();
    std::fs::write(folder("checkpoint.json"), later.to_string()).unwrap();
    let found = examine();
    assert_eq!(found.code, 1, "{found:?}");
    let expected = ("wrong".to_owned(), format!("{name} expired on 1970-01-02"));
    assert!(about(&found, "certificate").contains(&expected), "{found:?}");
    assert!(about(&found, "ledger")[0].1.contains("an old backup"), "{found:?}");
    std::fs::write(folder("federation.toml"), "name = 1").unwrap();
    let broken = examine();
    assert_eq!((broken.code, about(&broken, "folder")[0].0.as_str()), (1, "wrong"), "{broken:?}");
}

#[test]
fn a_doctor_sees_a_port_that_somebody_else_has_and_makes_no_ledger() {
    let place = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("listen={}", taken.local_addr().unwrap());
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    run(&["init", "fed", "--members", "0", "--set", &listen, "--set", "admin=127.0.0.1:1"]).done();
    let found = run(&["doctor", "fed", "--json"]);
    assert_eq!((found.code, about(&found, "listen")[0].0.as_str()), (1, "wrong"), "{found:?}");
    assert_eq!(about(&found, "ledger")[0].0, "fine", "{found:?}");
    assert!(!place.path().join("fed/ledger.db").exists());
}
