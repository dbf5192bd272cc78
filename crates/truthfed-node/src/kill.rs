//! Points at which a process kills itself with -9, for tests: before, inside and after every durable step.
//!
//! The environment says where: `TRUTHFED_KILL_AT=offered.inside`, or `offered.inside#3` for the third time. *Before*: the
//! transaction has not begun. *Inside*: the row is written, and not committed. *After commit*: nobody knows yet. *After
//! reply*: whoever waited was answered, or, where nobody waits, the next thing begins. The signal can be another one.
//!
//! Only with the feature `kill-points`, which no release can have. Without it none of the calls is there: see
//! `kill_point!`.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

use crate::journal::{Entry, Row};

#[cfg(not(debug_assertions))]
compile_error!("the feature kill-points is for tests: it cannot be in a release");

/// Names the point in the environment of a process.
pub const VARIABLE: &str = "TRUTHFED_KILL_AT";
/// Names another signal than `KILL`: one that was stopped with `STOP` goes on from there when it is continued.
pub const SIGNAL: &str = "TRUTHFED_KILL_SIGNAL";
pub const MOMENTS: [&str; 4] = ["before", "inside", "after-commit", "after-reply"];
/// A coordinator's steps. Beside the kinds of entries: the tables are made or upgraded (`maintenance`), and it takes up the
/// state of its store (`recovery`: before the lease is taken, inside it before anything is read, once all is read).
pub const COORDINATOR: [&str; 14] = [
    "maintenance",
    "recovery",
    "genesis",
    "enrolled",
    "opened",
    "offered",
    "sealed",
    "awarded",
    "delivered",
    "settled",
    "ruled",
    "paid-out",
    "paused",
    "checkpoint",
];
/// An agent's steps, each a transaction in its own file: that is made, or found to be its own (`begun`); an arm is chosen; a
/// reward is learned; what is said and heard in a round; a snapshot is taken over; a head of the journal is kept; the whole state is
/// written (`kept`).
pub const AGENT: [&str; 10] = [
    "begun",
    "decided",
    "learned",
    "answered",
    "offer-receipt",
    "decision-receipt",
    "delivery-receipt",
    "synced",
    "head",
    "kept",
];

pub(crate) trait Durable {
    /// The steps it stands for, one for each row.
    fn steps(&self) -> Vec<&'static str>;
}

impl Durable for &'static str {
    fn steps(&self) -> Vec<&'static str> {
        vec![self]
    }
}

impl Durable for [Row] {
    fn steps(&self) -> Vec<&'static str> {
        self.iter().map(|row| step(&row.entry().expect("our own entries can be read"))).collect()
    }
}

pub fn step(entry: &Entry) -> &'static str {
    match entry.about().kind {
        "revoked" | "renewed" => "enrolled",
        "declined" => "offered",
        "aborted" => "settled",
        "resumed" => "paused",
        kind => kind,
    }
}

/// The transaction is about to begin.
pub(crate) fn before(written: &(impl Durable + ?Sized)) {
    pass(written, "before");
}

/// It is written, and not committed.
pub(crate) fn inside(written: &(impl Durable + ?Sized)) {
    pass(written, "inside");
}

/// It is committed, and nobody was told.
pub(crate) fn committed(written: &(impl Durable + ?Sized)) {
    let steps = pass(written, "after-commit");
    UNANSWERED.lock().expect("nobody panics here").extend(steps);
}

/// All that was committed so far is answered.
pub(crate) fn replied() {
    let answered = std::mem::take(&mut *UNANSWERED.lock().expect("nobody panics here"));
    answered.into_iter().for_each(|step| reach(step, "after-reply"));
}

/// Steps that are committed, and not answered.
static UNANSWERED: Mutex<Vec<&str>> = Mutex::new(Vec::new());
static REACHED: AtomicU32 = AtomicU32::new(0);
/// The point, and at which time it is the end.
static POINT: LazyLock<Option<(String, u32)>> = LazyLock::new(|| {
    let text = std::env::var(VARIABLE).ok()?;
    let (point, time) = text.split_once('#').unwrap_or((&text, "1"));
    let is_known = point.split_once('.').is_some_and(|(step, moment)| {
        COORDINATOR.iter().chain(&AGENT).any(|known| *known == step) && MOMENTS.contains(&moment)
    });
    assert!(is_known, "{VARIABLE} names no point: {text}");
    Some((point.to_owned(), time.parse().expect("after # stands a number")))
});

/// Reaches a moment of all steps, and returns them: none if no point is named, for then no row needs to be read.
fn pass(written: &(impl Durable + ?Sized), moment: &str) -> Vec<&'static str> {
    let steps = if POINT.is_some() { written.steps() } else { Vec::new() };
    steps.iter().for_each(|step| reach(step, moment));
    steps
}

fn reach(step: &str, moment: &str) {
    let Some((point, time)) = &*POINT else { return };
    if *point == format!("{step}.{moment}") && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == *time {
        strike();
    }
}

/// Sends the signal to this process. While the shell starts, the other threads go on: a reply has the time to leave.
fn strike() {
    let signal = std::env::var(SIGNAL).unwrap_or_else(|_| "KILL".to_owned());
    let struck = Command::new("sh").args(["-c", &format!("kill -{signal} $PPID")]).stdin(Stdio::null()).status();
    assert!(struck.expect("there is a shell").success(), "{SIGNAL} is no signal: {signal}");
}
