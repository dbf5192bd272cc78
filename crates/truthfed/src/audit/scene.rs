//! One round under audit: every mechanism on it, every check.

use super::bought::Bought;
use super::coalition::{self, Best, Table};
use super::economics::{Optimum, Ratios};
use super::effort::Effort;
use super::finding::{Verdict, clients};
use super::profile::{Profile, Suspect};
use super::{Audit, Property, outcome, single};
use crate::auction::{Mechanism, Outcome, Round, Seat};
use crate::generate::Stream;

/// What was found of one mechanism: a verdict for each check, in their order.
#[derive(Debug, Clone)]
pub(super) struct Sheet {
    pub(super) verdicts: Vec<Verdict>,
    pub(super) ratios: Ratios,
}

impl Sheet {
    pub(super) fn merge(&mut self, later: Sheet) {
        self.verdicts.iter_mut().zip(later.verdicts).for_each(|(verdict, later)| verdict.merge(later));
        self.ratios.merge(later.ratios);
    }
}

/// A round, and what the audits of all mechanisms on it share.
pub(super) struct Scene<'r> {
    round: &'r Round,
    effort: Effort,
    seed: u64,
    suspects: Vec<Suspect>,
    groups: Vec<Vec<Seat>>,
    optimum: Option<Optimum>,
    bought: Option<Bought>,
}

impl<'r> Scene<'r> {
    /// The optimum is searched for where a check needs it, or else for economics.
    pub(super) fn new(audit: &Audit, round: &'r Round, with_economics: bool) -> Scene<'r> {
        let seed = fingerprint(round);
        let effort = audit.effort.on(round.admitted());
        let asks_for = |properties: &[Property]| audit.checks.iter().any(|check| properties.contains(check));
        let suspects = match asks_for(&single::PROPERTIES) {
            true => Suspect::all(round, effort.asks, &mut Stream::new(seed, 1)),
            false => Vec::new(),
        };
        let groups = match asks_for(&coalition::PROPERTIES) {
            true => coalition::groups(round, effort.groups, &mut Stream::new(seed, 2)),
            false => Vec::new(),
        };
        let needs_optimum = with_economics || asks_for(&[Property::Optimum]);
        let optimum = needs_optimum.then(|| Optimum::of(round).ok()).flatten();
        let bought = with_economics.then(|| Bought::of(round)).flatten();
        Scene { round, effort, seed, suspects, groups, optimum, bought }
    }

    pub(super) fn sheet(&self, audit: &Audit, mechanism: &dyn Mechanism) -> Sheet {
        let mut sheet = audit.empty_sheet(mechanism.name());
        match mechanism.run(self.round) {
            Ok(honest) => self.fill(&mut sheet, mechanism, &honest),
            Err(_) => sheet.verdicts.iter_mut().for_each(|verdict| verdict.refused += self.cases(verdict.property)),
        }
        sheet
    }

    /// How many cases of a property the round has at most.
    fn cases(&self, property: Property) -> u64 {
        match property {
            property if single::PROPERTIES.contains(&property) => clients(self.round) as u64,
            property if coalition::PROPERTIES.contains(&property) => self.groups.len() as u64,
            Property::Purse if self.round.purse().is_none() => 0,
            _ => 1,
        }
    }

    fn fill(&self, sheet: &mut Sheet, mechanism: &dyn Mechanism, honest: &Outcome) {
        sheet.ratios.add(self.round, honest, self.optimum, self.bought);
        let mut each = |properties: &[Property], record: &mut dyn FnMut(&mut Verdict)| {
            sheet.verdicts.iter_mut().filter(|verdict| properties.contains(&verdict.property)).for_each(record);
        };
        for (place, suspect) in self.suspects.iter().enumerate() {
            let limits = self.effort.for_client(honest, place, self.suspects.len());
            let profile = Profile::new(mechanism, suspect, honest, limits);
            each(&single::PROPERTIES, &mut |verdict| match &profile {
                Ok(profile) if single::is_case(verdict.property, profile) => {
                    verdict.add(single::judge(verdict.property, suspect, profile));
                }
                Ok(_) => {}
                Err(_) => verdict.refused += 1,
            });
        }
        let table = Table { mechanism, round: self.round, honest };
        let mut stream = Stream::new(self.seed, 3);
        let affordable = self.effort.groups_within(honest, clients(self.round));
        let limits = self.effort.for_group(honest, clients(self.round));
        for group in self.groups.iter().take(affordable) {
            let best = Best::of(&table, group, limits, &mut stream);
            each(&coalition::PROPERTIES, &mut |verdict| match &best {
                Ok(best) => verdict.add(best.violation(verdict.property, self.round, group)),
                Err(_) => verdict.refused += 1,
            });
        }
        let missed = outcome::missed_target(mechanism, self.round, honest);
        each(&[Property::Coverage], &mut |verdict| match &missed {
            Ok(missed) => verdict.add(missed.clone()),
            Err(_) => verdict.refused += 1,
        });
        if let Some(purse) = self.round.purse() {
            each(&[Property::Purse], &mut |verdict| verdict.add(outcome::above_purse(self.round, honest, purse)));
        }
        each(&[Property::Optimum], &mut |verdict| match self.optimum {
            Some(optimum) => verdict.add(outcome::dearer_than(self.round, honest, optimum.cost)),
            None => verdict.refused += 1,
        });
    }
}

/// A number that is the same for the same asks and data: what is drawn for a round does not depend on its place.
fn fingerprint(round: &Round) -> u64 {
    // The multiplier of 64-bit FNV-1a; the rotation brings high bits down.
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let words = |seat: Seat| {
        let data = round.gram(seat).iter().map(|entry| entry.to_bits());
        std::iter::once(round.ask(seat).micros() as u64).chain(data)
    };
    round.seats().flat_map(words).fold(round.reserve().micros() as u64, mix)
}
