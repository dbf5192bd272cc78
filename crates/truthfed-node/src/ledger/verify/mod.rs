//! Recomputes everything a journal says, and names the first thing that does not fit.
//!
//! Chain, signatures, contexts, seals, outcomes, payments, deliveries, aggregates, and what is kept beside the journal
//! (postings, replies, the standing): each is derived again from the entries before it, by the same [`Coordinator`](truthfed::protocol::Coordinator) that decides when a federation runs.
//! What the coordinator alone can know (when time ran out, what never reached it) is taken as recorded. What it never
//! recorded is for members to find, who hold receipts ([`super::receipts`]).
//!
//! Rows go through in chunks, one behind the other: a chunk is read, prepared, replayed, and then its members' signatures are
//! checked. One replays while the others prepare and check. What is found does not depend on it: it is always the first thing
//! that does not fit, as if one row were looked at after the other.

mod follower;
mod founded;
mod place;
mod prepared;
mod recorded;
mod replay;
mod replies;
mod report;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

pub use self::follower::{Followed, Follower};
pub use self::founded::Auctioned;
use self::prepared::{Prepared, prepare};
pub(crate) use self::recorded::Search;
pub use self::recorded::{RecordedError, recorded_round};
use self::replay::{Claimed, Replay};
use self::replies::Expected;
pub use self::report::{Fault, Problem, Report};
use super::{Account, Cause, Checkpoint, Posting};
use crate::digest::{Digest, PublicKey};
use crate::journal::{Head, Row};
use crate::store::{Extent, RequestKey, Store, StoreError};

/// Rows and postings read at once.
const CHUNK: usize = 8192;

/// What is known from elsewhere; what is not is taken from the journal itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct Trust {
    pub federation: Option<Digest>,
    /// Who signs for the coordinator.
    pub coordinator: Option<PublicKey>,
    /// What the coordinator vouched for outside of the store: an older journal does not reach it.
    pub checkpoint: Option<Checkpoint>,
}

/// Reads everything in a store, up to the end of its journal when this begins. Fails when the store cannot be read. What
/// can be read and is wrong is in the report.
pub fn verify(store: &mut dyn Store, trust: &Trust) -> Result<Report, StoreError> {
    look(store, trust, Scope::Store)
}

/// The same of a journal alone, beside which nothing is kept: no postings, replies or standing.
pub fn verify_journal(store: &mut dyn Store, trust: &Trust) -> Result<Report, StoreError> {
    look(store, trust, Scope::Journal)
}

/// How much there is to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Store,
    Journal,
}

fn look(store: &mut dyn Store, trust: &Trust, scope: Scope) -> Result<Report, StoreError> {
    let extent = store.extent()?;
    let (end, stored, replay) = (extent.head.number, VecDeque::new(), Replay::new(*trust));
    let (expected, signed_replies, wrong_reply) = (Vec::new(), Vec::new(), None);
    let mut verifier = Verifier {
        scope,
        replay,
        stored,
        last_posting: 0,
        expected,
        signed_replies,
        wrong_reply,
        end,
        unreadable: None,
    };
    let (tally, problem) = match verifier.run(store, &extent) {
        Ok(()) => (verifier.replay.tally(), None),
        Err(Stop::Found(Found { tally, problem })) => (tally, Some(*problem)),
        Err(Stop::Store(error)) => return Err(error),
    };
    let Tally { entries, rounds, payments } = tally;
    Ok(Report { entries, rounds, payments, unsigned: verifier.replay.unsigned(), problem })
}

/// Whether a step fits; a problem is large, and rare.
type Verdict<T = ()> = Result<T, Box<Problem>>;

/// What is right before an entry.
#[derive(Debug, Clone, Copy)]
struct Tally {
    entries: u64,
    rounds: u64,
    payments: u64,
}

/// The first thing that does not fit, and what is right before it.
struct Found {
    tally: Tally,
    problem: Box<Problem>,
}

enum Stop {
    Found(Found),
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Store(error)
    }
}

struct Verifier {
    scope: Scope,
    replay: Replay,
    stored: VecDeque<Posting>,
    last_posting: u64,
    /// Replies that follow from the entries and were not looked up yet.
    expected: Vec<Expected>,
    /// Replies whose signatures were not checked yet.
    signed_replies: Vec<Claimed>,
    /// The first reply that is wrong; told if the journal itself is right, which matters more.
    wrong_reply: Option<Found>,
    end: u64,
    /// Why no more rows can be read; told when all before are looked at.
    unreadable: Option<StoreError>,
}

impl Verifier {
    fn run(&mut self, store: &mut dyn Store, extent: &Extent) -> Result<(), Stop> {
        let mut before = Head::START;
        let mut read = self.read(before.number, store);
        let (mut prepared, mut claimed): (Vec<Prepared>, Vec<Claimed>) = Default::default();
        while !(read.is_empty() && prepared.is_empty() && claimed.is_empty() && self.signed_replies.is_empty()) {
            let (start, chunk) = (before.hash, std::mem::take(&mut read));
            if let Some(last) = chunk.last() {
                before = Head { number: last.number, hash: last.hash };
            }
            let signed_replies = std::mem::take(&mut self.signed_replies);
            let (replayed, (next, forged, forged_reply)) = rayon::join(
                || self.replay_and_read(prepared, before.number, store),
                || (prepare(start, chunk), Claimed::first_forged(&claimed), Claimed::first_forged(&signed_replies)),
            );
            if let Some(forged) = forged {
                return Err(Stop::Found(forged));
            }
            // It was replied before all that were compared meanwhile.
            self.wrong_reply = forged_reply.or(self.wrong_reply.take());
            claimed = self.replay.take_claimed();
            match replayed {
                Ok(rows) => (read, prepared) = (rows, next),
                Err(stop) => return Err(Claimed::first_forged(&claimed).map_or(stop, Stop::Found)),
            }
        }
        if let Some(error) = self.unreadable.take() {
            return Err(Stop::Store(error));
        }
        if self.scope == Scope::Journal {
            // What is left over was never looked at.
            store.rows(self.end, 1)?;
            let finished = self.replay.finish(self.end).and_then(|()| self.replay.check_head(extent.head));
            return finished.map_err(|problem| self.found(problem));
        }
        // What was posted for entries that are not there, or more than follows from them.
        self.no_more_postings(store)?;
        self.replay.finish(self.end).map_err(|problem| self.found(problem))?;
        match self.wrong_reply.take() {
            Some(found) => Err(Stop::Found(found)),
            None => self.replay.check_kept(extent).map_err(|problem| self.found(problem)),
        }
    }

    /// Follows a chunk, then reads the rows after `last`.
    fn replay_and_read(&mut self, prepared: Vec<Prepared>, last: u64, store: &mut dyn Store) -> Result<Vec<Row>, Stop> {
        for row in prepared {
            self.row(row, store)?;
        }
        self.check_replies(store)?;
        Ok(self.read(last, store))
    }

    fn check_replies(&mut self, store: &mut dyn Store) -> Result<(), StoreError> {
        let expected = std::mem::take(&mut self.expected);
        if self.wrong_reply.is_some() {
            return Ok(());
        }
        let keys: Vec<RequestKey> = expected.iter().flat_map(|expected| expected.reply.keys()).collect();
        let kept = store.replies_to(&keys)?;
        match replies::compare(expected, kept, self.replay.coordinator()) {
            Ok(signed) => self.signed_replies = signed,
            Err(found) => self.wrong_reply = Some(found),
        }
        Ok(())
    }

    /// The next rows after `last`, none beyond the end.
    fn read(&mut self, last: u64, store: &mut dyn Store) -> Vec<Row> {
        let rest = self.end.saturating_sub(last);
        if rest == 0 || self.unreadable.is_some() {
            return Vec::new();
        }
        let rows = store.rows(last, CHUNK.min(rest as usize));
        rows.unwrap_or_else(|error| {
            self.unreadable = Some(error);
            Vec::new()
        })
    }

    fn row(&mut self, row: Prepared, store: &mut dyn Store) -> Result<(), Stop> {
        let (number, tally) = (row.number, self.replay.tally());
        let derived = self.replay.follow(row).map_err(|problem| self.found(problem))?;
        let replies = self.replay.take_replies();
        if self.scope == Scope::Journal {
            return Ok(());
        }
        self.expected.extend(replies.into_iter().map(|reply| Expected { reply, tally }));
        for posting in derived {
            let found = self.next_posting(store)?;
            if found.as_ref() != Some(&posting) {
                return Err(self.found(posting_problem(Some(&posting), found.as_ref(), number)));
            }
        }
        Ok(())
    }

    fn found(&self, problem: Box<Problem>) -> Stop {
        Stop::Found(Found { tally: self.replay.tally(), problem })
    }

    fn next_posting(&mut self, store: &mut dyn Store) -> Result<Option<Posting>, StoreError> {
        if self.stored.is_empty() {
            self.stored.extend(store.postings(self.last_posting, CHUNK)?);
            self.last_posting = self.stored.back().map_or(self.last_posting, |posting| posting.number);
        }
        Ok(self.stored.pop_front())
    }

    fn no_more_postings(&mut self, store: &mut dyn Store) -> Result<(), Stop> {
        let Some(found) = self.next_posting(store)? else { return Ok(()) };
        // Those of later entries were written meanwhile, if there are such entries by now.
        let is_later = (self.end + 1..=store.head()?.number).contains(&found.entry);
        if is_later { Ok(()) } else { Err(self.found(posting_problem(None, Some(&found), found.entry))) }
    }
}

fn posting_problem(expected: Option<&Posting>, found: Option<&Posting>, entry: u64) -> Box<Problem> {
    let words = |posting: Option<&Posting>| {
        let Some(Posting { number, entry, cause, member, account, micros }) = posting else { return "none".to_owned() };
        let account = match account {
            Account::Treasury => "treasury".to_owned(),
            Account::Escrow => "escrow".to_owned(),
            Account::Member(member) => format!("account of {member}"),
            Account::PaidOut => "payouts".to_owned(),
        };
        let cause = match cause {
            Cause::Round(round) => format!("in round {round}"),
            Cause::Payout(reference) => format!("in payout {reference}"),
        };
        format!("posting {number} of {micros} to the {account} for {member} {cause} from entry {entry}")
    };
    let about = expected.or(found);
    let round = |posting: &Posting| match posting.cause {
        Cause::Round(round) => Some(round),
        Cause::Payout(_) => None,
    };
    Box::new(Problem {
        entry,
        round: about.and_then(round),
        member: about.map(|posting| posting.member.clone()),
        fault: Fault::Posting,
        expected: words(expected),
        found: words(found),
    })
}
