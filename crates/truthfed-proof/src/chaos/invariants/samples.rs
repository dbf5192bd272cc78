//! I7: every sample counts once. I9: whoever knows a round knows the same of it.

use std::collections::BTreeMap;

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;

use crate::chaos::{Sums, Verdict, breach, check};

/// What was settled in which round, and whose it was.
pub(crate) struct Samples {
    /// Everything settled up to each round.
    settled: BTreeMap<RoundId, Sums>,
    delivered: BTreeMap<ClientId, Vec<(RoundId, Sums)>>,
}

impl Samples {
    pub(super) fn new(dimension: usize) -> Samples {
        let settled = BTreeMap::from([(RoundId(0), Sums::zero(dimension))]);
        Samples { settled, delivered: BTreeMap::new() }
    }

    pub(super) fn settled_now(&self) -> &Sums {
        self.settled.last_key_value().expect("nothing is settled in round 0").1
    }

    pub(super) fn settled_after(&self, round: RoundId) -> Option<&Sums> {
        self.settled.get(&round)
    }

    /// The last round up to this one in which something of a member was settled.
    pub(super) fn last_delivery(&self, member: &ClientId, closed: RoundId) -> Option<RoundId> {
        let rounds = self.delivered.get(member)?.iter().map(|(round, _)| *round);
        rounds.filter(|round| *round <= closed).max()
    }

    /// How many samples of a member are settled.
    pub(crate) fn delivered_by(&self, member: &ClientId) -> u64 {
        self.delivered.get(member).into_iter().flatten().map(|(_, sums)| sums.samples as u64).sum()
    }

    pub(super) fn settled(&mut self, round: RoundId, delivered: &BTreeMap<ClientId, Sums>) {
        let mut all = self.settled_now().clone();
        for (member, sums) in delivered {
            all.add(sums, 1);
            self.delivered.entry(member.clone()).or_default().push((round, sums.clone()));
        }
        self.settled.insert(round, all);
    }

    /// What a member knows after a round is what was settled up to it, and of what it learned itself the rest.
    pub(crate) fn check_member(
        &self,
        member: &ClientId,
        known: &Statistics,
        learned: &Sums,
        closed: RoundId,
    ) -> Verdict {
        let known = Sums::of_parts(known.gram(), known.moment(), known.samples());
        let (Some(settled), Some(known)) = (self.settled.get(&closed), known) else {
            return breach("I7", format!("{member} knows sums that no samples have, or a round {closed} to come"));
        };
        let mut own = learned.clone();
        let delivered = self.delivered.get(member).into_iter().flatten();
        delivered.filter(|(round, _)| *round <= closed).for_each(|(_, sums)| own.add(sums, -1));
        let mut others = known.clone();
        others.add(&own, -1);
        check(others == *settled, "I7", || {
            let (known, learned, settled) = (known.samples, learned.samples, settled.samples);
            format!(
                "{member} knows {known} samples after round {closed}; it learned {learned}, of which {} are not \
                 delivered, and {settled} are settled; or the counts fit and the sums do not",
                own.samples
            )
        })
    }
}
