//! What members and the coordinator say to each other.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::auction::Offer;
use crate::statistics::Statistics;

/// A moment on the coordinator's clock, in milliseconds: since 1970 in the service, since its start in a simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Time(pub u64);

impl Time {
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Time {
        Time(self.0.saturating_add(ms))
    }
}

/// The number of a round; they only grow, the first is 1. None beyond [`RoundId::LAST`] is read from anywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "u64")]
pub struct RoundId(pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("round {0} is above {last}, the last there can be", last = RoundId::LAST)]
pub struct RoundIdError(u64);

impl RoundId {
    /// The last there can be: databases count to one more.
    pub const LAST: RoundId = RoundId(i64::MAX as u64 - 1);
}

impl TryFrom<u64> for RoundId {
    type Error = RoundIdError;

    fn try_from(number: u64) -> Result<RoundId, RoundIdError> {
        if number <= RoundId::LAST.0 { Ok(RoundId(number)) } else { Err(RoundIdError(number)) }
    }
}

impl fmt::Display for RoundId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// From a member to the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Request {
    /// My data of this round, at a price: `samples` observations, of which the offer has the Gram matrix. The offer must
    /// name its sender. An offer to the round that is next opens it, if it is reason enough ([`Trigger`]).
    ///
    /// [`Trigger`]: super::Trigger
    Offer { round: RoundId, samples: u64, offer: Offer },
    /// I have nothing to offer in this round.
    Decline(RoundId),
    /// The moment that belongs to the Gram matrix I offered.
    Deliver(RoundId, Vec<f64>),
    /// Send me the current snapshot.
    Sync,
}

/// From the coordinator to a member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Notice {
    /// A round is open: offer, at most so many samples if that is bounded, or decline.
    Opened(RoundId, Option<u64>),
    /// You won: deliver. What you are paid is told with the payment, so that nobody wins only to learn it.
    Awarded(RoundId),
    /// What is settled.
    Snapshot(Snapshot),
}

/// The absolute state of what is settled, as one member sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The last round that ended, settled or aborted.
    pub closed: RoundId,
    /// The last round in which this member's delivery was taken: it is in the statistics, or in its own.
    pub settled: Option<RoundId>,
    /// Everything that is settled.
    pub statistics: Statistics,
    /// What this member delivered and is in nobody's model but its own, because it is held or void.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Statistics>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_no_database_could_count_is_not_read() {
        let read = |text: &str| serde_json::from_str::<RoundId>(text);
        assert_eq!(read("9223372036854775806").unwrap(), RoundId::LAST);
        let refused = read("9223372036854775807").unwrap_err().to_string();
        assert!(refused.contains("round 9223372036854775807 is above 9223372036854775806"), "{refused}");
        assert_eq!(serde_json::to_string(&RoundId(7)).unwrap(), "7");
    }
}
