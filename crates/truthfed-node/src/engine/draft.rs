//! What will be committed next: entries are chained and turned into postings as they are recorded.

use super::narration::narrate;
use crate::journal::{Entry, Head, JournalError};
use crate::ledger::Ledger;
use crate::store::{Batch, StandingRow, StoredReply};

pub(super) struct Draft {
    head: Head,
    ledger: Ledger,
    batch: Batch,
    news: u64,
    /// Entries of the batch that are news to all members; the log tells of them once they are committed.
    told: Vec<(u64, Entry)>,
}

impl Draft {
    /// Nothing yet, after the end of a journal whose ledger is this.
    pub(super) fn new(head: Head, ledger: Ledger) -> Draft {
        Draft { head, ledger, batch: Batch::default(), news: head.number, told: Vec::new() }
    }

    /// Adds an entry, with the postings that follow from it.
    pub(super) fn record(&mut self, entry: &Entry) {
        let row = self.head.append(entry);
        let postings = self.ledger.follow(row.number, entry);
        // R6: a bug of ours must never pay.
        self.batch.postings.extend(postings.expect("the engine records only what the ledger allows"));
        if self.note(row.number, entry) {
            self.told.push((row.number, entry.clone()));
        }
        self.batch.rows.push(row);
    }

    /// Goes on after an entry that is committed: none if it is an offer. Fails when no money can move that way.
    pub(super) fn follow(&mut self, head: Head, entry: Option<&Entry>) -> Result<(), JournalError> {
        self.head = head;
        if let Some(entry) = entry {
            let followed = self.ledger.follow(head.number, entry);
            followed.map_err(|error| JournalError::Unreadable { number: head.number, problem: error.to_string() })?;
            self.note(head.number, entry);
        }
        Ok(())
    }

    /// Whether an entry is news to all members.
    fn note(&mut self, number: u64, entry: &Entry) -> bool {
        let is_news = entry.about().speaker.is_none();
        if is_news {
            self.news = number;
        }
        is_news
    }

    pub(super) fn news(&self) -> u64 {
        self.news
    }

    pub(super) fn keep(&mut self, reply: StoredReply) {
        self.batch.replies.push(reply);
    }

    /// Keeps what the coordinator is now.
    pub(super) fn stand(&mut self, body: String) {
        self.batch.standing = Some(StandingRow { entry: self.head.number, body });
    }

    /// The end of the journal with this batch.
    pub(super) fn head(&self) -> Head {
        self.head
    }

    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) fn batch(&self) -> &Batch {
        &self.batch
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.rows.is_empty()
    }

    /// The batch is committed: logs it, and begins the next.
    pub(super) fn committed(&mut self) {
        self.told.drain(..).for_each(|(number, entry)| narrate(number, &entry));
        self.batch = Batch::default();
    }
}
