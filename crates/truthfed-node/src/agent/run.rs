//! Drives an agent's conversation with its coordinator over a link, until told to stop.
//!
//! Whatever is cut off in the middle, here or on the way, is safe: the agent has written what it would send, and sends
//! it again. While the coordinator is away the application can go on choosing and learning.

use std::pin::pin;

use tokio::sync::{OwnedMutexGuard, watch};
use truthfed::protocol::RoundId;

use super::conversation::{Conversation, ExchangeError, Output};
use super::core::Agent;
use super::handle::Handle;
use super::link::{Link, LinkError};
use super::policy::Policy;
use super::rounds::StepError;
use crate::error::{Code, Refusal};
use crate::log::SignedHead;
use crate::seldom::Seldom;
use crate::wire::{After, Call, Reply};

pub struct Runner<L> {
    agent: Handle,
    link: L,
    policy: Policy,
}

impl<L: Link> Runner<L> {
    pub fn new(agent: Handle, link: L, policy: Policy) -> Runner<L> {
        Runner { agent, link, policy }
    }

    pub fn agent(&self) -> &Handle {
        &self.agent
    }

    /// One pass without waiting: says what there is to say, and returns whether anything happened.
    pub async fn exchange(&self) -> Result<bool, ExchangeError> {
        let mut talk = self.talk();
        loop {
            match talk.next().await? {
                Output::Poll(_) if talk.conversation.view().is_some() => return Ok(talk.conversation.steps() > 0),
                Output::Poll(call) => {
                    let view = self.poll(call).await;
                    talk.hear(view);
                }
                output => talk.take(output).await,
            }
        }
    }

    /// Exchanges until `stop` becomes true or its sender is gone. Failures are logged and tried again.
    pub async fn run(&self, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => {}
            () = self.follow() => {}
        }
        self.agent.with(Agent::checkpoint).await;
        kill_point!(replied());
    }

    /// Follows the coordinator's views for ever. A wish that comes up during a long poll is told at once.
    async fn follow(&self) {
        let (mut talk, mut seldom) = (self.talk(), Seldom::default());
        loop {
            // Ended by the first output that is neither a poll nor follows from a wish.
            let mut poll = pin!(None);
            // Asked for beside a poll, so that no round waits for it. It needs the agent, so it ends before the talk goes on.
            let mut head = pin!(None);
            loop {
                match talk.next().await {
                    Ok(Output::Poll(call)) => {
                        if poll.is_none() {
                            poll.set(Some(self.poll(call)));
                            head.set(talk.unseen().map(|closed| self.look(closed)));
                        }
                        let polling = poll.as_mut().as_pin_mut().expect("it was set");
                        tokio::select! {
                            biased;
                            seen = async { head.as_mut().as_pin_mut().expect("it is some").await }, if head.is_some() => {
                                talk.looked(seen, &mut seldom);
                                head.set(None);
                            }
                            view = polling => {
                                talk.hear(view);
                                break;
                            }
                            () = self.agent.wished() => {
                                if let Some(looking) = head.as_mut().as_pin_mut() {
                                    talk.looked(looking.await, &mut seldom);
                                    head.set(None);
                                }
                                talk.conversation.wish();
                                // Both ask for a view, and a link carries one request for views at a time.
                                if talk.conversation.is_looking() {
                                    poll.set(None);
                                }
                            }
                        }
                    }
                    Ok(Output::Wait(pause)) => {
                        tokio::time::sleep(pause).await;
                        break;
                    }
                    Ok(output) => talk.take(output).await,
                    Err(error) => {
                        report(&error, &mut seldom);
                        // What cannot be right may be of another history.
                        if let Some(closed) = talk.unseen() {
                            talk.looked(self.look(closed).await, &mut seldom);
                        }
                    }
                }
            }
            if let Some(looking) = head.as_mut().as_pin_mut() {
                talk.looked(looking.await, &mut seldom);
            }
        }
    }

    async fn poll(&self, call: Call) -> Result<Vec<u8>, LinkError> {
        let view = self.link.call(call).await;
        self.agent.set_reachable(!matches!(view, Err(LinkError::Away(_))));
        view
    }

    /// Has the agent take in the head of the journal as it is after the round `closed`.
    async fn look(&self, closed: RoundId) -> (RoundId, Result<(), ExchangeError>) {
        (closed, self.hear_head().await)
    }

    /// Fails when the coordinator gives no head, or one of another history.
    async fn hear_head(&self) -> Result<(), ExchangeError> {
        let agent = &self.agent;
        let kept = agent.with(|agent| agent.heads()).await.map_err(StepError::from)?.newest;
        let call = Call::Head(After { from: kept.as_ref().map(SignedHead::size) });
        let reply = match self.link.call(call.clone()).await {
            // A coordinator of an earlier version has no heads.
            Err(LinkError::Refused(refusal)) if refusal.code == Code::NotFound && kept.is_none() => {
                return Ok(());
            }
            reply => reply?,
        };
        let garbled = |refusal: Refusal| LinkError::Garbled(refusal.message);
        let Reply::Head(proof) = call.read_reply(&reply).map_err(garbled)? else {
            unreachable!("a head is answered with a proof")
        };
        let heard = agent.with(move |agent| agent.hear_head(&proof)).await;
        if let Err(error) = &heard {
            agent.set_problem(Some(error.to_string()));
        }
        Ok(heard?)
    }

    fn talk(&self) -> Talk<'_, L> {
        Talk {
            runner: self,
            conversation: Conversation::new(self.agent.member()),
            held: None,
            closed: None,
            looked: None,
        }
    }
}

struct Talk<'a, L> {
    runner: &'a Runner<L>,
    conversation: Conversation,
    /// The agent, while its application has to wait for a price.
    held: Option<OwnedMutexGuard<Agent>>,
    /// The last round that ended, by the last view.
    closed: Option<RoundId>,
    /// The last one after whose end it had the head of the journal.
    looked: Option<RoundId>,
}

impl<L: Link> Talk<'_, L> {
    /// Goes on until there is something to do for the driver.
    async fn next(&mut self) -> Result<Output, ExchangeError> {
        loop {
            let held = match self.held.take() {
                Some(held) => held,
                None => self.runner.agent.hold().await,
            };
            let fresh = Conversation::new(self.runner.agent.member());
            let mut conversation = std::mem::replace(&mut self.conversation, fresh);
            let work = move |agent: &mut Agent| {
                let next = conversation.next(agent);
                (conversation, next)
            };
            let (held, (conversation, next)) = self.runner.agent.work_with(held, work).await;
            self.conversation = conversation;
            if let Err(ExchangeError::Step(error)) = &next {
                self.runner.agent.set_problem(Some(error.to_string()));
            }
            if let Some(output) = next? {
                if matches!(output, Output::Poll(_)) && self.conversation.view().is_some() {
                    self.runner.agent.set_problem(None);
                }
                if matches!(output, Output::Price { alone: true, .. }) {
                    self.held = Some(held);
                }
                return Ok(output);
            }
        }
    }

    fn hear(&mut self, reply: Result<Vec<u8>, LinkError>) {
        self.conversation.reply(reply);
        self.closed = self.conversation.view().map(|view| view.closed).or(self.closed);
        self.runner.agent.show(self.conversation.view());
    }

    /// The last round that ended, unless the agent has had the head of the journal since.
    fn unseen(&self) -> Option<RoundId> {
        self.closed.filter(|closed| self.looked != Some(*closed))
    }

    /// What came of looking at the head after the round `closed`. What failed is tried again after the next view.
    fn looked(&mut self, (closed, seen): (RoundId, Result<(), ExchangeError>), seldom: &mut Seldom) {
        match seen {
            Ok(()) => self.looked = Some(closed),
            Err(error) => report(&error, seldom),
        }
    }

    async fn take(&mut self, output: Output) {
        match output {
            Output::Send(call) => {
                let reply = self.runner.link.call(call).await;
                self.hear(reply);
            }
            Output::Price { round, data, .. } => {
                self.conversation.priced(self.runner.policy.price(round, &data).await);
            }
            Output::Poll(_) | Output::Wait(_) => unreachable!("who drives the talk waits"),
        }
    }
}

fn report(error: &ExchangeError, seldom: &mut Seldom) {
    match error {
        ExchangeError::Link(LinkError::Away(problem)) => {
            seldom.tell("away", |times| tracing::warn!(problem, times, "the coordinator is away"));
        }
        ExchangeError::Link(LinkError::Refused(refusal)) if refusal.code.is_passing() => {
            let problem = refusal.to_string();
            seldom
                .tell(refusal.code.name(), |times| tracing::warn!(problem, times, "the coordinator cannot serve now"));
        }
        ExchangeError::Link(error) => {
            seldom.tell("link", |times| tracing::error!(%error, times, "the coordinator does not help"));
        }
        ExchangeError::Step(error @ StepError::RolledBack { .. }) => {
            seldom.tell("rolled-back", |times| tracing::error!(%error, times, "the coordinator has lost rounds"));
        }
        ExchangeError::Step(error @ StepError::TwoHistories { .. }) => {
            seldom.tell("two-histories", |times| tracing::error!(%error, times, "there are two journals"));
        }
        ExchangeError::Step(error) => {
            seldom.tell("step", |times| tracing::error!(%error, times, "no part in rounds for now"));
        }
    }
}
