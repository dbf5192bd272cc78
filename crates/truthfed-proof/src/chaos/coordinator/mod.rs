//! The coordinator's machine: a disk, a notary, clocks, and the processes that run on it. Usually one; two, when one was
//! held up until another took over.

mod serve;
mod start;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::disk::Disk;
use truthfed::auction::ClientId;
use truthfed::protocol::Time;
use truthfed_node::engine::{Ahead, Clock, Command, Core, EngineError, Published, Witness};
use truthfed_node::ledger::Checkpoint;
use truthfed_node::net::{Intake, Part};
use truthfed_node::store::{Sqlite, StoreError};
use truthfed_node::testing::{Federation, Forwarding};
use truthfed_node::wire::View;

use crate::chaos::{Event, Request, Verdict, World, breach, check};

/// The wall clock at the beginning: some day in 2026.
const BEGINNING_MS: i64 = 1_780_000_000_000;

pub(crate) struct Site {
    pub(crate) disk: Disk,
    pub(crate) notary: Arc<Notary>,
    federation: Federation,
    pub(crate) ahead_ms: u64,
    /// How far the wall clock is off.
    pub(crate) wall_ms: i64,
    /// The latest time that any process has seen.
    latest: Time,
    pub(crate) is_short: bool,
    pub(crate) processes: Vec<Process>,
    /// What whoever waits for the lease has read, and keeps whatever happens to the others.
    read_ahead: Ahead,
    started: u64,
    /// Starts that were tried, whatever came of them.
    attempts: u64,
}

pub(crate) struct Process {
    pub(crate) number: u64,
    /// Which attempt to start this was: a later one may have taken the lease.
    attempt: u64,
    core: Core,
    clock: Clock,
    /// The wall clock when it started, without the time since the beginning: its clock goes on from there, whoever sets the other.
    start_ms: i64,
    published: Published,
    store: Forwarding<Sqlite>,
    /// Whose bodies have how many bytes.
    pub(crate) intake: Intake<usize>,
    /// Bodies that were announced and do not come.
    pub(crate) stalled: Vec<Stalled>,
    inbox: Vec<Job>,
    /// Those who wait for news, until then.
    waiting: Vec<(Arc<Request>, u64)>,
    /// What came while it was held up.
    backlog: VecDeque<Arc<Request>>,
    pub(crate) is_paused: bool,
    next_work: Option<u64>,
}

pub(crate) struct Stalled {
    pub(crate) member: usize,
    pub(crate) bytes: usize,
    /// When the coordinator gives up.
    pub(crate) until: u64,
    pub(crate) _part: Part<usize>,
}

struct Job {
    /// None from the operator.
    request: Option<Arc<Request>>,
    command: Command,
    /// What its body takes until it is answered; none from the operator.
    _part: Option<Part<usize>>,
    /// It can change nothing, by what the observer knows.
    is_harmless: bool,
}

impl Site {
    pub(crate) fn new(seed: u64, federation: Federation) -> Site {
        Site {
            disk: Disk::powersafe(seed),
            notary: Arc::default(),
            federation,
            ahead_ms: 0,
            wall_ms: 0,
            latest: Time(0),
            is_short: false,
            processes: Vec::new(),
            read_ahead: Ahead::default(),
            started: 0,
            attempts: 0,
        }
    }

    /// How far the wall clock lies behind what processes have seen, and may have recorded.
    pub(crate) fn behind_ms(&self, now: u64) -> u64 {
        self.latest.0.saturating_sub((BEGINNING_MS + self.wall_ms) as u64 + now)
    }
}

impl Process {
    /// The bytes that a member has under way, by a count of our own.
    fn bytes_of(&self, member: usize) -> usize {
        let asked = self.inbox.iter().filter_map(|job| job.request.as_ref()).filter(|asked| asked.member == member);
        let stalled = self.stalled.iter().filter(|body| body.member == member);
        asked.map(|asked| asked.body.len()).sum::<usize>() + stalled.map(|body| body.bytes).sum::<usize>()
    }

    /// What a member sees, if it is one.
    pub(crate) fn shown_to(&self, member: &ClientId) -> Option<View> {
        self.published.check_member(member).is_ok().then(|| self.published.view(member))
    }
}

impl World<'_> {
    fn set_clocks(&mut self) {
        let site = &mut self.site;
        site.disk.set_clock_ms(BEGINNING_MS + self.now as i64 + site.wall_ms);
        let monotonic_ms = (self.now + site.ahead_ms) as i64;
        for process in &site.processes {
            let now = Time((process.start_ms + monotonic_ms) as u64);
            process.clock.set(now);
            site.latest = site.latest.max(now);
        }
    }

    /// When it has to work next if nothing comes: at the deadline, to renew its lease, or to answer those who wait.
    fn schedule(&mut self, number: u64) {
        let Some(index) = self.process(number) else { return };
        let process = &self.site.processes[index];
        let deadline = process.core.until_deadline().map(|left| left.as_millis() as u64);
        let waiting = process.waiting.iter().map(|(_, until)| until.saturating_sub(self.now)).min();
        let renewal = self.plan.lease_ms / 3 + 1;
        let delay = [deadline, waiting].into_iter().flatten().fold(renewal, u64::min);
        self.schedule_at(number, self.now + delay);
    }

    fn schedule_at(&mut self, number: u64, time: u64) {
        let Some(index) = self.process(number) else { return };
        let process = &mut self.site.processes[index];
        if process.next_work.is_none_or(|next| time < next) {
            process.next_work = Some(time);
            let delay = time.saturating_sub(self.now);
            self.at(delay, Event::Work(number));
        }
    }

    fn process(&self, number: u64) -> Option<usize> {
        self.site.processes.iter().position(|process| process.number == number)
    }

    /// Holds the coordinator up, and lets another take over meanwhile.
    pub(crate) fn pause(&mut self) {
        let lease = self.plan.lease_ms as usize;
        let Some(process) = self.site.processes.last_mut().filter(|process| !process.is_paused) else { return };
        process.is_paused = true;
        let number = process.number;
        self.count("coordinator-paused");
        self.trace.say(self.now, format_args!("coordinator {number} is held up"));
        let (held, taken) = (self.dice.between(1, 3 * lease), self.dice.between(lease / 2, 2 * lease));
        self.at(held as u64, Event::Resume(number));
        self.at(taken as u64, Event::Start);
    }

    /// A coordinator that was held up goes on as if nothing had happened.
    pub(crate) fn resume(&mut self, number: u64) -> Verdict {
        let Some(index) = self.process(number) else { return Ok(()) };
        self.trace.say(self.now, format_args!("coordinator {number} goes on"));
        let process = &mut self.site.processes[index];
        process.is_paused = false;
        let backlog = std::mem::take(&mut process.backlog);
        self.set_clocks();
        for request in backlog {
            self.take_in(index, &request)?;
        }
        self.schedule_at(number, self.now);
        Ok(())
    }

    /// Kills all coordinators, or the machine they run on.
    pub(crate) fn kill(&mut self, fault: &'static str) -> Verdict {
        self.count(fault);
        self.trace.say(self.now, format_args!("{fault}"));
        if self.dice.chance(self.weather().power) {
            self.count("coordinator-power-lost");
            self.trace.say(self.now, format_args!("coordinator loses power"));
            self.site.disk.lose_power();
            if self.dice.chance(0.3) {
                self.site.notary.forget_last();
            }
        } else {
            self.site.disk.crash();
        }
        self.fall();
        Ok(())
    }

    /// No coordinator is left; one is started some time later.
    fn fall(&mut self) {
        self.site.processes.clear();
        self.within(1, 1500, Event::Start);
    }

    /// Whether a coordinator may stop for this.
    fn check_stop(&mut self, error: &EngineError, is_disturbed: bool, attempt: u64) -> Verdict {
        let may_fail = is_disturbed || self.site.is_short;
        match error {
            EngineError::Store(StoreError::Held) => Ok(()),
            EngineError::Store(StoreError::NotLeader(_)) => {
                self.count("coordinator-fenced");
                check(attempt < self.site.attempts, "I14", || "the last coordinator is fenced".to_owned())
            }
            EngineError::Store(
                StoreError::Unavailable(_) | StoreError::InDoubt(_) | StoreError::Full | StoreError::Unusable(_),
            ) if may_fail => Ok(()),
            EngineError::Store(
                StoreError::Conflict(_) | StoreError::OutOfOrder { .. } | StoreError::PostingOutOfOrder { .. },
            ) => breach("R6", format!("the coordinator contradicts itself: {error}")),
            error => breach("I6", format!("the store is not what was written: {error}")),
        }
    }
}

/// Keeps the last checkpoint outside of the store, and the one before: a loss of power may bring that back.
#[derive(Debug, Default)]
pub(crate) struct Notary(Mutex<(Option<Checkpoint>, Option<Checkpoint>)>);

impl Notary {
    pub(crate) fn last(&self) -> Option<Checkpoint> {
        self.0.lock().expect("one thread has it").0
    }

    /// The last one was not synced.
    pub(crate) fn forget_last(&self) {
        let mut kept = self.0.lock().expect("one thread has it");
        kept.0 = kept.1;
    }
}

impl Witness for Notary {
    fn read(&self) -> Result<Option<Checkpoint>, EngineError> {
        Ok(self.last())
    }

    fn write(&self, checkpoint: &Checkpoint) -> Result<(), EngineError> {
        let mut kept = self.0.lock().expect("one thread has it");
        *kept = (Some(*checkpoint), kept.0);
        Ok(())
    }
}

/// An error without the names of files, which differ from run to run.
fn name(error: &EngineError) -> String {
    let words = format!("{error:?}");
    words.split(['{', '(']).take(2).collect::<Vec<_>>().join(" ")
}
