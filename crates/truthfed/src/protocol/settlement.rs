//! How a round ended, for ledgers and experiments.

use super::{RoundId, SetAside, Time};
use crate::Amount;
use crate::auction::{ClientId, Outcome, Refusal, RoundError, RoundSpec};

/// Everything there is to say about a round that ended.
#[derive(Debug, Clone)]
pub struct RoundRecord {
    pub round: RoundId,
    pub asked_by: ClientId,
    pub opened: Time,
    pub closed: Time,
    pub ending: Ending,
}

#[derive(Debug, Clone)]
pub enum Ending {
    /// Settled: what was delivered is shared, and paid for.
    Settled {
        spec: Box<RoundSpec>,
        /// Offers that it did not look at.
        aside: Vec<SetAside>,
        outcome: Outcome,
        /// Winners that delivered, with what they are due, by client.
        paid: Vec<(ClientId, Amount)>,
        /// Winners that did not deliver in time: not paid, their data not used.
        defaulted: Vec<ClientId>,
    },
    /// Nobody offered anything in time.
    NoOffers,
    /// The offers do not make a round.
    Invalid(RoundError),
    Refused(Refusal),
}
