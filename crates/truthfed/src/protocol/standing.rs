//! What a coordinator is between two rounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{AwardedRound, Conduct, RoundId, Spent};
use crate::auction::ClientId;
use crate::statistics::Statistics;

/// All that a coordinator needs to go on after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    pub members: BTreeMap<ClientId, Conduct>,
    /// Those that were members: one that comes back must learn what became of its data, and has not started afresh.
    pub former: BTreeMap<ClientId, Conduct>,
    /// Everything delivered so far.
    pub settled: Statistics,
    /// The last round that ended.
    pub closed: RoundId,
    /// What the rounds of the last day were awarded.
    pub spent: Spent,
    /// The awarded rounds that rates are taken over, and the one before, where offers are fresh.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awarded: Vec<AwardedRound>,
}
