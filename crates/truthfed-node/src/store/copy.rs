//! Copies all that a store holds into a new one, of the same kind or another.

use std::collections::{BTreeSet, VecDeque};

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::{Batch, Lease, RequestKind, Store, StoreError, StoredReply};
use crate::journal::{Entry, Head};
use crate::ledger::Posting;

/// Entries, and about as many of everything else, that are written at once.
const CHUNK: usize = 256;
/// Long enough for a chunk on any disk; it is renewed with each.
const LEASE_MS: u64 = 60_000;

/// Why a store was not copied. The operator's to mend.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// It may be another federation's, or what an interrupted copy left: name another, or empty it.
    #[error("the new store has {0} entries already: name one that is empty")]
    NotEmpty(u64),
    #[error("the old store: {0}")]
    From(StoreError),
    #[error("the new store: {0}")]
    To(StoreError),
}

/// Copies journal, postings, replies and standing, and gives the end of the journal. The old store must not change meanwhile.
/// `done` hears how many entries are copied, of how many.
pub fn copy(from: &mut dyn Store, to: &mut dyn Store, mut done: impl FnMut(u64, u64)) -> Result<Head, CopyError> {
    let there = to.head().map_err(CopyError::To)?;
    if there != Head::START {
        return Err(CopyError::NotEmpty(there.number));
    }
    let lease = to.acquire(LEASE_MS).map_err(CopyError::To)?;
    let copied = copy_all(from, to, lease, &mut done);
    let released = to.release(lease).map_err(CopyError::To);
    copied.and_then(|head| released.map(|()| head))
}

fn copy_all(
    from: &mut dyn Store,
    to: &mut dyn Store,
    lease: Lease,
    done: &mut dyn FnMut(u64, u64),
) -> Result<Head, CopyError> {
    let extent = from.extent().map_err(CopyError::From)?;
    let end = extent.head.number;
    let chunks = end.div_ceil(CHUNK as u64).max(1);
    let (mut replies, share) = (Replies::of(from)?, extent.replies.div_ceil(chunks) as usize);
    let (mut postings, mut after) = (Postings::default(), 0);
    while after < end {
        let rows = from.rows(after, CHUNK).map_err(CopyError::From)?;
        let Some(last) = rows.last() else {
            return Err(CopyError::From(StoreError::Damaged(format!("entry {} is missing", after + 1))));
        };
        after = last.number;
        let is_last = after >= end;
        let batch = Batch {
            postings: postings.up_to(after, from)?,
            replies: replies.take(if is_last { usize::MAX } else { share }, from)?,
            standing: extent.standing.clone().filter(|_| is_last),
            rows,
        };
        to.renew(lease, LEASE_MS).and_then(|()| to.commit(lease, &batch)).map_err(CopyError::To)?;
        done(after, end);
    }
    Ok(extent.head)
}

/// The postings that are not copied yet, in order.
#[derive(Default)]
struct Postings {
    read: VecDeque<Posting>,
    last: u64,
}

impl Postings {
    fn up_to(&mut self, entry: u64, from: &mut dyn Store) -> Result<Vec<Posting>, CopyError> {
        let mut due = Vec::new();
        loop {
            if self.read.is_empty() {
                self.read = from.postings(self.last, CHUNK).map_err(CopyError::From)?.into();
            }
            if self.read.front().is_none_or(|posting| posting.entry > entry) {
                return Ok(due);
            }
            let posting = self.read.pop_front().expect("there is one in front");
            self.last = posting.number;
            due.push(posting);
        }
    }
}

/// The replies that are not copied yet, member by member.
struct Replies {
    whose: VecDeque<(ClientId, RequestKind)>,
    read: VecDeque<StoredReply>,
}

impl Replies {
    fn of(from: &mut dyn Store) -> Result<Replies, CopyError> {
        let (mut members, mut after) = (BTreeSet::new(), 0);
        loop {
            let rows = from.rows(after, CHUNK).map_err(CopyError::From)?;
            let Some(last) = rows.last() else { break };
            after = last.number;
            for row in &rows {
                if let Entry::Enrolled { member, .. } = row.entry().map_err(|error| CopyError::From(error.into()))? {
                    members.insert(member);
                }
            }
        }
        let kinds = |member: ClientId| RequestKind::ALL.map(|kind| (member.clone(), kind));
        Ok(Replies { whose: members.into_iter().flat_map(kinds).collect(), read: VecDeque::new() })
    }

    fn take(&mut self, most: usize, from: &mut dyn Store) -> Result<Vec<StoredReply>, CopyError> {
        let mut taken = Vec::new();
        while taken.len() < most {
            if let Some(reply) = self.read.pop_front() {
                taken.push(reply);
                continue;
            }
            let Some((member, kind)) = self.whose.pop_front() else { break };
            self.read = from.replies(&member, kind, RoundId(0)).map_err(CopyError::From)?.into();
        }
        Ok(taken)
    }
}
