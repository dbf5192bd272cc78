//! A coordinator and its members on hosts of a simulated network, driven step by step.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use truthfed::protocol::RoundId;
use truthfed_node::digest::Digest;
use truthfed_node::net::Limits;
use truthfed_node::terms::{Agreement, RawTerms};
use turmoil::{Builder, Sim};

use crate::application::Seat;
use crate::audit::Auditor;
use crate::faults::Faults;
use crate::federation::{COORDINATOR, MEMBERS, bundle, coordinate, name, plan};

/// A step of the simulated time.
pub(crate) const TICK: Duration = Duration::from_millis(5);
const LOOK: Duration = Duration::from_millis(20);
/// Once nothing fails any more, all is quiet within this time: a request that waits in vain for 30 s on a dead connection, a
/// pause of 10 s, both once more because dead connections still take the member's seats, and a round.
const HEALED: Duration = Duration::from_secs(120);
/// No change for this long is quiet.
const QUIET: Duration = Duration::from_secs(1);

/// Everything that runs, and all that was seen of it.
pub(crate) struct World {
    seed: u64,
    pub(crate) sim: Sim<'static>,
    seats: Vec<Arc<Seat>>,
    auditor: Auditor,
    faults: Faults,
    trace: Vec<String>,
    _folder: TempDir,
}

/// What one seed comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Story {
    pub(crate) trace: Vec<String>,
    pub(crate) head: Digest,
    pub(crate) rounds: u64,
    /// Rounds in which somebody was paid, and in which a winner did not deliver.
    pub(crate) paid: u64,
    pub(crate) defaulted: u64,
}

impl World {
    /// Under terms and limits, and with distances and faults that follow from a seed.
    pub(crate) fn new(terms: RawTerms, limits: Limits, seed: u64) -> World {
        let folder = truthfed_node::testing::folder();
        let agreement = Agreement::try_from(terms).unwrap();
        let mut sim = Builder::new()
            .rng_seed(seed)
            .tick_duration(TICK)
            .simulation_duration(Duration::from_secs(24 * 3600))
            .min_message_latency(TICK)
            .max_message_latency(TICK)
            .build();
        let place = folder.path().to_owned();
        let start = {
            let agreement = agreement.clone();
            move || plan(&place, &agreement, limits)
        };
        sim.host(COORDINATOR, move || coordinate(start()));
        let seat = |number| Arc::new(Seat::new(number, bundle(number, &agreement), folder.path(), seed));
        let seats: Vec<Arc<Seat>> = (0..MEMBERS).map(seat).collect();
        for seat in &seats {
            let seat = seat.clone();
            sim.host(name(seat.number), move || {
                let seat = seat.clone();
                async move { seat.live().await }
            });
        }
        let (auditor, mut faults) = (Auditor::new(folder.path()), Faults::new(seed));
        let trace = faults.spread(&sim);
        World { seed, sim, seats, auditor, faults, trace, _folder: folder }
    }

    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.sim.elapsed() + time;
        while self.sim.elapsed() < end {
            self.step();
        }
    }

    /// Lets time pass until so many rounds have ended.
    pub(crate) fn run_rounds(&mut self, rounds: u64, within: Duration) {
        self.run_until(RoundId(rounds), within, World::step);
    }

    pub(crate) fn run_rounds_with_faults(&mut self, rounds: u64, within: Duration) {
        self.run_until(RoundId(rounds), within, |world| {
            let now = world.sim.elapsed();
            for event in world.faults.pass(now, &mut world.sim, &world.seats) {
                world.note(&event);
            }
            world.step();
        });
    }

    fn run_until(&mut self, goal: RoundId, within: Duration, pass: fn(&mut World)) {
        let end = self.sim.elapsed() + within;
        while self.auditor.closed < goal {
            assert!(self.sim.elapsed() < end, "not round {goal} after {within:?}: {}", self.stand());
            pass(self);
        }
    }

    fn step(&mut self) {
        if let Err(error) = self.sim.step() {
            panic!("a host ended: {error}");
        }
        if self.sim.elapsed().as_millis().is_multiple_of(LOOK.as_millis()) {
            self.auditor.look().iter().for_each(|line| self.note(line));
        }
    }

    fn note(&mut self, event: &str) {
        self.trace.push(format!("{:.3} {event}", self.sim.elapsed().as_secs_f64()));
    }

    /// Heals everything, waits until all is quiet, and checks everything.
    pub(crate) fn finish(mut self) -> Story {
        self.seats.iter().for_each(|seat| seat.stop_playing());
        self.faults.heal(&mut self.sim);
        self.note("healed");
        self.wait_for_quiet();
        self.note("quiet");
        (0..MEMBERS).for_each(|member| self.sim.crash(name(member)));
        self.auditor.finish(&self.seats);
        let Auditor { closed, paid, defaulted, .. } = self.auditor;
        let (trace, head) = (std::mem::take(&mut self.trace), self.auditor.head().hash);
        Story { trace, head, rounds: closed.0, paid, defaulted }
    }

    fn wait_for_quiet(&mut self) {
        let end = self.sim.elapsed() + HEALED;
        let mut quiet = Duration::ZERO;
        while quiet < QUIET {
            assert!(self.sim.elapsed() < end, "not quiet {HEALED:?} after the last fault: {}", self.stand());
            let before = self.auditor.head();
            self.run_for(LOOK);
            let is_quiet = self.is_quiet() && self.auditor.head() == before;
            quiet = if is_quiet { quiet + LOOK } else { Duration::ZERO };
        }
    }

    /// No round is open, and everybody knows how the last one ended.
    fn is_quiet(&self) -> bool {
        let closed = self.auditor.closed;
        let is_quiet = |seat: &Arc<Seat>| {
            seat.report().is_some_and(|report| {
                report.status.last_round == closed && report.status.in_flight == 0 && !report.wants_round
            })
        };
        self.auditor.opened == closed && self.seats.iter().all(is_quiet)
    }

    fn stand(&self) -> String {
        let seats: Vec<_> = self.seats.iter().map(|seat| seat.report().map(|report| report.status)).collect();
        format!("round {} was opened, {} ended, {seats:?}", self.auditor.opened, self.auditor.closed)
    }
}

impl Drop for World {
    /// What led to a failure.
    #[allow(clippy::print_stderr)]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let last = self.trace.len().saturating_sub(60);
            eprintln!("seed {} failed after:\n{}", self.seed, self.trace[last..].join("\n"));
        }
    }
}
