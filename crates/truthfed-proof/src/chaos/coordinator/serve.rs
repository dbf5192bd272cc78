//! A coordinator at work: requests come in, one transaction takes them, answers go out.

use std::sync::Arc;
use std::time::Duration;

use crate::disk::Fault;
use truthfed_node::engine::Command;
use truthfed_node::error::Refusal;
use truthfed_node::net::Part;
use truthfed_node::wire::Call;

use super::{Job, name};
use crate::chaos::{Event, Parcel, Reply, Request, Verdict, World, check, json};

/// Longest wait for news.
const WAIT_MS: u64 = 1000;

impl World<'_> {
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

    pub(super) fn take_in(&mut self, index: usize, request: &Arc<Request>) -> Verdict {
        let process = &mut self.site.processes[index];
        let name = self.members[request.member].name();
        let number = process.number;
        if let Call::View(seen) = request.to {
            if let Err(refusal) = process.published.check_member(&name) {
                return self.answer(index, request, Err(refusal));
            }
            if seen.is_latest(process.published.news()) {
                process.waiting.push((request.clone(), self.now + WAIT_MS));
                self.schedule(number);
                return Ok(());
            }
            let view = json(&process.published.view(&name));
            return self.answer(index, request, Ok(view));
        }
        let part = match self.reserve(index, request)? {
            Ok(part) => Some(part),
            Err(refusal) => return self.answer(index, request, Err(refusal)),
        };
        let process = &mut self.site.processes[index];
        match request.call().and_then(|call| Command::of(&process.published, &name, call)) {
            Err(refusal) => self.answer(index, request, Err(refusal)),
            Ok(command) => {
                let is_harmless = self.observer.is_harmless(&name, &request.to);
                process.inbox.push(Job { request: Some(request.clone()), command, _part: part, is_harmless });
                let delay = self.dice.between(0, 3) as u64;
                self.schedule_at(number, self.now + delay);
                Ok(())
            }
        }
    }

    /// Room for the body of a request. Only its sender's own bodies may leave none.
    fn reserve(&mut self, index: usize, request: &Request) -> Verdict<Result<Part<usize>, Refusal>> {
        let (now, share, process) = (self.now, self.plan.share(), &mut self.site.processes[index]);
        process.stalled.retain(|body| body.until > now);
        let bytes = request.body.len();
        let reserved = process.intake.reserve(request.member, bytes);
        let is_own = process.bytes_of(request.member) + bytes > share;
        check(reserved.is_ok() || is_own, "I17", || {
            format!("{}'s {request} is refused for the bytes of others", self.members[request.member].name())
        })?;
        Ok(reserved)
    }

    pub(crate) fn operate(&mut self, command: Command) {
        if let Some(process) = self.site.processes.last_mut().filter(|process| !process.is_paused) {
            process.inbox.push(Job { request: None, command, _part: None, is_harmless: false });
            let number = process.number;
            self.schedule_at(number, self.now);
        }
    }

    /// One transaction, and the answers.
    pub(crate) fn work(&mut self, number: u64) -> Verdict {
        let Some(index) = self.process(number) else { return Ok(()) };
        if self.site.processes[index].next_work.is_none_or(|next| next > self.now) {
            // What it was woken for was done sooner.
            return Ok(());
        }
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
        let fault = is_disturbed.then(|| self.plan_fault(None, 12));
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
            Ok(answers) => {
                let answers = answers.into_iter().map(|answer| answer.map(String::from)).collect();
                self.worked(index, &requests, answers, can_change)
            }
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
        self.observer.times.clock = Some(process.clock.now());
        let changed = is_news && self.observer.follow(&mut process.store, &mut self.dice)?;
        self.observer.times.clock = None;
        self.observer.chain.check_notary(self.site.notary.last())?;
        check(is_newest || !changed, "I14", || format!("coordinator {number} wrote after another took over"))?;
        check(can_change || !changed, "I8", || {
            let after = self.observer.chain.head();
            format!("repeated or late messages changed the journal from {before:?} to {after:?}")
        })?;
        process.published = process.core.published();
        self.observer.chain.published(is_newest, process.published.entries())?;
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
                self.answer(index, request, answer)?;
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
        let version = process.published.news();
        let is_over = |(request, until): &mut (Arc<Request>, u64)| {
            *until <= self.now || matches!(request.to, Call::View(seen) if !seen.is_latest(version))
        };
        let due: Vec<_> = process.waiting.extract_if(.., is_over).collect();
        for (request, _) in due {
            let published = &self.site.processes[index].published;
            let name = self.members[request.member].name();
            let view = published.check_member(&name).map(|_| json(&published.view(&name)));
            self.answer(index, &request, view)?;
        }
        Ok(())
    }

    fn answer(&mut self, index: usize, request: &Arc<Request>, answer: Result<String, Refusal>) -> Verdict {
        let name = self.members[request.member].name();
        match &answer {
            Ok(body) => {
                let entries = self.site.processes[index].published.entries();
                let is_current = index + 1 == self.site.processes.len() && entries == self.observer.chain.head().0;
                self.observer.check_served(&name, request, body, is_current)?;
                self.trace.say(self.now, format_args!("{name} is answered on {request}"));
            }
            Err(refusal) => {
                self.trace.say(self.now, format_args!("{name} is refused {request}: {}", refusal.code));
            }
        }
        let outcome = answer.map_err(|refusal| json(&refusal));
        let (Ok(bytes) | Err(bytes)) = &outcome;
        self.observer.secrets.check(&name, bytes)?;
        self.send(Parcel::Reply(Reply { request: request.clone(), outcome }));
        Ok(())
    }
}
