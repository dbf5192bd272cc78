//! The library does no I/O: nothing it depends on brings an async runtime, a network or database stack, or the
//! operating system's randomness.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

use std::process::Command;

/// Crates whose presence means that something waits, talks or rolls dice behind the library's back.
const FORBIDDEN: &str = "async-executor async-io async-std axum curl futures-executor getrandom glommio hyper
    libsqlite3-sys mio native-tls openssl polling reqwest rusqlite rustls smol socket2 sqlx tokio tonic tungstenite ureq";

/// What `cargo tree` says the library is built from, itself included: a line of name and version each.
fn dependencies() -> String {
    let args = ["tree", "-p", "truthfed", "-e", "normal", "--prefix", "none", "--offline", "--locked"];
    let output = Command::new(env!("CARGO")).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn depends_on(dependencies: &str, name: &str) -> bool {
    dependencies.lines().any(|line| line.split_whitespace().next() == Some(name))
}

#[test]
fn the_library_depends_on_no_runtime_and_no_input_or_output() {
    let dependencies = dependencies();
    let found: Vec<&str> = FORBIDDEN.split_whitespace().filter(|name| depends_on(&dependencies, name)).collect();
    assert!(found.is_empty(), "{found:?} in\n{dependencies}");
    // The same question finds what is there, directly or further down.
    assert!(depends_on(&dependencies, "libm"), "{dependencies}");
    assert!(depends_on(&dependencies, "rand_core"), "{dependencies}");
}
