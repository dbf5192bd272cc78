//! The coordinator's machine: a disk, a notary, clocks, and the processes that run on it. Usually one; two, when one was
//! held up until another took over.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use truthfed::protocol::Time;
use truthfed_disk::{Disk, Fault, Lasts, Operation, Plan};
use truthfed_node::digest::Digest;
use truthfed_node::engine::{Clock, Command, Core, EngineError, Place, Published, Setup};
use truthfed_node::error::Refusal;
use truthfed_node::signature::Signer;
use truthfed_node::store::{Sqlite, StoreError};

use crate::message::{Parcel, Path, Reply, Request, json};
use crate::report::{Verdict, breach, check};
use crate::shared::{Notary, Shared};
use crate::world::{Event, World};

/// Longest wait for news.
const WAIT_MS: u64 = 1000;
/// The disk's clock at the beginning: some day in 2026.
const BEGINNING_MS: i64 = 1_780_000_000_000;

/// A coordinator's machine.
pub(crate) struct Site {
    pub(crate) disk: Disk,
    pub(crate) notary: Arc<Notary>,
    federation: Digest,
    signer: Signer,
    /// How far its monotonic clock is ahead.
    pub(crate) ahead_ms: u64,
    /// How far its wall clock is off.
    pub(crate) wall_ms: i64,
    /// Room on the disk is short.
    pub(crate) is_short: bool,
    pub(crate) processes: Vec<Process>,
    started: u64,
    /// Starts that were tried, whatever came of them.
    attempts: u64,
}

/// One coordinator.
pub(crate) struct Process {
    pub(crate) number: u64,
    /// Which attempt to start this was: a later one may have taken the lease.
    attempt: u64,
    core: Core,
    clock: Clock,
    published: Published,
    store: Shared,
    inbox: Vec<Job>,
    /// Those who wait for news, until then.
    waiting: Vec<(Arc<Request>, u64)>,
    /// What came while it was held up.
    backlog: VecDeque<Arc<Request>>,
    pub(crate) is_paused: bool,
    next_work: Option<u64>,
}

struct Job {
    /// None from the operator.
    request: Option<Arc<Request>>,
    command: Command,
    /// It can change nothing, by what the observer knows.
    is_harmless: bool,
}

impl Site {
    pub(crate) fn new(seed: u64, federation: Digest, signer: Signer) -> Site {
        Site {
            disk: Disk::powersafe(seed),
            notary: Arc::default(),
            federation,
            signer,
            ahead_ms: 0,
            wall_ms: 0,
            is_short: false,
            processes: Vec::new(),
            started: 0,
            attempts: 0,
        }
    }
}

impl World<'_> {
    fn set_clocks(&mut self) {
        let site = &self.site;
        site.disk.set_clock_ms(BEGINNING_MS + self.now as i64 + site.wall_ms);
        for process in &site.processes {
            process.clock.set(Time(self.now + site.ahead_ms));
        }
    }

    /// Starts a coordinator; a second one only to take over.
    pub(crate) fn start_coordinator(&mut self, takes_over: bool) -> Verdict {
        if !takes_over && self.site.processes.iter().any(|process| !process.is_paused) {
            return Ok(());
        }
        self.site.disk.restart();
        self.set_clocks();
        let fault = self.dice.chance(self.weather().recovery).then(|| {
            self.count("coordinator-recovery-disturbed");
            self.plan_fault(60)
        });
        let started = self.open_core();
        self.site.disk.mend();
        match started {
            Ok(process) => self.started(process),
            Err(error) => {
                self.trace.say(self.now, format_args!("coordinator does not start: {}", name(&error)));
                self.check_stop(&error, fault.is_some(), self.site.attempts)?;
                if self.site.disk.is_off() {
                    self.fall();
                }
                let delay = self.dice.between(50, 300) as u64;
                self.at(delay, if takes_over { Event::TakeOver } else { Event::Start });
                Ok(())
            }
        }
    }

    fn open_core(&mut self) -> Result<Process, EngineError> {
        let Site { disk, notary, federation, signer, started, attempts, ahead_ms, .. } = &mut self.site;
        *attempts += 1;
        let store = Shared::new(Sqlite::open_on(&disk.path("ledger.db"), &disk.vfs())?);
        let clock = Clock::simulated();
        clock.set(Time(self.now + *ahead_ms));
        let founders = self.members.iter().take(self.plan.founders);
        let setup = Setup {
            federation: *federation,
            agreement: self.plan.agreement.clone(),
            signer: signer.clone(),
            members: founders.map(|node| node.enrolment()).collect(),
            checkpoint: notary.clone(),
            lease_ms: self.plan.lease_ms,
            clock: clock.clone(),
            place: Place::Thread,
        };
        let core = Core::start(setup, Box::new(store.clone()))?;
        *started += 1;
        let published = core.published();
        Ok(Process {
            number: *started,
            attempt: *attempts,
            core,
            clock,
            published,
            store,
            inbox: Vec::new(),
            waiting: Vec::new(),
            backlog: VecDeque::new(),
            is_paused: false,
            next_work: None,
        })
    }

    /// It is at work: all that was acknowledged is there.
    fn started(&mut self, mut process: Process) -> Verdict {
        let (number, epoch) = (process.number, process.core.epoch());
        self.trace.say(self.now, format_args!("coordinator {number} starts with epoch {epoch}"));
        self.observer.chain.started(epoch, &mut process.store)?;
        self.observer.follow(&mut process.store, &mut self.dice)?;
        self.observer.chain.check_notary(self.site.notary.last())?;
        self.observer.acknowledged.check_kept(&mut process.store)?;
        self.repeat_acknowledged(&mut process)?;
        self.site.processes.push(process);
        self.schedule(number);
        Ok(())
    }

    /// What was acknowledged is asked for again: the same bytes come, and nothing changes.
    fn repeat_acknowledged(&mut self, process: &mut Process) -> Verdict {
        let head = self.observer.chain.head();
        for (request, reply) in self.observer.acknowledged.recent() {
            let name = self.members[request.member].name();
            if !self.observer.is_member(&name) {
                continue;
            }
            let call = request.call().ok().flatten().expect("it was taken before");
            let answer = Command::of(&process.published, &name, call)
                .and_then(|command| process.core.work(vec![command], &mut |_| false).map_err(|_| broken())?.remove(0));
            let is_same = answer.as_ref().is_ok_and(|again| *again == reply);
            check(is_same, "I6", || format!("{name}'s {} got another reply after a restart", request.path))?;
        }
        self.observer.follow(&mut process.store, &mut self.dice)?;
        check(self.observer.chain.head() == head, "I8", || "repeated requests changed the journal".to_owned())
    }

    /// A request of a member is here.
    pub(crate) fn arrive(&mut self, request: &Arc<Request>) -> Verdict {
        let Some(index) = self.route() else { return Ok(()) };
        let process = &mut self.site.processes[index];
        if process.is_paused {
            process.backlog.push_back(request.clone());
            return Ok(());
        }
        self.set_clocks();
        self.take_in(index, request)
    }

    /// Which coordinator a message reaches: the newest, but not always.
    fn route(&mut self) -> Option<usize> {
        let last = self.site.processes.len().checked_sub(1)?;
        Some(if last > 0 && self.dice.chance(0.3) { 0 } else { last })
    }

    fn take_in(&mut self, index: usize, request: &Arc<Request>) -> Verdict {
        let process = &mut self.site.processes[index];
        let name = self.members[request.member].name();
        let number = process.number;
        match request.path {
            Path::View(after) => {
                if let Err(refusal) = process.published.check_member(&name) {
                    return self.answer(request, Err(refusal));
                }
                if after.is_some_and(|after| process.published.version() <= after) {
                    process.waiting.push((request.clone(), self.now + WAIT_MS));
                    self.schedule(number);
                    return Ok(());
                }
                let view = json(&process.published.view(&name));
                self.answer(request, Ok(view))
            }
            _ => {
                let call = request.call().map(|call| call.expect("all but views are for the engine"));
                match call.and_then(|call| Command::of(&process.published, &name, call)) {
                    Err(refusal) => self.answer(request, Err(refusal)),
                    Ok(command) => {
                        let is_harmless = self.observer.is_harmless(&name, request.path);
                        process.inbox.push(Job { request: Some(request.clone()), command, is_harmless });
                        let delay = self.dice.between(0, 3) as u64;
                        self.schedule_at(number, self.now + delay);
                        Ok(())
                    }
                }
            }
        }
    }

    /// The operator wants something done.
    pub(crate) fn operate(&mut self, command: Command) {
        if let Some(process) = self.site.processes.last_mut().filter(|process| !process.is_paused) {
            process.inbox.push(Job { request: None, command, is_harmless: false });
            let number = process.number;
            self.schedule_at(number, self.now);
        }
    }

    /// One transaction, and the answers.
    pub(crate) fn work(&mut self, number: u64) -> Verdict {
        let Some(index) = self.process(number) else { return Ok(()) };
        self.site.processes[index].next_work = None;
        if self.site.processes[index].is_paused {
            return Ok(());
        }
        self.set_clocks();
        let weather = self.weather();
        let jobs = std::mem::take(&mut self.site.processes[index].inbox);
        if !jobs.is_empty() && self.dice.chance(weather.kill / 3.0) {
            return self.kill("coordinator-killed-before-work");
        }
        let is_disturbed = !jobs.is_empty() && self.dice.chance(weather.disk);
        let fault = is_disturbed.then(|| self.plan_fault(12));
        let process = &mut self.site.processes[index];
        let is_due = process.core.until_deadline() == Some(Duration::ZERO);
        let can_change = is_due || jobs.iter().any(|job| !job.is_harmless);
        let (commands, requests): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.command, job.request)).unzip();
        let mut patience = 3;
        let worked = process.core.renew().and_then(|()| {
            process.core.work(commands, &mut |_| {
                patience -= 1;
                patience > 0
            })
        });
        self.site.disk.mend();
        if self.site.disk.is_off() {
            let is_killed = fault == Some(Fault::Crash);
            self.count(if is_killed { "coordinator-killed-inside" } else { "coordinator-power-lost-inside" });
            self.trace.say(self.now, format_args!("coordinator {number} falls at work"));
            self.fall();
            return Ok(());
        }
        match worked {
            Ok(answers) => self.worked(index, &requests, answers, can_change),
            Err(error) => {
                self.trace.say(self.now, format_args!("coordinator {number} stops: {}", name(&error)));
                let attempt = self.site.processes[index].attempt;
                self.check_stop(&error, fault.is_some(), attempt)?;
                self.site.processes.remove(index);
                self.at(50, Event::Start);
                Ok(())
            }
        }
    }

    fn worked(
        &mut self,
        index: usize,
        requests: &[Option<Arc<Request>>],
        answers: Vec<Result<String, Refusal>>,
        can_change: bool,
    ) -> Verdict {
        let is_newest = index + 1 == self.site.processes.len();
        let process = &mut self.site.processes[index];
        let (number, before) = (process.number, self.observer.chain.head());
        // Time alone changes the journal only with the version.
        let is_news = !requests.is_empty() || process.core.version() != before.0;
        let changed = is_news && self.observer.follow(&mut process.store, &mut self.dice)?;
        self.observer.chain.check_notary(self.site.notary.last())?;
        check(is_newest || !changed, "I14", || format!("coordinator {number} wrote after another took over"))?;
        check(can_change || !changed, "I8", || {
            let after = self.observer.chain.head();
            format!("repeated or late messages changed the journal from {before:?} to {after:?}")
        })?;
        process.published = process.core.published();
        self.observer.chain.published(is_newest, process.published.version())?;
        if changed {
            let news = self.observer.news();
            self.trace.say(self.now, format_args!("coordinator {number} writes {news}"));
        }
        let weather = self.weather();
        if changed && self.dice.chance(weather.kill / 3.0) {
            return self.kill("coordinator-killed-after-commit");
        }
        for (request, answer) in requests.iter().zip(answers) {
            if let Some(request) = request {
                self.answer(request, answer)?;
            }
        }
        self.wake(index)?;
        if changed && self.dice.chance(weather.kill / 3.0) {
            return self.kill("coordinator-killed-after-reply");
        }
        self.schedule(number);
        Ok(())
    }

    /// Answers those who wait for news, if there is any or they waited long enough.
    fn wake(&mut self, index: usize) -> Verdict {
        let process = &mut self.site.processes[index];
        let version = process.published.version();
        let is_over = |(request, until): &mut (Arc<Request>, u64)| {
            *until <= self.now || matches!(request.path, Path::View(Some(after)) if version > after)
        };
        let due: Vec<_> = process.waiting.extract_if(.., is_over).collect();
        for (request, _) in due {
            let published = &self.site.processes[index].published;
            let name = self.members[request.member].name();
            let view = published.check_member(&name).map(|_| json(&published.view(&name)));
            self.answer(&request, view)?;
        }
        Ok(())
    }

    fn answer(&mut self, request: &Arc<Request>, answer: Result<String, Refusal>) -> Verdict {
        let name = self.members[request.member].name();
        match &answer {
            Ok(_) => self.trace.say(self.now, format_args!("{name} is answered on {}", request.path)),
            Err(refusal) => {
                self.trace.say(self.now, format_args!("{name} is refused {}: {}", request.path, refusal.code))
            }
        }
        let outcome = answer.map_err(|refusal| json(&refusal));
        let (Ok(bytes) | Err(bytes)) = &outcome;
        self.observer.secrets.check(&name, bytes)?;
        self.send(Parcel::Reply(Reply { request: request.clone(), outcome }));
        Ok(())
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
        let delay = self.dice.between(1, 1500) as u64;
        self.at(delay, Event::Start);
    }

    /// Something goes wrong with the coordinator's disk soon.
    fn plan_fault(&mut self, within: usize) -> Fault {
        let after = self.dice.between(0, within) as u64;
        let fault = draw_fault(self.dice.uniform());
        if !matches!(fault, Fault::PowerLoss | Fault::Crash) {
            self.count("coordinator-disk-failed");
        }
        self.site.disk.plan(Plan { after, fault });
        fault
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

/// A fault of a disk, by chance.
pub(crate) fn draw_fault(chance: f64) -> Fault {
    match chance {
        x if x < 0.35 => Fault::PowerLoss,
        x if x < 0.6 => Fault::Crash,
        x if x < 0.65 => Fault::Full(Lasts::Once),
        x if x < 0.75 => Fault::Failure(Operation::Any, Lasts::Once),
        x if x < 0.85 => Fault::Failure(Operation::Sync, Lasts::Once),
        x if x < 0.95 => Fault::Failure(Operation::Any, Lasts::ForEver),
        _ => Fault::Failure(Operation::Read, Lasts::Once),
    }
}

/// An error without the names of files, which differ from run to run.
fn name(error: &EngineError) -> String {
    let words = format!("{error:?}");
    words.split(['{', '(']).take(2).collect::<Vec<_>>().join(" ")
}

fn broken() -> Refusal {
    truthfed_node::error::Code::Internal.into()
}
