//! Every planted fault is found, and by which invariant. One test: a fault is planted for the whole process.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

use truthfed::planted::{Fault, plant};
use truthfed_proof::chaos::{Trace, many, run};

const SEEDS: u64 = 150;

/// The first seed that finds a planted fault, and what is violated.
fn found(fault: Fault) -> Option<(u64, &'static str)> {
    plant(Some(fault));
    let (_, violation) = many(0..SEEDS, 2, |_| true);
    let violation = violation?;
    // From its seed alone it is found again.
    let again = run(violation.seed, &mut Trace::default()).unwrap_err();
    assert_eq!(again, violation, "{fault:?}");
    Some((violation.seed, violation.invariant))
}

#[test]
fn every_planted_fault_is_found_and_replays_from_its_seed() {
    let mut missed = Vec::new();
    for fault in Fault::ALL {
        let found = found(fault);
        println!("{fault:?}: {found:?}");
        if found.is_none() {
            missed.push(fault);
        }
    }
    plant(None);
    assert_eq!(missed, [], "no seed below {SEEDS} finds these");
    let (report, violation) = many(0..SEEDS, 2, |_| true);
    assert_eq!((report.seeds, violation), (SEEDS, None));
}
