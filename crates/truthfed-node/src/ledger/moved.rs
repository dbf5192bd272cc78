//! Movements of money for people, spreadsheets and programs.

use serde::Serialize;

use super::{Account, Cause, Movement};
use crate::calendar::stamp;

/// In a unit.
const MICROS: u128 = 1_000_000;

/// One side of a movement of money: the sides of each add up to zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    pub posting: u64,
    pub at: String,
    pub entry: u64,
    pub account: String,
    pub member: String,
    pub round: Option<u64>,
    pub reference: Option<String>,
    /// In units.
    pub amount: String,
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
pub fn csv(moved: &[Moved]) -> String {
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

/// A decimal number of units.
pub fn decimal_units(micros: i128) -> String {
    let (sign, micros) = (if micros < 0 { "-" } else { "" }, micros.unsigned_abs());
    let (whole, rest) = (micros / MICROS, format!("{:06}", micros % MICROS));
    match rest.trim_end_matches('0') {
        "" => format!("{sign}{whole}"),
        rest => format!("{sign}{whole}.{rest}"),
    }
}
