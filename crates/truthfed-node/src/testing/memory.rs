//! A store in memory: quick, and tests can change what is in it.

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use crate::journal::{Entry, Head, Row};
use crate::ledger::{Account, Cause, Checkpoint, Ledger, Posting, Reference};
use crate::store::{
    Batch, Extent, Lease, Recorded, RequestKey, RequestKind, StandingRow, Store, StoreError, StoredReply,
};

/// Most rows or postings read at once, so that readers read in pieces.
const PIECE: usize = 5;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Memory {
    pub rows: Vec<Row>,
    pub replies: Vec<StoredReply>,
    pub postings: Vec<Posting>,
    pub standing: Option<StandingRow>,
    epoch: u64,
}

impl Memory {
    /// Entries, chained, with the postings that follow from them as far as a ledger can follow.
    pub fn of(entries: &[Entry]) -> Memory {
        let (mut head, mut ledger) = (Head::START, Ledger::default());
        let rows = entries.iter().map(|entry| head.append(entry)).collect();
        let postings = (1..).zip(entries).map_while(|(number, entry)| ledger.follow(number, entry).ok());
        Memory { postings: postings.flatten().collect(), rows, ..Memory::default() }
    }

    pub fn entries(&self) -> Vec<Entry> {
        self.rows.iter().map(|row| row.entry().unwrap()).collect()
    }

    /// The last checkpoint in the journal, as it is kept beside the store.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        self.entries().into_iter().rev().find_map(|entry| match entry {
            Entry::Checkpoint(checkpoint) => Some(checkpoint),
            _ => None,
        })
    }

    fn check_lease(&self, lease: Lease) -> Result<(), StoreError> {
        if self.epoch == lease.epoch { Ok(()) } else { Err(StoreError::NotLeader(lease.epoch)) }
    }
}

impl Store for Memory {
    fn acquire(&mut self, _: u64) -> Result<Lease, StoreError> {
        self.epoch += 1;
        Ok(Lease { epoch: self.epoch })
    }

    fn renew(&mut self, lease: Lease, _: u64) -> Result<(), StoreError> {
        self.check_lease(lease)
    }

    fn release(&mut self, lease: Lease) -> Result<(), StoreError> {
        self.check_lease(lease)
    }

    fn commit(&mut self, lease: Lease, batch: &Batch) -> Result<(), StoreError> {
        self.check_lease(lease)?;
        batch.check(self.head()?, self.postings.len() as u64)?;
        for StoredReply { key, .. } in &batch.replies {
            assert!(self.reply(key)?.is_none(), "a request is answered once: {key:?}");
        }
        self.rows.extend(batch.rows.iter().cloned());
        self.replies.extend(batch.replies.iter().cloned());
        self.postings.extend(batch.postings.iter().cloned());
        self.standing = batch.standing.clone().or_else(|| self.standing.take());
        Ok(())
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        Ok(self.rows.last().map_or(Head::START, |row| Head { number: row.number, hash: row.hash }))
    }

    fn extent(&mut self) -> Result<Extent, StoreError> {
        Ok(Extent { head: self.head()?, standing: self.standing.clone(), replies: self.replies.len() as u64 })
    }

    fn standing(&mut self) -> Result<Option<StandingRow>, StoreError> {
        Ok(self.standing.clone())
    }

    fn rows(&mut self, after: u64, most: usize) -> Result<Vec<Row>, StoreError> {
        Ok(self.rows.iter().filter(|row| row.number > after).take(most.min(PIECE)).cloned().collect())
    }

    fn reply(&mut self, key: &RequestKey) -> Result<Option<StoredReply>, StoreError> {
        Ok(self.replies.iter().find(|reply| reply.key == *key).cloned())
    }

    fn replies(
        &mut self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
    ) -> Result<Vec<StoredReply>, StoreError> {
        let asked =
            |reply: &&StoredReply| reply.key.member == *member && reply.key.kind == kind && reply.key.round > after;
        let mut found: Vec<StoredReply> = self.replies.iter().filter(asked).cloned().collect();
        found.sort_by_key(|reply| reply.key.round);
        Ok(found)
    }

    fn postings(&mut self, after: u64, most: usize) -> Result<Vec<Posting>, StoreError> {
        Ok(self.postings.iter().filter(|posting| posting.number > after).take(most.min(PIECE)).cloned().collect())
    }

    fn owed(&mut self, member: &ClientId) -> Result<i128, StoreError> {
        let is_own = |posting: &&Posting| posting.account == Account::Member(member.clone());
        Ok(self.postings.iter().filter(is_own).map(|posting| i128::from(posting.micros)).sum())
    }

    fn payout(&mut self, member: &ClientId, reference: &Reference) -> Result<Option<Recorded>, StoreError> {
        let cause = Cause::Payout(reference.clone());
        let is_it = |it: &&Posting| it.account == Account::PaidOut && it.member == *member && it.cause == cause;
        Ok(self.postings.iter().find(is_it).map(Recorded::from))
    }
}
