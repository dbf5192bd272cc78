//! Lost messages, agents that are killed, a coordinator that is away.

use std::sync::Arc;

use truthfed::statistics::Statistics;
use truthfed_node::agent::{Agent, Handle, Policy, Runner, Status};
use truthfed_node::signature::Signer;
use truthfed_node::testing::Numbers;

use crate::support::{Fault, Federation, Wire, eventually, play, policy, settle, terms};

/// Enough for a round.
async fn play_often(runners: &[&Runner<Wire>], numbers: &mut Numbers) {
    for _ in 0..12 {
        for runner in runners {
            play(runner.agent(), numbers).await;
        }
    }
}

/// Two members play until a round was settled; what both are then, and how many messages the first sent.
async fn one_round(fault: Option<Fault>) -> (Vec<(Status, Statistics)>, usize) {
    let federation = Federation::new(2, terms());
    let wire = federation.faulty_wire(0, fault);
    let other = federation.runner(1, &federation.wire(1));
    let mut first = federation.runner(0, &wire);
    play_often(&[&first, &other], &mut Numbers(21)).await;
    loop {
        let mut happened = match first.exchange().await {
            Ok(happened) => happened,
            Err(_) => {
                // Killed where it broke off, and started again.
                drop(first);
                first = federation.runner(0, &wire);
                true
            }
        };
        happened |= other.exchange().await.unwrap();
        if !happened {
            break;
        }
    }
    let mut ends = Vec::new();
    for runner in [&first, &other] {
        let known = runner.agent().with(|agent| agent.known().clone()).await;
        ends.push((runner.agent().status().await.unwrap(), known));
    }
    (ends, wire.sent())
}

#[tokio::test]
async fn a_round_ends_the_same_whichever_message_is_lost_and_wherever_the_agent_is_killed() {
    let (undisturbed, messages) = one_round(None).await;
    let (status, known) = &undisturbed[0];
    assert_eq!((status.known, status.unshared, status.in_flight, known.samples()), (24, 0, 0, 24));
    assert_ne!(status.earned, "0", "both are needed for the coverage");
    // Offer, delivery, sync.
    assert_eq!(messages, 3);
    for at in 0..messages {
        for is_heard in [false, true] {
            let fault = Fault { at, is_heard };
            assert_eq!(one_round(Some(fault)).await.0, undisturbed, "{fault:?}");
        }
    }
}

#[tokio::test]
async fn while_the_coordinator_is_away_the_agent_decides_on_and_then_everything_counts_once() {
    let federation = Arc::new(Federation::new(2, terms()));
    let wires: Vec<Wire> = (0..2).map(|number| federation.wire(number)).collect();
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let (mut agents, mut tasks) = (Vec::new(), Vec::new());
    for (number, wire) in wires.iter().enumerate() {
        let runner = federation.runner(number, wire);
        agents.push(runner.agent().clone());
        let stopped = stopped.clone();
        tasks.push(tokio::spawn(async move { runner.run(stopped).await }));
    }
    let engine = federation.engine();
    let mut numbers = Numbers(31);
    let mut played = 0;
    for is_cut in [false, true, false] {
        wires.iter().for_each(|wire| wire.cut(is_cut));
        eventually(|| async { agents[0].status().await.unwrap().coordinator_reachable != is_cut }).await;
        let before = engine.published().closed();
        for _ in 0..15 {
            for agent in &agents {
                play(agent, &mut numbers).await;
                played += 1;
            }
        }
        if is_cut {
            assert_eq!(engine.published().closed(), before);
        } else {
            eventually(|| async { engine.published().closed() > before }).await;
        }
    }
    // All quiet: no round is open, and both know how the last one ended.
    eventually(|| async {
        let mut is_quiet = engine.published().open_round().is_none();
        for agent in &agents {
            let status = agent.status().await.unwrap();
            is_quiet &= status.last_round == engine.published().closed() && status.in_flight == 0;
        }
        is_quiet
    })
    .await;
    stop.send(true).unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    let [one, other] = [agents[0].status().await.unwrap(), agents[1].status().await.unwrap()];
    assert_eq!(one.known - one.unshared, other.known - other.unshared);
    assert_eq!(one.known + other.unshared, played);
}

#[tokio::test]
async fn a_winner_that_is_killed_before_it_delivers_is_voided_once_and_offers_again() {
    let mut terms = terms();
    terms.deliveries_ms = 300;
    let federation = Federation::new(2, terms);
    let (wire, other_wire) = (federation.wire(0), federation.wire(1));
    let (first, other) = (federation.runner(0, &wire), federation.runner(1, &other_wire));
    let mut numbers = Numbers(41);
    play_often(&[&first, &other], &mut numbers).await;
    first.exchange().await.unwrap();
    // The first has opened a round with its offer; the award follows with the other's offer, and the first is gone.
    drop(first);
    let engine = federation.engine();
    eventually(|| async {
        other.exchange().await.unwrap();
        engine.published().closed().0 == 1
    })
    .await;
    let first = federation.runner(0, &wire);
    settle(&[first]).await;
    let first = federation.runner(0, &wire);
    let status = first.agent().status().await.unwrap();
    assert_eq!((status.unshared, status.in_flight, status.earned.as_str()), (12, 0, "0"));
    let receipts = first.agent().with(|agent| agent.receipts().unwrap()).await;
    assert!(receipts.iter().any(|receipt| receipt.content.get().contains(r#""kind":"voided""#)));
    // Once enough is new it asks again, and this time it delivers.
    while !first.agent().with(|agent| Agent::wants_round(agent)).await {
        play(first.agent(), &mut numbers).await;
    }
    settle(&[first, other]).await;
    let status = federation.agent(0).status().await.unwrap();
    assert_eq!((status.unshared, status.in_flight), (0, 0));
    assert_ne!(status.earned, "0");
}

#[tokio::test]
async fn an_offer_that_is_refused_is_followed_by_a_decline_and_its_data_comes_back() {
    let federation = Federation::new(2, terms());
    let mut wrong = federation.membership(0);
    wrong.signer = Signer::random();
    let agent = Handle::new(Agent::open(wrong, &federation.file(0)).unwrap());
    let wire = federation.wire(0);
    let runners = [Runner::new(agent, wire.clone(), policy()), federation.runner(1, &federation.wire(1))];
    play_often(&runners.each_ref(), &mut Numbers(51)).await;
    settle(&runners).await;
    let status = runners[0].agent().status().await.unwrap();
    assert_eq!((status.known, status.unshared, status.in_flight, status.last_round.0), (24, 12, 0, 1));
}

#[tokio::test]
async fn a_price_is_of_the_very_data_that_is_offered_however_long_it_takes() {
    let federation = Federation::new(1, terms());
    let folder = truthfed_node::testing::folder();
    let (calls, go) = (folder.path().join("calls"), folder.path().join("go"));
    // The first call waits until more was learned; the price is the number of samples.
    let script = format!(
        "read summary; echo x >> {calls}; while [ ! -e {go} ]; do sleep 0.01; done; \
         echo \"$summary\" | sed 's/.*\"samples\":\\([0-9]*\\).*/\\1/'",
        calls = calls.display(),
        go = go.display()
    );
    let policy = format!("kind = 'command'\ncommand = ['sh', '-c', '''{script}''']\ntimeout_ms = 30000");
    let wire = federation.wire(0);
    let runner = Arc::new(Runner::new(federation.agent(0), wire, Policy::from_toml(&policy).unwrap()));
    let mut numbers = Numbers(61);
    play_often(&[&runner], &mut numbers).await;
    runner.exchange().await.unwrap();
    let exchanging = tokio::spawn({
        let runner = runner.clone();
        async move { runner.exchange().await.unwrap() }
    });
    eventually(|| async { calls.exists() }).await;
    play(runner.agent(), &mut numbers).await;
    std::fs::write(&go, "").unwrap();
    exchanging.await.unwrap();
    assert_eq!(std::fs::read_to_string(&calls).unwrap(), "x\nx\n");
    let runner = Arc::into_inner(runner).unwrap();
    settle(&[runner]).await;
    let status = federation.agent(0).status().await.unwrap();
    assert_eq!((status.unshared, status.in_flight), (0, 0));
    let receipts = federation.agent(0).with(|agent| agent.receipts().unwrap()).await;
    // Alone it is essential, and is paid the reserve.
    assert!(receipts.iter().any(|receipt| receipt.content.get().contains(r#""payment_micros":500000000"#)));
}
