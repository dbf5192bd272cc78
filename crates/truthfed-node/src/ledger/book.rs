//! Follows the journal and says what each entry moves.
//!
//! Promises: every entry's postings sum to zero; a payment is pending once, and resolved once.

use std::collections::BTreeMap;

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{Judgement, Payment, RoundId};

use super::{Account, Cause, Posting};
use crate::journal::{Award, Entry};

/// What is pending, and how many postings there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    postings: u64,
    last_award: RoundId,
    pending: Option<Pending>,
    /// Of rounds that are settled, by member and round.
    waiting: Waiting,
}

/// Payments by member and round.
type Waiting = BTreeMap<(ClientId, RoundId), Amount>;

/// Payments of a round that is awarded and not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pending {
    round: RoundId,
    payments: BTreeMap<ClientId, Amount>,
}

/// Why an entry moves no money. The coordinator's bug, or an altered journal; nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    #[error("payments of round {pending} are pending while round {round} is awarded or ends")]
    StillPending { round: RoundId, pending: RoundId },
    #[error("round {round} is awarded after round {last}")]
    AwardedBefore { round: RoundId, last: RoundId },
    #[error("{member} wins round {round} twice")]
    WinsTwice { round: RoundId, member: ClientId },
    #[error("round {0} is settled, but nothing of it is pending")]
    NothingPending(RoundId),
    #[error("no payment to {member} is pending in round {round}")]
    NotPending { round: RoundId, member: ClientId },
    #[error("no payment of that size to {member} waits since round {round}")]
    NotWaiting { round: RoundId, member: ClientId },
    #[error("round {round} is settled, but the payment to {member} is neither posted nor voided, and does not wait")]
    Unresolved { round: RoundId, member: ClientId },
}

impl Ledger {
    /// Between two rounds, after that many postings, with these payments waiting.
    pub fn after<'a>(postings: u64, waiting: impl IntoIterator<Item = &'a Payment>) -> Ledger {
        let waiting = waiting.into_iter().map(|it| ((it.member.clone(), it.round), it.amount)).collect();
        Ledger { postings, waiting, ..Ledger::default() }
    }

    pub fn postings(&self) -> u64 {
        self.postings
    }

    /// Payments that are neither posted nor voided, with their round.
    pub fn pending(&self) -> impl Iterator<Item = (RoundId, &ClientId, Amount)> {
        let waiting = self.waiting.iter().map(|((member, round), payment)| (*round, member, *payment));
        self.pending
            .iter()
            .flat_map(|Pending { round, payments }| payments.iter().map(|(member, payment)| (*round, member, *payment)))
            .chain(waiting)
    }

    /// Follows the next entry of the journal, and gives the postings that follow from it. Fails when no money can move
    /// that way.
    pub fn follow(&mut self, entry: u64, step: &Entry) -> Result<Vec<Posting>, LedgerError> {
        let moves = match step {
            Entry::Awarded { round, winners, .. } => self.award(*round, winners)?,
            Entry::Settled { round, paid, waiting, defaulted, judgement, .. } => {
                self.settle(*round, (paid, waiting, defaulted), judgement)?
            }
            Entry::Ruled { round, judgement, .. } => {
                self.check_nothing_pending(*round)?;
                let (moves, left) = resolve(self.waiting.clone(), judgement)?;
                self.waiting = left;
                moves
            }
            Entry::Aborted { round, .. } => {
                self.check_nothing_pending(*round)?;
                return Ok(Vec::new());
            }
            Entry::PaidOut { member, amount_micros, reference, .. } => {
                let (from, to) = (Account::Member(member.clone()), Account::PaidOut);
                let cause = Cause::Payout(reference.clone());
                vec![Move { cause, member: member.clone(), from, to, payment: *amount_micros }]
            }
            _ => return Ok(Vec::new()),
        };
        let mut postings = Vec::with_capacity(2 * moves.len());
        for Move { cause, member, from, to, payment } in moves {
            for (account, micros) in [(from, -payment.micros()), (to, payment.micros())] {
                self.postings += 1;
                let (number, cause, member) = (self.postings, cause.clone(), member.clone());
                postings.push(Posting { number, entry, cause, member, account, micros });
            }
        }
        Ok(postings)
    }

    fn award(&mut self, round: RoundId, winners: &[Award]) -> Result<Vec<Move>, LedgerError> {
        self.check_nothing_pending(round)?;
        if round <= self.last_award {
            return Err(LedgerError::AwardedBefore { round, last: self.last_award });
        }
        let (mut payments, cause) = (BTreeMap::new(), Cause::Round(round));
        let mut moves = Vec::with_capacity(winners.len());
        for Award { member, payment_micros: payment, .. } in winners {
            if payments.insert(member.clone(), *payment).is_some() {
                return Err(LedgerError::WinsTwice { round, member: member.clone() });
            }
            let (from, to) = (Account::Treasury, Account::Escrow);
            moves.push(Move { cause: cause.clone(), member: member.clone(), from, to, payment: *payment });
            #[cfg(feature = "planted-faults")]
            if truthfed::planted::is(truthfed::planted::Fault::PostedBeforeSettled) {
                let (from, to) = (Account::Escrow, Account::Member(member.clone()));
                moves.push(Move { cause: cause.clone(), member: member.clone(), from, to, payment: *payment });
            }
        }
        self.last_award = round;
        self.pending = Some(Pending { round, payments });
        Ok(moves)
    }

    fn settle(
        &mut self,
        round: RoundId,
        (paid, waiting, defaulted): (&[ClientId], &[ClientId], &[ClientId]),
        judgement: &Judgement,
    ) -> Result<Vec<Move>, LedgerError> {
        let pending = self.pending.as_ref().filter(|pending| pending.round == round);
        let mut payments = pending.ok_or(LedgerError::NothingPending(round))?.payments.clone();
        let posted = paid.iter().map(|member| (member, Account::Member(member.clone())));
        let voided = defaulted.iter().map(|member| (member, Account::Treasury));
        let mut moves = Vec::with_capacity(payments.len());
        for (member, to) in posted.chain(voided) {
            let not_pending = || LedgerError::NotPending { round, member: member.clone() };
            let payment = payments.remove(member).ok_or_else(not_pending)?;
            #[cfg(feature = "planted-faults")]
            if truthfed::planted::is(truthfed::planted::Fault::PostedBeforeSettled) {
                continue;
            }
            let cause = Cause::Round(round);
            moves.push(Move { cause, member: member.clone(), from: Account::Escrow, to, payment });
        }
        // What begins to wait may be void at once: whoever is found out delivers in vain.
        let mut all = self.waiting.clone();
        for member in waiting {
            let not_pending = || LedgerError::NotPending { round, member: member.clone() };
            let payment = payments.remove(member).ok_or_else(not_pending)?;
            all.insert((member.clone(), round), payment);
        }
        let (resolved, still) = resolve(all, judgement)?;
        if let Some((member, _)) = payments.pop_first() {
            return Err(LedgerError::Unresolved { round, member });
        }
        (self.pending, self.waiting) = (None, still);
        moves.extend(resolved);
        Ok(moves)
    }

    fn check_nothing_pending(&self, round: RoundId) -> Result<(), LedgerError> {
        match &self.pending {
            Some(pending) => Err(LedgerError::StillPending { round, pending: pending.round }),
            None => Ok(()),
        }
    }
}

/// What moves when payments that waited are made or void, and those that still wait.
fn resolve(mut waiting: Waiting, judgement: &Judgement) -> Result<(Vec<Move>, Waiting), LedgerError> {
    let posted = judgement.paid.iter().map(|payment| (payment, Account::Member(payment.member.clone())));
    let voided = judgement.void.iter().map(|payment| (payment, Account::Treasury));
    let mut moves = Vec::new();
    for (Payment { member, round, amount }, to) in posted.chain(voided) {
        let (member, round, payment) = (member.clone(), *round, *amount);
        if waiting.remove(&(member.clone(), round)) != Some(payment) {
            return Err(LedgerError::NotWaiting { round, member });
        }
        moves.push(Move { cause: Cause::Round(round), member, from: Account::Escrow, to, payment });
    }
    Ok((moves, waiting))
}

/// Money from one account to another.
struct Move {
    cause: Cause,
    member: ClientId,
    from: Account,
    to: Account,
    payment: Amount,
}

#[cfg(test)]
mod tests {
    use truthfed::protocol::{Ruling, Time};

    use super::*;
    use crate::digest::Digest;

    fn id(name: &str) -> ClientId {
        name.parse().unwrap()
    }

    fn awarded(round: u64, winners: &[(&str, i64)]) -> Entry {
        let award = |&(name, micros): &(&str, i64)| {
            let payment_micros = Amount::from_micros(micros).unwrap();
            Award { member: id(name), ask_micros: Amount::ZERO, payment_micros, essential: false }
        };
        Entry::Awarded { round: RoundId(round), winners: winners.iter().map(award).collect(), aside: Vec::new() }
    }

    fn settled(round: u64, paid: &[&str], defaulted: &[&str]) -> Entry {
        settled_with(round, (paid, &[], defaulted), Judgement::default())
    }

    fn settled_with(
        round: u64,
        (paid, waiting, defaulted): (&[&str], &[&str], &[&str]),
        judgement: Judgement,
    ) -> Entry {
        let ids = |names: &[&str]| names.iter().map(|name| id(name)).collect();
        let (paid, waiting, defaulted) = (ids(paid), ids(waiting), ids(defaulted));
        let (round, aggregate, at_ms) = (RoundId(round), Digest::of(b""), Time(0));
        Entry::Settled { round, paid, waiting, defaulted, judgement, aggregate, at_ms }
    }

    fn payment(name: &str, round: u64, micros: i64) -> Payment {
        Payment { member: id(name), round: RoundId(round), amount: Amount::from_micros(micros).unwrap() }
    }

    fn ruled(round: u64, judgement: Judgement) -> Entry {
        let (round, member, aggregate) = (RoundId(round), id("a"), Digest::of(b""));
        Entry::Ruled { round, member, ruling: Ruling::Release, judgement, aggregate, at_ms: Time(0) }
    }

    fn aborted(round: u64) -> Entry {
        Entry::Aborted { round: RoundId(round), reason: String::new(), at_ms: Time(0), by_operator: false }
    }

    /// Follows entries, the last of which is refused and changes nothing.
    fn check_refused(entries: &[Entry], expected: LedgerError) {
        let mut ledger = Ledger::default();
        let (last, before) = entries.split_last().unwrap();
        for (number, entry) in (1..).zip(before) {
            ledger.follow(number, entry).unwrap();
        }
        let unchanged = ledger.clone();
        assert_eq!(ledger.follow(entries.len() as u64, last), Err(expected));
        assert_eq!(ledger, unchanged);
    }

    #[test]
    fn a_payment_is_pending_and_then_posted_or_void() {
        let mut ledger = Ledger::after(10, []);
        let award = ledger.follow(5, &awarded(1, &[("a", 7), ("b", 9)])).unwrap();
        let short = |posting: &Posting| (posting.number, posting.account.clone(), posting.micros);
        let expected = [
            (11, Account::Treasury, -7),
            (12, Account::Escrow, 7),
            (13, Account::Treasury, -9),
            (14, Account::Escrow, 9),
        ];
        assert_eq!(award.iter().map(short).collect::<Vec<_>>(), expected);
        assert_eq!(ledger.pending().map(|(_, _, payment)| payment.micros()).sum::<i64>(), 16);
        let settlement = ledger.follow(6, &settled(1, &["b"], &["a"])).unwrap();
        let expected = [
            (15, Account::Escrow, -9),
            (16, Account::Member(id("b")), 9),
            (17, Account::Escrow, -7),
            (18, Account::Treasury, 7),
        ];
        assert_eq!(settlement.iter().map(short).collect::<Vec<_>>(), expected);
        assert_eq!((ledger.pending().count(), ledger.postings()), (0, 18));
    }

    #[test]
    fn movements_sum_to_zero_on_every_prefix_and_escrow_is_what_is_pending() {
        let mut ledger = Ledger::default();
        let mut balances: BTreeMap<Account, i128> = BTreeMap::new();
        let largest = Amount::MAX.micros();
        for round in 1..=200 {
            let winners = [("a", largest), ("b", round as i64), ("c", 0)];
            for entry in [awarded(round, &winners), settled(round, &["a", "c"], &["b"])] {
                for movement in ledger.follow(round, &entry).unwrap().chunks(2) {
                    for posting in movement {
                        *balances.entry(posting.account.clone()).or_default() += i128::from(posting.micros);
                    }
                    assert_eq!(balances.values().sum::<i128>(), 0);
                }
                let pending: i128 = ledger.pending().map(|(_, _, payment)| i128::from(payment.micros())).sum();
                assert_eq!(balances[&Account::Escrow], pending);
            }
        }
        assert_eq!(balances[&Account::Member(id("a"))], 200 * i128::from(largest));
        assert_eq!(balances.get(&Account::Member(id("b"))), None);
    }

    #[test]
    fn a_payment_that_waits_stays_in_escrow_until_it_is_posted_or_void_once() {
        let mut ledger = Ledger::default();
        let step = |ledger: &mut Ledger, entry: &Entry| {
            let postings = ledger.follow(1, entry)?;
            let round = |posting: &Posting| match posting.cause {
                Cause::Round(RoundId(round)) => round,
                Cause::Payout(_) => 0,
            };
            Ok(postings.iter().map(|posting| (round(posting), posting.account.clone(), posting.micros)).collect())
        };
        let mut follow = |entry: &Entry| -> Result<Vec<_>, LedgerError> { step(&mut ledger, entry) };
        follow(&awarded(1, &[("a", 7), ("b", 9)])).unwrap();
        assert_eq!(follow(&settled_with(1, (&[], &["a", "b"], &[]), Judgement::default())).unwrap(), []);
        follow(&awarded(2, &[("c", 5)])).unwrap();
        let other = Judgement { paid: vec![payment("a", 1, 8)], ..Judgement::default() };
        let refused = LedgerError::NotWaiting { round: RoundId(1), member: id("a") };
        assert_eq!(follow(&settled_with(2, (&["c"], &[], &[]), other.clone())), Err(refused.clone()));
        let paid = Judgement { paid: vec![payment("a", 1, 7)], ..Judgement::default() };
        let expected = [
            (2, Account::Escrow, -5),
            (2, Account::Member(id("c")), 5),
            (1, Account::Escrow, -7),
            (1, Account::Member(id("a")), 7),
        ];
        assert_eq!(follow(&settled_with(2, (&["c"], &[], &[]), paid.clone())).unwrap(), expected);
        assert_eq!(follow(&ruled(3, paid)), Err(refused));
        let void = Judgement { void: vec![payment("b", 1, 9)], ..Judgement::default() };
        let expected = [(1, Account::Escrow, -9), (1, Account::Treasury, 9)];
        assert_eq!(follow(&ruled(3, void)).unwrap(), expected);
        assert_eq!(ledger.pending().count(), 0);
    }

    #[test]
    fn a_payment_that_waits_and_is_void_in_the_same_entry_goes_back_to_the_treasury() {
        let mut ledger = Ledger::default();
        ledger.follow(1, &awarded(1, &[("a", 7)])).unwrap();
        let void = Judgement { void: vec![payment("a", 1, 7)], ..Judgement::default() };
        let moved = ledger.follow(2, &settled_with(1, (&[], &["a"], &[]), void)).unwrap();
        let moved: Vec<_> = moved.iter().map(|posting| (posting.account.clone(), posting.micros)).collect();
        assert_eq!(moved, [(Account::Escrow, -7), (Account::Treasury, 7)]);
        assert_eq!(ledger.pending().count(), 0);
    }

    #[test]
    fn what_is_paid_out_leaves_the_account_of_the_member_at_any_time() {
        let mut ledger = Ledger::default();
        ledger.follow(1, &awarded(1, &[("a", 7)])).unwrap();
        let (amount_micros, reference) = (Amount::from_micros(5).unwrap(), "x".parse().unwrap());
        let payout = Entry::PaidOut { member: id("a"), amount_micros, reference, at_ms: Time(9) };
        let moved = ledger.follow(2, &payout).unwrap();
        let short = |it: &Posting| (it.number, it.cause.clone(), it.account.clone(), it.micros);
        let cause = Cause::Payout("x".parse().unwrap());
        let expected = [(3, cause.clone(), Account::Member(id("a")), -5), (4, cause, Account::PaidOut, 5)];
        assert_eq!(moved.iter().map(short).collect::<Vec<_>>(), expected);
        assert_eq!(ledger.pending().count(), 1, "what is pending stays");
        assert_eq!(ledger.follow(3, &settled(1, &["a"], &[])).unwrap().len(), 2);
    }

    #[test]
    fn nothing_is_awarded_or_settled_twice_or_out_of_turn() {
        let (r1, r2) = (RoundId(1), RoundId(2));
        let award = awarded(1, &[("a", 7)]);
        check_refused(&[award.clone(), award.clone()], LedgerError::StillPending { round: r1, pending: r1 });
        check_refused(&[award.clone(), awarded(2, &[])], LedgerError::StillPending { round: r2, pending: r1 });
        check_refused(&[award.clone(), aborted(2)], LedgerError::StillPending { round: r2, pending: r1 });
        let settle = settled(1, &["a"], &[]);
        let twice = [award.clone(), settle.clone(), award.clone()];
        check_refused(&twice, LedgerError::AwardedBefore { round: r1, last: r1 });
        check_refused(&[award.clone(), settle.clone(), settle.clone()], LedgerError::NothingPending(r1));
        check_refused(&[settle], LedgerError::NothingPending(r1));
        check_refused(&[award.clone(), settled(2, &["a"], &[])], LedgerError::NothingPending(r2));
        check_refused(&[awarded(1, &[("a", 7), ("a", 7)])], LedgerError::WinsTwice { round: r1, member: id("a") });
    }

    #[test]
    fn every_pending_payment_is_resolved_once_and_no_other() {
        let award = awarded(1, &[("a", 7)]);
        let (round, member) = (RoundId(1), id("a"));
        for (paid, defaulted) in [(vec!["a", "a"], vec![]), (vec!["a"], vec!["a"]), (vec![], vec!["a", "a"])] {
            let refused = LedgerError::NotPending { round, member: member.clone() };
            check_refused(&[award.clone(), settled(1, &paid, &defaulted)], refused);
        }
        let stranger = LedgerError::NotPending { round, member: id("b") };
        check_refused(&[award.clone(), settled(1, &["b"], &["a"])], stranger);
        check_refused(&[award, settled(1, &[], &[])], LedgerError::Unresolved { round, member });
    }
}
