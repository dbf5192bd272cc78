//! What a member keeps beside its unshared sum where it may not offer all of it: the blocks that the sum consists of.
//!
//! Where an offer must have some least number of samples, a block is offered once it has so many, and takes no more then. Offers
//! consist of whole blocks, and blocks are merged but never split: so no offer, and no difference of offers, shows fewer samples.
//!
//! Sums cannot be split, and a bound may be below what was collected. A new block takes a fixed number of samples. Of those of
//! about one size there are at most four; two old ones are merged for a fifth. So there are few, and enough small ones to fill
//! an offer to within one of the smallest.

use serde::{Deserialize, Serialize};

use crate::statistics::{Statistics, StatisticsError};

/// Most blocks of about one size.
const ALIKE: usize = 4;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Blocks {
    dimension: usize,
    /// Least samples of a block that is offered.
    least: u64,
    /// What the unshared sum consists of, the oldest first.
    unshared: Vec<Statistics>,
    /// What the data in flight consists of.
    in_flight: Vec<Statistics>,
    /// Most samples for the round that was announced last.
    pub(super) most: Option<u64>,
}

impl Blocks {
    pub(super) fn new(dimension: usize, least: u64) -> Blocks {
        Blocks { dimension, least, unshared: Vec::new(), in_flight: Vec::new(), most: None }
    }

    /// Most samples in a new block: large matrices are kept in fewer. Where there is a least number, a new block takes just that.
    fn size(&self) -> u64 {
        if self.least > 1 { self.least } else { self.dimension.div_ceil(8) as u64 }
    }

    /// Whether all of it may be offered.
    pub(super) fn are_ready(&self) -> bool {
        self.unshared.iter().all(|block| self.is_ready(block))
    }

    fn is_ready(&self, block: &Statistics) -> bool {
        block.samples() >= self.least
    }

    /// Whether all have this dimension, and add up to so many samples, unshared and in flight.
    pub(super) fn is_whole(&self, dimension: usize, unshared: u64, in_flight: u64) -> bool {
        let counted = |blocks: &[Statistics]| {
            blocks.iter().try_fold(0_u64, |sum, block| sum.checked_add(block.samples())).unwrap_or(u64::MAX)
        };
        self.dimension == dimension
            && self.unshared.iter().chain(&self.in_flight).all(|block| block.dimension() == dimension)
            && (counted(&self.unshared), counted(&self.in_flight)) == (unshared, in_flight)
    }

    pub(super) fn observe(&mut self, arm: &[f64], reward: f64) -> Result<(), StatisticsError> {
        let size = self.size();
        match self.unshared.last_mut().filter(|block| block.samples() < size) {
            Some(block) => block.observe(arm, reward),
            None => {
                let mut block = Statistics::new(arm.len())?;
                block.observe(arm, reward)?;
                self.unshared.push(block);
                self.merge_old();
                Ok(())
            }
        }
    }

    /// Merges the two oldest of more than four of about one size, again and again.
    fn merge_old(&mut self) {
        while let Some((first, second)) = self.crowded() {
            let second = self.unshared.remove(second);
            self.unshared[first].merge(&second).expect("all have one dimension");
        }
    }

    /// The two oldest of a size that there are too many of.
    fn crowded(&self) -> Option<(usize, usize)> {
        let class = |at: usize| (self.unshared[at].samples() / self.size()).max(1).ilog2();
        let all = 0..self.unshared.len();
        all.clone().find_map(|first| {
            let mut alike = all.clone().skip(first + 1).filter(|&at| class(at) == class(first));
            let second = alike.next()?;
            (alike.count() + 2 > ALIKE).then_some((first, second))
        })
    }

    /// Which blocks an offer of at most so many samples has: large ones first.
    fn choose(&self, most: u64) -> Vec<bool> {
        let is_ready = |at: &usize| self.is_ready(&self.unshared[*at]);
        let mut by_size: Vec<usize> = (0..self.unshared.len()).filter(is_ready).collect();
        by_size.sort_by_key(|&at| std::cmp::Reverse(self.unshared[at].samples()));
        let (mut room, mut chosen) = (most, vec![false; self.unshared.len()]);
        for at in by_size {
            if let Some(rest) = room.checked_sub(self.unshared[at].samples()) {
                (room, chosen[at]) = (rest, true);
            }
        }
        chosen
    }

    /// What an offer of at most so many samples has.
    pub(super) fn to_offer(&self, most: u64) -> Statistics {
        let chosen = self.unshared.iter().zip(self.choose(most)).filter(|(_, chosen)| *chosen);
        self.sum(chosen.map(|(block, _)| block))
    }

    /// Puts what such an offer has in flight; what stays unshared.
    pub(super) fn put_in_flight(&mut self, most: u64) -> Statistics {
        let chosen = self.choose(most);
        let (offered, kept): (Vec<_>, Vec<_>) = self.unshared.drain(..).zip(chosen).partition(|(_, chosen)| *chosen);
        let blocks = |blocks: Vec<(Statistics, bool)>| blocks.into_iter().map(|(block, _)| block).collect();
        (self.in_flight, self.unshared) = (blocks(offered), blocks(kept));
        self.sum(&self.unshared)
    }

    /// The round has ended: what was in flight is settled, or comes back. What is unshared then.
    pub(super) fn land(&mut self, is_settled: bool) -> Statistics {
        let offered = std::mem::take(&mut self.in_flight);
        if !is_settled {
            self.unshared.splice(0..0, offered);
            self.merge_old();
        }
        self.sum(&self.unshared)
    }

    fn sum<'a>(&self, blocks: impl IntoIterator<Item = &'a Statistics>) -> Statistics {
        let mut sum = Statistics::new(self.dimension).expect("a checked dimension");
        blocks.into_iter().for_each(|block| sum.merge(block).expect("all have one dimension"));
        sum
    }
}
