//! I7: every sample counts once, and what is held or void counts for nobody but its member. I9: whoever knows a round knows the
//! same of it.

use std::collections::BTreeMap;

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;
use truthfed_node::terms::Agreement;

use super::doubts::Parts;
use crate::chaos::{Sums, Verdict, breach, check};

/// What was settled in which round, and whose it was.
pub(crate) struct Samples {
    pub(super) dimension: usize,
    pub(super) capacity: i64,
    /// Everything settled up to each round.
    settled: BTreeMap<RoundId, Sums>,
    /// What nobody but its member knows, after each round.
    own: BTreeMap<RoundId, BTreeMap<ClientId, Sums>>,
    /// What was taken.
    delivered: BTreeMap<ClientId, Vec<(RoundId, Sums)>>,
    pub(super) parts: BTreeMap<ClientId, Parts>,
    /// Who delivered in each settled round something that was believed at its end.
    pub(super) believed: Vec<(RoundId, Vec<ClientId>)>,
}

impl Samples {
    pub(super) fn new(agreement: &Agreement) -> Samples {
        let dimension = agreement.dimension();
        let settled = BTreeMap::from([(RoundId(0), Sums::zero(dimension))]);
        let capacity = agreement.capacity().min(i64::MAX as u64) as i64;
        let (own, delivered, parts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Samples { dimension, capacity, settled, own, delivered, parts, believed: Vec::new() }
    }

    /// What a member alone knows after a round.
    pub(super) fn own_after(&self, member: &ClientId, round: RoundId) -> Option<&Sums> {
        self.own.get(&round)?.get(member)
    }

    /// How many samples are settled, or may be once it is decided.
    pub(super) fn taken(&self) -> i64 {
        self.parts.values().map(Parts::taken).sum()
    }

    pub(crate) fn settled_now(&self) -> &Sums {
        self.settled.last_key_value().expect("nothing is settled in round 0").1
    }

    pub(super) fn settled_after(&self, round: RoundId) -> Option<&Sums> {
        self.settled.get(&round)
    }

    /// The last round up to this one in which something of a member was settled.
    /// Whether what a member delivered is held; or it has more in doubt than others have settled, and nothing of others was believed in
    /// its last round, or since.
    pub(super) fn is_suspended(&self, member: &ClientId) -> bool {
        let Some(parts) = self.parts.get(member) else { return false };
        let last = self.delivered.get(member).and_then(|all| all.last()).map(|(round, _)| *round);
        let is_beside = |(round, members): &(RoundId, Vec<ClientId>)| {
            Some(*round) >= last && members.iter().any(|other| other != member)
        };
        let settled = |parts: &Parts| parts.settled().map(|part| part.samples).sum::<i64>();
        let others = self.parts.values().map(settled).sum::<i64>() - settled(parts);
        parts.is_held() || parts.open_samples() > others && !self.believed.iter().any(is_beside)
    }

    pub(super) fn last_delivery(&self, member: &ClientId, closed: RoundId) -> Option<RoundId> {
        let rounds = self.delivered.get(member)?.iter().map(|(round, _)| *round);
        rounds.filter(|round| *round <= closed).max()
    }

    /// How many samples of a member are settled.
    pub(crate) fn delivered_by(&self, member: &ClientId) -> u64 {
        self.delivered.get(member).into_iter().flatten().map(|(_, sums)| sums.samples as u64).sum()
    }

    /// How many samples a member delivered in earlier rounds than this.
    pub(super) fn delivered_before(&self, member: &ClientId, round: RoundId) -> u64 {
        let all = self.delivered.get(member).into_iter().flatten();
        all.filter(|(earlier, _)| *earlier < round).map(|(_, sums)| sums.samples as u64).sum()
    }

    pub(super) fn took(&mut self, round: RoundId, member: &ClientId, sums: &Sums) {
        self.delivered.entry(member.clone()).or_default().push((round, sums.clone()));
    }

    /// A round ended, or the operator ruled under its number.
    pub(super) fn closed(&mut self, round: RoundId) {
        let mut all = Sums::zero(self.dimension);
        for parts in self.parts.values_mut() {
            parts.keep_within(self.capacity);
            parts.settled().for_each(|part| all.add(part, 1));
        }
        self.settled.insert(round, all);
        let own = self.parts.iter().filter_map(|(member, parts)| Some((member.clone(), parts.own()?)));
        self.own.insert(round, own.collect());
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
        self.own_after(member, closed).into_iter().for_each(|own| others.add(own, -1));
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
