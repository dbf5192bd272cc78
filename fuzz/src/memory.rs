//! A store in memory: quick, and what is in it can be changed behind its back.

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed_node::journal::{Entry, Head, Row};
use truthfed_node::ledger::{Ledger, Posting};
use truthfed_node::store::{Batch, Lease, RequestKey, RequestKind, StandingRow, Store, StoreError, StoredReply};

/// At most so much is read at once, so that all reading is done in pieces.
const PIECE: usize = 7;

/// All that a store keeps.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Memory {
    pub(crate) rows: Vec<Row>,
    pub(crate) replies: Vec<StoredReply>,
    pub(crate) postings: Vec<Posting>,
    pub(crate) standing: Option<StandingRow>,
    epoch: u64,
}

impl Memory {
    /// Entries, chained, with the postings that follow from them as far as a ledger can follow.
    pub(crate) fn of(entries: &[Entry]) -> Memory {
        let (mut head, mut ledger) = (Head::START, Ledger::default());
        let rows = entries.iter().map(|entry| head.append(entry)).collect();
        let postings = (1..).zip(entries).map_while(|(number, entry)| ledger.follow(number, entry).ok());
        Memory { postings: postings.flatten().collect(), rows, ..Memory::default() }
    }

    /// All entries, which must be readable.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.rows.iter().map(|row| row.entry().expect("an honest journal is readable")).collect()
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
        let mut head = self.head()?;
        for row in &batch.rows {
            head.follow(row)?;
        }
        for (posting, number) in batch.postings.iter().zip(self.postings.len() as u64 + 1..) {
            assert_eq!(posting.number, number, "postings follow one another");
        }
        for reply in &batch.replies {
            assert!(self.replies.iter().all(|kept| kept.key != reply.key), "a request is answered once: {reply:?}");
        }
        self.rows.extend(batch.rows.iter().cloned());
        self.replies.extend(batch.replies.iter().cloned());
        self.postings.extend(batch.postings.iter().cloned());
        if batch.standing.is_some() {
            self.standing = batch.standing.clone();
        }
        Ok(())
    }

    fn head(&mut self) -> Result<Head, StoreError> {
        Ok(self.rows.last().map_or(Head::START, |row| Head { number: row.number, hash: row.hash }))
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
}
