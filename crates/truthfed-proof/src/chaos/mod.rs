//! Coordinator, members, disks and network in one simulation, under faults.
//!
//! The real parts are driven by hand, on one thread, in virtual time: the engine's [`Core`](truthfed_node::engine::Core)
//! on its real store, and each member's [`Agent`](truthfed_node::agent::Agent) on its real file, on disks that fail
//! ([`disk`](crate::disk)), over a network that loses, repeats, delays and reorders bytes. One seed draws everything: who
//! takes part, the terms, the data, and which faults strike when. The same seed gives the same [`Trace`].
//!
//! An observer with its own books follows the journal and checks after every step what must always hold (I1 to I24, see
//! `invariants`). When the faults stop, everything must be well again within a stated time.
//!
//! Not here: TLS, HTTP and limits on traffic, which have tests of their own.

mod application;
mod calm;
mod coordinator;
mod forgery;
mod invariants;
mod member;
mod network;
mod plan;
mod report;
mod scheme;
mod storm;
mod sums;
mod trace;
mod weather;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use self::application::Application;
use self::coordinator::Site;
use self::invariants::{Invented, Observer};
use self::member::Node;
use self::network::{Network, Parcel, Reply, Request, json};
pub use self::plan::{Invention, Plan, Role};
use self::report::{Breach, Verdict, breach, check};
pub use self::report::{FAULTS, Report, Violation};
use self::scheme::Offered;
use self::sums::Sums;
pub use self::trace::Trace;
pub use self::weather::Weather;
use self::world::{Event, World};

pub fn run(seed: u64, trace: &mut Trace) -> Result<Report, Box<Violation>> {
    run_plan(Plan::of(seed), trace)
}

pub fn run_plan(plan: Plan, trace: &mut Trace) -> Result<Report, Box<Violation>> {
    let seed = plan.seed;
    // A panic is how the parts say that something cannot be: a violation as well.
    let lived = catch_unwind(AssertUnwindSafe(|| World::new(plan, trace).run()));
    let Breach { invariant, text } = match lived {
        Ok(Ok(report)) => return Ok(report),
        Ok(Err(breach)) => breach,
        Err(panic) => Breach::of_panic(panic.as_ref()),
    };
    Err(Box::new(Violation { invariant, seed, step: trace.steps, text, last: trace.last() }))
}

/// Runs seeds on that many threads, until there are no more, one is violated, or `told`, which hears from any thread what
/// a seed came to, says no. What all came to, and the violation of the smallest seed that had one.
pub fn many(
    seeds: impl Iterator<Item = u64> + Send,
    threads: usize,
    told: impl Fn(&Report) -> bool + Sync,
) -> (Report, Option<Box<Violation>>) {
    let (seeds, is_over) = (Mutex::new(seeds), AtomicBool::new(false));
    let found = Mutex::new((Report::default(), Vec::new()));
    let work = || {
        while !is_over.load(Ordering::Relaxed) {
            let Some(seed) = seeds.lock().expect("a draw does not panic").next() else { break };
            let outcome = run(seed, &mut Trace::default());
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
