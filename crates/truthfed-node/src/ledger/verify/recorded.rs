//! The auction of one round of a journal, to be run again.

use truthfed::protocol::RoundId;

use super::follower::{Followed, Follower};
use super::founded::Auctioned;
use super::{CHUNK, Problem, Trust};
use crate::journal::{Entry, Row};
use crate::store::{Store, StoreError};

/// Why there is no such auction.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    #[error("round {0} is not settled, or there is none: see `truthfed round list`")]
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
    let mut search = Search::new(trust, round);
    loop {
        let rows = store.rows(search.last(), CHUNK)?;
        if let Some(auctioned) = search.read(rows)? {
            return Ok(auctioned);
        }
    }
}

/// [`recorded_round`] for whoever reads the rows.
pub(crate) struct Search {
    follower: Follower,
    round: RoundId,
}

impl Search {
    pub(crate) fn new(trust: &Trust, round: RoundId) -> Search {
        Search { follower: Follower::new(*trust), round }
    }

    /// The last entry that was read.
    pub(crate) fn last(&self) -> u64 {
        self.follower.head().number
    }

    /// Reads the rows after the last. Fails when there are none, and otherwise as [`recorded_round`].
    pub(crate) fn read(&mut self, rows: Vec<Row>) -> Result<Option<Auctioned>, RecordedError> {
        if rows.is_empty() {
            return Err(RecordedError::NotSettled(self.round));
        }
        let (wanted, mut found, mut ended_otherwise) = (self.round, None, false);
        let followed = self.follower.follow(rows, |Followed { entry, auctioned, .. }| {
            found = found.take().or(auctioned.filter(|auctioned| auctioned.round == wanted));
            ended_otherwise |= matches!(
                entry,
                Entry::Aborted { round, .. } | Entry::Ruled { round, .. } if round == wanted
            );
        });
        match (found, ended_otherwise) {
            (Some(auctioned), _) => Ok(Some(auctioned)),
            (None, true) => Err(RecordedError::NoAuction(wanted)),
            (None, false) => followed.map(|()| None).map_err(RecordedError::Wrong),
        }
    }
}
