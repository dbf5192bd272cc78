//! What members and the coordinator say to each other.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Amount;
use crate::statistics::{Gram, Statistics};

/// A moment on the coordinator's clock, in milliseconds since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// That many milliseconds later.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Time {
        Time(self.0.saturating_add(ms))
    }
}

/// The number of a round; they only grow, the first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoundId(pub u64);

impl fmt::Display for RoundId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// From a member to the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Request {
    /// I know enough that is new: open a round.
    Ask,
    /// My data of this round, at a price.
    Offer(RoundId, OfferBody),
    /// I have nothing to offer in this round.
    Decline(RoundId),
    /// The moment that belongs to the Gram matrix I offered.
    Deliver(RoundId, Vec<f64>),
    /// Send me the current snapshot.
    Sync,
}

/// What a member offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferBody {
    /// The sum of x x' over its unshared observations.
    pub gram: Gram,
    /// How many observations.
    pub samples: u64,
    /// Its price.
    pub ask: Amount,
}

/// From the coordinator to a member.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A round is open: offer or decline.
    Opened(RoundId),
    /// You won and will be paid this on delivery.
    Awarded(RoundId, Amount),
    /// What is settled.
    Snapshot(Snapshot),
}

/// The absolute state of what is settled, as one member sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The last round that ended, settled or aborted.
    pub closed: RoundId,
    /// The last round in which this member's delivery was settled.
    pub settled: Option<RoundId>,
    /// Everything delivered so far.
    pub statistics: Statistics,
}
