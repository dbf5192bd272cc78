//! What one client gains over a whole run by a strategy, while all others are truthful.
//!
//! Truthfulness is a promise about one round. Over many rounds, an action changes what the client has to sell later, what
//! the others have sold by then, and when rounds happen. Here one client after another follows each [`Strategy`] from
//! start to end, in the same worlds (arms, noise, costs) in which it also told the truth. A gain is the difference of its
//! two utilities (payments minus true costs) under the same seed. Regret is not part of the utility.
//!
//! A strategy uses only what a client can know: the terms, its own data, its own rounds. The best parameter of each family
//! is chosen by mean utility under some seeds and its gain is measured under others. Measured where it was chosen, the
//! best of many useless strategies would seem to pay. [`Finding::pays`] also demands more than three standard errors.
//!
//! Not here: lies within one round ([`truthfed::audit`] tries those without a simulator), groups.

mod finding;
mod strategy;

pub use finding::{Finding, Findings};
pub use strategy::{Family, Strategy};

use std::ops::RangeInclusive;

use rayon::prelude::*;
use truthfed::auction::catalog;

use crate::config::{Behaviours, Config, ConfigError};
use crate::experiment::Spread;
use crate::simulation::{ClientTotals, Simulation};
use crate::world::{Source, WorldError};

/// The default setting: a federation small enough for every mechanism, with many rounds, prices set by competition, and
/// essential clients that are rare but paid a lot.
pub const SETTING: &str = include_str!("setting.toml");

/// The mechanisms, strategies, clients and seeds to try.
#[derive(Debug, Clone)]
pub struct Plan {
    config: Config,
    /// The configuration with each of the mechanisms.
    settings: Vec<Config>,
    strategies: Vec<Strategy>,
    manipulators: usize,
    seeds: u64,
    choosing_seeds: u64,
}

/// One run: a mechanism, a seed, and a client with its strategy, if any.
#[derive(Debug, Clone, Copy)]
struct Task<'p> {
    setting: &'p Config,
    seed: u64,
    manipulation: Option<(Strategy, usize)>,
}

impl Plan {
    /// All strategies of every client in turn, for all mechanisms that pay. Gains are measured under seeds 1 to 10, and
    /// parameters chosen under the next five. The plan ignores the configuration's mechanism and `behaviour`.
    pub fn new(config: Config) -> Plan {
        let manipulators = config.raw().world.clients;
        let settings = Vec::new();
        let plan = Plan { config, settings, strategies: Strategy::all(), manipulators, seeds: 10, choosing_seeds: 5 };
        let paying: Vec<&str> =
            catalog::entries().iter().filter(|entry| entry.claims().pays()).map(|entry| entry.name).collect();
        plan.with_mechanisms(&paying).expect("the catalog has its own mechanisms")
    }

    /// Restricts the plan to these mechanisms. Fails when the catalog does not have one of them.
    pub fn with_mechanisms(self, names: &[&str]) -> Result<Plan, ConfigError> {
        let setting = |name: &&str| {
            let mut raw = self.config.raw().clone();
            raw.rounds.mechanism = (*name).to_owned();
            raw.behaviour = Behaviours::default();
            Config::try_from(raw)
        };
        Ok(Plan { settings: names.iter().map(setting).collect::<Result<_, _>>()?, ..self })
    }

    /// Restricts the plan to these strategies.
    #[must_use]
    pub fn with_strategies(self, strategies: &[Strategy]) -> Plan {
        Plan { strategies: strategies.to_vec(), ..self }
    }

    /// Lets only the first `manipulators` clients manipulate: at least one, at most all.
    #[must_use]
    pub fn with_manipulators(self, manipulators: usize) -> Plan {
        Plan { manipulators: manipulators.clamp(1, self.config.raw().world.clients), ..self }
    }

    /// Measures gains under seeds `1..=seeds`, at least one.
    #[must_use]
    pub fn with_seeds(self, seeds: u64) -> Plan {
        Plan { seeds: seeds.max(1), ..self }
    }

    /// Chooses parameters under this many seeds, at least one: those after the seeds of the measurement.
    #[must_use]
    pub fn with_choosing_seeds(self, choosing_seeds: u64) -> Plan {
        Plan { choosing_seeds: choosing_seeds.max(1), ..self }
    }

    /// The number of runs of the plan.
    pub fn runs(&self) -> u64 {
        let families = Family::ALL.iter().filter(|family| self.strategies.iter().any(|one| one.family() == **family));
        let per_seed = |strategies: usize| (1 + strategies * self.manipulators) as u64;
        let of_setting =
            self.choosing_seeds * per_seed(self.strategies.len()) + self.seeds * per_seed(families.count());
        self.settings.len() as u64 * of_setting
    }

    /// Runs everything in parallel. The result does not depend on the number of threads. Calls `done` after each run,
    /// from any thread. Fails when a file of the configuration cannot be used.
    pub fn run(&self, done: impl Fn() + Sync) -> Result<Findings, WorldError> {
        let source = Source::read(&self.config)?;
        let try_all = |strategies: &[Vec<Strategy>], seeds: RangeInclusive<u64>| {
            let run = |task: Task<'_>| {
                let utilities = task.run(&source, self.manipulators);
                done();
                utilities
            };
            let tasks = self.tasks(strategies, seeds.clone());
            let utilities: Vec<Vec<f64>> = tasks.into_par_iter().map(run).collect();
            self.findings(strategies, seeds, utilities)
        };
        let all = vec![self.strategies.clone(); self.settings.len()];
        let trials = try_all(&all, self.seeds + 1..=self.seeds + self.choosing_seeds);
        let chosen: Vec<Vec<Strategy>> = trials.iter().map(|trials| finding::choose(trials)).collect();
        let best = try_all(&chosen, 1..=self.seeds);
        Ok(Findings {
            clients: self.config.raw().world.clients,
            manipulators: self.manipulators,
            seeds: self.seeds,
            choosing_seeds: self.choosing_seeds,
            best: best.into_iter().flatten().map(|(_, found)| found).collect(),
            trials: trials.into_iter().flatten().map(|(_, found)| found).collect(),
        })
    }

    /// For each mechanism and seed the truth, then each of the mechanism's strategies by each manipulator.
    fn tasks(&self, strategies: &[Vec<Strategy>], seeds: RangeInclusive<u64>) -> Vec<Task<'_>> {
        let mut tasks = Vec::new();
        for (setting, strategies) in self.settings.iter().zip(strategies) {
            for seed in seeds.clone() {
                tasks.push(Task { setting, seed, manipulation: None });
                for &strategy in strategies {
                    let by = |client| Task { setting, seed, manipulation: Some((strategy, client)) };
                    tasks.extend((0..self.manipulators).map(by));
                }
            }
        }
        tasks
    }

    /// Sums up the utilities of the tasks by mechanism and strategy.
    fn findings(
        &self,
        strategies: &[Vec<Strategy>],
        seeds: RangeInclusive<u64>,
        utilities: Vec<Vec<f64>>,
    ) -> Vec<Vec<(Strategy, Finding)>> {
        let mut utilities = utilities.into_iter();
        let mut next = |tasks: usize| Spread::of(utilities.by_ref().take(tasks).flatten()).mean;
        let mut of_setting = |(setting, strategies): (&Config, &Vec<Strategy>)| {
            let mut truth = Vec::new();
            let mut manipulated = vec![Vec::new(); strategies.len()];
            for _ in seeds.clone() {
                truth.push(next(1));
                manipulated.iter_mut().for_each(|of_strategy| of_strategy.push(next(self.manipulators)));
            }
            let mechanism = &setting.raw().rounds.mechanism;
            let found = |(&strategy, utilities): (&Strategy, Vec<f64>)| {
                (strategy, Finding::new(mechanism, strategy, &utilities, &truth))
            };
            strategies.iter().zip(manipulated).map(found).collect()
        };
        self.settings.iter().zip(strategies).map(&mut of_setting).collect()
    }
}

impl Task<'_> {
    /// The utility of the manipulator; if nobody manipulates, that of every client that might.
    fn run(self, source: &Source, manipulators: usize) -> Vec<f64> {
        let truthful = Simulation::from_source(self.setting, source, self.seed);
        match self.manipulation {
            None => truthful.run().clients[..manipulators].iter().map(ClientTotals::utility).collect(),
            Some((strategy, client)) => vec![strategy.follow(truthful, client).run().clients[client].utility()],
        }
    }
}

#[cfg(test)]
mod tests;
