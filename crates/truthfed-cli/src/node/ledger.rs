//! `truthfed ledger`: statements, totals, verification and export.

use std::path::Path;

use anyhow::{Context, bail};
use serde::Serialize;
use serde_json::value::RawValue;
use truthfed_node::agent::{Agent, Membership};
use truthfed_node::calendar::{Period, minute, stamp};
use truthfed_node::coordinator::CHECKPOINT;
use truthfed_node::digest::Digest;
use truthfed_node::engine::read_checkpoint;
use truthfed_node::federation::{Federation, open, open_bundle};
use truthfed_node::ledger::{
    Account, Accounts, Balance, Cause, Line, LineState, Movement, Payout, Statement, Trust, movements, receipts, verify,
};
use truthfed_node::store::Store;

use super::agent::DATA;
use super::args::{ExportArgs, FolderArgs, LedgerCommand, StatementArgs, TotalsArgs};
use super::{existing_store, payout};
use crate::report::{Report, cells, json, table};

/// In a unit.
const MICROS: u128 = 1_000_000;
/// Rows of the journal read at once.
const CHUNK: usize = 512;

pub(crate) fn run(command: &LedgerCommand) -> anyhow::Result<Report> {
    match command {
        LedgerCommand::Statement(args) => statement(args),
        LedgerCommand::Verify(args) => verified(args),
        LedgerCommand::Totals(args) => totals(args),
        LedgerCommand::Export(args) => export(args),
        LedgerCommand::Payout(command) => payout::run(command),
    }
}

fn statement(args: &StatementArgs) -> anyhow::Result<Report> {
    let is_bundle = args.folder.join("member.toml").is_file();
    let Some(member) = &args.member else {
        return match is_bundle {
            true if args.period.period() != Period::ALWAYS => bail!("receipts have no dates: leave the period out"),
            true => from_receipts(&args.folder, args.json),
            false => bail!("name a member: truthfed ledger statement {} NAME", args.folder.display()),
        };
    };
    let whole = Statement::read(existing_store(&open(&args.folder)?)?.as_mut(), &member.parse()?)?;
    let statement = whole.within(args.period.period());
    Ok(Report::done(if args.json { json(&statement) } else { words(&statement) }))
}

pub(super) fn words(statement: &Statement) -> String {
    let row = |line: &Line| {
        let payment = line.payment_micros.map_or_else(String::new, |payment| payment.to_string());
        let (opened, since) = (minute(line.opened_ms), minute(line.since_ms));
        cells(&[&line.round, &opened, &line.ask_micros, &state(line.state), &since, &payment])
    };
    let rows = statement.lines.iter().map(row).collect();
    let (member, totals) = (&statement.member, &statement.totals);
    let [earned, paid_out, owed, before] =
        [totals.posted_micros, totals.paid_out_micros, totals.owed_micros, statement.before_micros].map(units);
    let mut text = format!("{member}: {} offers, {} won.\n", totals.offers, totals.won);
    if statement.before_micros != 0 {
        text.push_str(&format!("Owed before: {before}.\n"));
    }
    text.push_str(&format!("Earned: {earned}. Paid out: {paid_out}. Owed: {owed}.\n"));
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
        let header = ["round", "opened (UTC)", "asked (units)", "", "since (UTC)", "payment (units)"];
        text.push_str(&table(&header, &[0, 2, 5], rows));
    }
    if !statement.payouts.is_empty() {
        let row = |payout: &Payout| cells(&[&minute(payout.at_ms), &payout.amount_micros, &payout.reference]);
        let rows = statement.payouts.iter().map(row).collect();
        text.push_str(&table(&["paid out (UTC)", "amount (units)", "reference"], &[1], rows));
    }
    text
}

fn totals(args: &TotalsArgs) -> anyhow::Result<Report> {
    let accounts = Accounts::read(existing_store(&open(&args.of.folder)?)?.as_mut(), args.period.period())?;
    if args.of.json {
        return Ok(Report::done(json(&accounts)));
    }
    let row = |name: &dyn ToString, balance: &Balance| {
        let Balance { earned_micros, paid_out_micros, owed_micros, promised_micros } = *balance;
        let sums = [earned_micros, paid_out_micros, owed_micros, promised_micros].map(decimal_units);
        std::iter::once(name.to_string()).chain(sums).collect::<Vec<String>>()
    };
    let mut rows: Vec<Vec<String>> = accounts.members.iter().map(|(name, balance)| row(name, balance)).collect();
    rows.push(row(&"all", &accounts.total));
    let header = ["member", "earned (units)", "paid out (units)", "owed (units)", "promised, not owed (units)"];
    Ok(Report::done(table(&header, &[1, 2, 3, 4], rows)))
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

/// With the word.
pub(super) fn units(micros: i128) -> String {
    format!("{} units", decimal_units(micros))
}

/// A decimal number of units.
pub(super) fn decimal_units(micros: i128) -> String {
    let (sign, micros) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs());
    let (whole, rest) = (micros / MICROS, format!("{:06}", micros % MICROS));
    match rest.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        rest => format!("{sign}{whole}.{rest}"),
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

fn export(args: &ExportArgs) -> anyhow::Result<Report> {
    let mut store = existing_store(&open(&args.folder)?)?;
    if args.journal {
        return Ok(Report::done(lines(store.as_mut())?));
    }
    let (period, mut moved) = (args.period.period(), Vec::new());
    movements(store.as_mut(), |movement| {
        if period.contains(movement.at) {
            moved.push(Moved::from(movement));
        }
    })?;
    Ok(Report::done(if args.csv { csv(&moved) } else { json(&MovedList { movements: moved }) }))
}

#[derive(Serialize)]
struct MovedList {
    movements: Vec<Moved>,
}

/// One side of a movement of money: the sides of each add up to zero.
#[derive(Serialize)]
struct Moved {
    posting: u64,
    at: String,
    entry: u64,
    account: String,
    member: String,
    round: Option<u64>,
    reference: Option<String>,
    amount: String,
}

impl From<Movement> for Moved {
    fn from(Movement { at, posting }: Movement) -> Moved {
        let (round, reference) = match &posting.cause {
            Cause::Round(round) => (Some(round.0), None),
            Cause::Payout(reference) => (None, Some(reference.to_string())),
        };
        let account = match &posting.account {
            Account::Treasury => "treasury".to_owned(),
            Account::Escrow => "escrow".to_owned(),
            Account::Member(member) => format!("member:{member}"),
            Account::PaidOut => "paid-out".to_owned(),
        };
        Moved {
            posting: posting.number,
            at: stamp(at),
            entry: posting.entry,
            account,
            member: posting.member.to_string(),
            round,
            reference,
            amount: decimal_units(i128::from(posting.micros)),
        }
    }
}

/// As spreadsheets read it (RFC 4180): a header, then a line for each.
fn csv(moved: &[Moved]) -> String {
    let mut text = "posting,at (UTC),entry,account,member,round,reference,amount (units)\r\n".to_owned();
    for Moved { posting, at, entry, account, member, round, reference, amount } in moved {
        let round = round.map_or_else(String::new, |round| round.to_string());
        let (account, member, reference) = (field(account), field(member), field(reference.as_deref().unwrap_or("")));
        text.push_str(&format!("{posting},{at},{entry},{account},{member},{round},{reference},{amount}\r\n"));
    }
    text
}

/// Quoted where a comma or a quote would break the line.
fn field(text: &str) -> String {
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
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
