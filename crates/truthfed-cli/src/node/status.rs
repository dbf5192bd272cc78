//! `truthfed status`: how a federation is, on one screen; from its folder, its store and the coordinator's probe of health.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed_node::calendar::{Period, minute};
use truthfed_node::call::Message;
use truthfed_node::coordinator::operator::{
    DoubtLine, RoundReply, RoundState, RoundSummary, awarded_today, read_doubts, read_members, read_pause, read_rounds,
};
use truthfed_node::digest::Digest;
use truthfed_node::federation::{Expiry, Federation, open};
use truthfed_node::ledger::{Accounts, Pause};
use truthfed_node::net::{Client, ClientLimits};
use truthfed_node::store::Store;

use super::args::FolderArgs;
use super::ledger::units;
use super::{block_on, existing_store};
use crate::report::{Report, json};

/// How long the coordinator may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Status {
    federation: Digest,
    name: String,
    coordinator: Role,
    /// Entries of the journal; none where no coordinator has run.
    entries: Option<u64>,
    /// Whether no round opens.
    paused: Option<Pause>,
    open_round: Option<RoundSummary>,
    /// Who is waited for.
    awaited: Vec<ClientId>,
    last_round: Option<RoundSummary>,
    members: Members,
    money: Money,
    certificates: Vec<Expiry>,
}

#[derive(Serialize)]
pub(super) struct Role {
    /// `active`, `standby`, `failing` or `stopped`.
    pub(super) role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    pub(super) admin: String,
}

#[derive(Serialize, Default)]
struct Members {
    present: usize,
    revoked: usize,
    /// Whose data is held.
    held: Vec<ClientId>,
}

#[derive(Serialize, Default)]
struct Money {
    /// What the rounds that were opened today, in UTC, were awarded, in micro-units.
    awarded_today_micros: i128,
    /// What a day's rounds may be awarded, if the terms say.
    daily_purse_micros: Option<Amount>,
    owed_micros: i128,
    waiting_payments: u64,
    waiting_micros: i128,
}

pub(crate) fn run(args: &FolderArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    let role = role(&federation);
    let has_store = federation.store().path().is_none_or(std::path::Path::exists);
    let store = if has_store { Some(existing_store(&federation)?) } else { None };
    let status = read(&federation, role, store)?;
    Ok(Report::done(if args.json { json(&status) } else { in_words(&status) }))
}

/// What the coordinator of this folder says of itself on its admin address.
pub(super) fn role(federation: &Federation) -> Role {
    let address = federation.settings.admin;
    let limits = ClientLimits { request: PATIENCE, ..ClientLimits::default() };
    let asked = block_on(async {
        let message = Message { method: "GET".parse()?, path: "/healthz".to_owned(), body: Default::default() };
        let reply = Client::plain(address).with_limits(limits).send(message, Some(PATIENCE)).await?;
        Ok(serde_json::from_slice::<Value>(&reply.body)?)
    });
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (role, why) = match asked {
        Ok(said) => (text(&said["role"]).unwrap_or_else(|| "failing".to_owned()), text(&said["why"])),
        Err(error) => ("stopped".to_owned(), Some(format!("{error:#}"))),
    };
    Role { role, why, admin: address.to_string() }
}

fn read(federation: &Federation, coordinator: Role, store: Option<Box<dyn Store>>) -> anyhow::Result<Status> {
    let mut status = Status {
        federation: federation.id(),
        name: federation.settings.name.clone(),
        coordinator,
        entries: None,
        paused: None,
        open_round: None,
        awaited: Vec::new(),
        last_round: None,
        members: Members { present: federation.roster.len(), ..Members::default() },
        money: Money::default(),
        certificates: Expiry::of_federation(federation),
    };
    let Some(mut store) = store else { return Ok(status) };
    status.entries = Some(store.head()?.number);
    status.paused = read_pause(store.as_mut())?;
    let (members, doubts) = (read_members(store.as_mut())?, read_doubts(store.as_mut())?);
    let rounds = read_rounds(store.as_mut())?;
    let is_open = |round: &&RoundReply| matches!(round.summary.state, RoundState::Offers | RoundState::Deliveries);
    let open = rounds.last().filter(is_open);
    status.open_round = open.map(|round| round.summary.clone());
    status.awaited = open.map(|round| round.awaited(&members)).unwrap_or_default();
    status.last_round = rounds.iter().rev().find(|round| !is_open(round)).map(|round| round.summary.clone());
    let revoked = members.iter().filter(|line| line.is_revoked).count();
    let held = |line: &DoubtLine| line.is_held.then(|| line.member.clone());
    status.members =
        Members { present: members.len() - revoked, revoked, held: doubts.iter().filter_map(held).collect() };
    status.money = Money {
        awarded_today_micros: awarded_today(
            rounds.iter().map(|round| (round.summary.opened_ms, round.awarded_micros())),
        ),
        daily_purse_micros: federation.settings.agreement.raw().daily_purse,
        owed_micros: Accounts::read(store.as_mut(), Period::ALWAYS)?.total.owed_micros,
        waiting_payments: doubts.iter().map(|line| line.payments).sum(),
        waiting_micros: doubts.iter().map(|line| i128::from(line.waiting_micros)).sum(),
    };
    Ok(status)
}

fn in_words(status: &Status) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<14}{value}"); // writing to a String cannot fail
    };
    line("federation", format!("{} ({})", status.name, status.federation));
    let Role { role, why, admin } = &status.coordinator;
    let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    line("coordinator", format!("{role}, asked at {admin}{why}"));
    line("ledger", status.entries.map_or("none yet".to_owned(), |entries| format!("{entries} entries")));
    if let Some(Pause { reason, since_ms }) = &status.paused {
        line("paused", format!("no round opens, since {} UTC: {reason}", minute(*since_ms)));
    }
    match &status.open_round {
        Some(round) => {
            let names: Vec<&str> = status.awaited.iter().map(ClientId::as_str).collect();
            let awaited = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
            line(
                "open round",
                format!(
                    "{}, {}, since {} UTC; awaited: {awaited}",
                    round.round,
                    round.words(),
                    minute(round.opened_ms)
                ),
            );
        }
        None => line("open round", "none".to_owned()),
    }
    line(
        "last round",
        match &status.last_round {
            Some(round) => {
                let ended = round.ended_ms.map_or_else(String::new, |at| format!(", ended {} UTC", minute(at)));
                format!("{}, {}{ended}; paid {}", round.round, round.words(), units(round.paid_micros.into()))
            }
            None => "none yet".to_owned(),
        },
    );
    let Members { present, revoked, held } = &status.members;
    let held: Vec<&str> = held.iter().map(ClientId::as_str).collect();
    let held = if held.is_empty() { String::new() } else { format!("; held: {}", held.join(", ")) };
    line("members", format!("{present}, and {revoked} revoked{held}"));
    let Money { awarded_today_micros, daily_purse_micros, owed_micros, waiting_payments, waiting_micros } =
        &status.money;
    let purse = daily_purse_micros.map_or("no daily purse".to_owned(), |purse| format!("of {purse}"));
    line("today", format!("{} awarded, {purse}", units(*awarded_today_micros)));
    line("owed", format!("{}; {waiting_payments} payments wait ({})", units(*owed_micros), units(*waiting_micros)));
    for Expiry { of, until, days } in &status.certificates {
        let when = if *days < 0 { "has expired".to_owned() } else { format!("{days} days left") };
        line("certificate", format!("{of}: until {until}, {when}"));
    }
    text
}
