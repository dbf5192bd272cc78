//! Members' renewals, by hand, and what an audit wants to see of them.

use serde_json::Value;

use truthfed_node::identity::{Authority, Certificate, Request, Validity};
use truthfed_node::signature::Signer;

use crate::federation::made;
use crate::folders::{Run, truthfed};

#[test]
fn a_member_renews_its_key_and_the_journal_says_so() {
    let place = made();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    run(&["member", "init", "zoe"]).done();
    run(&["members", "add", "fed", "--request", "zoe/request.json"]).done();
    run(&["member", "join", "zoe", "fed/members/zoe"]).done();
    let before = read("zoe/member.pem");

    run(&["member", "renew", "zoe", "--issued", "fed/roster/m1.pem"]).refused("no renewal was asked for");
    let asked = run(&["member", "renew", "zoe"]).done();
    assert!(asked.contains("Send zoe/renewal.json to the operator"), "{asked}");
    let request = read("zoe/renewal.json");
    run(&["member", "renew", "zoe"]).done();
    assert_eq!(read("zoe/renewal.json"), request, "the same key again");
    run(&["member", "renew", "zoe", "--issued", "fed/roster/zoe.pem"]).refused("is for another key");
    run(&["members", "renew", "fed", "--request", "zoe/member.pem"]).refused("not a request for a renewal");
    let foreign = request.replace("zoe", "m1");
    std::fs::write(place.path().join("foreign.json"), foreign).unwrap();
    run(&["members", "renew", "fed", "--request", "foreign.json"]).refused("not signed with the new key");

    // Somebody who has neither key of the member names a new one: nothing is certified for it.
    let mut forged: Value = serde_json::from_str(&request).unwrap();
    forged["present"] = forged["new"].clone();
    std::fs::write(place.path().join("forged.json"), forged.to_string()).unwrap();
    run(&["members", "renew", "fed", "--request", "forged.json"]).refused("not signed with the present key of zoe");
    assert!(!place.path().join("fed/renewals").exists());

    let renewed = run(&["members", "renew", "fed", "--request", "zoe/renewal.json"]).done();
    assert!(renewed.starts_with("zoe has a new certificate until 20"), "{renewed}");
    let issued = read("fed/roster/zoe.pem");
    run(&["members", "renew", "fed", "--request", "zoe/renewal.json"]).done();
    assert_eq!(read("fed/roster/zoe.pem"), issued, "the same again changes nothing");
    let told = run(&["ledger", "verify", "fed", "--member", "zoe"]);
    assert!(told.code == 1 && told.out.contains("the journal has 1 renewals of its key"), "{told:?}");
    run(&["member", "renew", "zoe", "--issued", "fed/roster/zoe.pem"]).done();
    run(&["member", "renew", "zoe", "--issued", "fed/roster/zoe.pem"]).done();
    assert_eq!((read("zoe/member.pem") == issued, issued == before), (true, false));
    let verified = run(&["ledger", "verify", "fed", "--member", "zoe"]).done();
    assert!(verified.ends_with("zoe: enrolled with its own key; it holds no receipts.\n"), "{verified}");
    // What was asked for before is signed by a key that is not the present one any more.
    std::fs::write(place.path().join("old.json"), request).unwrap();
    run(&["members", "renew", "fed", "--request", "old.json"]).done();
    run(&["member", "renew", "zoe"]).done();
    run(&["members", "renew", "fed", "--request", "zoe/renewal.json"]).done();
    let issued = read("fed/roster/zoe.pem");
    run(&["members", "renew", "fed", "--request", "old.json"]).refused("not signed with the present key of zoe");
    run(&["members", "renew", "fed", "--request", "zoe/renewal.json"]).done();
    assert_eq!(read("fed/roster/zoe.pem"), issued, "what was refused left nothing behind");
}

/// A federation `fed` in which m1 renewed its key, and m1's key and certificate before.
fn renewed() -> (tempfile::TempDir, String, Certificate) {
    let place = made();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let before =
        Certificate::from_pem(&std::fs::read_to_string(place.path().join("fed/roster/m1.pem")).unwrap()).unwrap();
    run(&["member", "renew", "fed/members/m1"]).done();
    run(&["members", "renew", "fed", "--request", "fed/members/m1/renewal.json"]).done();
    (place, format!("fed/renewals/m1-{}.pem", before.key()), before)
}

#[test]
fn an_audit_wants_a_certificate_for_every_key_that_a_member_ever_had() {
    let (place, kept, before) = renewed();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    run(&["ledger", "verify", "fed"]).done();
    run(&["ledger", "bundle", "fed", "--out", "whole"]).done();
    run(&["ledger", "verify", "whole"]).done();
    // Two operators: one never had the first key certified, one certified it only afterwards. Both renewed it away.
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let authority = Authority::from_pem(&read("fed/authority/authority.pem"), &read("fed/authority/authority.key"));
    let key = Signer::from_pem(&read("fed/members/m1/member.key")).unwrap();
    let request = Request::read(&Request::text(&"m1".parse().unwrap(), &key)).unwrap();
    let later = authority.unwrap().certify(&request, Validity::leaf());
    let refuted = |folder: &str| {
        let told = run(&["ledger", "verify", folder]);
        let named = format!("m1 with key {} and certificate {}, and no such", before.key(), before.digest());
        assert!(told.code == 1 && told.out.contains(&named), "{told:?}");
        let found: Value = serde_json::from_str(&run(&["ledger", "verify", folder, "--json"]).out).unwrap();
        assert!(found["problem"].as_str().unwrap().contains(&named), "{found}");
    };
    std::fs::remove_file(place.path().join(&kept)).unwrap();
    refuted("fed");
    run(&["ledger", "bundle", "fed", "--out", "lacking"]).done();
    refuted("lacking");
    std::fs::write(place.path().join(&kept), later.pem()).unwrap();
    refuted("fed");
    run(&["ledger", "bundle", "fed", "--out", "later"]).done();
    refuted("later");
    // Under the name of another key it is nobody's.
    std::fs::write(place.path().join("fed/renewals/m1-00.pem"), later.pem()).unwrap();
    run(&["ledger", "verify", "fed"]).refused("is not the certificate of a renewal: remove it");
}

#[test]
fn a_backup_taken_before_a_renewal_was_finished_has_the_new_certificate() {
    let (place, _, before) = renewed();
    let run = |args: &[&str]| -> Run { truthfed(place.path(), args, "") };
    let read = |name: &str| std::fs::read_to_string(place.path().join(name)).unwrap();
    let after = read("fed/roster/m1.pem");
    // It is journaled, and the roster still has the one before.
    std::fs::write(place.path().join("fed/roster/m1.pem"), before.pem()).unwrap();
    run(&["backup", "fed", "--out", "copy"]).done();
    for folder in ["fed", "copy"] {
        run(&["ledger", "verify", folder]).done();
        run(&["members", "renew", folder, "--request", "fed/members/m1/renewal.json"]).done();
        assert_eq!(read(&format!("{folder}/roster/m1.pem")), after, "{folder}");
        run(&["ledger", "verify", folder]).done();
    }
}
