//! The auction of one round of a journal, to be run again.

use truthfed::protocol::RoundId;

use super::founded::Auctioned;
use super::prepared::prepare;
use super::replay::Replay;
use super::{CHUNK, Problem, Trust};
use crate::journal::{Entry, Head};
use crate::store::{Store, StoreError};

/// Why there is no such auction.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    #[error("round {0} is not settled, or there is none")]
    NotSettled(RoundId),
    /// It ended without an auction, or is a ruling.
    #[error("round {0} had no auction")]
    NoAuction(RoundId),
    /// Operator: the journal is not right so far.
    #[error("the journal is not right: {0}")]
    Wrong(Box<Problem>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Replays a journal up to a round that is settled, and gives its auction. Signatures of members are not checked: for that there is
/// [`verify`](super::verify).
pub fn recorded_round(store: &mut dyn Store, trust: &Trust, round: RoundId) -> Result<Auctioned, RecordedError> {
    let (mut replay, mut before) = (Replay::new(*trust), Head::START);
    loop {
        let rows = store.rows(before.number, CHUNK)?;
        let Some(last) = rows.last() else { return Err(RecordedError::NotSettled(round)) };
        let (start, end) = (before.hash, Head { number: last.number, hash: last.hash });
        for row in prepare(start, rows) {
            let is_other_end = matches!(
                row.entry,
                Ok(Entry::Aborted { round: ended, .. } | Entry::Ruled { round: ended, .. }) if ended == round
            );
            replay.follow(row).map_err(RecordedError::Wrong)?;
            drop((replay.take_replies(), replay.take_claimed()));
            match replay.take_auctioned() {
                Some(auctioned) if auctioned.round == round => return Ok(auctioned),
                _ if is_other_end => return Err(RecordedError::NoAuction(round)),
                _ => {}
            }
        }
        before = end;
    }
}
