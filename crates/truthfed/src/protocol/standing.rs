//! What a coordinator is between two rounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Conduct, RoundId, Share, Spent, Time};
use crate::auction::ClientId;

/// All that a coordinator needs to go on after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    pub members: BTreeMap<ClientId, Conduct>,
    /// Those that were members: one that comes back must learn what became of its data, and has not started afresh.
    pub former: BTreeMap<ClientId, Conduct>,
    /// What everyone delivered who ever did: the sum of it is what is settled.
    pub shares: BTreeMap<ClientId, Share>,
    /// The last round that ended.
    pub closed: RoundId,
    /// What the rounds of the last day were awarded.
    pub spent: Spent,
    /// When the last awarded round opened, where offers have a quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awarded: Option<Time>,
}

impl Standing {
    /// Whether everything delivered has this dimension.
    pub fn has_dimension(&self, dimension: usize) -> bool {
        self.shares.values().all(|share| share.has_dimension(dimension))
    }

    /// What is remembered about somebody who is or was a member.
    pub(super) fn conduct_of(&mut self, client: &ClientId) -> &mut Conduct {
        match self.members.get_mut(client) {
            Some(conduct) => conduct,
            None => self.former.entry(client.clone()).or_default(),
        }
    }
}
