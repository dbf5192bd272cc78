//! `truthfed doctor`: looks for what is wrong, or soon will be, on the coordinator's machine, and says what to do about it.
//!
//! It only reads: nothing is repaired, and a ledger that is not there is not made.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;
use truthfed_node::coordinator::CHECKPOINT;
use truthfed_node::engine::read_checkpoint;
use truthfed_node::federation::{Expiry, Federation, NOTICE_DAYS, open};
use truthfed_node::store::Store;

use super::args::FolderArgs;
use super::existing_store;
use super::status::role;
use crate::report::{Report, cells, json, table};

/// Free bytes below which a disk is soon full, or as good as full.
const LITTLE: u64 = 1 << 30;
const NOTHING: u64 = 64 << 20;
/// How many of the last entries may tell the time of the last round.
const RECENT: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Fine,
    /// It works, and should not stay so.
    Look,
    Wrong,
}

#[derive(Serialize)]
struct Finding {
    what: &'static str,
    state: State,
    found: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Serialize)]
struct Findings {
    findings: Vec<Finding>,
}

impl Finding {
    fn fine(what: &'static str, found: impl Into<String>) -> Finding {
        Finding { what, state: State::Fine, found: found.into(), remedy: None }
    }

    fn look(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { what, state: State::Look, found: found.into(), remedy: Some(remedy.into()) }
    }

    fn wrong(what: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Finding {
        Finding { what, state: State::Wrong, found: found.into(), remedy: Some(remedy.into()) }
    }
}

pub(crate) fn run(args: &FolderArgs) -> anyhow::Result<Report> {
    let findings = Findings { findings: examine(&args.folder) };
    let is_well = findings.findings.iter().all(|finding| finding.state < State::Wrong);
    let text = if args.json { json(&findings) } else { in_words(&findings) };
    Ok(if is_well { Report::done(text) } else { Report::refuted(text) })
}

fn in_words(Findings { findings }: &Findings) -> String {
    let row = |finding: &Finding| {
        let state = match finding.state {
            State::Fine => "fine",
            State::Look => "look",
            State::Wrong => "WRONG",
        };
        cells(&[&finding.what, &state, &finding.found, &finding.remedy.clone().unwrap_or_default()])
    };
    table(&["", "", "found", "what to do"], &[], findings.iter().map(row).collect())
}

fn examine(folder: &Path) -> Vec<Finding> {
    let federation = match open(folder) {
        Ok(federation) => federation,
        Err(error) => return vec![Finding::wrong("folder", error.to_string(), "mend the file that is named")],
    };
    let mut findings = vec![Finding::fine("folder", "settings, keys and certificates fit together")];
    findings.extend(keys(folder));
    findings.extend(Expiry::of_federation(&federation).iter().map(certificate));
    findings.push(name(&federation));
    findings.extend(ports(&federation));
    findings.extend(federation.store().path().map(disk));
    findings.extend(ledger(&federation));
    findings
}

/// Keys that need not be here.
fn keys(folder: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    if folder.join("authority/authority.key").exists() {
        let remedy = "move it off this machine; only `members add`, `members renew` and `renew` need it";
        findings.push(Finding::look("keys", "authority/authority.key is here", remedy));
    }
    let bundles = std::fs::read_dir(folder.join("members")).into_iter().flatten().flatten();
    let count = bundles.filter(|bundle| bundle.path().join("member.key").exists()).count();
    if count > 0 {
        let found = format!("{count} private keys of members are here");
        findings.push(Finding::look("keys", found, "move fed/members/NAME to the members"));
    }
    if findings.is_empty() {
        findings.push(Finding::fine("keys", "none that are not needed here"));
    }
    findings
}

fn certificate(Expiry { of, until, days }: &Expiry) -> Finding {
    let remedy = match of.as_str() {
        "authority" => "begin a new federation: its authority cannot be renewed",
        "coordinator" | "operator" => "run `truthfed renew`, then restart `truthfed serve`",
        _ => "the member runs `truthfed member renew`",
    };
    match *days {
        ..0 => Finding::wrong("certificate", format!("{of} expired on {until}"), remedy),
        0..NOTICE_DAYS => Finding::look("certificate", format!("{of} expires on {until}, in {days} days"), remedy),
        _ => Finding::fine("certificate", format!("{of} until {until}")),
    }
}

/// Members must find the address, under a name of the certificate.
fn name(Federation { settings, .. }: &Federation) -> Finding {
    match settings.address.to_socket_addrs() {
        Ok(mut found) => match found.next() {
            Some(found) => Finding::fine("address", format!("{} is {}", settings.address, found.ip())),
            None => Finding::look("address", format!("{} is nowhere", settings.address), "mend the name service"),
        },
        Err(error) => {
            let remedy = "mend the name service, or `address`; the operator's commands go there, too";
            Finding::look("address", format!("{}: {error}", settings.address), remedy)
        }
    }
}

/// A coordinator that runs has them; otherwise they must be free.
fn ports(federation: &Federation) -> Vec<Finding> {
    let coordinator = role(federation);
    match (coordinator.role.as_str(), coordinator.why) {
        ("stopped", _) => {
            let settings = &federation.settings;
            [("listen", settings.listen), ("admin", settings.admin)].map(free).into()
        }
        ("failing", why) => {
            let found = format!("it fails: {}", why.unwrap_or_default());
            vec![Finding::wrong("coordinator", found, "see `When something fails` in docs/operate.md")]
        }
        (role, _) => vec![Finding::fine("coordinator", format!("{role}, at {}", coordinator.admin))],
    }
}

fn free((what, address): (&'static str, SocketAddr)) -> Finding {
    match TcpListener::bind(address) {
        Ok(_) => Finding::fine(what, format!("no coordinator runs, and {address} is free")),
        Err(error) => Finding::wrong(what, format!("{address}: {error}"), format!("free it, or change `{what}`")),
    }
}

fn disk(store: &Path) -> Finding {
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match rustix::fs::statvfs(folder) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let found = format!("{} MiB free for the ledger", free >> 20);
            match free {
                ..NOTHING => Finding::wrong("disk", found, "free space; rounds go on by themselves"),
                NOTHING..LITTLE => Finding::look("disk", found, "free space before it is full"),
                _ => Finding::fine("disk", found),
            }
        }
        Err(error) => Finding::wrong("disk", format!("{}: {error}", folder.display()), "make the folder reachable"),
    }
}

/// The store answers, holds what was vouched for, and is not from the future.
fn ledger(federation: &Federation) -> Vec<Finding> {
    if federation.store().path().is_some_and(|path| !path.exists()) {
        return vec![Finding::fine("ledger", "none yet: `truthfed serve` makes it")];
    }
    let mut store = match existing_store(federation) {
        Ok(store) => store,
        Err(error) => {
            let remedy = "start the database, or see `When something fails` in docs/operate.md";
            return vec![Finding::wrong("ledger", format!("{error:#}"), remedy)];
        }
    };
    match vouched(federation, store.as_mut()) {
        Ok(found) => vec![Finding::fine("ledger", found), clock(store.as_mut())],
        Err(problem) => {
            vec![Finding::wrong("ledger", problem, "see `Back up and restore` in docs/operate.md before anything else")]
        }
    }
}

fn vouched(federation: &Federation, store: &mut dyn Store) -> Result<String, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let head = store.head().map_err(|error| words(&error))?;
    let checkpoint = read_checkpoint(&federation.folder.join(CHECKPOINT)).map_err(|error| words(&error))?;
    let Some(checkpoint) = checkpoint else {
        return Ok(format!("{} entries; no checkpoint beside it", head.number));
    };
    let (entry, number) = (checkpoint.entry, head.number);
    if entry > number {
        return Err(format!("it ends at entry {number}, but entry {entry} was vouched for: an old backup"));
    }
    let rows = store.rows(entry.saturating_sub(1), 1).map_err(|error| words(&error))?;
    match rows.first().is_some_and(|row| row.hash == checkpoint.head) {
        true => Ok(format!("{number} entries, {entry} of them vouched for; `truthfed ledger verify` recomputes all")),
        false => Err("its journal is not the one that the checkpoint vouches for".to_owned()),
    }
}

fn clock(store: &mut dyn Store) -> Finding {
    let number = store.head().map_or(0, |head| head.number);
    let rows = store.rows(number.saturating_sub(RECENT as u64), RECENT).unwrap_or_default();
    let last = rows.iter().filter_map(|row| row.entry().ok()?.at()).max();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
    match last {
        Some(last) if last.0 > now => {
            let found = format!("{} ms behind the journal", last.0 - now);
            Finding::wrong("clock", found, "set the clock; until it has caught up the time of rounds stands still")
        }
        _ => Finding::fine("clock", "not behind the journal"),
    }
}
