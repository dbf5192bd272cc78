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
mod search;
mod strategy;

pub use finding::{Finding, Findings};
pub use strategy::{Family, Strategy};

use std::ops::RangeInclusive;

use rayon::prelude::*;
use truthfed::auction::catalog;

use crate::config::{Behaviours, Config, ConfigError};
use crate::experiment::Spread;
use crate::simulation::{ClientTotals, Run, Simulation};
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
    /// Whether a best response is searched for beside the strategies.
    searches: bool,
}

impl Plan {
    /// All strategies of every client in turn, for all mechanisms that pay and those of the caller's own. Gains are measured under seeds 1 to 10, and
    /// parameters chosen under the next five. The plan ignores the configuration's mechanism and `behaviour`.
    pub fn new(config: Config) -> Plan {
        let manipulators = config.raw().world.clients;
        let settings = Vec::new();
        let mut strategies = Strategy::under(&config.raw().rounds);
        strategies.retain(|strategy| manipulators > 1 || *strategy != Strategy::Merge);
        let plan = Plan { config, settings, strategies, manipulators, seeds: 10, choosing_seeds: 5, searches: false };
        let paying = catalog::entries().iter().filter(|entry| entry.claims().pays()).map(|entry| entry.name);
        let parts = plan.config.parts().clone();
        let names: Vec<&str> = paying.chain(parts.mechanisms()).collect();
        plan.with_mechanisms(&names).expect("the catalog and the parts have their own mechanisms")
    }

    /// Restricts the plan to these mechanisms. Fails when neither the catalog nor the parts of the configuration have one.
    pub fn with_mechanisms(self, names: &[&str]) -> Result<Plan, ConfigError> {
        let setting = |name: &&str| {
            let mut raw = self.config.raw().clone();
            raw.rounds.mechanism = (*name).to_owned();
            raw.behaviour = Behaviours::default();
            Config::check(raw, self.config.parts())
        };
        Ok(Plan { settings: names.iter().map(setting).collect::<Result<_, _>>()?, ..self })
    }

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

    /// Searches for a best response too, under the seeds of the choice.
    #[must_use]
    pub fn with_search(self, searches: bool) -> Plan {
        Plan { searches, ..self }
    }

    pub fn runs(&self) -> u64 {
        let families = Family::ALL.iter().filter(|family| self.strategies.iter().any(|one| one.family() == **family));
        let per_seed = |strategies: usize| (1 + strategies * self.manipulators) as u64;
        let (families, searches) = (families.count() + usize::from(self.searches), u64::from(self.searches));
        // The one that is found is tried once more beside the truth, as the others are.
        let search = searches * (search::TRIED * self.manipulators as u64 + per_seed(1));
        let of_setting =
            self.choosing_seeds * (per_seed(self.strategies.len()) + search) + self.seeds * per_seed(families);
        self.settings.len() as u64 * of_setting
    }

    /// Runs everything in parallel. The result does not depend on the number of threads. Calls `done` after each run,
    /// from any thread. Fails when a file of the configuration cannot be used.
    pub fn run(&self, done: impl Fn() + Sync) -> Result<Findings, WorldError> {
        let source = Source::read(&self.config)?;
        let run = |simulation: Simulation<'_>| {
            let run = simulation.run();
            done();
            run
        };
        let try_all = |strategies: &[Vec<Strategy>], seeds: RangeInclusive<u64>| -> Vec<Vec<(Strategy, Finding)>> {
            let settings = self.settings.par_iter().zip(strategies);
            settings.map(|(setting, strategies)| self.measure(setting, &source, strategies, &seeds, &run)).collect()
        };
        let all = vec![self.strategies.clone(); self.settings.len()];
        let choosing = self.seeds + 1..=self.seeds + self.choosing_seeds;
        let mut trials = try_all(&all, choosing.clone());
        let mut chosen: Vec<Vec<Strategy>> = trials.iter().map(|trials| finding::choose(trials)).collect();
        if self.searches {
            let search = |setting: &Config| {
                search::ascend(|strategies| {
                    let utility = |&strategy: &Strategy| {
                        let seeds = choosing.clone().into_par_iter();
                        seeds.map(|seed| self.utility(setting, &source, strategy, seed, &run)).sum::<f64>()
                    };
                    strategies.par_iter().map(utility).collect()
                })
            };
            let found: Vec<Vec<Strategy>> = self.settings.iter().map(|setting| vec![search(setting)]).collect();
            trials.iter_mut().zip(try_all(&found, choosing)).for_each(|(trials, found)| trials.extend(found));
            chosen.iter_mut().zip(found).for_each(|(chosen, found)| chosen.extend(found));
        }
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

    /// Compares each strategy with the truth, under one mechanism. A utility is the mean over the manipulators: all of
    /// them in one truthful run, each in a run in which it alone follows the strategy.
    fn measure(
        &self,
        setting: &Config,
        source: &Source,
        strategies: &[Strategy],
        seeds: &RangeInclusive<u64>,
        run: &(impl Fn(Simulation<'_>) -> Run + Sync),
    ) -> Vec<(Strategy, Finding)> {
        let simulation = |seed| Simulation::from_source(setting, source, seed);
        let truthful = |seed| {
            let clients = run(simulation(seed)).clients;
            Spread::of(clients[..self.manipulators].iter().map(ClientTotals::utility)).mean
        };
        let truth: Vec<f64> = seeds.clone().into_par_iter().map(truthful).collect();
        let found = |&strategy: &Strategy| {
            let lies = seeds.clone().into_par_iter().map(|seed| self.utility(setting, source, strategy, seed, run));
            let lies: Vec<f64> = lies.collect();
            (strategy, Finding::new(&setting.raw().rounds.mechanism, strategy, &lies, &truth))
        };
        strategies.par_iter().map(found).collect()
    }

    /// The mean utility of the manipulators under a seed, each in a run in which it alone follows the strategy.
    fn utility(
        &self,
        setting: &Config,
        source: &Source,
        strategy: Strategy,
        seed: u64,
        run: &(impl Fn(Simulation<'_>) -> Run + Sync),
    ) -> f64 {
        let by = |client: usize| {
            let simulation = Simulation::from_source(setting, source, seed);
            let clients = run(strategy.follow(simulation, client)).clients;
            let partner = &clients[(client + 1) % clients.len()];
            let own = clients[client].utility();
            if strategy == Strategy::Merge { f64::midpoint(own, partner.utility()) } else { own }
        };
        let utilities: Vec<f64> = (0..self.manipulators).into_par_iter().map(by).collect();
        Spread::of(utilities).mean
    }
}

#[cfg(test)]
mod tests;
