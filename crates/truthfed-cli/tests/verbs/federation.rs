//! The verbs of a federation's folder, by hand.

use serde_json::Value;

use truthfed_node::identity::{Authority, Request, Validity};
use truthfed_node::store::{Sqlite, Store};

use crate::folders::{Run, tree, truthfed};

/// A folder with a federation `fed` at ports that nobody listens on.
pub(crate) fn made() -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let sets = ["--set", "listen=127.0.0.1:1", "--set", "address=127.0.0.1:1"];
    truthfed(place.path(), &[&["init", "fed", "--members", "2"], &sets[..]].concat(), "").done();
    place
}

#[test]
fn members_come_and_go_while_no_coordinator_runs() {
    let place = made();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let added = run(&["members", "add", "fed", "zoe"]).done();
    assert!(added.starts_with("zoe is a member."), "{added}");
    assert!(place.path().join("fed/members/zoe/member.key").is_file());
    run(&["members", "revoke", "fed", "m2"]).done();
    let listed: Value = run(&["members", "list", "fed", "--json"]).object();
    let of = |name: &str| listed["members"].as_array().unwrap().iter().find(|member| member["member"] == name).cloned();
    assert_eq!(of("zoe").unwrap()["is_revoked"], false);
    assert_eq!(of("m2").unwrap()["is_revoked"], true);
    assert!(run(&["members", "list", "fed"]).done().contains("revoked"));
    run(&["members", "add", "fed", "zoe"]).refused("zoe was added already");
    // An earlier attempt that issued a bundle and got no further is finished.
    let [ledger, away] = ["fed/ledger.db", "fed/away.db"].map(|name| place.path().join(name));
    std::fs::rename(&ledger, &away).unwrap();
    std::fs::write(&ledger, "not a ledger").unwrap();
    run(&["members", "add", "fed", "yan"]).refused("damaged");
    std::fs::rename(&away, &ledger).unwrap();
    assert!(run(&["members", "add", "fed", "yan"]).done().starts_with("yan is a member."));
    run(&["members", "revoke", "fed", "nobody"]).refused("nobody");
    let verified = run(&["ledger", "verify", "fed"]).done();
    assert_eq!(verified, "ledger verified: 0 rounds, 0 payments, 0 problems\n");
    let journal = run(&["ledger", "export", "fed", "--journal"]).done();
    assert!(journal.lines().next().unwrap().contains("genesis"), "{journal}");
    assert_eq!(run(&["round", "list", "fed"]).done(), "No round yet.\n");
    let statement = run(&["ledger", "statement", "fed", "m1"]).done();
    assert_eq!(statement, "m1: 0 offers, 0 won.\nEarned: 0 units. Paid out: 0 units. Owed: 0 units.\n");
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let place = made();
    let refused = |args: &[&str], expected: &str| truthfed(place.path(), args, "").refused(expected);
    refused(&["init", "fed"], "exists already");
    refused(&["init", "x", "--set", "terms.reserve=-1"], "terms.reserve: `-1` is negative");
    refused(&["serve", "none"], "is missing");
    refused(&["ledger", "verify", "fed"], "has `truthfed serve` run yet?");
    refused(&["ledger", "statement", "fed"], "name a member");
    refused(&["ledger", "statement", "fed", "m1", "--month", "2026-13"], "write it as 2026-11");
    refused(&["ledger", "totals", "fed", "--month", "2026-11", "--from", "2026-11-01"], "cannot be used with");
    refused(&["ledger", "export", "fed"], "--csv|--json|--journal");
    refused(&["ledger", "export", "fed", "--journal", "--from", "2026-11-01"], "cannot be used with");
    refused(&["ledger", "payout", "record", "fed", "m1", "-1", "--reference", "x"], "-1");
    refused(&["ledger", "payout", "record", "fed", "m1", "1"], "--reference");
    refused(&["ledger", "payout", "record", "fed", "m1", "1", "--reference", ""], "1 to 100 characters");
    refused(&["ledger", "payout", "record", "fed", "m1", "1", "--reference", "x"], "not-owed");
    refused(&["ledger", "payout", "record", "fed", "nobody", "1", "--reference", "x"], "unknown-member");
    refused(&["agent", "fed"], "member.toml is missing");
    refused(&["agent", "fed/members/m1", "--listen", "0.0.0.0:7500"], "not a loopback address");
    refused(&["members", "add", "fed", "../eve"], "name");
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = made();
    let key = place.path().join("fed/server/server.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    truthfed(place.path(), &["serve", "fed"], "").refused("chmod 600");
}

#[test]
fn listing_the_members_wrote_a_ledger_and_took_its_lease() {
    let place = made();
    let fed = place.path().join("fed");
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let before = tree(&fed);
    run(&["members", "list", "fed"]).refused("there is no ledger yet");
    assert!(tree(&fed) == before, "nothing was written");
    run(&["members", "revoke", "fed", "m2"]).done();
    let mut ledger = Sqlite::open(&fed.join("ledger.db")).unwrap();
    let (lease, head) = (ledger.acquire(600_000).unwrap(), ledger.head().unwrap());
    let listed = run(&["members", "list", "fed"]).done();
    assert!(listed.contains("member") && listed.contains("revoked"), "{listed}");
    assert_eq!(ledger.head().unwrap(), head);
    ledger.renew(lease, 600_000).expect("nobody took it in between");
}

#[test]
fn certificates_are_renewed_by_whoever_has_the_key_of_the_authority() {
    let place = made();
    let [server, authority, away] =
        ["server/server.pem", "authority/authority.key", "away.key"].map(|name| place.path().join("fed").join(name));
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let before = std::fs::read_to_string(&server).unwrap();
    let renewed = run(&["renew", "fed"]).done();
    assert!(renewed.starts_with("Coordinator and operator have new certificates until 20"), "{renewed}");
    assert_ne!(std::fs::read_to_string(&server).unwrap(), before);
    std::fs::rename(&authority, &away).unwrap();
    run(&["renew", "fed"]).refused("authority.key");
}

#[test]
fn a_member_makes_its_own_key_and_takes_over_what_the_operator_issued() {
    let place = made();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let made = run(&["member", "init", "zoe"]).done();
    assert!(made.contains("Send zoe/request.json to the operator"), "{made}");
    run(&["member", "init", "zoe"]).refused("exists already");
    run(&["member", "join", "zoe", "fed/members/zoe"]).refused("fed/members/zoe/member.toml is missing");
    run(&["agent", "zoe"]).refused("member.toml is missing");
    run(&["members", "add", "fed", "ann", "--request", "zoe/request.json"]).refused("the request of zoe, not of ann");
    run(&["members", "add", "fed", "--request", "zoe/member.key"]).refused("not a request for a certificate");
    run(&["members", "add", "fed"]).refused("--request");
    let added = run(&["members", "add", "fed", "--request", "zoe/request.json"]).done();
    assert_eq!(
        added,
        "zoe is a member. Send fed/members/zoe to the member, who runs: truthfed member join zoe fed/members/zoe\n"
    );
    assert!(!place.path().join("fed/members/zoe/member.key").exists());
    let other = ["member", "join", "zoe", "fed/members/zoe", "--federation", &"0".repeat(64)];
    run(&other).refused("not of 0000");
    run(&["member", "join", "zoe", "fed/members/m1"]).refused("the private key belongs to another certificate");
    let joined: Value = run(&["member", "join", "zoe", "fed/members/zoe", "--json"]).object();
    assert_eq!((&joined["member"], &joined["bundle"]), (&"zoe".into(), &"zoe".into()));
    run(&["agent", "zoe", "--listen", "0.0.0.0:7500"]).refused("not a loopback address");
    let verified = run(&["ledger", "verify", "fed", "--member", "zoe"]).done();
    assert!(verified.ends_with("zoe: enrolled with its own key; it holds no receipts.\n"), "{verified}");
}

#[test]
fn a_member_that_the_operator_enrolled_with_another_key_finds_it_in_the_journal() {
    let place = made();
    let path = |name: &str| place.path().join(name);
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    run(&["member", "init", "zoe"]).done();
    // The operator enrols a key of its own under the name, and sends a certificate that is never enrolled.
    run(&["members", "add", "fed", "zoe"]).done();
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    let authority = Authority::from_pem(&read("fed/authority/authority.pem"), &read("fed/authority/authority.key"));
    let request = Request::read(&read("zoe/request.json")).unwrap();
    let certificate = authority.unwrap().certify(&request, Validity::leaf());
    std::fs::write(path("fed/members/zoe/member.pem"), certificate.pem()).unwrap();
    run(&["member", "join", "zoe", "fed/members/zoe"]).done();
    run(&["ledger", "bundle", "fed", "--out", "audit"]).done();
    for journal in ["fed", "audit"] {
        run(&["ledger", "verify", journal]).done();
        let told = run(&["ledger", "verify", journal, "--member", "zoe"]);
        assert!(told.code == 1 && told.out.contains("zoe: the journal enrols it with key"), "{told:?}");
        assert!(told.out.contains(&request.key().to_string()), "{told:?}");
    }
    let told = run(&["ledger", "verify", "audit", "--member", "zoe", "--json"]);
    let found: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((told.code, &found["member"], found["problem"].is_string()), (1, &"zoe".into(), true));
}
