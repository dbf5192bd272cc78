//! What the postings come to: every movement with its date, and what each member earned, received and is owed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;
use truthfed::protocol::Time;

use super::{Account, Cause, Ledger, Posting, StatementError};
use crate::calendar::Period;
use crate::journal::{Entry, Head, JournalError, Row};
use crate::store::Store;

/// Rows read at once.
const CHUNK: usize = 256;

/// A posting, and when its entry was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Movement {
    pub at: Time,
    pub posting: Posting,
}

/// Reads the whole journal of a store, and hands on what each entry moves. Gives the number of the last entry. Fails when the
/// journal cannot be read.
pub fn movements(store: &mut dyn Store, mut hand_on: impl FnMut(Movement)) -> Result<u64, StatementError> {
    follow(store, |_| {}, &mut hand_on)
}

fn follow(
    store: &mut dyn Store,
    mut enrolled: impl FnMut(&ClientId),
    hand_on: &mut impl FnMut(Movement),
) -> Result<u64, StatementError> {
    let mut reading = MovementReader::default();
    loop {
        let rows = store.rows(reading.head.number, CHUNK)?;
        if rows.is_empty() {
            return Ok(reading.head.number);
        }
        reading.read(rows, &mut enrolled, hand_on)?;
    }
}

/// [`movements`] for whoever reads the rows.
#[derive(Debug, Default)]
pub(crate) struct MovementReader {
    head: Head,
    ledger: Ledger,
    at: Time,
}

impl MovementReader {
    /// Hands on what the rows that are next move, and who is enrolled. Fails when one cannot be read.
    pub(crate) fn read(
        &mut self,
        rows: Vec<Row>,
        enrolled: &mut impl FnMut(&ClientId),
        hand_on: &mut impl FnMut(Movement),
    ) -> Result<(), StatementError> {
        for row in rows {
            let entry = self.head.follow(&row)?;
            // An award has the time of its seal, the entry before.
            self.at = entry.at().unwrap_or(self.at);
            if let Entry::Enrolled { member, .. } = &entry {
                enrolled(member);
            }
            let unreadable = |problem: String| JournalError::Unreadable { number: row.number, problem };
            let postings = self.ledger.follow(row.number, &entry).map_err(|error| unreadable(error.to_string()))?;
            postings.into_iter().for_each(|posting| hand_on(Movement { at: self.at, posting }));
        }
        Ok(())
    }
}

/// What was moved in a period, and what is owed at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accounts {
    /// The last entry of the journal that is in it.
    pub entry: u64,
    /// All members, present and past.
    pub members: BTreeMap<ClientId, Balance>,
    /// The sum over them.
    pub total: Balance,
}

/// Sums in micro-units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Balance {
    /// Payments that were made in the period.
    pub earned_micros: i128,
    /// What was transferred in the period.
    pub paid_out_micros: i128,
    /// Earned and not transferred, at the end of the period.
    pub owed_micros: i128,
    /// Awarded and not made at the end of the period: to be delivered for, or waiting for others' data. Not owed.
    pub promised_micros: i128,
}

impl Accounts {
    /// Reads the whole journal of a store. Fails when it cannot be read.
    pub fn read(store: &mut dyn Store, period: Period) -> Result<Accounts, StatementError> {
        let (mut members, mut names): (BTreeMap<ClientId, Balance>, Vec<ClientId>) = Default::default();
        let entry = follow(store, |member| names.push(member.clone()), &mut |movement| {
            members.entry(movement.posting.member.clone()).or_default().add(&movement, period);
        })?;
        for name in names {
            members.entry(name).or_default();
        }
        let mut total = Balance::default();
        for balance in members.values() {
            total.earned_micros += balance.earned_micros;
            total.paid_out_micros += balance.paid_out_micros;
            total.owed_micros += balance.owed_micros;
            total.promised_micros += balance.promised_micros;
        }
        Ok(Accounts { entry, members, total })
    }
}

impl Balance {
    pub(crate) fn add(&mut self, Movement { at, posting }: &Movement, period: Period) {
        let (micros, is_before) = (i128::from(posting.micros), *at < period.before);
        match (&posting.account, &posting.cause) {
            (Account::Member(_), cause) if is_before => {
                self.owed_micros += micros;
                match cause {
                    Cause::Round(_) if period.contains(*at) => self.earned_micros += micros,
                    Cause::Payout(_) if period.contains(*at) => self.paid_out_micros -= micros,
                    _ => {}
                }
            }
            (Account::Escrow, _) if is_before => self.promised_micros += micros,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use truthfed::Amount;

    use super::*;
    use crate::ledger::Statement;
    use crate::testing::{Played, id};

    #[test]
    fn what_is_earned_and_not_paid_out_is_owed_and_what_waits_is_not() {
        let mut played = Played::with_doubts();
        let before = Accounts::read(&mut played.store(), Period::ALWAYS).unwrap();
        let (name, earned) = before.members.iter().find(|(_, it)| it.earned_micros > 0).unwrap();
        let name = name.to_string();
        assert_eq!((earned.owed_micros, earned.paid_out_micros), (earned.earned_micros, 0));
        let waits: i128 = before.members.values().map(|it| it.promised_micros).sum();
        assert!(waits > 0 && before.total.promised_micros == waits, "payments wait, and are not owed");
        played.pay_out(&name, 1, "first");
        let after = Accounts::read(&mut played.store(), Period::ALWAYS).unwrap();
        let [before, after] = [before, after].map(|accounts| accounts.members[&id(&name)]);
        assert_eq!((after.earned_micros, after.paid_out_micros), (before.earned_micros, 1));
        assert_eq!(after.owed_micros, before.owed_micros - 1);
    }

    #[test]
    fn members_without_a_payment_are_listed_and_sums_are_those_of_statements() {
        let mut played = Played::with_rounds();
        played.enrol("new");
        let accounts = Accounts::read(&mut played.store(), Period::ALWAYS).unwrap();
        assert_eq!(accounts.members[&id("new")], Balance::default());
        for (name, balance) in &accounts.members {
            let totals = Statement::read(&mut played.store(), name).unwrap().totals;
            assert_eq!((balance.earned_micros, balance.owed_micros), (totals.posted_micros, totals.owed_micros));
        }
        assert_eq!(accounts.entry, played.entries.len() as u64);
    }

    #[test]
    fn periods_that_follow_each_other_add_up_to_the_whole() {
        let mut played = Played::with_rounds();
        let winner = Accounts::read(&mut played.store(), Period::ALWAYS).unwrap();
        let winner = winner.members.iter().find(|(_, it)| it.owed_micros > 0).unwrap().0.to_string();
        played.pay_out(&winner, Amount::from_units(1).micros(), "1");
        let times: Vec<Time> = played.entries.iter().filter_map(Entry::at).collect();
        let mut has_split = false;
        for &end in &times {
            let early = Period { from: Time(0), before: end };
            let late = Period { from: end, before: Time(u64::MAX) };
            let [early, late, all] = [early, late, Period::ALWAYS]
                .map(|period| Accounts::read(&mut played.store(), period).unwrap().members[&id(&winner)]);
            assert_eq!(early.earned_micros + late.earned_micros, all.earned_micros);
            assert_eq!(early.paid_out_micros + late.paid_out_micros, all.paid_out_micros);
            assert_eq!(early.owed_micros, early.earned_micros - early.paid_out_micros);
            assert_eq!(late.owed_micros, all.owed_micros);
            has_split |= early.earned_micros > 0 && late.paid_out_micros > 0;
        }
        assert!(has_split, "{times:?}");
    }
}
