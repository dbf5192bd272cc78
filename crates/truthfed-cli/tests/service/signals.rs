//! Signals that a terminal or an operator sends by habit.

use std::path::Path;
use std::process::Command;

use crate::kill::{Federation, Process, http, until};

/// Sends SIGHUP, and waits until the process has said so in its log as often as this, or has ended.
fn hang_up(process: &mut Process, log: &Path, said: &str, times: usize) {
    let id = process.0.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
    until("the process says what it does", || {
        let count = std::fs::read_to_string(log).unwrap().matches(said).count();
        count == times || process.0.try_wait().unwrap().is_some()
    });
    assert_eq!(process.0.try_wait().unwrap(), None, "it runs on");
}

#[test]
fn a_closed_terminal_ended_coordinator_and_agent() {
    let federation = Federation::new(1);
    let (mut coordinator, mut agent) = (federation.serve(), federation.agent(0));
    let log = |name: &str| federation.place.path().join(name);
    hang_up(&mut coordinator, &log("serve.log"), "SIGHUP: took over", 1);
    hang_up(&mut agent, &log("agent0.log"), "settings are read at the start only", 1);
    assert_eq!(http(federation.admin, "GET", "/healthz", "").unwrap().0, 200);
    assert_eq!(federation.call(0, "GET", "/status", "").unwrap().0, 200);
    assert_eq!(http(federation.ports[0], "GET", "/status", "").unwrap().0, 401, "without the token");
}

#[test]
fn a_coordinator_takes_over_its_log_level_and_limits_and_says_what_it_does_not() {
    let federation = Federation::new(0);
    let mut coordinator = federation.serve();
    let (settings, log) =
        (federation.place.path().join("fed/federation.toml"), federation.place.path().join("serve.log"));
    let text = std::fs::read_to_string(&settings).unwrap();
    let seen = |line: &str| std::fs::read_to_string(&log).unwrap().contains(line);

    std::fs::write(&settings, text.replace("\nconnections = 1024", "\nconnections = 0")).unwrap();
    hang_up(&mut coordinator, &log, "SIGHUP changed nothing", 1);
    assert!(seen("limits.connections is 0: it must lie between 1 and 1000000"), "names the key");

    let changed =
        text.replace("log_level = \"info\"", "log_level = \"debug\"").replace("reserve = \"100\"", "reserve = \"99\"");
    std::fs::write(&settings, changed.replace("\nconnections = 1024", "\nconnections = 1")).unwrap();
    hang_up(&mut coordinator, &log, "SIGHUP: took over", 1);
    assert!(seen("restart to use them") && seen("keys=terms"), "terms cannot change");
    let address = settings_value(&text, "listen");
    let first = std::net::TcpStream::connect(&address).unwrap();
    let second = std::net::TcpStream::connect(&address).unwrap();
    until("there is one connection only, and debug lines say so", || seen("connection closed"));
    drop((first, second));
}

fn settings_value(text: &str, key: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
    line.split('"').nth(1).unwrap().to_owned()
}
