//! Whose data to believe: deliveries that contradict what others delivered are held, and payments wait until others' data
//! has confirmed what they are for.
//!
//! A delivery is compared with what *other* members delivered ([`Surprise`]), so nobody vouches for itself. The comparison
//! flags it, or says that it fits (a delivery of nothing would not have) or is confirmed (not even what is wrong by a quarter would
//! have), or leaves it open.
//!
//! 1. Everything in doubt is compared with what others have confirmed: a new delivery also without what its member delivered before,
//!    and all that its member ever delivered together, since small lies that fit one by one may not fit as a whole. What is flagged is
//!    held; what is confirmed is paid for.
//! 2. The rest is compared with that and with what others have open. While any is flagged, the one that fits worst
//!    is held. Whoever was flagged on the way must fit who is left, or is held too: where two contradict each
//!    other and nothing else decides, nobody is believed.
//! 3. What is held is compared again at the end of every round. What fits is settled, and paid for when it is confirmed; what is still
//!    flagged after a stated number of rounds is void. What nothing decides waits for the operator.
//!
//! A payment that nothing contradicts waits until others have delivered in the same number of rounds: rounds that a member holds with
//! itself confirm nothing. What a member delivers while something of it is held is held with it, so a false one is paid for nothing
//! it delivers after it was found. And a member takes no part in rounds while its data is held, or while it has more that nobody
//! confirmed than all others have and nobody else has delivered since: else a false one that asks nothing would win round after
//! round, and nobody would ever deliver what contradicts it.
//!
//! All of it assumes one parameter and one scale of noise for all. Members who agree to lie, and come first, are believed.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::share::{self, Owed, Part, Payment, Share};
use super::{RoundId, Surprise};
use crate::auction::ClientId;
use crate::bandit::Config;
use crate::statistics::Statistics;

/// What becomes of deliveries that contradict others'.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Quality {
    pub rule: QualityRule,
    /// So many rounds decide, `1..=1000000`, default 10: payments that nothing contradicts are made when others have delivered in so
    /// many, and what others' data still contradicts after so many is void.
    pub rounds: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum QualityRule {
    /// They are settled and paid like all others; the service says so in its log. For members whose worlds differ.
    #[default]
    Flag,
    /// They are held. For members who observe the same world, with noise of scale `bandit.sigma` at most.
    Hold,
}

impl Default for Quality {
    fn default() -> Quality {
        Quality { rule: QualityRule::Flag, rounds: 10 }
    }
}

impl Quality {
    pub fn is_default(&self) -> bool {
        *self == Quality::default()
    }
}

/// What the end of a round, or the operator, decided about data that was in doubt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// Payments of earlier rounds that are made, by member and round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paid: Vec<Payment>,
    /// Payments that are void.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub void: Vec<Payment>,
    /// Members whose settled data is confirmed, and who are not among those that the round paid for what was never held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmed: Vec<ClientId>,
    /// Members whose data is held from now on, as far as it was not confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<ClientId>,
    /// Members whose held data is settled now: it fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub released: Vec<ClientId>,
    /// Members whose held data is void now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub voided: Vec<ClientId>,
}

impl Judgement {
    pub fn is_empty(&self) -> bool {
        *self == Judgement::default()
    }

    pub(super) fn sort(mut self) -> Judgement {
        self.paid.sort();
        self.void.sort();
        for members in [&mut self.confirmed, &mut self.held, &mut self.released, &mut self.voided] {
            members.sort();
        }
        self
    }
}

/// What a member delivered that is in doubt.
struct Unit {
    member: ClientId,
    is_held: bool,
    part: Part,
    /// What it delivered in this round, if it is not held.
    new: Option<Statistics>,
    /// With all of its member that was confirmed, if there is any.
    ever: Option<Statistics>,
}

impl Unit {
    fn whole(&self) -> Option<&Statistics> {
        Some(&self.part.statistics)
    }

    /// What was delivered in this round, if there is more.
    fn alone(&self) -> Option<&Statistics> {
        self.new.as_ref().filter(|new| new.samples() < self.part.statistics.samples())
    }
}

/// What a comparison says.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Finding {
    /// By how much it exceeds what is believed.
    Flagged(f64),
    Confirmed,
    Fits,
    Open,
}

/// Decides about what was delivered in a round, and about what was in doubt before.
pub(super) fn judge(
    shares: &mut BTreeMap<ClientId, Share>,
    delivered: Vec<(Payment, Statistics)>,
    (config, quality): (&Config, Quality),
    round: RoundId,
) -> Judgement {
    let mut judge = Judge { shares, config, round, rounds: quality.rounds, found: Judgement::default() };
    let members: Vec<ClientId> = delivered.iter().map(|(payment, _)| payment.member.clone()).collect();
    let units = judge.units(delivered);
    let open = judge.by_confirmed(units);
    judge.by_each_other(open);
    judge.hear(&members);
    judge.found.sort()
}

struct Judge<'a> {
    shares: &'a mut BTreeMap<ClientId, Share>,
    config: &'a Config,
    round: RoundId,
    rounds: u64,
    found: Judgement,
}

impl Judge<'_> {
    /// Everything in doubt: of each member what it has open, or what is held of it.
    fn units(&mut self, delivered: Vec<(Payment, Statistics)>) -> Vec<Unit> {
        let mut news = BTreeMap::new();
        for (payment, statistics) in delivered {
            let share = self.share(&payment.member);
            news.insert(payment.member.clone(), statistics.clone());
            let part = Part::new(statistics, payment);
            if share.held.is_some() { share.hold(part) } else { share.wait(part) }
        }
        let mut units = Vec::new();
        for (member, share) in self.shares.iter_mut() {
            for (is_held, part) in [(false, share.waiting.take()), (true, share.held.take())] {
                let Some(part) = part else { continue };
                let new = news.get(member).filter(|_| !is_held).cloned();
                let ever = (share.confirmed.samples() > 0).then(|| {
                    let mut ever = share.confirmed.clone();
                    share::merge(&mut ever, &part.statistics);
                    ever
                });
                units.push(Unit { member: member.clone(), is_held, part, new, ever });
            }
        }
        units
    }

    /// Compares everything in doubt with what others have confirmed, by itself and with more and less of its member; what that leaves
    /// open.
    fn by_confirmed(&mut self, units: Vec<Unit>) -> Vec<Unit> {
        let is_in = vec![false; units.len()];
        let is_flagged = |of: fn(&Unit) -> Option<&Statistics>| {
            let findings = self.compare(&units, &is_in, of);
            findings.into_iter().map(|finding| matches!(finding, Finding::Flagged(_))).collect::<Vec<bool>>()
        };
        let (alone, ever) = (is_flagged(Unit::alone), is_flagged(|unit| unit.ever.as_ref()));
        let findings = self.compare(&units, &is_in, Unit::whole);
        let mut open = Vec::new();
        for (at, (unit, finding)) in units.into_iter().zip(findings).enumerate() {
            match finding {
                _ if alone[at] || ever[at] => self.doubt(unit),
                Finding::Flagged(_) => self.doubt(unit),
                Finding::Confirmed => self.confirm(unit),
                Finding::Fits | Finding::Open => open.push(unit),
            }
        }
        open
    }

    /// Compares what is open with what others have confirmed, and with what others have open.
    fn by_each_other(&mut self, units: Vec<Unit>) {
        let mut is_in: Vec<bool> = units.iter().map(|unit| !unit.is_held).collect();
        let mut was_flagged = vec![false; units.len()];
        let findings = loop {
            let findings = self.compare(&units, &is_in, Unit::whole);
            let flagged = (0..units.len()).filter(|&at| is_in[at]).filter_map(|at| match findings[at] {
                Finding::Flagged(by) => Some((by, at)),
                _ => None,
            });
            let flagged: Vec<(f64, usize)> = flagged.collect();
            flagged.iter().for_each(|&(_, at)| was_flagged[at] = true);
            match flagged.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)) {
                Some((_, at)) => is_in[at] = false,
                None => break findings,
            }
        };
        let fits = |at: usize| matches!(findings[at], Finding::Confirmed | Finding::Fits);
        let is_believed: Vec<bool> = (0..units.len()).map(|at| is_in[at] && (!was_flagged[at] || fits(at))).collect();
        // Who is not believed confirms nobody.
        let findings = match is_believed == is_in {
            true => findings,
            false => self.compare(&units, &is_believed, Unit::whole),
        };
        for ((unit, finding), is_believed) in units.into_iter().zip(findings).zip(is_believed) {
            match finding {
                Finding::Confirmed if is_believed || unit.is_held => self.confirm(unit),
                Finding::Fits if unit.is_held => self.release(unit),
                _ if is_believed => self.share(&unit.member).wait(unit.part),
                Finding::Open if unit.is_held => self.share(&unit.member).hold(unit.part),
                _ => self.doubt(unit),
            }
        }
    }

    /// How something of each unit fits what others have confirmed, and those units of others that are in.
    fn compare(&self, units: &[Unit], is_in: &[bool], of: fn(&Unit) -> Option<&Statistics>) -> Vec<Finding> {
        if units.is_empty() {
            return Vec::new();
        }
        let mut known: BTreeMap<&ClientId, Statistics> =
            self.shares.iter().map(|(member, share)| (member, share.confirmed.clone())).collect();
        for (unit, _) in units.iter().zip(is_in).filter(|(_, is_in)| **is_in) {
            known.entry(&unit.member).and_modify(|sum| share::merge(sum, &unit.part.statistics));
        }
        let (members, sums): (Vec<&ClientId>, Vec<Statistics>) = known.into_iter().unzip();
        let before = running(self.config.dimension(), sums.iter());
        let after = running(self.config.dimension(), sums.iter().rev());
        let finding = |unit: &Unit| {
            let Some(data) = of(unit) else { return Finding::Open };
            let at = members.binary_search(&&unit.member).expect("whoever delivers has a share");
            let mut others = before[at].clone();
            share::merge(&mut others, &after[members.len() - 1 - at]);
            let (offered, lambda, sigma) = ((data.gram(), data.samples()), self.config.lambda(), self.config.sigma());
            match Surprise::of(&others, lambda, sigma, offered, data.moment()) {
                Some(found) if found.is_flagged() => Finding::Flagged(found.statistic / found.threshold),
                Some(found) if found.is_decisive() => Finding::Confirmed,
                Some(found) if found.is_telling() => Finding::Fits,
                _ => Finding::Open,
            }
        };
        units.par_iter().map(finding).collect()
    }

    /// It fits badly: held, or void if it has been held for long enough.
    fn doubt(&mut self, Unit { member, is_held, part, .. }: Unit) {
        let is_over = part.since.0.saturating_add(self.rounds) <= self.round.0;
        if !is_held {
            let since = self.round;
            self.share(&member).hold(Part { since, ..part });
            self.found.held.push(member);
        } else if is_over {
            let void = self.share(&member).make_void(part);
            self.found.void.extend(void);
            self.found.voided.push(member);
        } else {
            self.share(&member).hold(part);
        }
    }

    fn confirm(&mut self, Unit { member, is_held, part, new, .. }: Unit) {
        let paid = self.share(&member).confirm(part);
        self.found.paid.extend(paid);
        if is_held {
            self.found.released.push(member.clone());
        }
        if is_held || new.is_none() {
            self.found.confirmed.push(member);
        }
    }

    /// It fits: settled, and not confirmed yet.
    fn release(&mut self, Unit { member, part, .. }: Unit) {
        self.share(&member).wait(part);
        self.found.released.push(member);
    }

    /// Payments that nothing has contradicted for long enough are made; what they are for goes on being compared.
    fn hear(&mut self, delivered: &[ClientId]) {
        let is_believed = |member: &&ClientId| self.shares[*member].held.is_none();
        let believed: Vec<&ClientId> = delivered.iter().filter(is_believed).collect();
        for (member, share) in self.shares.iter_mut() {
            let is_beside = believed.iter().any(|other| *other != member);
            for part in share.waiting.iter_mut().chain(&mut share.held) {
                part.alone = !is_beside && (part.alone || delivered.contains(member));
            }
            let Some(waiting) = share.waiting.as_mut().filter(|_| is_beside) else { continue };
            for owed in waiting.owed.iter_mut().filter(|owed| owed.payment.round < self.round) {
                owed.heard += 1;
            }
            let is_due = |owed: &mut Owed| owed.heard >= self.rounds;
            #[cfg(feature = "planted-faults")]
            let is_due = |owed: &mut Owed| {
                is_due(owed) || crate::planted::is(crate::planted::Fault::PaidUnconfirmed) && owed.heard > 0
            };
            let due = waiting.owed.extract_if(.., is_due);
            self.found.paid.extend(due.map(|owed| owed.payment));
        }
    }

    fn share(&mut self, member: &ClientId) -> &mut Share {
        let dimension = self.config.dimension();
        self.shares.entry(member.clone()).or_insert_with(|| Share::nothing(dimension))
    }
}

/// The sums of the first 0, 1, 2, ... statistics.
fn running<'a>(dimension: usize, statistics: impl Iterator<Item = &'a Statistics>) -> Vec<Statistics> {
    let mut sums = vec![share::nothing(dimension)];
    for part in statistics {
        let mut sum = sums.last().expect("there is one").clone();
        share::merge(&mut sum, part);
        sums.push(sum);
    }
    sums
}
