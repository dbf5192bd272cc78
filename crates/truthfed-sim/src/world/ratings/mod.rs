//! A world made of a real log of ratings.
//!
//! Each client has some of the log's users. At a step one of them comes along and is shown K items in random order:
//! one that it liked, and K - 1 that it did not (rated lower, or not at all). The reward is 1 for the liked one and 0
//! for the others, so that blind choice earns 1 / K. Items look as [`features`] says.
//!
//! Promises: what a client is shown comes from a stream of its own and from nothing else, neither from what was
//! chosen nor from who acted before.
//!
//! With [`Features::Likes`] the log is the whole world: an item's features count the likes that are later asked for. What is
//! popular by chance is learned too, so that a log of pure noise earned 1.1 to 1.3 times what blind choice does; and popular
//! items have the longest features, so that a client finds them without having learned anything. [`Features::HeldOut`] has neither
//! flaw: there learning together is worth something.

mod features;
mod read;
mod sample;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use truthfed::generate::Stream;

pub use features::Features;
pub use read::{Liked, Log};
pub use sample::sample_ratings;

use super::{Played, Purpose, World, WorldError, stream};

/// What is made of a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crowd {
    pub clients: usize,
    /// Items shown in a step.
    pub per_step: usize,
    pub dimension: usize,
    pub features: Features,
    /// Share of the items that each client has, above 0 and at most 1.
    pub catalogue: f64,
}

/// The users of a log, each with one client.
#[derive(Debug, Clone)]
pub struct Audience {
    log: Log,
    crowd: Crowd,
    groups: Vec<Group>,
}

/// The users of a client that can be shown something, and its items.
#[derive(Debug, Clone)]
struct Group {
    users: Vec<u32>,
    /// The client's items, ascending, and what each of its users liked among them, by place in that list; none if the client
    /// has all items.
    catalogue: Option<(Vec<u32>, Vec<Vec<u32>>)>,
}

impl Audience {
    /// Gives users to clients in turn, in the order in which they first appear; of held-out features, every second user. Users who
    /// liked nothing that their client has, or so much that fewer than `per_step - 1` of its items are left, never come along.
    /// Fails when the log is too small for what is asked, or a client has nobody who can be shown something.
    pub fn new(log: Log, crowd: Crowd) -> Result<Audience, WorldError> {
        let Crowd { clients, per_step, dimension, features, catalogue } = crowd;
        let (path, items) = (log.path.clone(), log.items());
        let users: Vec<usize> = (0..log.users()).filter(|user| features.leaves(*user)).collect();
        let sources = (0..log.users()).filter(|user| features.uses(*user)).count();
        if users.len() < clients {
            return Err(WorldError::FewUsers { path, users: users.len(), clients });
        }
        let shown = (catalogue * items as f64).ceil() as usize;
        if shown < per_step {
            return Err(WorldError::FewItems { path, items: shown, per_step });
        }
        if sources.min(items) < dimension {
            return Err(WorldError::Dimension { path, users: sources, items, dimension });
        }
        let own = |client: usize| -> Vec<usize> { users.iter().copied().skip(client).step_by(clients).collect() };
        let group = |client| Group::new(&log, &own(client), (client, shown), per_step - 1);
        let groups: Vec<Group> = (0..clients).map(group).collect();
        if let Some(client) = groups.iter().position(|group| group.users.is_empty()) {
            let (users, others) = (own(client).len(), per_step - 1);
            return Err(WorldError::NobodyToShow { path, client, users, threshold: log.threshold, others });
        }
        Ok(Audience { log, crowd, groups })
    }
}

impl Group {
    /// Of a client with so many items, and those of its users to whom it can show something.
    fn new(log: &Log, users: &[usize], (client, shown): (usize, usize), others: usize) -> Group {
        let can_be_shown = |likes: usize| likes > 0 && shown - likes >= others;
        if shown == log.items() {
            let users = users.iter().filter(|user| can_be_shown(log.likes(**user).len())).map(|&user| user as u32);
            return Group { users: users.collect(), catalogue: None };
        }
        let items = draw_items(log.items(), shown, client);
        let place = |item: &u32| items.binary_search(item).ok().map(|place| place as u32);
        let likes = |user: &usize| -> Vec<u32> { log.likes(*user).iter().filter_map(place).collect() };
        let all = users.iter().map(|user| (*user as u32, likes(user)));
        let (users, likes) = all.filter(|(_, likes)| can_be_shown(likes.len())).unzip();
        Group { users, catalogue: Some((items, likes)) }
    }

    /// What a user liked, given by its place among the users, and among how many items.
    fn likes<'a>(&'a self, log: &'a Log, place: usize) -> (&'a [u32], usize) {
        match &self.catalogue {
            Some((items, likes)) => (&likes[place], items.len()),
            None => (log.likes(self.users[place] as usize), log.items()),
        }
    }

    /// The item at a place of what the client has.
    fn item(&self, place: usize) -> usize {
        self.catalogue.as_ref().map_or(place, |(items, _)| items[place] as usize)
    }
}

/// So many of the items, ascending, the same for a client under every seed: whether a log is large enough must not depend on it.
fn draw_items(items: usize, shown: usize, client: usize) -> Vec<u32> {
    let mut drawn = stream(0, Purpose::Catalogue, client);
    let mut order: Vec<u32> = (0..items as u32).collect();
    for i in 0..shown {
        let j = drawn.between(i, items - 1);
        order.swap(i, j);
    }
    order.truncate(shown);
    order.sort_unstable();
    order
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
            features: audience.crowd.features.of(
                &audience.log,
                audience.crowd.dimension,
                &mut stream(seed, Purpose::Arms, 0),
            ),
            streams: (0..audience.groups.len()).map(|client| stream(seed, Purpose::Shown, client)).collect(),
            shown: Vec::with_capacity(audience.crowd.per_step),
            liked: 0,
            ranks: (0..items as u32).collect(),
            audience,
        }
    }
}

impl World for Ratings {
    fn present(&mut self, client: usize) -> &[usize] {
        let Audience { log, groups, crowd } = self.audience.as_ref();
        let (per_step, group) = (crowd.per_step, &groups[client]);
        let stream = &mut self.streams[client];
        let (likes, items) = group.likes(log, stream.between(0, group.users.len() - 1));
        self.liked = group.item(stream.pick(likes) as usize);
        self.shown.clear();
        // The first steps of a shuffle of the other items, undone at the end.
        let last = (items - likes.len()).saturating_sub(1);
        let mut swaps = Vec::with_capacity(per_step - 1);
        for i in 0..per_step - 1 {
            let j = stream.between(i, last);
            self.ranks.swap(i, j);
            swaps.push(j);
            self.shown.push(group.item(unliked(likes, self.ranks[i] as usize)));
        }
        swaps.into_iter().enumerate().rev().for_each(|(i, j)| self.ranks.swap(i, j));
        self.shown.push(self.liked);
        let place = stream.between(0, per_step - 1);
        self.shown.swap(place, per_step - 1);
        &self.shown
    }

    fn arm(&self, index: usize) -> &[f64] {
        let dimension = self.audience.crowd.dimension;
        &self.features[index * dimension..(index + 1) * dimension]
    }

    fn play(&mut self, _client: usize, index: usize) -> Played {
        let reward = f64::from(index == self.liked);
        Played { reward, regret: 1.0 - reward, blind: 1.0 / self.audience.crowd.per_step as f64 }
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
