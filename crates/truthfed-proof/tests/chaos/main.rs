//! Many seeds, the same seed many times, and whether all that is planned really happens.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod once_failed;

use truthfed_proof::chaos::{FAULTS, Plan, Trace, Weather, many, run_plan};

fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

#[test]
fn twenty_thousand_rounds_under_all_faults_violate_nothing() {
    let (report, violation) = many(0..800, threads(), |_| true);
    assert_eq!(violation.map(|violation| violation.to_string()), None);
    println!("{report:#?}");
    assert!(report.rounds() >= 20_000, "{} rounds", report.rounds());
    assert!(report.settled > report.aborted, "{report:?}");
    for fault in FAULTS {
        assert!(report.faults.get(fault).is_some_and(|count| *count > 0), "{fault} was never injected");
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_a_hundred_times() {
    let hash = |seed| {
        let mut trace = Trace::default();
        run_plan(Plan { rounds: 5, ..Plan::of(seed) }, &mut trace).unwrap();
        trace.hash()
    };
    for seed in 0..4 {
        let first = hash(seed);
        assert!((1..25).all(|_| hash(seed) == first), "seed {seed}");
    }
}

#[test]
fn without_faults_every_round_is_settled_and_no_message_is_sent_in_vain() {
    for seed in 0..10 {
        let plan = Plan { weather: Weather::default(), ..Plan::of(seed) };
        let report = run_plan(plan, &mut Trace::default()).unwrap();
        assert!(report.settled >= report.aborted, "{report:?}");
    }
}
