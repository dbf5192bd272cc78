//! I1: double entry sums to zero. I2: at most one posting to a member in a round, and a pending payment is resolved once.
//! I5: posted exactly when a delivery came in time.

use std::collections::{BTreeMap, BTreeSet};

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::journal::Award;
use truthfed_node::ledger::{Account, Posting};

use crate::chaos::report::{Verdict, check};

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
    rounds: BTreeMap<RoundId, Payments>,
}

#[derive(Default)]
struct Payments {
    awarded_at: u64,
    due: BTreeMap<ClientId, i64>,
    /// The entry that settled it, and who had delivered.
    settled: Option<(u64, BTreeSet<ClientId>)>,
    /// Of each winner: what lies in escrow, and what was posted.
    pending: BTreeMap<ClientId, i64>,
    posted: BTreeMap<ClientId, i64>,
}

impl Money {
    pub(crate) fn paid_to(&self, member: &ClientId) -> Amount {
        let micros = self.members.get(member).copied().unwrap_or(0);
        Amount::from_micros(micros as i64).expect("a few payments are within the range of one")
    }

    /// Rounds after one and up to another that a member won, with what it was paid if it delivered.
    pub(super) fn paid_between(&self, member: &ClientId, after: RoundId, last: RoundId) -> Vec<(RoundId, Option<i64>)> {
        let ended = self.rounds.iter().filter(|(round, _)| **round > after && **round <= last);
        let paid = |(round, payments): (&RoundId, &Payments)| {
            let (due, (_, delivered)) = (*payments.due.get(member)?, payments.settled.as_ref()?);
            Some((*round, delivered.contains(member).then_some(due)))
        };
        ended.filter_map(paid).collect()
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
    ) -> Verdict {
        let payments = self.rounds.entry(round).or_default();
        let before = payments.settled.replace((entry, delivered.cloned().collect()));
        check(before.is_none(), "I2", || format!("round {round} is settled twice"))
    }

    pub(super) fn post(&mut self, posting: &Posting) -> Verdict {
        let Posting { number, entry, round, member, account, micros } = posting;
        check(*number == self.last + 1, "I14", || format!("posting {number} follows {}", self.last))?;
        self.last = *number;
        if *entry != self.entry {
            self.check_entry_end()?;
            self.entry = *entry;
        }
        let payments = self.rounds.entry(*round).or_default();
        match account {
            Account::Treasury => self.treasury += i128::from(*micros),
            Account::Escrow => {
                self.escrow += i128::from(*micros);
                *payments.pending.entry(member.clone()).or_default() += micros;
                let is_in_turn = *entry == payments.awarded_at
                    || payments.settled.as_ref().is_some_and(|(settled_at, _)| entry == settled_at);
                check(is_in_turn, "I5", || format!("entry {entry} moves money of round {round} out of turn"))?;
            }
            Account::Member(_) => {
                *self.members.entry(member.clone()).or_default() += i128::from(*micros);
                let before = payments.posted.insert(member.clone(), *micros);
                check(before.is_none(), "I2", || format!("{member} is paid twice in round {round}"))?;
                let has_delivered = payments
                    .settled
                    .as_ref()
                    .is_some_and(|(settled_at, delivered)| entry == settled_at && delivered.contains(member));
                check(has_delivered, "I5", || format!("{member} is paid in round {round} without having delivered"))?;
                let due = payments.due.get(member);
                check(due == Some(micros), "I2", || format!("{member} is paid {micros} of {due:?} in round {round}"))?;
            }
        }
        Ok(())
    }

    /// After all postings of an entry: nothing came from nowhere, and all that is due is done.
    pub(super) fn check_entry_end(&mut self) -> Verdict {
        let sum = self.treasury + self.escrow + self.members.values().sum::<i128>();
        check(sum == 0, "I1", || format!("after entry {} the ledger sums to {sum}", self.entry))?;
        let Some((round, payments)) = self.rounds.last_key_value() else { return Ok(()) };
        let Payments { due, settled, pending, posted, .. } = payments;
        let Some((settled_at, delivered)) = settled else { return Ok(()) };
        if self.entry < *settled_at && !due.is_empty() {
            return Ok(());
        }
        let is_resolved = pending.values().all(|micros| *micros == 0);
        check(is_resolved, "I2", || format!("round {round} is settled, and {pending:?} is still pending"))?;
        let all_paid = delivered.iter().all(|member| posted.contains_key(member));
        check(all_paid, "I5", || format!("{delivered:?} delivered in round {round}, {posted:?} were paid"))
    }
}
