//! A world made of a real log of ratings.
//!
//! Each client has some of the log's users. At a step one of them comes along and is shown K items in random order:
//! one that it liked, and K - 1 that it did not (rated lower, or not at all). The reward is 1 for the liked one and 0
//! for the others, so that blind choice earns 1 / K. Items look as [`features`] says.
//!
//! Promises: what a client is shown comes from a stream of its own and from nothing else, neither from what was
//! chosen nor from who acted before.
//!
//! Not here: an estimate for users and likes that the log does not hold. The log is the whole world: an item's
//! features count the likes that are later asked for. What is popular by chance is learned too, so that a log of pure
//! noise earned 1.1 to 1.3 times what blind choice does; compare mechanisms with each other rather than with 1.

mod features;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use truthfed::generate::Stream;

pub use read::{Liked, Log};

use super::{Played, Purpose, World, WorldError, stream};

/// The users of a log, each with one client.
#[derive(Debug, Clone)]
pub struct Audience {
    log: Log,
    /// The users of each client that can be shown something.
    groups: Vec<Vec<u32>>,
    per_step: usize,
    dimension: usize,
}

impl Audience {
    /// Gives users to clients in turn, in the order in which they first appear. Users who liked nothing, or so much
    /// that fewer than `per_step - 1` items are left, never come along. Fails when the log is too small for what is
    /// asked, or a client has nobody who can be shown something.
    pub fn new(log: Log, clients: usize, per_step: usize, dimension: usize) -> Result<Audience, WorldError> {
        let (path, users, items) = (log.path.clone(), log.users(), log.items());
        if users < clients {
            return Err(WorldError::FewUsers { path, users, clients });
        }
        if items < per_step {
            return Err(WorldError::FewItems { path, items, per_step });
        }
        if users.min(items) < dimension {
            return Err(WorldError::Dimension { path, users, items, dimension });
        }
        let others = per_step - 1;
        let can_be_shown = |&user: &usize| !log.likes(user).is_empty() && items - log.likes(user).len() >= others;
        let group = |client| (client..users).step_by(clients).filter(can_be_shown).map(|user| user as u32).collect();
        let groups: Vec<Vec<u32>> = (0..clients).map(group).collect();
        if let Some(client) = groups.iter().position(Vec::is_empty) {
            let users = (client..users).step_by(clients).count();
            return Err(WorldError::NobodyToShow { path, client, users, threshold: log.threshold, others });
        }
        Ok(Audience { log, groups, per_step, dimension })
    }
}

/// A world of liked and other items.
#[derive(Debug)]
pub struct Ratings {
    audience: Arc<Audience>,
    features: Vec<f64>,
    streams: Vec<Stream>,
    shown: Vec<usize>,
    /// Which of the shown ones is liked.
    liked: usize,
    /// All numbers below that of items, in order between two steps.
    ranks: Vec<u32>,
}

impl Ratings {
    /// The world of an audience under a seed.
    pub fn new(audience: Arc<Audience>, seed: u64) -> Ratings {
        let items = audience.log.items();
        Ratings {
            features: features::features(&audience.log, audience.dimension, &mut stream(seed, Purpose::Arms, 0)),
            streams: (0..audience.groups.len()).map(|client| stream(seed, Purpose::Shown, client)).collect(),
            shown: Vec::with_capacity(audience.per_step),
            liked: 0,
            ranks: (0..items as u32).collect(),
            audience,
        }
    }
}

impl World for Ratings {
    fn present(&mut self, client: usize) -> &[usize] {
        let Audience { log, groups, per_step, .. } = self.audience.as_ref();
        let stream = &mut self.streams[client];
        let likes = log.likes(stream.pick(&groups[client]) as usize);
        self.liked = stream.pick(likes) as usize;
        self.shown.clear();
        // The first steps of a shuffle of the other items, undone at the end.
        let last = (log.items() - likes.len()).saturating_sub(1);
        let mut swaps = Vec::with_capacity(per_step - 1);
        for i in 0..per_step - 1 {
            let j = stream.between(i, last);
            self.ranks.swap(i, j);
            swaps.push(j);
            self.shown.push(unliked(likes, self.ranks[i] as usize));
        }
        swaps.into_iter().enumerate().rev().for_each(|(i, j)| self.ranks.swap(i, j));
        self.shown.push(self.liked);
        let place = stream.between(0, per_step - 1);
        self.shown.swap(place, per_step - 1);
        &self.shown
    }

    fn arm(&self, index: usize) -> &[f64] {
        let dimension = self.audience.dimension;
        &self.features[index * dimension..(index + 1) * dimension]
    }

    fn play(&mut self, _client: usize, index: usize) -> Played {
        let reward = f64::from(index == self.liked);
        Played { reward, regret: 1.0 - reward, blind: 1.0 / self.audience.per_step as f64 }
    }
}

/// The item of that rank, from 0, among those that are not in the ascending `likes`.
fn unliked(likes: &[u32], rank: usize) -> usize {
    // Before the n-th like there are likes[n] - n other items.
    let (mut low, mut high) = (0, likes.len());
    while low < high {
        let middle = (low + high) / 2;
        match likes[middle] as usize - middle <= rank {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    rank + low
}
