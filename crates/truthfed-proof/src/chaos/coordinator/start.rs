//! A coordinator starts: from what is on its disk, and with all that was acknowledged.

use std::collections::VecDeque;

use truthfed::protocol::Time;
use truthfed_node::engine::{Command, Core, EngineError, Setup};
use truthfed_node::error::Code;
use truthfed_node::net::Intake;
use truthfed_node::store::Sqlite;
use truthfed_node::testing::Forwarding;

use super::{BEGINNING_MS, Process, Site, name};
use crate::chaos::{Event, Node, Verdict, World, check};

impl World<'_> {
    /// Starts a coordinator; a second one only while the first is held up.
    pub(crate) fn start_coordinator(&mut self) -> Verdict {
        if self.site.processes.iter().any(|process| !process.is_paused) {
            return Ok(());
        }
        self.site.disk.restart();
        self.set_clocks();
        let fault = self.dice.chance(self.weather().recovery).then(|| {
            self.count("coordinator-recovery-disturbed");
            self.plan_fault(None, 60)
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
                self.within(50, 300, Event::Start);
                Ok(())
            }
        }
    }

    fn open_core(&mut self) -> Result<Process, EngineError> {
        let Site { disk, notary, federation, started, attempts, ahead_ms, wall_ms, latest, read_ahead, .. } =
            &mut self.site;
        *attempts += 1;
        let store = Forwarding::new(Sqlite::open_on(&disk.path("ledger.db"), &disk.vfs())?);
        let founders = self.members.iter().take(self.plan.founders);
        let setup = Setup {
            members: founders.map(Node::enrolment).collect(),
            checkpoint: notary.clone(),
            lease_ms: self.plan.lease_ms,
            ..federation.setup()
        };
        let clock = setup.clock.clone();
        let start_ms = BEGINNING_MS + *wall_ms - *ahead_ms as i64;
        clock.set(Time((start_ms + (self.now + *ahead_ms) as i64) as u64));
        *latest = clock.now().max(*latest);
        let core = Core::start_ahead(setup, Box::new(store.clone()), read_ahead)?;
        *started += 1;
        let published = core.published();
        Ok(Process {
            number: *started,
            attempt: *attempts,
            core,
            clock,
            start_ms,
            published,
            store,
            intake: Intake::new(self.plan.share()),
            stalled: Vec::new(),
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
        for (_, (request, reply)) in self.observer.acknowledged.lately() {
            let name = self.members[request.member].name();
            if !self.observer.is_member(&name) {
                continue;
            }
            let call = request.call().expect("it was taken before");
            let answer = Command::of(&process.published, &name, call)
                // It may stop while it is asked.
                .and_then(|command| {
                    process
                        .core
                        .work(vec![command], &mut |_| false)
                        .map_err(|_| Code::Internal)?
                        .remove(0)
                        .map(String::from)
                });
            let is_same = answer.as_ref().is_ok_and(|again| again == reply);
            check(is_same, "I6", || format!("{name}'s {request} got another reply after a restart"))?;
        }
        self.observer.follow(&mut process.store, &mut self.dice)?;
        check(self.observer.chain.head() == head, "I8", || "repeated requests changed the journal".to_owned())
    }
}
