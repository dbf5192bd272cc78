//! I10: every older checkpoint is a prefix of the chain. I14: numbers, versions and epochs only grow. And I6, of the
//! journal as a whole: what was seen in it stays.

use sha2::{Digest as _, Sha256};
use truthfed_node::digest::{Digest, Hex, PublicKey};
use truthfed_node::journal::Row;
use truthfed_node::ledger::Checkpoint;
use truthfed_node::store::Store;

use super::unreadable;
use crate::chaos::report::{Verdict, breach, check};

pub(crate) struct Chain {
    federation: Digest,
    coordinator: PublicKey,
    hashes: Vec<Digest>,
    epoch: u64,
    version: u64,
    /// The last checkpoint outside of the store that was looked at.
    notarised: Option<Checkpoint>,
}

impl Chain {
    pub(super) fn new(federation: Digest, coordinator: PublicKey) -> Chain {
        Chain { federation, coordinator, hashes: Vec::new(), epoch: 0, version: 0, notarised: None }
    }

    /// Number and hash of the last entry.
    pub(crate) fn head(&self) -> (u64, Digest) {
        (self.hashes.len() as u64, self.hashes.last().copied().unwrap_or(Hex([0; 32])))
    }

    pub(super) fn follow(&mut self, row: &Row) -> Verdict {
        let (number, before) = self.head();
        let mut hasher = Sha256::new();
        for part in [before.0.as_slice(), &row.number.to_be_bytes(), row.body.as_bytes()] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let hash: Digest = Hex(hasher.finalize().into());
        check(row.number == number + 1, "I14", || format!("entry {} follows entry {number}", row.number))?;
        check(row.hash == hash, "I10", || format!("entry {} does not fit the chain", row.number))?;
        self.hashes.push(hash);
        Ok(())
    }

    /// A coordinator started: its epoch is higher than any before, and the journal goes on from what was seen.
    pub(crate) fn started(&mut self, epoch: u64, store: &mut dyn Store) -> Verdict {
        check(epoch > self.epoch, "I14", || format!("epoch {epoch} was granted after {}", self.epoch))?;
        self.epoch = epoch;
        let (number, hash) = self.head();
        if number == 0 {
            return Ok(());
        }
        match store.rows(number - 1, 1).map_err(unreadable)?.first() {
            Some(row) if row.number == number && row.hash == hash => Ok(()),
            _ => breach("I6", format!("entry {number} was acknowledged, and is gone or another one")),
        }
    }

    pub(crate) fn published(&mut self, is_newest: bool, version: u64) -> Verdict {
        let number = self.head().0;
        check(version <= number, "I6", || format!("version {version} is shown, the journal ends at {number}"))?;
        if is_newest {
            check(version >= self.version, "I14", || format!("version {version} after {}", self.version))?;
            self.version = version;
        }
        Ok(())
    }

    /// An entry vouches for the one before it.
    pub(super) fn vouched(&self, number: u64, checkpoint: Checkpoint) -> Verdict {
        let entry = checkpoint.entry;
        check(entry + 1 == number, "I10", || format!("entry {number} vouches for entry {entry}"))?;
        self.check_checkpoint(checkpoint)
    }

    /// What is vouched for outside of the store is in the chain.
    pub(crate) fn check_notary(&mut self, checkpoint: Option<Checkpoint>) -> Verdict {
        if checkpoint == self.notarised {
            return Ok(());
        }
        self.notarised = checkpoint;
        checkpoint.map_or(Ok(()), |checkpoint| self.check_checkpoint(checkpoint))
    }

    fn check_checkpoint(&self, checkpoint: Checkpoint) -> Verdict {
        let place = (checkpoint.entry as usize).wrapping_sub(1);
        let is_prefix = self.hashes.get(place) == Some(&checkpoint.head);
        check(is_prefix, "I10", || format!("the checkpoint of entry {} is not of this chain", checkpoint.entry))?;
        let is_signed = checkpoint.is_signed_by(&self.coordinator, self.federation);
        check(is_signed, "I10", || format!("the checkpoint of entry {} is not signed", checkpoint.entry))
    }
}
