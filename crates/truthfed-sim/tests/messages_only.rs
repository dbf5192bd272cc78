//! The simulator reaches the coordinator only through messages: what it was told, told again to a fresh coordinator,
//! gives the same rounds and the same statistics.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

use std::collections::BTreeSet;

use truthfed::protocol::{Coordinator, Input, Output, Request, RoundRecord, Time};
use truthfed::statistics::Statistics;
use truthfed_sim::config::Config;
use truthfed_sim::federation::client_id;
use truthfed_sim::simulation::Simulation;

fn small(settings: &[&str]) -> Config {
    let small = ["world.clients=8", "world.dimension=3", "world.steps=600", "world.arm_count=60"];
    let overrides: Vec<String> = small.iter().chain(settings).map(|&setting| setting.to_owned()).collect();
    Config::read("", &overrides).unwrap()
}

/// Runs a simulation; returns its rounds, what the coordinator was told, and what it had settled in the end.
fn simulate(config: &Config, seed: u64) -> (Vec<RoundRecord>, Vec<(Time, Input)>, Statistics) {
    let mut heard = None;
    let run = Simulation::new(config, seed).unwrap().run_watched(|federation| {
        if heard.is_none() {
            federation.keep_inputs();
        }
        heard = Some((federation.inputs().to_vec(), federation.settled().clone()));
    });
    let (inputs, settled) = heard.unwrap();
    (run.rounds.into_iter().map(|(_, record)| record).collect(), inputs, settled)
}

/// Tells a fresh coordinator the same.
fn replay(config: &Config, inputs: Vec<(Time, Input)>) -> (Vec<RoundRecord>, Statistics) {
    let clients = config.raw().world.clients;
    let members = (0..clients).map(|client| client_id(client, clients));
    let mut coordinator = Coordinator::new(config.terms().clone(), config.terms().mechanism(), members);
    let mut records = Vec::new();
    for (now, input) in inputs {
        // What was refused is refused again.
        let _ = coordinator.handle(now, input);
        while let Some(output) = coordinator.poll() {
            if let Output::Ended(record) = output {
                records.push(*record);
            }
        }
    }
    (records, coordinator.settled().clone())
}

fn check_replay(settings: &[&str]) {
    let config = small(settings);
    for seed in 1..=3 {
        let (rounds, inputs, settled) = simulate(&config, seed);
        assert!(rounds.len() > 3, "{settings:?}, seed {seed}: {} rounds", rounds.len());
        let (again, settled_again) = replay(&config, inputs);
        // The debug form shows every digit of every number.
        let [rounds, again] = [rounds, again].map(|records| format!("{records:#?}"));
        assert!(rounds == again, "{settings:?}, seed {seed}: another round");
        assert_eq!(settled, settled_again, "{settings:?}, seed {seed}");
    }
}

#[test]
fn a_run_is_replayed_from_its_messages() {
    check_replay(&[]);
    check_replay(&["rounds.mechanism=greedy", "world.arrivals=poisson"]);
    check_replay(&["rounds.coverage=monopoly-free", "rounds.trigger=since-delivery"]);
}

#[test]
fn a_run_with_absent_and_vanishing_members_is_replayed_from_its_messages() {
    check_replay(&["faults.offline=0.3", "faults.dropout=0.3", "world.arrivals=uniform"]);
}

#[test]
fn a_run_with_liars_is_replayed_from_its_messages() {
    check_replay(&["behaviour.kind=over", "behaviour.factor=3.0", "behaviour.share=0.5"]);
    check_replay(&["behaviour.kind=poisoner", "behaviour.share=0.3"]);
    check_replay(&["behaviour.kind=long-run", "behaviour.share=0.3"]);
}

#[test]
fn a_member_that_was_away_asks_once_what_happened() {
    let (_, inputs, _) = simulate(&small(&["faults.offline=0.3"]), 1);
    let mut caught_up = BTreeSet::new();
    let mut syncs = 0;
    for (_, input) in inputs {
        match input {
            // Only another round gives reason to ask again.
            Input::Request(_, Request::Offer { .. }) => caught_up.clear(),
            Input::Request(member, Request::Sync) => {
                syncs += 1;
                assert!(caught_up.insert(member.clone()), "{member} asks again without a round in between");
            }
            _ => {}
        }
    }
    assert!(syncs > 5, "members must have been away to show anything: {syncs}");
}
