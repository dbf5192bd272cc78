//! A coordinator whose store is put back to an older copy, under agents that know better.

use std::path::Path;

use truthfed_node::agent::{Agent, ExchangeError, Handle, Runner, StepError};
use truthfed_node::testing::{Numbers, folder};

use crate::support::{Federation, Wire, play, policy, settle, terms};

fn runners(federation: &Federation, agents: &[Handle]) -> Vec<Runner<Wire>> {
    let runner = |(number, agent): (usize, &Handle)| Runner::new(agent.clone(), federation.wire(number), policy());
    agents.iter().enumerate().map(runner).collect()
}

/// Plays until a round was opened and settled.
async fn play_round(federation: &Federation, agents: &[Handle], numbers: &mut Numbers) {
    while !agents[0].with(|agent| Agent::wants_round(agent)).await {
        for agent in agents {
            play(agent, numbers).await;
        }
    }
    settle(&runners(federation, agents)).await;
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
}

#[tokio::test]
async fn agents_report_a_store_that_was_put_back_and_go_on_when_a_newer_one_is_there() {
    let federation = Federation::new(2, terms());
    let agents = [federation.agent(0), federation.agent(1)];
    let (place, mut numbers) = (folder(), Numbers(81));
    let (old, newer) = (place.path().join("old.db"), place.path().join("newer.db"));
    play_round(&federation, &agents, &mut numbers).await;
    let federation = federation.restarted(|store| copy(store, &old)).await;
    play_round(&federation, &agents, &mut numbers).await;
    let put_back = |store: &Path| {
        copy(store, &newer);
        copy(&old, store);
    };
    let federation = federation.restarted(put_back).await;
    for runner in runners(&federation, &agents) {
        let Err(ExchangeError::Step(error)) = runner.exchange().await else { panic!("it knows of round 2") };
        assert!(matches!(error, StepError::RolledBack { .. }), "{error}");
        assert!(error.to_string().contains("to the end of round 1, but this agent has seen round 2"), "{error}");
        assert!(error.to_string().contains("the receipt `paid` of round 2"), "{error}");
        let status = runner.agent().status().await.unwrap();
        assert_eq!((status.problem, status.last_round.0), (Some(error.to_string()), 2));
    }
    let federation = federation.restarted(|store| copy(&newer, store)).await;
    play_round(&federation, &agents, &mut numbers).await;
    for agent in &agents {
        let status = agent.status().await.unwrap();
        assert_eq!((status.problem, status.last_round.0), (None, 3));
    }
}
