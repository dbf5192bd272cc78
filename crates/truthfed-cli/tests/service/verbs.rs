//! The verbs of a federation's folder, by hand.

use std::path::Path;
use std::process::{Command, Output};

fn truthfed(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_truthfed")).args(args).output().unwrap()
}

fn check_done(args: &[&str]) -> String {
    let output = truthfed(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn check_refused(args: &[&str], expected: &str) {
    let output = truthfed(args);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert!(output.stdout.is_empty(), "{args:?}");
    assert!(error.contains(expected), "{args:?}: {error}");
}

/// A federation at ports that nobody listens on.
fn made(place: &Path) -> String {
    let folder = place.join("fed").display().to_string();
    let listen = "127.0.0.1:1";
    let sets = [format!("listen={listen}"), format!("address={listen}")];
    check_done(&["init", &folder, "--members", "2", "--set", &sets[0], "--set", &sets[1]]);
    folder
}

#[test]
fn members_come_and_go_while_no_coordinator_runs() {
    let place = tempfile::tempdir().unwrap();
    let folder = made(place.path());
    let added = check_done(&["members", "add", &folder, "zoe"]);
    assert!(added.starts_with("zoe is a member."), "{added}");
    assert!(Path::new(&folder).join("members/zoe/member.key").is_file());
    check_done(&["members", "revoke", &folder, "m2"]);
    let listed: serde_json::Value = serde_json::from_str(&check_done(&["members", "list", &folder, "--json"])).unwrap();
    let of = |name: &str| listed["members"].as_array().unwrap().iter().find(|member| member["member"] == name).cloned();
    assert_eq!(of("zoe").unwrap()["is_revoked"], false);
    assert_eq!(of("m2").unwrap()["is_revoked"], true);
    assert!(check_done(&["members", "list", &folder]).contains("revoked"));
    check_refused(&["members", "add", &folder, "zoe"], "zoe was added already");
    // An earlier attempt that issued a bundle and got no further is finished.
    std::fs::rename(format!("{folder}/ledger.db"), format!("{folder}/away.db")).unwrap();
    std::fs::write(format!("{folder}/ledger.db"), "not a ledger").unwrap();
    check_refused(&["members", "add", &folder, "yan"], "damaged");
    std::fs::rename(format!("{folder}/away.db"), format!("{folder}/ledger.db")).unwrap();
    assert!(check_done(&["members", "add", &folder, "yan"]).starts_with("yan is a member."));
    check_refused(&["members", "revoke", &folder, "nobody"], "nobody");
    assert_eq!(check_done(&["ledger", "verify", &folder]), "ledger verified: 0 rounds, 0 payments, 0 problems\n");
    let journal = check_done(&["ledger", "export", &folder]);
    assert!(journal.lines().next().unwrap().contains("genesis"), "{journal}");
    assert_eq!(check_done(&["round", "list", &folder]), "No round yet.\n");
    assert!(check_done(&["ledger", "statement", &folder, "m1"]).starts_with("m1: 0 offers, 0 won, 0 paid."));
}

#[test]
fn what_is_wrong_is_said_with_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    let folder = made(place.path());
    check_refused(&["init", &folder], "exists already");
    check_refused(
        &["init", &place.path().join("x").display().to_string(), "--set", "terms.reserve=-1"],
        "terms.reserve",
    );
    check_refused(&["serve", &place.path().join("none").display().to_string()], "is missing");
    check_refused(&["ledger", "verify", &folder], "has `truthfed serve` run yet?");
    check_refused(&["ledger", "statement", &folder], "Name a member");
    check_refused(&["agent", &folder], "member.toml is missing");
    check_refused(&["agent", &format!("{folder}/members/m1"), "--listen", "0.0.0.0:7500"], "not a loopback address");
    check_refused(&["members", "add", &folder, "../eve"], "name");
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let folder = made(place.path());
    let key = Path::new(&folder).join("server/server.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    check_refused(&["serve", &folder], "chmod 600");
}
