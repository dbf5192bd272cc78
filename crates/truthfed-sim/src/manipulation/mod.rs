//! What a client that knows the mechanism can gain over a whole run, all others being truthful.
//!
//! Truthfulness is a promise about one round. Over many rounds, what a client does now changes what it has to sell
//! later, what the others have sold by then, and when rounds happen. Here one client after another follows each
//! [`Strategy`] from start to end, in the same worlds (arms, noise, costs) in which it also told the truth; a gain is
//! the difference of its two utilities, payments less true costs, in the same seed. The regret of the client is not
//! part of its utility.
//!
//! A strategy knows what a client may know: the terms, its own data, its own rounds. The best parameter of each family
//! is chosen by mean utility under some seeds, and its gain is measured under others: measured where it was chosen, the
//! best of many strategies that do nothing would seem to pay. [`Finding::pays`] asks for more than three standard errors
//! besides.
//!
//! Not here: lies within one round (every ask of one client is an audit's, and needs no simulator), groups.

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

/// The setting for which strategies are tried unless another is given: a federation small enough for every mechanism,
/// in which rounds are many, prices follow from competition, and being essential is worth a lot but rare.
pub const SETTING: &str = include_str!("setting.toml");

/// Mechanisms, strategies, clients and seeds to be tried.
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

/// One run: who follows which strategy, if anyone, under which mechanism.
#[derive(Debug, Clone, Copy)]
struct Task<'p> {
    setting: &'p Config,
    seed: u64,
    manipulation: Option<(Strategy, usize)>,
}

impl Plan {
    /// All strategies, of every client in turn, for all mechanisms that pay: gains under seeds 1 to 10, parameters chosen
    /// under the five after them. The configuration's own mechanism and `behaviour` do not matter.
    pub fn new(config: Config) -> Plan {
        let manipulators = config.raw().world.clients;
        let settings = Vec::new();
        let plan = Plan { config, settings, strategies: Strategy::all(), manipulators, seeds: 10, choosing_seeds: 5 };
        let paying: Vec<&str> = catalog::names().into_iter().filter(|name| *name != "everyone").collect();
        plan.with_mechanisms(&paying).expect("the catalog has its own mechanisms")
    }

    /// The same for these mechanisms.
    ///
    /// # Errors
    /// When the catalog does not have one of them.
    pub fn with_mechanisms(self, names: &[&str]) -> Result<Plan, ConfigError> {
        let setting = |name: &&str| {
            let mut raw = self.config.raw().clone();
            raw.rounds.mechanism = (*name).to_owned();
            raw.behaviour = Behaviours::default();
            Config::try_from(raw)
        };
        Ok(Plan { settings: names.iter().map(setting).collect::<Result<_, _>>()?, ..self })
    }

    /// The same for these strategies.
    #[must_use]
    pub fn with_strategies(self, strategies: &[Strategy]) -> Plan {
        Plan { strategies: strategies.to_vec(), ..self }
    }

    /// The same for the first so many clients: at least one, at most all.
    #[must_use]
    pub fn with_manipulators(self, manipulators: usize) -> Plan {
        Plan { manipulators: manipulators.clamp(1, self.config.raw().world.clients), ..self }
    }

    /// The same with gains measured under seeds `1..=seeds`, at least one.
    #[must_use]
    pub fn with_seeds(self, seeds: u64) -> Plan {
        Plan { seeds: seeds.max(1), ..self }
    }

    /// The same with parameters chosen under so many seeds, at least one: those after the seeds of the measurement.
    #[must_use]
    pub fn with_choosing_seeds(self, choosing_seeds: u64) -> Plan {
        Plan { choosing_seeds: choosing_seeds.max(1), ..self }
    }

    /// How many runs there will be.
    pub fn runs(&self) -> u64 {
        let families = Family::ALL.iter().filter(|family| self.strategies.iter().any(|one| one.family() == **family));
        let per_seed = |strategies: usize| (1 + strategies * self.manipulators) as u64;
        let of_setting =
            self.choosing_seeds * per_seed(self.strategies.len()) + self.seeds * per_seed(families.count());
        self.settings.len() as u64 * of_setting
    }

    /// Runs everything, in parallel; the result does not depend on the number of threads. `done` is called after each
    /// run, from any thread.
    ///
    /// # Errors
    /// When a file of the configuration cannot be used.
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

    /// What the utilities of the tasks come to, by mechanism and strategy.
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
    /// The utility of the manipulator, or that of all who might be one.
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
