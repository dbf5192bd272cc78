//! What a member of a federation with fresh offers keeps beside its unshared sum: the blocks it consists of, what its answer
//! to a round was made of, and what is retired.
//!
//! Sums cannot be split, and a bound may be below what was collected: so the sum is kept in blocks as well. A new block takes a
//! fixed number of samples. Of those of about one size there are at most four; two old ones are merged for a fifth. So there
//! are few, and enough small ones to fill an offer to within one of the smallest.

use serde::{Deserialize, Serialize};

use super::member::Progress;
use super::{Fresh, FreshSetting, RoundId};
use crate::statistics::{Statistics, StatisticsError};

/// Most blocks of about one size.
const ALIKE: usize = 4;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Blocks {
    /// Most samples in a new block.
    size: u64,
    /// What the unshared sum consists of, the oldest first.
    unshared: Vec<Statistics>,
    pub(super) answered: Option<Answered>,
    pub(super) retired: Statistics,
    /// log(det V / det(lambda I)) of the snapshot and what is retired, if the trigger needs it.
    pub(super) base_ratio: f64,
    /// Whether it breaks the rule and retires nothing, which nobody can see.
    #[serde(default, skip_serializing_if = "is_no")]
    keeps: bool,
    /// Most samples for the round that was announced last.
    pub(super) most: Option<u64>,
}

/// What a member had when it answered a round whose end it has not seen.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answered {
    pub(super) round: RoundId,
    /// Progress up to the answer.
    pub(super) progress: Progress,
    blocks: Vec<Block>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    statistics: Statistics,
    /// Whether it is in the offer.
    is_offered: bool,
}

/// What becomes of the data of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// What was offered is settled; the rest is retired.
    Bought,
    /// An awarded round saw it, and did not buy: all is retired.
    Retired,
    /// The round was aborted, or the answer never came: all may be offered again.
    Returned,
}

impl Blocks {
    pub(super) fn new(fresh: &Fresh, nothing: Statistics) -> Blocks {
        Blocks {
            size: fresh.block().max(1),
            unshared: Vec::new(),
            answered: None,
            retired: nothing,
            base_ratio: 0.0,
            keeps: false,
            most: None,
        }
    }

    /// Those of a member that retires nothing, and offers to the very sample what it likes.
    pub(super) fn hoarding(nothing: Statistics) -> Blocks {
        let fresh = Fresh::new(&FreshSetting::default(), 1, 1).expect("the default is valid");
        Blocks { size: 1, keeps: true, ..Blocks::new(&fresh, nothing) }
    }

    /// Whether all have this dimension, and add up to so many unshared samples.
    pub(super) fn is_whole(&self, dimension: usize, unshared: u64, steps: u64) -> bool {
        let answered = self.answered.iter().flat_map(|answered| &answered.blocks).map(|block| &block.statistics);
        let mut parts = self.unshared.iter().chain([&self.retired]).chain(answered);
        let counted = self.unshared.iter().try_fold(0_u64, |sum, block| sum.checked_add(block.samples()));
        self.size > 0
            && parts.all(|part| part.dimension() == dimension)
            && counted == Some(unshared)
            && self.answered.as_ref().is_none_or(|answered| answered.progress.steps <= steps)
    }

    pub(super) fn observe(&mut self, arm: &[f64], reward: f64) -> Result<(), StatisticsError> {
        match self.unshared.last_mut().filter(|block| block.samples() < self.size) {
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
        let class = |at: usize| (self.unshared[at].samples() / self.size).max(1).ilog2();
        let all = 0..self.unshared.len();
        all.clone().find_map(|first| {
            let mut alike = all.clone().skip(first + 1).filter(|&at| class(at) == class(first));
            let second = alike.next()?;
            (alike.count() + 2 > ALIKE).then_some((first, second))
        })
    }

    /// Which blocks an offer of at most so many samples has: large ones first.
    fn choose(&self, most: u64) -> Vec<bool> {
        let mut by_size: Vec<usize> = (0..self.unshared.len()).collect();
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
        let chosen = self.choose(most);
        sum(&self.retired, self.unshared.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(block, _)| block))
    }

    /// Answers a round, with an offer of at most so many samples.
    pub(super) fn answer(&mut self, round: RoundId, progress: Progress, most: u64) {
        let chosen = self.choose(most);
        let block = |(statistics, is_offered)| Block { statistics, is_offered };
        let blocks = self.unshared.drain(..).zip(chosen).map(block).collect();
        self.answered = Some(Answered { round, progress, blocks });
    }

    /// What was answered and not offered.
    pub(super) fn held_back(&self) -> Statistics {
        let answered = self.answered.iter().flat_map(|answered| &answered.blocks);
        sum(&self.retired, answered.filter(|block| !block.is_offered).map(|block| &block.statistics))
    }

    /// The answer has met its fate.
    pub(super) fn end(&mut self, fate: Fate) {
        let Some(Answered { mut blocks, .. }) = self.answered.take() else { return };
        blocks.retain(|block| fate != Fate::Bought || !block.is_offered);
        if fate == Fate::Returned || self.keeps {
            self.unshared.splice(0..0, blocks.into_iter().map(|block| block.statistics));
            return self.merge_old();
        }
        for block in blocks {
            self.retired.merge(&block.statistics).expect("all have one dimension");
        }
    }

    /// Everything unshared.
    pub(super) fn unshared(&self) -> Statistics {
        sum(&self.retired, &self.unshared)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_no(keeps: &bool) -> bool {
    !*keeps
}

/// The sum of blocks, which have the dimension of `like`.
fn sum<'a>(like: &Statistics, blocks: impl IntoIterator<Item = &'a Statistics>) -> Statistics {
    let mut sum = Statistics::new(like.dimension()).expect("it has a valid dimension");
    blocks.into_iter().for_each(|block| sum.merge(block).expect("all have one dimension"));
    sum
}
