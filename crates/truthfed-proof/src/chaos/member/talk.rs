//! What a member says to the coordinator, and what it makes of the replies: as the runner does it, one call at a time.

use truthfed::Amount;
use truthfed::protocol::RoundId;
use truthfed_node::agent::{Refused, Speaker, Step, StepError};
use truthfed_node::digest::Nonce;
use truthfed_node::error::Refusal;
use truthfed_node::reading::read_json;
use truthfed_node::wire::{Call, Seen};

use super::Waiting;
use crate::chaos::message::{Reply, Request};
use crate::chaos::plan::Role;
use crate::chaos::report::{Breach, Verdict, breach};
use crate::chaos::world::{Event, World};

/// More steps than one view can give rise to.
const MAX_STEPS: usize = 16;

impl World<'_> {
    /// Looks what the coordinator shows.
    pub(crate) fn look(&mut self, member: usize) -> Verdict {
        let node = &self.members[member];
        if node.agent.is_none() || node.waiting.is_some() {
            return Ok(());
        }
        if self.now < node.gone_until {
            self.at(node.gone_until - self.now, Event::Look(member));
            return Ok(());
        }
        self.ask_coordinator(member, &Call::View(Seen::default()), None);
        Ok(())
    }

    /// Does what the last view gives rise to, up to the next thing that needs a reply.
    pub(crate) fn go_on(&mut self, member: usize) -> Verdict {
        for _ in 0..MAX_STEPS {
            let Some(view) = self.members[member].view.clone() else { return self.look(member) };
            let step = self.call(
                member,
                |agent| agent.next_step(&view),
                |world, error, may_fail| world.broke_off(member, &error, may_fail, false),
            )?;
            match step {
                None => return Ok(()),
                Some(Step::Price(round, nonce, data)) => {
                    if !self.price(member, round, nonce, data.is_some())? {
                        return Ok(());
                    }
                }
                Some(Step::Nothing) => {
                    let seen = Seen { after: Some(view.version), ..Seen::default() };
                    self.ask_coordinator(member, &Call::View(seen), None);
                    return Ok(());
                }
                Some(Step::Send(call)) => {
                    self.maybe_lie(member, &Request::of(0, member, &call));
                    self.ask_coordinator(member, &call, Some(call.clone()));
                    return Ok(());
                }
            }
        }
        breach("I15", format!("{} finds no end of things to do", self.members[member].name()))
    }

    /// Answers a round. Whether it still runs.
    fn price(&mut self, member: usize, round: RoundId, nonce: Nonce, has_data: bool) -> Verdict<bool> {
        let units = match self.members[member].role {
            Role::Honest => self.members[member].cost,
            _ => self.dice.between(0, 80) as i64,
        };
        // Told from all others by its last digits.
        let micros = units * 1_000_000 + self.dice.between(0, 999_999) as i64;
        let ask = if self.dice.chance(0.02) { 0 } else { micros };
        let ask = (has_data && !self.dice.chance(0.03)).then(|| Amount::from_micros(ask).expect("not negative"));
        let name = self.members[member].name();
        if let Some(ask) = ask {
            self.observer.secrets.note(&name, ask);
        }
        self.trace.say(self.now, format_args!("{name} answers round {round} with {ask:?}"));
        let answered = self.call(
            member,
            |agent| agent.opened(round, nonce, ask),
            |world, error, may_fail| world.broke_off(member, &error, may_fail, false),
        )?;
        Ok(answered.is_some())
    }

    fn ask_coordinator(&mut self, member: usize, call: &Call, step: Option<Call>) {
        let node = &mut self.members[member];
        node.requests += 1;
        let id = node.requests;
        node.waiting = Some(Waiting { id, step });
        let patience = if matches!(call, Call::View(_)) { 2000 } else { 500 };
        self.at(patience, Event::GiveUp(member, id));
        let request = Request::of(id, member, call);
        if self.dice.chance(self.weather().flood) {
            self.count("member-flooded");
            (0..20).for_each(|_| self.request(request.clone()));
        }
        self.request(request);
    }

    /// No reply came in time.
    pub(crate) fn give_up(&mut self, member: usize, id: u64) -> Verdict {
        let node = &mut self.members[member];
        if node.waiting.as_ref().is_some_and(|waiting| waiting.id == id) {
            node.waiting = None;
            self.pause_member(member);
        }
        Ok(())
    }

    /// Tries again after a while, from a new view.
    fn pause_member(&mut self, member: usize) {
        self.members[member].view = None;
        let delay = self.dice.between(10, 300) as u64;
        self.at(delay, Event::Look(member));
    }

    pub(crate) fn hear(&mut self, fresh: Reply) -> Verdict {
        let member = fresh.request.member;
        let node = &self.members[member];
        if node.agent.is_none() || self.now < node.gone_until {
            return Ok(());
        }
        let old = self.stale(&fresh);
        let is_stale = old.is_some();
        let reply = old.unwrap_or(fresh);
        if let (Ok(body), false) = (&reply.outcome, is_stale) {
            let name = self.members[member].name();
            self.observer.acknowledged.note(&name, &reply.request, body)?;
        }
        let node = &mut self.members[member];
        if node.waiting.as_ref().is_none_or(|waiting| waiting.id != reply.request.id) {
            return Ok(());
        }
        let waiting = node.waiting.take().expect("it was looked at");
        match (waiting.step, reply.outcome) {
            (None, Ok(view)) => {
                self.members[member].view = Some(read(&view)?);
                self.go_on(member)
            }
            (None, Err(_)) => {
                self.pause_member(member);
                Ok(())
            }
            (Some(step), Ok(body)) => self.taken(member, &step, &body, is_stale),
            (Some(step), Err(refusal)) => self.refused(member, &step, &read(&refusal)?),
        }
    }

    /// The coordinator took what was said.
    fn taken(&mut self, member: usize, call: &Call, body: &str, is_stale: bool) -> Verdict {
        let ended = self.members[member].view.as_ref().map_or(RoundId(0), |view| view.closed);
        let problem = |world: &mut World<'_>, error, may_fail| world.broke_off(member, &error, may_fail, is_stale);
        let reply = call.read_reply(body.as_bytes()).map_err(garbled)?;
        let done = self.call(member, |agent| agent.taken(call, reply, ended), problem)?;
        if done.is_none() {
            return Ok(());
        }
        if matches!(call, Call::Sync(_)) {
            self.check_samples(member)?;
        }
        self.go_on(member)
    }

    /// The coordinator did not take what was said.
    fn refused(&mut self, member: usize, call: &Call, refusal: &Refusal) -> Verdict {
        match Refused::of(call, refusal.code) {
            Refused::TryAgain => {
                self.pause_member(member);
                return Ok(());
            }
            Refused::Finish(round) => self.finish(member, round),
            Refused::Decline(round) => {
                self.finish(member, round);
                self.request(Request::of(0, member, &Call::Decline(round)));
            }
        }
        self.go_on(member)
    }

    fn finish(&mut self, member: usize, round: RoundId) {
        if let Some(agent) = &mut self.members[member].agent {
            agent.finish(round);
        }
    }

    /// An exchange broke off: only for reasons that there are.
    fn broke_off(&mut self, member: usize, error: &StepError, may_fail: bool, is_stale: bool) -> Verdict {
        let is_honest = self.members[member].is_honest();
        match error {
            StepError::File(error) => self.check_file(member, error, may_fail)?,
            // A coordinator that was held up does not know better.
            StepError::NoSnapshot { .. } => {}
            StepError::BadReceipt(_) | StepError::Snapshot(_) if is_stale || !is_honest => {}
            StepError::OldFile(_) | StepError::OtherNonce(_) if !is_honest => {}
            error => return breach("I6", format!("{} cannot go on: {error}", self.members[member].name())),
        }
        self.trace.say(self.now, format_args!("{} breaks off", self.members[member].name()));
        self.pause_member(member);
        Ok(())
    }
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Verdict<T> {
    read_json(text.as_bytes()).map_err(garbled)
}

fn garbled(refusal: Refusal) -> Breach {
    Breach { invariant: "I6", text: format!("a reply is garbled: {refusal}") }
}
