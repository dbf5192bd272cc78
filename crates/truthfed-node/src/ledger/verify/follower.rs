//! Follows a journal as it grows, and checks that every entry fits.

use super::founded::Auctioned;
use super::prepared::prepare;
use super::replay::Replay;
use super::{Problem, Trust};
use crate::journal::{Entry, Head, Row};
use crate::ledger::Posting;

/// Recomputes what a journal says, entry by entry: chain, winners, payments, aggregates and postings. Signatures of members are not
/// checked: for that there is [`verify`](super::verify).
pub struct Follower(Replay);

/// An entry that fits.
pub struct Followed {
    pub number: u64,
    pub entry: Entry,
    pub postings: Vec<Posting>,
    /// The auction of the round that it settled.
    pub auctioned: Option<Auctioned>,
}

impl Follower {
    pub fn new(trust: Trust) -> Follower {
        Follower(Replay::new(trust))
    }

    /// The last entry that fits.
    pub fn head(&self) -> Head {
        self.0.head
    }

    /// Follows the rows that are next, and hands on each. Fails at the first that does not fit; nothing can follow it.
    pub fn follow(&mut self, rows: Vec<Row>, mut hand_on: impl FnMut(Followed)) -> Result<(), Box<Problem>> {
        for row in prepare(self.0.head.hash, rows) {
            let (number, entry) = (row.number, row.entry.clone());
            let postings = self.0.follow(row)?;
            drop((self.0.take_replies(), self.0.take_claimed()));
            let auctioned = self.0.take_auctioned();
            let entry = entry.expect("what was followed could be read");
            hand_on(Followed { number, entry, postings, auctioned });
        }
        Ok(())
    }
}
