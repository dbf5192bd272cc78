//! Recomputes everything a journal says, and names the first thing that does not fit.
//!
//! Chain, signatures, contexts, seals, outcomes, payments, deliveries, aggregates, postings: each is derived again from the
//! entries before it, by the same [`Coordinator`](truthfed::protocol::Coordinator) that decides when a federation runs.
//! What the coordinator alone can know (when time ran out, what never reached it) is taken as recorded. What it never
//! recorded is for members to find, who hold receipts ([`super::receipts`]).

mod founded;
mod place;
mod replay;
mod report;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::replay::Replay;
pub use self::report::{Fault, Problem, Report};
use super::{Checkpoint, Posting};
use crate::digest::{Digest, PublicKey};
use crate::journal::Row;
use crate::store::{Store, StoreError};

/// Rows and postings read at once.
const CHUNK: usize = 256;

/// What is known from elsewhere; what is not is taken from the journal itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trust {
    /// The name of the federation.
    pub federation: Option<Digest>,
    /// Who signs for the coordinator.
    pub coordinator: Option<PublicKey>,
    /// What the coordinator vouched for outside of the store: an older journal does not reach it.
    pub checkpoint: Option<Checkpoint>,
}

/// Reads the whole journal of a store, up to its end when this begins, and its postings.
///
/// # Errors
/// When the store cannot be read. What can be read and is wrong is in the report.
pub fn verify(store: &mut dyn Store, trust: &Trust) -> Result<Report, StoreError> {
    let end = store.head()?.number;
    let mut verifier = Verifier { replay: Replay::new(*trust), stored: VecDeque::new(), last_posting: 0, end };
    let problem = verifier.run(store)?.err();
    let Replay { head, rounds, payments, .. } = verifier.replay;
    Ok(Report { entries: head.number, rounds, payments, problem: problem.map(|problem| *problem) })
}

/// Whether a step fits; a problem is large, and rare.
type Verdict<T = ()> = Result<T, Box<Problem>>;

struct Verifier {
    replay: Replay,
    /// Postings that were read and not compared yet.
    stored: VecDeque<Posting>,
    /// The last posting that was read.
    last_posting: u64,
    /// The last entry to look at.
    end: u64,
}

impl Verifier {
    fn run(&mut self, store: &mut dyn Store) -> Result<Verdict, StoreError> {
        while self.replay.head.number < self.end {
            let after = self.replay.head.number;
            let rows = store.rows(after, CHUNK.min((self.end - after) as usize))?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                if let Err(problem) = self.row(row, store)? {
                    return Ok(Err(problem));
                }
            }
        }
        // What was posted for entries that are not there, or more than follows from them.
        if let Err(problem) = self.no_more_postings(store)? {
            return Ok(Err(problem));
        }
        Ok(self.replay.finish(self.end))
    }

    fn row(&mut self, row: &Row, store: &mut dyn Store) -> Result<Verdict, StoreError> {
        let derived = match self.replay.follow(row) {
            Ok(derived) => derived,
            Err(problem) => return Ok(Err(problem)),
        };
        for posting in derived {
            let found = self.next_posting(store)?;
            if found.as_ref() != Some(&posting) {
                return Ok(Err(posting_problem(Some(&posting), found.as_ref(), row.number)));
            }
        }
        Ok(Ok(()))
    }

    fn next_posting(&mut self, store: &mut dyn Store) -> Result<Option<Posting>, StoreError> {
        if self.stored.is_empty() {
            self.stored.extend(store.postings(self.last_posting, CHUNK)?);
            self.last_posting = self.stored.back().map_or(self.last_posting, |posting| posting.number);
        }
        Ok(self.stored.pop_front())
    }

    fn no_more_postings(&mut self, store: &mut dyn Store) -> Result<Verdict, StoreError> {
        let Some(found) = self.next_posting(store)? else { return Ok(Ok(())) };
        // Those of later entries were written meanwhile, if there are such entries by now.
        let is_later = (self.end + 1..=store.head()?.number).contains(&found.entry);
        Ok(if is_later { Ok(()) } else { Err(posting_problem(None, Some(&found), found.entry)) })
    }
}

fn posting_problem(expected: Option<&Posting>, found: Option<&Posting>, entry: u64) -> Box<Problem> {
    let words = |posting: Option<&Posting>| {
        posting.map_or_else(
            || "none".to_owned(),
            |Posting { number, entry, round, member, account, micros }| {
                let account = match account {
                    super::Account::Treasury => "treasury".to_owned(),
                    super::Account::Escrow => "escrow".to_owned(),
                    super::Account::Member(member) => format!("account of {member}"),
                };
                format!(
                    "posting {number} of {micros} to the {account} for {member} in round {round} from entry {entry}"
                )
            },
        )
    };
    let about = expected.or(found);
    Box::new(Problem {
        entry,
        round: about.map(|posting| posting.round),
        member: about.map(|posting| posting.member.clone()),
        fault: Fault::Posting,
        expected: words(expected),
        found: words(found),
    })
}
