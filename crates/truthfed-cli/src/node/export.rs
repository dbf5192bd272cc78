//! `truthfed ledger export`: every movement of money for a spreadsheet or a program, or the whole journal.

use serde::Serialize;
use truthfed_node::calendar::stamp;
use truthfed_node::federation::line;
use truthfed_node::ledger::{Account, Cause, Movement, movements};
use truthfed_node::store::Store;

use super::args::ExportArgs;
use super::ledger::decimal_units;
use super::recorded;
use crate::report::{Report, json};

/// Rows of the journal read at once.
const CHUNK: usize = 512;

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<Report> {
    let mut store = recorded(&args.folder)?;
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

/// The journal, a line for each entry.
fn lines(store: &mut dyn Store) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut after = 0;
    loop {
        let rows = store.rows(after, CHUNK)?;
        let Some(last) = rows.last() else { return Ok(text) };
        after = last.number;
        for row in &rows {
            text.push_str(&line(row)?);
        }
    }
}
