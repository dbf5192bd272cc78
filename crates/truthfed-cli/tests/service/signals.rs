//! Signals that a terminal or an operator sends by habit.

use std::process::Command;

use crate::kill::{Federation, Process, http, until};

/// Sends SIGHUP, and waits until the process has said in its log what it does about it, or has ended.
fn hang_up(process: &mut Process, federation: &Federation, log: &str) {
    let id = process.0.id().to_string();
    assert!(Command::new("kill").args(["-HUP", &id]).status().unwrap().success());
    let log = federation.place.path().join(log);
    until("the process says what it does", || {
        let said = std::fs::read_to_string(&log).unwrap().contains("settings are read at the start only");
        said || process.0.try_wait().unwrap().is_some()
    });
    assert_eq!(process.0.try_wait().unwrap(), None, "it runs on");
}

#[test]
fn a_closed_terminal_ended_coordinator_and_agent() {
    let federation = Federation::new(1);
    let (mut coordinator, mut agent) = (federation.serve(), federation.agent(0));
    hang_up(&mut coordinator, &federation, "serve.log");
    hang_up(&mut agent, &federation, "agent0.log");
    assert_eq!(http(federation.admin, "GET", "/healthz", "").unwrap().0, 200);
    assert_eq!(federation.call(0, "GET", "/status", "").unwrap().0, 200);
    assert_eq!(http(federation.ports[0], "GET", "/status", "").unwrap().0, 401, "without the token");
}
