//! Why the coordinator refuses a request.

use super::{DeliveryError, OfferError, RoundId};
use crate::Amount;
use crate::auction::ClientId;

/// Why a request was not taken; nothing changed. All are the member's to fix.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Rejection {
    #[error("{0} is not a member of this federation")]
    NotAMember(ClientId),
    /// Harmless.
    #[error("round {got} is over, the last one opened is {last}")]
    StaleRound { got: RoundId, last: RoundId },
    #[error("{what} is not expected from {client} in this phase of round {round}")]
    WrongPhase { client: ClientId, what: &'static str, round: RoundId },
    #[error("{client} already sent another {what} in round {round}: the first stands")]
    ConflictingRetry { client: ClientId, what: &'static str, round: RoundId },
    /// Member: it won and did not deliver too often. It may take part again later.
    #[error("{client} won and did not deliver too often: it is excluded up to round {last}")]
    Excluded { client: ClientId, last: RoundId },
    /// Nobody: others' data decides, or the operator.
    #[error(
        "what {0} delivered is contradicted by others' data, or too much for others to confirm: others deliver first"
    )]
    Suspended(ClientId),
    /// Nobody: a little later it may.
    #[error("a round opens {gap_ms} ms after the last one ended at the earliest: in {wait_ms} ms")]
    TooSoon { gap_ms: u64, wait_ms: u64 },
    /// Member: it learns more first, or waits for another to open the round.
    #[error(
        "the offer of {client} is not worth a round: samples times nats on top of what is settled must exceed {threshold}"
    )]
    TriggerNotMet { client: ClientId, threshold: f64 },
    /// Nobody: on the next day it may.
    #[error("the rounds of today have been awarded the whole daily purse of {daily}: the next opens in {wait_ms} ms")]
    PurseSpent { daily: Amount, wait_ms: u64 },
    /// Operator: what is settled stays usable, but with more of it no round could be told from rounding. Begin a new
    /// federation with a larger lambda.
    #[error("{0} samples are settled, the capacity of the terms: no more rounds are held")]
    CapacityReached(u64),
    #[error(transparent)]
    Offer(#[from] OfferError),
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
}
