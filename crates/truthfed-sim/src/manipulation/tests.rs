use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

fn setting(changes: &[&str]) -> Config {
    let changes: Vec<String> = changes.iter().map(|&change| change.to_owned()).collect();
    Config::read(SETTING, &changes).unwrap()
}

/// Few seeds of all clients in a shorter run.
fn plan(changes: &[&str]) -> Plan {
    Plan::new(setting(&[&["world.steps=400"], changes].concat())).with_seeds(2).with_choosing_seeds(1)
}

fn found(plan: &Plan) -> Findings {
    plan.run(|| {}).unwrap()
}

#[test]
fn telling_the_truth_gains_exactly_nothing() {
    let findings = found(&plan(&[]).with_strategies(&[Strategy::Multiple(1.0), Strategy::Sandbag(1)]));
    let paying = catalog::entries().iter().filter(|entry| entry.claims().pays()).count();
    assert_eq!((findings.trials.len(), findings.best.len()), (2 * paying, 2 * paying));
    for trial in findings.trials.iter().chain(&findings.best) {
        assert_eq!((trial.gain, trial.utility), (Spread::default(), trial.truthful), "{trial:?}");
        assert!(!trial.pays());
    }
}

#[test]
fn at_coverage_one_splitting_is_paid_the_reserve_twice() {
    let truthful = ["truth-fedban", "greedy", "greedy-v2", "ratchet", "clock", "vcg"];
    let plan = Plan::new(setting(&["rounds.coverage=1"])).with_seeds(2).with_choosing_seeds(1);
    let plan = plan.with_mechanisms(&truthful).unwrap();
    for finding in found(&plan.with_strategies(&[Strategy::Split])).best {
        // Not quite twice: at the first rounds its second member may have no data yet.
        let ratio = 1.0 + finding.relative_gain.unwrap();
        assert!(finding.pays() && (1.85..2.1).contains(&ratio), "{}: {ratio}", finding.mechanism);
    }
}

#[test]
fn asking_more_pays_where_winners_are_paid_their_ask() {
    let plan = plan(&[]).with_mechanisms(&["inc-feducb"]).unwrap().with_seeds(3);
    let findings = found(&plan.with_strategies(&[0.5, 1.25, 2.0].map(Strategy::Multiple)));
    let best = findings.best_response("inc-feducb").unwrap();
    assert!(best.parameter == Some(2.0) && best.pays(), "{best:?}");
    assert_eq!(best.relative_gain, None, "the truth earns nothing");
    assert!(findings.trials[0].gain.mean < 0.0, "{:?}", findings.trials[0]);
}

#[test]
fn where_each_round_costs_the_same_asking_more_pays_over_many_rounds_of_a_truthful_mechanism() {
    let plan = Plan::new(setting(&[])).with_mechanisms(&["clock"]).unwrap().with_seeds(5);
    let findings = found(&plan.with_strategies(&[Strategy::Multiple(1.5)]));
    assert!(findings.best[0].pays(), "{:?}", findings.best[0]);
}

#[test]
fn the_best_of_each_family_is_chosen_and_the_first_of_equals() {
    let (half, double, triple) = (Strategy::Multiple(0.5), Strategy::Multiple(2.0), Strategy::Multiple(3.0));
    let strategies = [half, Strategy::Split, double, triple, Strategy::Sandbag(2)];
    let trial = |(strategy, utility): (Strategy, f64)| {
        (strategy, Finding::new("clock", strategy, &[utility, utility], &[2.0, 4.0]))
    };
    let trials: Vec<_> = strategies.into_iter().zip([1.0, 5.0, 7.0, 7.0, 0.0]).map(trial).collect();
    assert_eq!(finding::choose(&trials), [double, Strategy::Sandbag(2), Strategy::Split]);
    let best = &trials[2].1;
    assert_eq!((best.gain.mean, best.relative_gain, best.standard_error), (4.0, Some(4.0 / 3.0), 1.0));
}

#[test]
fn what_is_chosen_under_some_seeds_is_measured_under_others() {
    let one = plan(&[]).with_mechanisms(&["clock"]).unwrap();
    let (short, long) = (found(&one.clone().with_seeds(1)), found(&one.with_seeds(2)));
    // Seed 2 is one of the choice at first, then one of the measurement.
    let chosen = short.of("clock", Family::Split).unwrap();
    let trial = short.trials.iter().find(|trial| trial.family == Family::Split).unwrap();
    let both = long.of("clock", Family::Split).unwrap();
    assert_eq!((chosen.seeds, trial.seeds, both.seeds), (1, 1, 2));
    assert!((both.gain.mean - (chosen.gain.mean + trial.gain.mean) / 2.0).abs() < 1e-9);
}

/// Samples settled or still held by some member, and the trace of their Gram matrices, after each step that ended a round.
fn check_samples(strategy: Strategy, changes: &[&str]) {
    let config = setting(changes);
    let mut counted = Vec::new();
    let simulation = strategy.follow(Simulation::new(&config, 3).unwrap(), 1);
    let run = simulation.run_watched(|federation| {
        let mut all = federation.settled().clone();
        for member in 0..federation.members() {
            let member = federation.member(member);
            all.merge(&member.undelivered()).unwrap();
        }
        // All arms have length 1.
        assert!((all.gram().trace() - all.samples() as f64).abs() < 1e-6);
        counted.push(all.samples());
    });
    let mut steps = vec![0];
    steps.extend(run.rounds.iter().map(|(step, _)| *step));
    steps.dedup();
    assert!(steps.len() > 5, "{strategy}: {steps:?}");
    assert_eq!(counted, steps, "{strategy}");
}

#[test]
fn no_strategy_loses_a_sample_or_counts_one_twice() {
    for strategy in
        [Strategy::Split, Strategy::Merge, Strategy::Sandbag(4), Strategy::UntilEssential, Strategy::Multiple(2.0)]
    {
        check_samples(strategy, &[]);
        let faults = ["faults.offline=0.2", "faults.dropout=0.2", "world.arrivals=poisson"];
        check_samples(strategy, &faults);
        check_samples(strategy, &[&faults[..], &["rounds.quota=1"]].concat());
    }
}

#[test]
fn a_sandbagger_sells_nothing_until_its_round() {
    let config = setting(&[]);
    let run = Strategy::Sandbag(4).follow(Simulation::new(&config, 1).unwrap(), 2).run();
    let sold = |index: usize| crate::federation::paid(&run.rounds[index].1).iter().any(|(id, _)| id.as_str() == "c2");
    assert!((0..3).all(|index| !sold(index)) && (3..run.rounds.len()).any(sold));
}

#[test]
fn a_split_client_is_one_member_more_and_both_earn_for_it() {
    let config = setting(&["rounds.coverage=1"]);
    let run = Strategy::Split.follow(Simulation::new(&config, 1).unwrap(), 2).run();
    let earned = |id: &str| -> f64 {
        let paid = run.rounds.iter().flat_map(|(_, record)| crate::federation::paid(record));
        paid.filter(|(client, _)| client.as_str() == id).map(|(_, payment)| payment.to_f64()).sum()
    };
    assert_eq!(run.clients.len(), 8);
    assert!(earned("c2") > 0.0 && earned("c8") > 0.0);
    assert_eq!(run.clients[2].incentive, earned("c2") + earned("c8"));
}

#[test]
fn findings_are_the_same_at_any_number_of_threads_and_every_run_is_counted() {
    let plan = plan(&[]).with_manipulators(2);
    let at = |threads: usize| {
        let counted = AtomicU64::new(0);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let findings = pool.install(|| plan.run(|| _ = counted.fetch_add(1, Ordering::Relaxed)).unwrap());
        assert_eq!(counted.into_inner(), plan.runs());
        serde_json::to_string(&findings).unwrap()
    };
    assert_eq!(at(1), at(4));
    assert_eq!(plan.runs(), 7 * ((1 + 12 * 2) + 2 * (1 + 4 * 2)));
}
