//! `truthfed ledger`: statements, verification and export.

use std::path::Path;

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::value::RawValue;
use truthfed::Amount;
use truthfed_node::agent::{Agent, Membership};
use truthfed_node::coordinator::CHECKPOINT;
use truthfed_node::digest::Digest;
use truthfed_node::engine::read_checkpoint;
use truthfed_node::federation::{Federation, open, open_bundle};
use truthfed_node::ledger::{Line, LineState, Statement, Trust, receipts, verify};
use truthfed_node::store::Store;

use super::agent::DATA;
use super::args::{FolderArgs, LedgerCommand, StatementArgs};
use super::existing_store;
use crate::report::{Report, cells, json, table};

/// Rows of the journal read at once.
const CHUNK: usize = 512;

pub(crate) fn run(command: &LedgerCommand) -> anyhow::Result<Report> {
    match command {
        LedgerCommand::Statement(args) => statement(args),
        LedgerCommand::Verify(args) => verified(args),
        LedgerCommand::Export { folder } => Ok(Report::done(lines(existing_store(&open(folder)?)?.as_mut())?)),
    }
}

fn statement(args: &StatementArgs) -> anyhow::Result<Report> {
    let is_bundle = args.folder.join("member.toml").is_file();
    let Some(member) = &args.member else {
        return match is_bundle {
            true => from_receipts(&args.folder, args.json),
            false => bail!("name a member: truthfed ledger statement {} NAME", args.folder.display()),
        };
    };
    let statement = Statement::read(existing_store(&open(&args.folder)?)?.as_mut(), &member.parse()?)?;
    Ok(Report::done(if args.json { json(&statement) } else { words(&statement) }))
}

pub(super) fn words(statement: &Statement) -> String {
    let row = |line: &Line| {
        let payment = line.payment_micros.map_or_else(String::new, |payment| payment.to_string());
        cells(&[&line.round, &line.ask_micros, &state(line.state), &payment])
    };
    let rows = statement.lines.iter().map(row).collect();
    let (member, totals) = (&statement.member, &statement.totals);
    let paid = units(totals.posted_micros);
    let mut text = format!("{member}: {} offers, {} won, {paid} paid.\n", totals.offers, totals.won);
    if totals.voided > 0 {
        text.push_str(&format!("Void because nothing was delivered in time: {}.\n", totals.voided));
    }
    if totals.waiting > 0 {
        text.push_str(&format!("Waiting until others' data confirms what was delivered: {}.\n", totals.waiting));
    }
    if totals.forfeited > 0 {
        text.push_str(&format!(
            "Void because others' data contradicts it, or the operator ruled so: {}.\n",
            totals.forfeited
        ));
    }
    if let Some(last) = statement.excluded {
        text.push_str(&format!("Excluded up to round {last}: it won and did not deliver too often.\n"));
    }
    if !statement.lines.is_empty() {
        text.push_str(&table(&["round", "asked", "", "payment"], &[0, 1, 3], rows));
    }
    text
}

fn state(state: LineState) -> &'static str {
    match state {
        LineState::Open => "not decided yet",
        LineState::Withdrawn => "withdrawn with the member",
        LineState::Aborted => "round ended without an auction",
        LineState::Lost => "lost",
        LineState::Pending => "won, to be delivered",
        LineState::Waiting => "won, delivered, payment waits",
        LineState::Posted => "won, paid",
        LineState::Voided => "won, not delivered",
        LineState::Forfeited => "won, contradicted, not paid",
    }
}

pub(super) fn units(micros: i128) -> String {
    match i64::try_from(micros).ok().and_then(Amount::from_micros) {
        Some(amount) => amount.to_string(),
        None => format!("{micros} micro-units"),
    }
}

/// Checks and sums up a member's own receipts.
fn from_receipts(folder: &Path, as_json: bool) -> anyhow::Result<Report> {
    let bundle = open_bundle(folder)?;
    let data = folder.join(DATA);
    anyhow::ensure!(data.is_file(), "{} is missing: the agent of this bundle has not run here", data.display());
    let agent = Agent::open(Membership::of(&bundle), &data).with_context(|| data.display().to_string())?;
    let whose = receipts::Bundle {
        member: bundle.member.clone(),
        federation: bundle.federation,
        coordinator: bundle.coordinator_key,
    };
    let summary = receipts::check(&whose, &agent.receipts()?, None)?;
    let (member, count, rounds, payments) = (bundle.member, summary.receipts, summary.rounds, summary.payments);
    let paid = units(summary.posted_micros);
    Ok(Report::done(match as_json {
        true => json(&summary),
        false => format!(
            "{member}: {count} receipts of {rounds} rounds, all signed by the coordinator; {payments} payments, {paid} in all.\n"
        ),
    }))
}

fn verified(args: &FolderArgs) -> anyhow::Result<Report> {
    let federation = open(&args.folder)?;
    let report = verify(existing_store(&federation)?.as_mut(), &trust(&federation, &args.folder)?)?;
    let text = if args.json { json(&report) } else { format!("{report}\n") };
    Ok(if report.is_right() { Report::done(text) } else { Report::refuted(text) })
}

/// What the folder says of the journal.
pub(super) fn trust(federation: &Federation, folder: &Path) -> anyhow::Result<Trust> {
    Ok(Trust {
        federation: Some(federation.id()),
        coordinator: Some(federation.server.signer().public()),
        checkpoint: read_checkpoint(&folder.join(CHECKPOINT))?,
    })
}

#[derive(Serialize)]
struct Exported<'a> {
    number: u64,
    hash: Digest,
    entry: &'a RawValue,
}

/// The journal, a line for each entry.
fn lines(store: &mut dyn Store) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut after = 0;
    loop {
        let rows = store.rows(after, CHUNK)?;
        let Some(last) = rows.last() else { return Ok(text) };
        after = last.number;
        for row in &rows {
            let entry: &RawValue = serde_json::from_str(&row.body)?;
            text.push_str(&serde_json::to_string(&Exported { number: row.number, hash: row.hash, entry })?);
            text.push('\n');
        }
    }
}
