//! What ships has none of what is here for tests: no proof crate, no planted faults, no kill points.

use std::process::Command;

/// What `cargo tree` says that a package is built from, with all features that are on: a line each.
fn tree(package: &str, edges: &str) -> String {
    let args = ["tree", "-p", package, "-e", edges, "--prefix", "none", "--offline", "--locked"];
    let output = Command::new(env!("CARGO")).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_shipped_binary_has_no_planted_faults_and_no_kill_points() {
    let shipped = tree("truthfed-cli", "normal,features");
    // The same question finds what is there, and in tests both features are.
    assert!(shipped.contains("truthfed-node feature \"default\""), "{shipped}");
    let tested = tree("truthfed-proof", "normal,dev,features");
    for name in [
        "truthfed feature \"planted-faults\"",
        "truthfed-node feature \"planted-faults\"",
        "truthfed-node feature \"kill-points\"",
    ] {
        assert!(tested.contains(name), "{name} is not in\n{tested}");
        assert!(!shipped.contains(name), "{name} is in\n{shipped}");
    }
    assert!(!shipped.contains("truthfed-proof"), "{shipped}");
}
