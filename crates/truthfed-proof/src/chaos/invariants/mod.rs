//! What must always hold, checked by an observer that follows the journal with its own books.
//!
//! One file for each group: [`chain`] (I10, I14), [`rounds`] (I5, I8), [`money`] (I1, I2, I5), [`auction`] (I3, I4, I11,
//! I12), [`samples`] (I7, I9), [`acknowledged`] (I6), [`secrets`] (I13), [`shares`] (I17), [`served`] (I18), [`purse`] (I19), [`quota`] (I20),
//! [`doubts`] (I21, I23), payouts in [`money`] (I22), pauses in [`rounds`] (I24). I15 and I16 are in
//! [`crate::chaos::calm`].

pub(crate) mod acknowledged;
mod auction;
pub(crate) mod chain;
mod doubts;
mod money;
mod purse;
mod quota;
mod rounds;
pub(crate) mod samples;
pub(crate) mod secrets;
mod served;
mod shares;

use std::collections::BTreeMap;

use truthfed::auction::ClientId;
use truthfed::generate::Stream;
use truthfed::protocol::RoundId;
use truthfed_node::digest::{Digest, PublicKey};
use truthfed_node::journal::Entry;
use truthfed_node::store::Store;
use truthfed_node::terms::Agreement;

use self::acknowledged::Acknowledged;
use self::chain::Chain;
pub(crate) use self::doubts::Invented;
use self::money::Money;
use self::purse::Spending;
use self::quota::Openings;
use self::rounds::Open;
use self::samples::Samples;
use self::secrets::Secrets;
use self::served::Times;
use self::shares::Shares;
use crate::chaos::report::{Breach, Verdict, breach, check};

/// Rows and postings read at once.
const CHUNK: usize = 256;

/// Follows the journal row by row, as soon as a row is committed.
pub(crate) struct Observer {
    pub(crate) agreement: Agreement,
    federation: Digest,
    pub(crate) chain: Chain,
    pub(crate) samples: Samples,
    pub(crate) acknowledged: Acknowledged,
    pub(crate) secrets: Secrets,
    pub(crate) money: Money,
    shares: Shares,
    spending: Spending,
    openings: Openings,
    /// Who sells data that it invented, unless the operator believed it.
    pub(crate) invented: BTreeMap<ClientId, Invented>,
    pub(crate) times: Times,
    /// All members, present and past.
    members: BTreeMap<ClientId, Known>,
    open: Option<Open>,
    pub(crate) closed: RoundId,
    pub(crate) settled: u64,
    pub(crate) aborted: u64,
    /// Whether the last round that was aborted could have been decided if nothing had been settled before.
    pub(crate) is_hindered: bool,
    /// Whether the operator lets no round open.
    pub(crate) is_paused: bool,
    news: Vec<String>,
}

struct Known {
    key: PublicKey,
    is_revoked: bool,
}

impl Observer {
    pub(crate) fn new(federation: Digest, coordinator: PublicKey, agreement: &Agreement) -> Observer {
        Observer {
            agreement: agreement.clone(),
            federation,
            chain: Chain::new(federation, coordinator),
            samples: Samples::new(agreement),
            acknowledged: Acknowledged::default(),
            secrets: Secrets::default(),
            money: Money::default(),
            shares: Shares::default(),
            spending: Spending::default(),
            openings: Openings::default(),
            invented: BTreeMap::new(),
            times: Times::default(),
            members: BTreeMap::new(),
            open: None,
            closed: RoundId(0),
            settled: 0,
            aborted: 0,
            is_hindered: false,
            is_paused: false,
            news: Vec::new(),
        }
    }

    /// Follows what was written since. Whether there was anything.
    pub(crate) fn follow(&mut self, store: &mut dyn Store, dice: &mut Stream) -> Verdict<bool> {
        let before = self.chain.head().0;
        loop {
            let rows = store.rows(self.chain.head().0, CHUNK).map_err(unreadable)?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                self.chain.follow(row)?;
                let entry = row.entry().map_err(unreadable)?;
                self.news.push(name(&entry));
                self.entry(row.number, entry, dice)?;
            }
        }
        self.follow_postings(store)?;
        Ok(self.chain.head().0 > before)
    }

    fn follow_postings(&mut self, store: &mut dyn Store) -> Verdict {
        loop {
            let postings = store.postings(self.money.last, CHUNK).map_err(unreadable)?;
            if postings.is_empty() {
                return self.money.check_entry_end();
            }
            postings.iter().try_for_each(|posting| self.money.post(posting))?;
        }
    }

    fn entry(&mut self, number: u64, entry: Entry, dice: &mut Stream) -> Verdict {
        let about = entry.about();
        if let (Some(round), Some(member)) = (about.round, about.speaker) {
            self.check_share(round, member)?;
        }
        match entry {
            Entry::Genesis { .. } => check(number == 1, "I14", || format!("a genesis at entry {number}")),
            Entry::Checkpoint(checkpoint) => self.chain.vouched(number, checkpoint),
            Entry::Enrolled { member, key, .. } => {
                let before = self.members.insert(member.clone(), Known { key, is_revoked: false });
                check(before.is_none(), "I8", || format!("{member} is enrolled twice"))
            }
            Entry::Revoked { member } => self.revoked(&member),
            Entry::Renewed { member, key, signature, .. } => self.renewed(&member, key, &signature),
            Entry::Opened { round, nonce, asked_by, at_ms } => self.opened(round, nonce, &asked_by, at_ms),
            Entry::Offered { round, member, offer } => self.offered(round, &member, &offer),
            Entry::Declined { round, member } => self.declined(round, &member),
            Entry::Sealed { round, at_ms, .. } => self.sealed(round, at_ms),
            Entry::Awarded { round, winners, .. } => self.awarded(number, round, winners, dice),
            Entry::Delivered { round, member, delivery } => self.delivered(round, &member, &delivery),
            Entry::Settled { round, paid, waiting, defaulted, judgement, aggregate, at_ms } => {
                self.settled(number, round, ([&paid, &waiting, &defaulted], &judgement), aggregate, at_ms)
            }
            Entry::Ruled { round, member, ruling, judgement, aggregate, at_ms } => {
                self.ruled(number, round, (&member, ruling, &judgement), aggregate, at_ms)
            }
            Entry::PaidOut { member, amount_micros, reference, at_ms } => {
                check(self.is_known(&member), "I22", || format!("{member} is paid out, and was never a member"))?;
                self.money.paid_out(number, member, (amount_micros, reference))?;
                self.check_noted_at(at_ms)
            }
            Entry::Paused { at_ms, .. } => self.paused(true, at_ms),
            Entry::Resumed { at_ms } => self.paused(false, at_ms),
            Entry::Aborted { round, at_ms, by_operator, .. } => self.aborted(round, at_ms, by_operator),
        }
    }

    pub(crate) fn rounds(&self) -> u64 {
        self.settled + self.aborted
    }

    pub(crate) fn open_round(&self) -> Option<RoundId> {
        self.open.as_ref().map(|open| open.round)
    }

    /// Whether somebody is a member now.
    pub(crate) fn is_member(&self, name: &ClientId) -> bool {
        self.members.get(name).is_some_and(|known| !known.is_revoked)
    }

    /// Whether somebody is or was a member.
    pub(crate) fn is_known(&self, name: &ClientId) -> bool {
        self.members.contains_key(name)
    }

    pub(crate) fn member_count(&self) -> usize {
        self.members.values().filter(|known| !known.is_revoked).count()
    }

    /// What was written since this was asked last.
    pub(crate) fn news(&mut self) -> String {
        std::mem::take(&mut self.news).join(", ")
    }

    /// What is owed to a member, by the journal so far.
    pub(crate) fn owed_to(&self, member: &ClientId) -> i128 {
        self.money.owed_to(member)
    }

    fn key_of(&self, member: &ClientId) -> Verdict<PublicKey> {
        match self.members.get(member) {
            Some(known) if !known.is_revoked => Ok(known.key),
            _ => breach("I8", format!("{member} is in the journal and no member")),
        }
    }
}

/// A store that was just written to can be read.
fn unreadable(error: impl std::fmt::Display) -> Breach {
    Breach { invariant: "I6", text: format!("the journal cannot be read: {error}") }
}

fn name(entry: &Entry) -> String {
    match entry {
        Entry::Genesis { .. } => "genesis".to_owned(),
        Entry::Enrolled { member, .. } => format!("enrolled {member}"),
        Entry::Revoked { member } => format!("revoked {member}"),
        Entry::Renewed { member, .. } => format!("renewed {member}"),
        Entry::Opened { round, asked_by, .. } => format!("opened {round} for {asked_by}"),
        Entry::Offered { member, .. } => format!("offered {member}"),
        Entry::Declined { member, .. } => format!("declined {member}"),
        Entry::Sealed { round, .. } => format!("sealed {round}"),
        Entry::Awarded { winners, .. } => {
            let winners: Vec<String> =
                winners.iter().map(|award| format!("{} {}", award.member, award.payment_micros)).collect();
            format!("awarded [{}]", winners.join(", "))
        }
        Entry::Delivered { member, .. } => format!("delivered {member}"),
        Entry::Settled { round, waiting, defaulted, judgement, .. } => {
            let (wait, missing) = (waiting.len(), defaulted.len());
            format!("settled {round} ({missing} did not deliver, {wait} wait, held {:?})", judgement.held)
        }
        Entry::Ruled { round, member, ruling, .. } => format!("ruled {round} {ruling:?} {member}"),
        Entry::PaidOut { member, amount_micros, reference, .. } => {
            format!("paid out {amount_micros} {reference} {member}")
        }
        Entry::Paused { reason, .. } => format!("paused: {reason}"),
        Entry::Resumed { .. } => "resumed".to_owned(),
        Entry::Aborted { round, by_operator, .. } => format!("aborted {round} by operator: {by_operator}"),
        Entry::Checkpoint(checkpoint) => format!("checkpoint {}", checkpoint.entry),
    }
}
