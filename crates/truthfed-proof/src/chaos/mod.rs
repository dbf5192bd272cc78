//! Coordinator, members, disks and network in one simulation, under faults.
//!
//! The real parts are driven by hand, on one thread, in virtual time: the engine's [`Core`](truthfed_node::engine::Core)
//! on its real store, and each member's [`Agent`](truthfed_node::agent::Agent) on its real file, on disks that fail
//! ([`disk`](crate::disk)), over a network that loses, repeats, delays and reorders bytes. One seed draws everything: who
//! takes part, the terms, the data, and which faults strike when. The same seed gives the same [`Trace`].
//!
//! An observer with its own books follows the journal and checks after every step what must always hold (I1 to I15, see
//! `invariants`). When the faults stop, everything must be well again within a stated time.
//!
//! Not here: TLS, HTTP and limits on traffic, which have tests of their own.

mod application;
mod calm;
mod coordinator;
mod disks;
mod forgery;
mod invariants;
mod many;
mod member;
mod message;
mod network;
mod notary;
mod plan;
mod report;
mod storm;
mod sums;
mod trace;
mod weather;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use self::many::many;
pub use self::plan::{Plan, Role};
use self::report::Breach;
pub use self::report::{FAULTS, Report, Violation};
pub use self::trace::Trace;
pub use self::weather::Weather;
use self::world::World;

/// Where a run ends, if its plan does not end it before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most rounds under faults.
    pub rounds: u64,
    /// Most steps under faults.
    pub steps: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { rounds: u64::MAX, steps: 20_000 }
    }
}

/// Runs the plan of a seed.
pub fn run(seed: u64, limits: Limits, trace: &mut Trace) -> Result<Report, Box<Violation>> {
    run_plan(Plan::of(seed), limits, trace)
}

pub fn run_plan(plan: Plan, limits: Limits, trace: &mut Trace) -> Result<Report, Box<Violation>> {
    let seed = plan.seed;
    // A panic is how the parts say that something cannot be: a violation as well.
    let lived = catch_unwind(AssertUnwindSafe(|| World::new(plan, trace).run(limits)));
    let Breach { invariant, text } = match lived {
        Ok(Ok(report)) => return Ok(report),
        Ok(Err(breach)) => breach,
        Err(panic) => Breach::of_panic(panic.as_ref()),
    };
    Err(Box::new(Violation { invariant, seed, step: trace.steps, text, last: trace.last() }))
}
