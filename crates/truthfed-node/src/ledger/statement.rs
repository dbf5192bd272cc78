//! What the journal says about one member.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{Conduct, Judgement, Payment, RoundId, Strikes, Time};

use super::Reference;
use crate::calendar::Period;
use crate::digest::Digest;
use crate::journal::{Entry, Head, JournalError};
use crate::store::{Store, StoreError};
use crate::wire::OfferContent;

/// Rows read at once.
const CHUNK: usize = 256;

/// One member's offers and payments, by round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    pub member: ClientId,
    /// The federation; none in an empty journal.
    pub federation: Option<Digest>,
    /// The last entry of the journal that is in it.
    pub entry: u64,
    /// Each round in which it offered.
    pub lines: Vec<Line>,
    /// What was transferred to it.
    pub payouts: Vec<Payout>,
    /// What was owed to it before all of that, in micro-units.
    pub before_micros: i128,
    /// What they come to.
    pub totals: Totals,
    /// The last round from which it is, or was, excluded because it did not deliver.
    pub excluded: Option<RoundId>,
}

/// Money that was transferred to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payout {
    pub reference: Reference,
    pub amount_micros: Amount,
    pub at_ms: Time,
}

/// One offer, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub round: RoundId,
    /// When the round was opened.
    pub opened_ms: Time,
    pub offer: Digest,
    pub ask_micros: Amount,
    pub state: LineState,
    /// When that came to be.
    pub since_ms: Time,
    /// The payment, once it is posted: whoever has not delivered is not told.
    pub payment_micros: Option<Amount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineState {
    /// The round is not decided.
    Open,
    /// The member was revoked before the round was decided.
    Withdrawn,
    /// The round ended without an auction.
    Aborted,
    Lost,
    /// It won; the payment waits for the delivery.
    Pending,
    /// It delivered; the payment waits until others' data confirms what it delivered.
    Waiting,
    /// It delivered; the payment is posted.
    Posted,
    /// It did not deliver in time; the payment is void.
    Voided,
    /// It delivered what others' data contradicts, or the operator decided so; the payment is void.
    Forfeited,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Totals {
    /// Rounds in which it offered.
    pub offers: u64,
    pub won: u64,
    /// Rounds that it won and did not deliver in.
    pub voided: u64,
    /// Rounds whose payment waits.
    pub waiting: u64,
    /// Rounds that it delivered in, and is not paid for.
    pub forfeited: u64,
    pub posted_micros: i128,
    pub paid_out_micros: i128,
    /// What is owed to it at the end.
    pub owed_micros: i128,
}

/// Why there is no statement.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// Operator: nobody of that name was ever enrolled.
    #[error("{0} is not, and was not, a member of this federation: see `truthfed members list`")]
    NotAMember(ClientId),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Operator: the journal is damaged.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl Statement {
    /// Reads the whole journal of a store for one member. Fails when the journal cannot be read, or does not know the
    /// member.
    pub fn read(store: &mut dyn Store, member: &ClientId) -> Result<Statement, StatementError> {
        let mut reading = Reading::new(member.clone());
        let mut head = Head::START;
        loop {
            let rows = store.rows(head.number, CHUNK)?;
            if rows.is_empty() {
                break;
            }
            for row in rows {
                let entry = head.follow(&row)?;
                reading.follow(row.number, &entry)?;
            }
        }
        if !reading.is_known {
            return Err(StatementError::NotAMember(member.clone()));
        }
        let (lines, payouts): (Vec<Line>, _) = (reading.lines.into_values().collect(), reading.payouts);
        let (member, federation, totals) = (reading.member, reading.federation, Totals::of(&lines, &payouts, 0));
        let excluded = reading.conduct.excluded;
        Ok(Statement { member, federation, entry: head.number, lines, payouts, before_micros: 0, totals, excluded })
    }

    /// What of it falls into a period: rounds that were opened, or whose payment was made, and what was paid out. Totals are of
    /// that, with what was owed before it and is owed at its end.
    pub fn within(&self, period: Period) -> Statement {
        let is_posted_before = |line: &&Line| line.state == LineState::Posted && line.since_ms < period.from;
        let payments = self.lines.iter().filter(is_posted_before).filter_map(|line| line.payment_micros);
        let payouts = self.payouts.iter().filter(|payout| payout.at_ms < period.from).map(|it| it.amount_micros);
        let before_micros = sum(payments) - sum(payouts);
        let is_in = |line: &&Line| period.contains(line.opened_ms) || period.contains(line.since_ms);
        let cut = |line: &Line| {
            // What is not known within the period is not told; what was paid before is in the balance.
            let is_paid = line.payment_micros.is_some() && period.contains(line.since_ms);
            Line { payment_micros: line.payment_micros.filter(|_| is_paid), ..line.clone() }
        };
        let lines: Vec<Line> = self.lines.iter().filter(is_in).map(cut).collect();
        let payouts: Vec<Payout> =
            self.payouts.iter().filter(|payout| period.contains(payout.at_ms)).cloned().collect();
        let totals = Totals::of(&lines, &payouts, before_micros);
        Statement { lines, payouts, before_micros, totals, ..self.clone() }
    }
}

fn sum(amounts: impl Iterator<Item = Amount>) -> i128 {
    amounts.map(|amount| i128::from(amount.micros())).sum()
}

struct Reading {
    member: ClientId,
    federation: Option<Digest>,
    is_known: bool,
    lines: BTreeMap<RoundId, Line>,
    payouts: Vec<Payout>,
    /// The latest time in the journal, and when the last round was opened.
    latest: Time,
    opened: Time,
    /// What it is paid on delivery, in the round that was awarded last.
    due: Option<Amount>,
    strikes: Strikes,
    conduct: Conduct,
}

impl Reading {
    fn new(member: ClientId) -> Reading {
        let (strikes, conduct) = (Strikes::default(), Conduct::default());
        Reading {
            member,
            federation: None,
            is_known: false,
            lines: BTreeMap::new(),
            payouts: Vec::new(),
            latest: Time(0),
            opened: Time(0),
            due: None,
            strikes,
            conduct,
        }
    }

    fn follow(&mut self, number: u64, entry: &Entry) -> Result<(), JournalError> {
        self.latest = entry.at().unwrap_or(self.latest);
        match entry {
            Entry::Opened { at_ms, .. } => self.opened = *at_ms,
            Entry::PaidOut { member, amount_micros, reference, at_ms } if *member == self.member => {
                let (reference, amount_micros, at_ms) = (reference.clone(), *amount_micros, *at_ms);
                self.payouts.push(Payout { reference, amount_micros, at_ms });
            }
            Entry::Genesis { federation, terms, .. } => {
                (self.federation, self.strikes) = (Some(*federation), terms.strikes);
            }
            Entry::Enrolled { member, .. } if *member == self.member => self.is_known = true,
            Entry::Revoked { member } if *member == self.member => {
                let (open, at) = (self.lines.values_mut().filter(|line| line.state == LineState::Open), self.latest);
                open.for_each(|line| (line.state, line.since_ms) = (LineState::Withdrawn, at));
            }
            Entry::Offered { round, member, offer } if *member == self.member => {
                let content: OfferContent = serde_json::from_str(offer.content.get())
                    .map_err(|error| JournalError::Unreadable { number, problem: error.to_string() })?;
                let (offer, ask_micros) = (offer.digest(), content.ask_micros);
                let line = Line {
                    round: *round,
                    opened_ms: self.opened,
                    offer,
                    ask_micros,
                    state: LineState::Open,
                    since_ms: self.latest,
                    payment_micros: None,
                };
                self.lines.insert(*round, line);
            }
            Entry::Awarded { round, winners, .. } => {
                let award = winners.iter().find(|award| award.member == self.member);
                self.due = award.map(|award| award.payment_micros);
                let state = if award.is_some() { LineState::Pending } else { LineState::Lost };
                self.turn(*round, LineState::Open, state);
            }
            Entry::Ruled { judgement, .. } => self.resolve(judgement),
            Entry::Settled { round, paid, waiting, defaulted, judgement, .. } => {
                self.settle(*round, paid, LineState::Posted);
                self.settle(*round, waiting, LineState::Waiting);
                self.settle(*round, defaulted, LineState::Voided);
                self.resolve(judgement);
                if defaulted.contains(&self.member) {
                    self.conduct.default_in(*round, self.strikes);
                }
            }
            Entry::Aborted { round, .. } => {
                self.turn(*round, LineState::Open, LineState::Aborted);
            }
            _ => {}
        }
        Ok(())
    }

    /// Payments that waited are made, or void.
    fn resolve(&mut self, judgement: &Judgement) {
        let posted = judgement.paid.iter().map(|payment| (payment, LineState::Posted));
        let void = judgement.void.iter().map(|payment| (payment, LineState::Forfeited));
        for (Payment { member, round, amount }, state) in posted.chain(void) {
            if *member == self.member
                && let Some(line) = self.turn(*round, LineState::Waiting, state)
            {
                line.payment_micros = Some(*amount).filter(|_| state == LineState::Posted);
            }
        }
    }

    fn settle(&mut self, round: RoundId, members: &[ClientId], state: LineState) {
        let due = self.due;
        if members.contains(&self.member)
            && let Some(line) = self.turn(round, LineState::Pending, state)
        {
            line.payment_micros = due.filter(|_| state == LineState::Posted);
        }
    }

    /// Turns the line of a round that is in one state to another, now.
    fn turn(&mut self, round: RoundId, from: LineState, to: LineState) -> Option<&mut Line> {
        let line = self.lines.get_mut(&round).filter(|line| line.state == from)?;
        (line.state, line.since_ms) = (to, self.latest);
        Some(line)
    }
}

impl Totals {
    fn of(lines: &[Line], payouts: &[Payout], before_micros: i128) -> Totals {
        use LineState::{Forfeited, Pending, Posted, Voided, Waiting};
        let count = |states: &[LineState]| lines.iter().filter(|line| states.contains(&line.state)).count() as u64;
        let posted_micros = sum(lines.iter().filter_map(|line| line.payment_micros));
        let paid_out_micros = sum(payouts.iter().map(|payout| payout.amount_micros));
        Totals {
            offers: lines.len() as u64,
            won: count(&[Pending, Waiting, Posted, Voided, Forfeited]),
            voided: count(&[Voided]),
            waiting: count(&[Waiting]),
            forfeited: count(&[Forfeited]),
            posted_micros,
            paid_out_micros,
            owed_micros: before_micros + posted_micros - paid_out_micros,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Account, Trust, receipts, verify};
    use crate::terms::RawTerms;
    use crate::testing::{Memory, Played, id, terms};
    use crate::wire::{ReceiptContent, ReceiptKind};

    fn read(played: &Played, name: &str) -> Statement {
        Statement::read(&mut played.store(), &id(name)).unwrap()
    }

    fn states(statement: &Statement) -> Vec<(u64, LineState)> {
        statement.lines.iter().map(|line| (line.round.0, line.state)).collect()
    }

    #[test]
    fn a_statement_says_what_became_of_every_offer() {
        let played = Played::with_rounds();
        let read = |name: &str| read(&played, name);
        // It declined in the second round, and was revoked in the third.
        let revoked = states(&read("e"));
        assert_eq!((revoked.len(), revoked[0].0, revoked[1]), (2, 1, (3, LineState::Withdrawn)));
        // One winner of the second round did not deliver.
        let voided = ["a", "b", "c", "d"].iter().filter(|name| states(&read(name)).contains(&(2, LineState::Voided)));
        assert_eq!(voided.count(), 1);
        let statement = read("a");
        assert_eq!(statement.lines.iter().map(|line| line.round.0).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(statement.lines.iter().all(|line| line.ask_micros == Amount::from_units(3)));
        assert_eq!(statement.entry, played.entries.len() as u64);
    }

    #[test]
    fn the_totals_of_a_statement_are_what_was_posted() {
        let played = Played::with_rounds();
        let (postings, mut won) = (played.store().postings, 0);
        for name in ["a", "b", "c", "d", "e"] {
            let account = Account::Member(id(name));
            let posted = postings.iter().filter(|posting| posting.account == account);
            let posted: i128 = posted.map(|posting| i128::from(posting.micros)).sum();
            let statement = read(&played, name);
            assert_eq!(statement.totals.posted_micros, posted);
            won += statement.totals.won;
            let text = serde_json::to_string(&statement).unwrap();
            assert_eq!(serde_json::from_str::<Statement>(&text).unwrap(), statement);
        }
        assert!(won > 0);
    }

    #[test]
    fn an_undecided_offer_is_open_and_a_winning_one_pending() {
        let mut played = Played::new(&["a", "b"]);
        played.begin();
        played.offer("a", 3);
        assert_eq!(states(&read(&played, "a")), [(1, LineState::Open)]);
        played.decline("b");
        let pending = read(&played, "a");
        assert_eq!(states(&pending), [(1, LineState::Pending)]);
        assert_eq!((pending.totals.won, pending.lines[0].payment_micros), (1, None), "until it delivers");
    }

    #[test]
    fn a_default_costs_a_strike_and_tells_no_price() {
        let strikes = Strikes { defaults: 2, within: 5, rounds: 4 };
        let mut played = Played::under(RawTerms { strikes, ..terms(2) }, &["a", "b"]);
        for _ in 0..2 {
            played.begin();
            played.offer("a", 3);
            played.decline("b");
            played.pass_time();
        }
        let statement = read(&played, "a");
        assert_eq!((statement.totals.voided, statement.excluded), (2, Some(RoundId(6))));
        assert!(statement.lines.iter().all(|line| line.payment_micros.is_none()));
        let told: Vec<ReceiptContent> =
            played.receipts("a").iter().map(|receipt| serde_json::from_str(receipt.content.get()).unwrap()).collect();
        assert_eq!(told.iter().filter(|receipt| receipt.kind == ReceiptKind::Voided).count(), 2);
        assert!(told.iter().all(|receipt| receipt.payment_micros.is_none() && receipt.salt.is_none()));
        assert!(verify(&mut played.store(), &Trust::default()).unwrap().is_right());
        // Its offer in the next round is no entry that a verifier takes.
        played.begin();
        let mut entries = played.entries.clone();
        entries.extend([played.opened_entry("a"), played.offer_entry("a", 3)]);
        let found = verify(&mut Memory::of(&entries), &Trust::default()).unwrap();
        assert!(found.to_string().contains("a won and did not deliver too often"), "{found}");
    }

    #[test]
    fn a_payment_that_waits_is_posted_or_void_later_and_all_of_it_is_verified() {
        let played = Played::with_doubts();
        let mut seen = Vec::new();
        for name in ["a", "b", "c"] {
            let statement = read(&played, name);
            seen.extend(statement.lines.iter().map(|line| line.state));
            let account = Account::Member(id(name));
            let posted = played.store().postings.into_iter().filter(|posting| posting.account == account);
            let posted: i128 = posted.map(|posting| i128::from(posting.micros)).sum();
            assert_eq!(statement.totals.posted_micros, posted, "{name}");
            assert_eq!(statement.totals.waiting, u64::from(played.waiting().iter().any(|it| it == name)), "{name}");
            let bundle = receipts::Bundle {
                member: id(name),
                federation: played.federation.id,
                coordinator: played.federation.coordinator.public(),
            };
            let summary = receipts::check(&bundle, &played.receipts(name), Some(&statement)).unwrap();
            assert_eq!(summary.posted_micros, posted, "{name}");
            assert_eq!(summary.waiting, statement.totals.waiting, "{name}");
        }
        for state in [LineState::Waiting, LineState::Posted, LineState::Forfeited, LineState::Voided] {
            assert!(seen.contains(&state), "{state:?} in {seen:?}");
        }
        for store in &played.history {
            let report = verify(&mut store.clone(), &Trust::default()).unwrap();
            assert!(report.is_right(), "{report}");
        }
    }

    #[test]
    fn statements_of_periods_carry_the_balance_from_one_to_the_next() {
        let mut played = Played::with_rounds();
        let name = ["a", "b", "c"].into_iter().find(|name| read(&played, name).totals.owed_micros > 2).unwrap();
        played.pay_out(name, 2, "one");
        let whole = read(&played, name);
        assert_eq!((whole.payouts.len(), whole.totals.paid_out_micros), (1, 2));
        assert_eq!(whole.totals.owed_micros, whole.totals.posted_micros - 2);
        assert_eq!(whole.within(Period::ALWAYS), whole);
        let times: Vec<Time> = played.entries.iter().filter_map(Entry::at).collect();
        let account = Account::Member(id(name));
        for pair in times.windows(2) {
            let first = whole.within(Period { from: Time(0), before: pair[0] });
            let next = whole.within(Period { from: pair[0], before: pair[1] });
            assert_eq!(next.before_micros, first.totals.owed_micros);
            let earlier = played.entries.iter().position(|it| it.at() == Some(pair[1])).unwrap() as u64;
            let moved = played.store().postings.into_iter().filter(|it| it.account == account && it.entry <= earlier);
            assert_eq!(next.totals.owed_micros, moved.map(|it| i128::from(it.micros)).sum::<i128>(), "{pair:?}");
        }
        let last = whole.within(Period { from: *times.last().unwrap(), before: Time(u64::MAX) });
        assert_eq!((last.totals.owed_micros, last.payouts.len()), (whole.totals.owed_micros, 1));
    }

    #[test]
    fn strangers_have_no_statement() {
        let stranger = Statement::read(&mut Played::new(&["a"]).store(), &id("z"));
        assert!(matches!(stranger, Err(StatementError::NotAMember(_))));
    }
}
