//! A coordinator starts: from what is on its disk, and with all that was acknowledged.

use std::collections::VecDeque;

use truthfed::protocol::Time;
use truthfed_node::engine::{Clock, Command, Core, EngineError, Place, Setup};
use truthfed_node::error::{Code, Refusal};
use truthfed_node::store::Sqlite;
use truthfed_node::testing::Forwarding;

use super::{Process, Site, name};
use crate::chaos::member::Node;
use crate::chaos::report::{Verdict, check};
use crate::chaos::world::{Event, World};

impl World<'_> {
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
        let store = Forwarding::new(Sqlite::open_on(&disk.path("ledger.db"), &disk.vfs())?);
        let clock = Clock::simulated();
        clock.set(Time(self.now + *ahead_ms));
        let founders = self.members.iter().take(self.plan.founders);
        let setup = Setup {
            federation: *federation,
            agreement: self.plan.agreement.clone(),
            signer: signer.clone(),
            members: founders.map(Node::enrolment).collect(),
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
            let call = request.call().expect("it was taken before");
            let answer = Command::of(&process.published, &name, call)
                .and_then(|command| process.core.work(vec![command], &mut |_| false).map_err(|_| broken())?.remove(0));
            let is_same = answer.as_ref().is_ok_and(|again| *again == reply);
            check(is_same, "I6", || format!("{name}'s {request} got another reply after a restart"))?;
        }
        self.observer.follow(&mut process.store, &mut self.dice)?;
        check(self.observer.chain.head() == head, "I8", || "repeated requests changed the journal".to_owned())
    }
}

/// It stopped while it was asked.
fn broken() -> Refusal {
    Code::Internal.into()
}
