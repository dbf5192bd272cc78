//! I1: double entry sums to zero. I2: at most one posting to a member in a round, and a pending payment is resolved once.
//! I5: posted exactly when a delivery came in time and nothing contradicts it any more. I22: a transfer is recorded once under its
//! reference, and never of more than is owed.

use std::collections::{BTreeMap, BTreeSet};

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{Payment, RoundId};
use truthfed_node::journal::Award;
use truthfed_node::ledger::{Account, Cause, Posting, Reference};
use truthfed_node::wire::ReceiptKind;

use crate::chaos::report::{Verdict, breach, check};

/// What the postings say, beside what the journal says.
#[derive(Default)]
pub(crate) struct Money {
    /// The number of the last posting.
    pub(super) last: u64,
    /// The entry whose postings are read.
    entry: u64,
    treasury: i128,
    escrow: i128,
    members: BTreeMap<ClientId, i128>,
    paid_out: i128,
    /// Each with its entry and its amount.
    payouts: BTreeMap<(ClientId, Reference), (u64, i64)>,
    rounds: BTreeMap<RoundId, Payments>,
}

#[derive(Default)]
struct Payments {
    awarded_at: u64,
    due: BTreeMap<ClientId, i64>,
    /// The entry that settled it, and who had delivered.
    settled: Option<(u64, BTreeSet<ClientId>)>,
    /// Those of them whose payment waited, and if it does not any more: the entry that decided it, and whether it is made.
    waited: BTreeMap<ClientId, Option<(u64, RoundId, bool)>>,
    /// Of each winner: what lies in escrow, and what was posted.
    pending: BTreeMap<ClientId, i64>,
    posted: BTreeMap<ClientId, i64>,
}

impl Money {
    /// What a member was paid in all rounds.
    pub(crate) fn paid_to(&self, member: &ClientId) -> Amount {
        let posted = self.rounds.values().filter_map(|payments| payments.posted.get(member));
        let micros: i128 = posted.map(|micros| i128::from(*micros)).sum();
        Amount::from_micros(micros as i64).expect("a few payments are within the range of one")
    }

    /// Rounds after one and up to another that a member won, with what it was told when they ended.
    pub(super) fn told_between(&self, member: &ClientId, after: RoundId, last: RoundId) -> Vec<Told> {
        let ended = self.rounds.iter().filter(|(round, _)| **round > after && **round <= last);
        let told = |(round, payments): (&RoundId, &Payments)| {
            let (due, (_, delivered)) = (*payments.due.get(member)?, payments.settled.as_ref()?);
            Some(match delivered.contains(member) {
                false => (*round, ReceiptKind::Voided, None),
                true if payments.waited.contains_key(member) => (*round, ReceiptKind::Waiting, None),
                true => (*round, ReceiptKind::Paid, Some(due)),
            })
        };
        ended.filter_map(told).collect()
    }

    /// What a member was told up to some round about payments that waited, of rounds after another one.
    pub(super) fn resolved_after(&self, member: &ClientId, after: RoundId, last: RoundId) -> Vec<Told> {
        let told = |(round, payments): (&RoundId, &Payments)| {
            let (_, at, is_paid) = (*payments.waited.get(member)?)?;
            let due = *payments.due.get(member)?;
            let told = match is_paid {
                true => (*round, ReceiptKind::Paid, Some(due)),
                false => (*round, ReceiptKind::Forfeited, None),
            };
            (at <= last).then_some(told)
        };
        self.rounds.iter().filter(|(round, _)| **round > after).filter_map(told).collect()
    }

    /// A payment that waited is made, or void, by this entry at the end of a round.
    pub(super) fn resolved(&mut self, entry: u64, at: RoundId, payment: &Payment, is_paid: bool) -> Verdict {
        let Payment { member, round, amount } = payment;
        let payments = self.rounds.entry(*round).or_default();
        let waits = payments.waited.get_mut(member).filter(|waited| waited.is_none());
        let is_due = payments.due.get(member) == Some(&amount.micros());
        let Some(waited) = waits.filter(|_| is_due) else {
            return breach("I2", format!("entry {entry} decides about {payment:?}, which does not wait"));
        };
        *waited = Some((entry, at, is_paid));
        Ok(())
    }

    /// The journal says that money was transferred.
    pub(super) fn paid_out(
        &mut self,
        entry: u64,
        member: ClientId,
        (amount, reference): (Amount, Reference),
    ) -> Verdict {
        let text = format!("{member} is paid out {amount} under {reference}");
        let owed = self.owed_to(&member);
        let micros = amount.micros();
        check(micros > 0 && i128::from(micros) <= owed, "I22", || format!("{text}, and {owed} micro-units are owed"))?;
        let before = self.payouts.insert((member, reference), (entry, micros));
        check(before.is_none(), "I22", || format!("{text}, and was before"))
    }

    /// What follows from the journal so far: the postings may not be read yet.
    pub(super) fn owed_to(&self, member: &ClientId) -> i128 {
        let due = |payments: &Payments| {
            let due = *payments.due.get(member)?;
            payments.is_paid_after(u64::MAX, member)?.then_some(i128::from(due))
        };
        let earned: i128 = self.rounds.values().filter_map(due).sum();
        let payouts = self.payouts.iter().filter(|((whose, _), _)| whose == member);
        earned - payouts.map(|(_, (_, micros))| i128::from(*micros)).sum::<i128>()
    }

    fn post_payout(&mut self, posting: &Posting, reference: &Reference) -> Verdict {
        let Posting { entry, member, account, micros, .. } = posting;
        let known = self.payouts.get(&(member.clone(), reference.clone()));
        let signed = match account {
            Account::Member(_) => {
                *self.members.entry(member.clone()).or_default() += i128::from(*micros);
                -micros
            }
            Account::PaidOut => {
                self.paid_out += i128::from(*micros);
                *micros
            }
            other => return breach("I22", format!("a payout moves money of {other:?}")),
        };
        check(known == Some(&(*entry, signed)), "I22", || format!("{posting:?} does not follow from the journal"))?;
        let left = self.members.get(member).copied().unwrap_or(0);
        check(left >= 0, "I22", || format!("{member} has received {} micro-units too many", -left))
    }

    pub(super) fn awarded(&mut self, entry: u64, round: RoundId, awards: &[Award]) -> Verdict {
        let due = awards.iter().map(|award| (award.member.clone(), award.payment_micros.micros())).collect();
        let before = self.rounds.insert(round, Payments { awarded_at: entry, due, ..Payments::default() });
        check(before.is_none(), "I2", || format!("round {round} is awarded twice"))
    }

    pub(super) fn settled<'a>(
        &mut self,
        entry: u64,
        round: RoundId,
        delivered: impl Iterator<Item = &'a ClientId>,
        waiting: &[ClientId],
    ) -> Verdict {
        let payments = self.rounds.entry(round).or_default();
        payments.waited = waiting.iter().map(|member| (member.clone(), None)).collect();
        let before = payments.settled.replace((entry, delivered.cloned().collect()));
        check(before.is_none(), "I2", || format!("round {round} is settled twice"))
    }

    pub(super) fn post(&mut self, posting: &Posting) -> Verdict {
        let Posting { number, entry, cause, member, account, micros } = posting;
        check(*number == self.last + 1, "I14", || format!("posting {number} follows {}", self.last))?;
        self.last = *number;
        if *entry != self.entry {
            self.check_entry_end()?;
            self.entry = *entry;
        }
        let round = match cause {
            Cause::Round(round) => round,
            Cause::Payout(reference) => return self.post_payout(posting, reference),
        };
        let payments = self.rounds.entry(*round).or_default();
        match account {
            Account::PaidOut => return breach("I22", format!("round {round} pays out")),
            Account::Treasury => self.treasury += i128::from(*micros),
            Account::Escrow => {
                self.escrow += i128::from(*micros);
                *payments.pending.entry(member.clone()).or_default() += micros;
                let is_in_turn = *entry == payments.awarded_at || payments.resolved_by(*entry, member).is_some();
                check(is_in_turn, "I5", || format!("entry {entry} moves money of round {round} out of turn"))?;
            }
            Account::Member(_) => {
                *self.members.entry(member.clone()).or_default() += i128::from(*micros);
                let before = payments.posted.insert(member.clone(), *micros);
                check(before.is_none(), "I2", || format!("{member} is paid twice in round {round}"))?;
                let is_earned = payments.resolved_by(*entry, member) == Some(true);
                check(is_earned, "I5", || format!("{member} is paid for round {round}, for which it may not be"))?;
                let due = payments.due.get(member);
                check(due == Some(micros), "I2", || format!("{member} is paid {micros} of {due:?} in round {round}"))?;
            }
        }
        Ok(())
    }

    /// After all postings of an entry: nothing came from nowhere, and all that is due is done.
    pub(super) fn check_entry_end(&mut self) -> Verdict {
        let sum = self.treasury + self.escrow + self.paid_out + self.members.values().sum::<i128>();
        check(sum == 0, "I1", || format!("after entry {} the ledger sums to {sum}", self.entry))?;
        for (round, payments) in &self.rounds {
            for (member, due) in &payments.due {
                let Some(is_paid) = payments.is_paid_after(self.entry, member) else { continue };
                let Payments { pending, posted, .. } = payments;
                let is_resolved = pending.get(member).is_none_or(|micros| *micros == 0);
                check(is_resolved, "I2", || format!("{due} of {member} in round {round} is still pending"))?;
                let is_right = posted.contains_key(member) == is_paid;
                check(is_right, "I5", || {
                    format!("{member} of round {round} is to be paid: {is_paid}; {posted:?} are")
                })?;
            }
        }
        Ok(())
    }
}

/// A round, what a member was told about it, and what it was paid.
pub(super) type Told = (RoundId, ReceiptKind, Option<i64>);

impl Payments {
    /// Whether a payment is made by this entry, or void; none if the entry does not decide about it.
    fn resolved_by(&self, entry: u64, member: &ClientId) -> Option<bool> {
        let (settled_at, delivered) = self.settled.as_ref()?;
        match self.waited.get(member) {
            None => (entry == *settled_at).then(|| delivered.contains(member)),
            Some(waited) => waited.filter(|(decided_at, ..)| *decided_at == entry).map(|(_, _, is_paid)| is_paid),
        }
    }

    /// Whether a payment is made once the postings up to an entry are read; none while that is open.
    fn is_paid_after(&self, entry: u64, member: &ClientId) -> Option<bool> {
        let (settled_at, delivered) = self.settled.as_ref()?;
        match self.waited.get(member) {
            None => (entry >= *settled_at).then(|| delivered.contains(member)),
            Some(waited) => waited.filter(|(decided_at, ..)| entry >= *decided_at).map(|(_, _, is_paid)| is_paid),
        }
    }
}
