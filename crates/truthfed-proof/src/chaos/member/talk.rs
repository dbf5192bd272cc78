//! A member's conversation with the coordinator: the agent's own, driven one call at a time over the simulated network.

use truthfed::Amount;
use truthfed::protocol::RoundId;
use truthfed_node::agent::{Conversation, ExchangeError, LinkError, Output, StepError};
use truthfed_node::reading::read_json;
use truthfed_node::wire::Call;

use crate::chaos::{Breach, Event, Reply, Request, Role, Verdict, World, breach};

/// More than a conversation does between two messages.
const MAX_STEPS: usize = 16;
/// How long a member waits for a reply: to a poll, which the coordinator holds for a second, and to anything else.
const PATIENCE_MS: (u64, u64) = (2000, 500);

impl World<'_> {
    /// Goes on after a pause, unless the member is away or waits for a reply.
    pub(crate) fn look(&mut self, member: usize) -> Verdict {
        let node = &self.members[member];
        if node.agent.is_none() || node.waiting.is_some() {
            return Ok(());
        }
        if self.now < node.gone_until {
            self.at(node.gone_until - self.now, Event::Look(member));
            return Ok(());
        }
        self.go_on(member)
    }

    /// Goes on up to the next reply or pause.
    pub(crate) fn go_on(&mut self, member: usize) -> Verdict {
        for _ in 0..MAX_STEPS {
            let next = self.advance(member, false)?;
            if next.is_none() && self.members[member].agent.is_none() {
                return Ok(());
            }
            match next.flatten() {
                None => continue,
                Some(Output::Price { alone: false, .. }) if self.dice.chance(0.1) => {
                    // Deciding takes a while, in which the application may learn more.
                    self.within(1, 300, Event::Look(member));
                }
                Some(Output::Price { round, .. }) => {
                    let ask = self.price(member, round);
                    self.members[member].conversation.priced(ask);
                    continue;
                }
                Some(Output::Send(call)) => {
                    self.maybe_lie(member, &Request::of(0, member, &call));
                    self.ask_coordinator(member, call);
                }
                // After a wish that came to nothing the poll is still under way.
                Some(Output::Poll(_)) if self.members[member].waiting.is_some() => {}
                Some(Output::Poll(call)) => self.ask_coordinator(member, call),
                Some(Output::Wait(pause)) => {
                    self.members[member].waiting = None;
                    self.at(pause.as_millis() as u64, Event::Look(member));
                }
            }
            return Ok(());
        }
        breach("I15", format!("{} finds no end of things to do", self.members[member].name()))
    }

    /// One step of the conversation; none if it broke off or the member fell.
    fn advance(&mut self, member: usize, is_stale: bool) -> Verdict<Option<Option<Output>>> {
        let fresh = Conversation::new(&self.members[member].membership.member);
        let mut conversation = std::mem::replace(&mut self.members[member].conversation, fresh);
        let next = self.call(
            member,
            |agent| conversation.next(agent),
            |world, error, may_fail| world.broke_off(member, &error, may_fail, is_stale),
        )?;
        // Whoever falls begins anew.
        if self.members[member].agent.is_some() {
            self.members[member].conversation = conversation;
        }
        Ok(next)
    }

    /// What a member asks for its data, if it offers at all.
    fn price(&mut self, member: usize, round: RoundId) -> Option<Amount> {
        let units = match self.members[member].role {
            Role::Honest => self.members[member].cost,
            _ => self.dice.between(0, 80) as i64,
        };
        // The last digits tell it from all others.
        let micros = units * 1_000_000 + self.dice.between(0, 999_999) as i64;
        let ask = if self.dice.chance(0.02) { 0 } else { micros };
        let ask = (!self.dice.chance(0.03)).then(|| Amount::from_micros(ask).expect("not negative"));
        let name = self.members[member].name();
        if let Some(ask) = ask {
            self.observer.secrets.note(&name, ask);
        }
        self.trace.say(self.now, format_args!("{name} answers round {round} with {ask:?}"));
        ask
    }

    fn ask_coordinator(&mut self, member: usize, call: Call) {
        let node = &mut self.members[member];
        node.requests += 1;
        let id = node.requests;
        let request = Request::of(id, member, &call);
        let patience = if matches!(call, Call::View(_)) { PATIENCE_MS.0 } else { PATIENCE_MS.1 };
        node.waiting = Some((id, call));
        self.at(patience, Event::GiveUp(member, id));
        if self.dice.chance(self.weather().flood) {
            self.count("member-flooded");
            (0..20).for_each(|_| self.request(request.clone()));
        }
        self.request(request);
    }

    pub(crate) fn give_up(&mut self, member: usize, id: u64) -> Verdict {
        let node = &mut self.members[member];
        if node.waiting.take_if(|(awaited, _)| *awaited == id).is_none() {
            return Ok(());
        }
        node.conversation.reply(Err::<String, _>(LinkError::Away("no reply in time".to_owned())));
        self.go_on(member)
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
        let Some((_, call)) = node.waiting.take_if(|(id, _)| *id == reply.request.id) else { return Ok(()) };
        let outcome = match reply.outcome {
            Ok(body) => Ok(body),
            Err(refusal) => Err(LinkError::Refused(read_json(refusal.as_bytes()).map_err(garbled)?)),
        };
        node.conversation.reply(outcome);
        let taken = self.advance(member, is_stale)?;
        if taken.is_some() && matches!(call, Call::Sync(_)) {
            self.check_samples(member)?;
        }
        if self.members[member].agent.is_some() { self.go_on(member) } else { Ok(()) }
    }

    /// An exchange broke off. Fails unless the fault was injected.
    fn broke_off(&mut self, member: usize, error: &ExchangeError, may_fail: bool, is_stale: bool) -> Verdict {
        let is_honest = self.members[member].is_honest();
        match error {
            ExchangeError::Link(LinkError::Away(_) | LinkError::Refused(_)) => return Ok(()),
            ExchangeError::Link(LinkError::Garbled(problem)) => return Err(garbled(problem)),
            ExchangeError::Step(error) => match error {
                StepError::File(error) => self.check_file(member, error, may_fail)?,
                // A coordinator that was held up does not know better.
                StepError::NoSnapshot { .. } | StepError::RolledBack { .. } => {}
                StepError::BadReceipt(_) | StepError::Snapshot(_) if is_stale || !is_honest => {}
                StepError::OldFile(_) | StepError::OtherNonce(_) if !is_honest => {}
                error => return breach("I6", format!("{} cannot go on: {error}", self.members[member].name())),
            },
        }
        self.trace.say(self.now, format_args!("{} breaks off", self.members[member].name()));
        Ok(())
    }
}

fn garbled(problem: impl std::fmt::Display) -> Breach {
    Breach { invariant: "I6", text: format!("a reply is garbled: {problem}") }
}
