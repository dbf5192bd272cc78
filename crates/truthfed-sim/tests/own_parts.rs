//! A mechanism, a cost and a world of the caller's own, in everything that runs a configuration.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

use truthfed::Amount;
use truthfed::auction::{Clock, Evaluations, Everyone, Mechanism, Outcome, PaymentRule, Refusal, Round};
use truthfed::statistics::Statistics;
use truthfed_sim::config::{Config, Parts};
use truthfed_sim::experiment::run_seeds;
use truthfed_sim::manipulation::{Plan, Strategy};
use truthfed_sim::output::{OutputFolder, SWEEP};
use truthfed_sim::simulation::Simulation;
use truthfed_sim::sweep::{Event, Sweep, Unfit, run};
use truthfed_sim::world::{Played, World};

/// Everyone takes part and is paid 7.
struct Sevens;

impl Mechanism for Sevens {
    fn name(&self) -> &str {
        "sevens"
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        let paid = round.seats().map(|seat| (seat, Amount::from_units(7))).collect();
        Ok(Outcome::new(round, self.name(), PaymentRule::Critical, round.coverage(), paid, Evaluations::default()))
    }
}

/// Two arms; the second pays 1.
struct TwoArms([Vec<f64>; 2]);

impl World for TwoArms {
    fn present(&mut self, _client: usize) -> &[usize] {
        &[0, 1]
    }

    fn arm(&self, index: usize) -> &[f64] {
        &self.0[index]
    }

    fn play(&mut self, _client: usize, index: usize) -> Played {
        Played { reward: index as f64, regret: 1.0 - index as f64, blind: 0.5 }
    }
}

const SMALL: &str = "[world]\ndimension = 2\nclients = 4\nsteps = 300\n[rounds]\nmechanism = \"sevens\"";

fn parts() -> Parts {
    let world = |config: &Config, _seed| {
        assert_eq!(config.raw().world.dimension, 2);
        TwoArms([vec![1.0, 0.0], vec![0.0, 1.0]])
    };
    let cost = |_: &Config, seed: u64| move |_: usize, _: &Statistics| seed as f64;
    Parts::default().with_mechanism(Sevens).with_world(world).with_cost(cost)
}

#[test]
fn a_configuration_carries_them_to_every_seed() {
    let config = Config::read_with(SMALL, &[], &parts()).unwrap();
    for run in run_seeds(&config, 3, || {}).unwrap() {
        let totals = run.totals();
        assert!(totals.participations > 4 && totals.regret < 20.0, "{totals:?}");
        assert_eq!(totals.incentive, 7.0 * totals.participations as f64);
        assert_eq!(totals.social_cost, (run.seed * totals.participations) as f64);
    }
}

#[test]
fn a_simulation_takes_them_one_by_one() {
    let config = Config::read("[world]\nclients = 4\nsteps = 300", &[]).unwrap();
    let totals = |simulation: Simulation<'_>| simulation.run().totals();
    let simulation = || Simulation::new(&config, 1).unwrap();
    assert_eq!(totals(simulation()), totals(simulation().with_mechanism(Clock)));
    let paid = totals(simulation().with_mechanism(Sevens));
    assert_eq!(paid.incentive, 7.0 * paid.participations as f64);
}

#[test]
fn a_plan_of_manipulations_tries_them_beside_the_catalog() {
    let own = Parts::default().with_mechanism(Sevens);
    let config = Config::read_with("[world]\nclients = 4\nsteps = 300", &[], &own).unwrap();
    let plan = Plan::new(config).with_strategies(&[Strategy::Multiple(2.0)]).with_seeds(2).with_choosing_seeds(1);
    let found = plan.clone().with_mechanisms(&["clock", "sevens"]).unwrap().run(|| {}).unwrap();
    assert_eq!(found.best.iter().map(|found| found.mechanism.as_str()).collect::<Vec<_>>(), ["clock", "sevens"]);
    assert_eq!(found.best[1].gain.mean, 0.0, "whatever one asks, one is paid 7");
    let refused = plan.with_mechanisms(&["eights"]).unwrap_err().to_string();
    assert!(refused.ends_with("vcg, alone, sevens"), "{refused}");
}

#[test]
fn a_sweep_compares_them_and_never_takes_their_old_cells_over() {
    let text = "[world]\nclients = 4\nsteps = 300\n[sweep]\nseeds = 1\n[sweep.grid]\n\
                \"rounds.mechanism\" = [\"everyone\", \"sevens\", \"alone\"]";
    let sweep = Sweep::read_with(text, &Parts::default().with_mechanism(Sevens)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = || {
        let output = OutputFolder::open(folder.path(), &SWEEP).unwrap();
        let (told, kept) = (std::sync::Mutex::new(Vec::new()), std::sync::Mutex::new(0));
        let tell = |event: Event<'_>| match event {
            Event::Unfit { problem, .. } => told.lock().unwrap().push(problem),
            Event::Started { kept: found, .. } => *kept.lock().unwrap() = found,
            _ => {}
        };
        let totals = run(&sweep, Some(&output), 1, &tell).unwrap();
        (totals, told.into_inner().unwrap(), kept.into_inner().unwrap())
    };
    let (totals, told, kept) = run();
    assert_eq!((told, kept), (vec![], 0));
    assert_eq!(run(), (totals.clone(), vec![Unfit::OwnParts], 2));
    let [everyone, sevens, alone] = [0, 1, 2].map(|cell| totals[cell].totals);
    assert_eq!((everyone.incentive, everyone.regret), (0.0, sevens.regret));
    assert_eq!((alone.rounds, alone.scalars, alone.participations), (0, 0, 0));
    assert!(alone.regret > everyone.regret, "{alone:?} {everyone:?}");
}

#[test]
fn a_name_means_one_mechanism() {
    let read = |parts: Parts| Config::read_with(SMALL, &[], &parts).unwrap_err().to_string();
    let twice = "line 6: rounds.mechanism can name two of `sevens`: give yours another name";
    assert_eq!(read(parts().with_mechanism(Sevens)), twice);
    assert!(read(parts().with_mechanism(Everyone)).contains("two of `everyone`"));
    assert!(read(Parts::default()).contains("line 6: rounds.mechanism is `sevens`: it must be one of everyone, "));
}

#[test]
fn nobody_who_is_not_paid_is_an_essential_payment() {
    let config =
        |mechanism: &str| Config::read("[rounds]\ncoverage = 1", &[format!("rounds.mechanism={mechanism}")]).unwrap();
    let essential = |mechanism: &str| {
        let totals = Simulation::new(&config(mechanism), 1).unwrap().run().totals();
        (totals.essential, totals.participations)
    };
    let (paid, took_part) = essential("clock");
    assert!(paid > 0 && paid <= took_part, "{paid} of {took_part}");
    let (paid, took_part) = essential("everyone");
    assert!(paid == 0 && took_part > 0, "{paid} of {took_part}");
}
