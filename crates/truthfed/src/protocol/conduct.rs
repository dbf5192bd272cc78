//! What the coordinator remembers about a member: which delivery was settled last, and who won and did not deliver.
//!
//! Winning and not delivering spoils a round: its data is missing, others lost to it, and whoever does it learns what a
//! win would have been worth. So a member that defaults too often is excluded for a while. Exclusion is counted in rounds,
//! from what is recorded, so everyone who replays the journal excludes the same.

use serde::{Deserialize, Serialize};

use super::RoundId;

/// When defaults exclude a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Strikes {
    /// So many defaults, `1..=1000`; default 3: a lost connection may cost a delivery, but hardly three.
    pub defaults: u64,
    /// In so many rounds, `1..=1000000`; default 20.
    pub within: u64,
    /// Exclude for so many more, `0..=1000000`; default 100, so that a member that never delivers spoils 3 rounds of 103. With 0
    /// nobody is ever excluded.
    pub rounds: u64,
}

impl Default for Strikes {
    fn default() -> Strikes {
        Strikes { defaults: 3, within: 20, rounds: 100 }
    }
}

/// What is remembered about one member.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conduct {
    /// The last round in which its delivery was taken.
    pub settled: Option<RoundId>,
    /// The recent rounds that it won and did not deliver in.
    pub defaults: Vec<RoundId>,
    /// The last round from which it is excluded.
    pub excluded: Option<RoundId>,
}

impl Conduct {
    /// Counts a default.
    pub fn default_in(&mut self, round: RoundId, strikes: Strikes) {
        self.defaults.retain(|earlier| earlier.0 + strikes.within > round.0);
        self.defaults.push(round);
        if self.defaults.len() as u64 >= strikes.defaults && strikes.rounds > 0 {
            self.excluded = Some(RoundId(round.0 + strikes.rounds));
            self.defaults.clear();
        }
    }

    pub(super) fn is_excluded_from(&self, round: RoundId) -> bool {
        self.excluded.is_some_and(|last| round <= last)
    }
}
