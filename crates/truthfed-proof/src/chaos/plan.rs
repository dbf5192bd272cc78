//! Everything a seed decides before the run begins.

use truthfed::Amount;
use truthfed::auction::catalog::{self, Claim};
use truthfed::bandit::RawConfig;
use truthfed::generate::Stream;
use truthfed::protocol::{Quality, QualityRule, Quota, SamplesSetting, Since, Strikes, Trigger};
use truthfed_node::net::{body_bytes, message_bytes};
use truthfed_node::terms::{Agreement, CoverageSetting, MechanismSetting, RawTerms};

use crate::chaos::application::WAITING;
use crate::chaos::weather::Weather;

/// Who is who, what was agreed on, and how bad the weather will be.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub agreement: Agreement,
    /// The parameter that rewards follow, where they follow one.
    pub truth: Option<Vec<f64>>,
    /// How the members behave, those that come later last.
    pub roles: Vec<Role>,
    /// How many of them are there from the beginning.
    pub founders: usize,
    /// What taking part costs each, in units.
    pub costs: Vec<i64>,
    pub lease_ms: u64,
    /// After so many rounds the faults stop.
    pub rounds: u64,
    pub weather: Weather,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Asks its cost.
    Honest,
    /// Asks anything.
    Strategic,
    /// Signs and sends what it should not.
    Liar,
    /// Harms others by the rules.
    Attacker,
    /// Sells data that says something else than what there is to observe.
    Inventor(Invention),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Invention {
    /// Rewards of the opposite world.
    Opposite,
    /// Rewards of a world in which the coordinates of the parameter that are bits of this have the opposite sign.
    Other(usize),
    /// True rewards of its first so many choices, and opposite ones of all later.
    Turn(u64),
    /// Nothing that anyone observed: Gram matrices that multiply the determinant of what is settled, and the opposite of what it says.
    Invert,
}

impl Role {
    /// Attackers and those who invent everything say themselves what serves them.
    pub(crate) fn has_agent(self) -> bool {
        !matches!(self, Role::Attacker | Role::Inventor(Invention::Invert))
    }

    /// After so many samples all that it sells is invented; none if nothing is.
    pub(crate) fn invents_after(self) -> Option<u64> {
        match self {
            // Of the choices that wait, a later one may be learned first.
            Role::Inventor(Invention::Turn(choices)) => Some(choices + WAITING as u64),
            Role::Inventor(_) => Some(0),
            _ => None,
        }
    }
}

impl Plan {
    pub fn of(seed: u64) -> Plan {
        let mut dice = Stream::new(seed, 1);
        let count = dice.between(2, 8);
        let late = if dice.chance(0.5) { dice.between(0, 2) } else { 0 };
        let founders = count.saturating_sub(late).max(2);
        let (may_lie, may_attack) = (dice.chance(0.4), dice.chance(0.4));
        let mut world = Stream::new(seed, 3);
        let is_common = world.chance(0.3);
        let role = |dice: &mut Stream| match dice.uniform() {
            x if x < 0.2 && may_lie => Role::Liar,
            x if x < 0.4 => Role::Strategic,
            x if x < 0.6 && may_attack && !is_common => Role::Attacker,
            _ => Role::Honest,
        };
        let agreement = agreement(&mut dice, is_common);
        let mut roles: Vec<Role> = (0..count).map(|_| role(&mut dice)).collect();
        // Two could vouch for each other.
        if is_common && count > 2 {
            let at = world.between(0, count - 1);
            roles[at] = Role::Inventor(invention(&mut world, agreement.dimension()));
        }
        Plan {
            seed,
            truth: is_common.then(|| parameter(&mut world, agreement.dimension())),
            agreement,
            roles,
            founders,
            costs: (0..count).map(|_| dice.between(1, 60) as i64).collect(),
            lease_ms: dice.pick(&[300, 1000, 3000]),
            rounds: dice.between(15, 40) as u64,
            weather: Weather::draw(&mut dice),
        }
    }
}

impl Plan {
    /// The bytes that the bodies of one member may have: a large one and a small one.
    pub(crate) fn share(&self) -> usize {
        let dimension = self.agreement.dimension();
        body_bytes(dimension) + message_bytes(dimension)
    }
}

fn invention(dice: &mut Stream, dimension: usize) -> Invention {
    match dice.between(0, 4) {
        0 => Invention::Opposite,
        1 => Invention::Other(dice.between(1, (1 << dimension) - 1)),
        2 => Invention::Turn(dice.between(0, 100) as u64),
        _ => Invention::Invert,
    }
}

/// About as long as 1, in sixteenths: with contexts in quarters, rewards and their sums are exact.
fn parameter(dice: &mut Stream, dimension: usize) -> Vec<f64> {
    let entry = [16.0, 11.0, 9.0, 8.0][dimension - 1] / 16.0;
    (0..dimension).map(|_| if dice.chance(0.5) { entry } else { -entry }).collect()
}

/// In a common world, data is judged as `init` would have it.
fn agreement(dice: &mut Stream, is_common: bool) -> Agreement {
    // Any of the catalog, the default more often than the others.
    let names = [catalog::names(), vec![catalog::DEFAULT; 2]].concat();
    let mechanism = MechanismSetting::named(dice.pick(&names)).expect("the catalog has its own names");
    let coverage = match dice.chance(0.15) {
        true => CoverageSetting::Rule("monopoly-free".to_owned()),
        false => CoverageSetting::Ratio(dice.pick(&[0.01, 0.3, 0.5, 0.7, 0.9, 1.0])),
    };
    let dimension = dice.between(1, 4);
    let keeps_purse = mechanism.claims().within_purse == Claim::Yes;
    let mut purse = |most: usize| {
        let micros = dice.between(1, most * 1_000_000) as i64;
        Amount::from_micros(micros).filter(|_| keeps_purse && dice.chance(0.5))
    };
    let (purse, daily_purse) = (purse(60), purse(600));
    let quota = match dice.chance(0.4) {
        true => Quota { samples: dice.pick(&[1, 5, 50]), per_ms: dice.pick(&[50, 200, 1000]), ..Quota::default() },
        false => Quota::default(),
    };
    let quality = match dice.chance(0.5) {
        true => Quality { rule: QualityRule::Hold, rounds: dice.pick(&[1, 3, 10]) },
        false => Quality::default(),
    };
    // Elsewhere rewards follow no common parameter: to some members' terms they contradict each other, to others' they are noise.
    let sigma = dice.pick(&[0.1, 0.1, 30.0, 150.0]);
    let mut document = RawTerms {
        bandit: RawConfig { dimension, lambda: dice.pick(&[0.1, 1.0]), sigma, ..RawConfig::default() },
        trigger: Trigger::new(dice.pick(&[Since::Round, Since::Delivery]), dice.pick(&[0.0, 0.1, 0.5])),
        coverage,
        reserve: Amount::from_units(dice.pick(&[20, 70, 10_000])),
        purse,
        daily_purse,
        quota,
        quality,
        reward: 256.0,
        samples: 100_000,
        least_samples: if dice.chance(0.3) { SamplesSetting::auto() } else { SamplesSetting::none() },
        offers_ms: dice.pick(&[200, 500, 1500]),
        deliveries_ms: dice.pick(&[200, 500, 1500]),
        gap_ms: dice.pick(&[0, 0, 100, 1000]),
        capacity: match dice.chance(0.15) {
            true => SamplesSetting::Samples(dice.between(100, 500) as u64),
            false => SamplesSetting::auto(),
        },
        strikes: match dice.between(0, 2) {
            0 => Strikes { rounds: 0, ..Strikes::default() },
            1 => Strikes { defaults: 2, within: 5, rounds: 3 },
            _ => Strikes { defaults: 3, within: 20, rounds: 10 },
        },
        mechanism: mechanism.into(),
        ..RawTerms::default()
    };
    if is_common {
        (document.bandit.lambda, document.bandit.sigma) = (0.1, 0.1);
        document.quality = Quality { rule: QualityRule::Hold, rounds: 10 };
        document.least_samples = SamplesSetting::auto();
    }
    Agreement::try_from(document).expect("all of these terms are valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mechanism_of_the_catalog_is_soaked() {
        let drawn = |name| (0..200).filter(|seed| Plan::of(*seed).agreement.mechanism().name() == name).count();
        for name in catalog::names() {
            assert!(drawn(name) >= 5, "{name} is drawn {} times", drawn(name));
        }
    }
}
