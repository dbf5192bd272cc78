//! Many seeds at once, each on one thread.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::chaos::{Limits, Report, Trace, Violation, run};

/// Runs seeds on that many threads, until there are no more, one is violated, or `told`, which hears from any thread what
/// a seed came to, says no. What all came to, and the violation of the smallest seed that had one.
pub fn many(
    seeds: impl Iterator<Item = u64> + Send,
    threads: usize,
    limits: Limits,
    told: impl Fn(&Report) -> bool + Sync,
) -> (Report, Option<Box<Violation>>) {
    let (seeds, is_over) = (Mutex::new(seeds), AtomicBool::new(false));
    let found = Mutex::new((Report::default(), Vec::new()));
    let work = || {
        while !is_over.load(Ordering::Relaxed) {
            let Some(seed) = seeds.lock().expect("a draw does not panic").next() else { break };
            let outcome = run(seed, limits, &mut Trace::new());
            if !outcome.as_ref().is_ok_and(&told) {
                is_over.store(true, Ordering::Relaxed);
            }
            let mut found = found.lock().expect("adding does not panic");
            match outcome {
                Ok(report) => found.0.add(&report),
                Err(violation) => found.1.push(violation),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            // Mechanisms price in parallel: here all of it stays on the thread of its seed.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads can be had");
            scope.spawn(move || pool.install(work));
        }
    });
    let (report, violations) = found.into_inner().expect("no thread panicked");
    (report, violations.into_iter().min_by_key(|violation| violation.seed))
}
