//! What an agent is between two events, and what an event makes of it. No I/O: the same events give the same bits.
//!
//! The machine's outbox is empty between two events: what it wants sent survives a restart in another form (its wish for a
//! round, and the answer to a round, which is in flight), and is sent until it is acknowledged or moot.

use serde::{Deserialize, Serialize};
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::bandit::RefreshError;
use truthfed::protocol::{Asking, InFlight, Member, Notice, Request, RoundId, Snapshot};
use truthfed::statistics::{Statistics, StatisticsError};

use crate::digest::Nonce;
use crate::terms::Agreement;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Event {
    /// The rewards of arms that were chosen, in this order.
    Learned(Vec<Observation>),
    /// A round is open, or next; the price that was decided on, if any.
    Opened {
        round: RoundId,
        nonce: Nonce,
        ask: Option<Amount>,
        /// The most samples that may be offered, where there is a quota.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
    /// What is settled.
    Snapshot(Snapshot),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Observation {
    pub(super) arm: Vec<f64>,
    pub(super) reward: f64,
}

/// Why an event cannot happen.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum EventError {
    #[error(transparent)]
    Observation(#[from] StatisticsError),
    #[error(transparent)]
    Snapshot(#[from] RefreshError),
}

/// Everything that survives a restart.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    pub(super) machine: Member,
    answer: Option<Answer>,
}

/// That an agent has answered a round: once, and it stands. If it offered, the machine has the offer in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) round: RoundId,
    pub(super) nonce: Nonce,
}

struct Decided(Option<Amount>);

impl Asking for Decided {
    fn ask(&mut self, _: &Statistics) -> Option<Amount> {
        self.0
    }
}

impl State {
    pub(super) fn new(member: ClientId, agreement: &Agreement) -> State {
        State { machine: Member::under(agreement, member), answer: None }
    }

    pub(super) fn answer_to(&self, round: RoundId) -> Option<Answer> {
        self.answer.filter(|answer| answer.round == round)
    }

    /// What is offered in a round, if it has not ended.
    pub(super) fn in_flight_in(&self, round: RoundId) -> Option<&InFlight> {
        self.machine.in_flight().filter(|in_flight| in_flight.round() == round)
    }

    /// What would be offered to a round that has no answer yet, of so many samples at most; none when there is nothing.
    pub(super) fn to_offer(&self, most: Option<u64>) -> Option<Statistics> {
        let data = self.machine.to_offer(most);
        (data.samples() > 0 && self.machine.in_flight().is_none()).then_some(data)
    }

    /// Takes an event in; a new answer to a round may follow from it, and is what is in flight then.
    pub(super) fn apply(&mut self, event: Event) -> Result<(), EventError> {
        match event {
            Event::Learned(observations) => {
                for Observation { arm, reward } in &observations {
                    self.machine.learn(arm, *reward)?;
                }
                // It wants a lost offer or snapshot again: views say what is missing.
                self.drain();
            }
            Event::Opened { round, nonce, ask, most } => self.opened((round, most), nonce, ask)?,
            Event::Snapshot(snapshot) => self.take_over(snapshot)?,
        }
        Ok(())
    }

    fn opened(
        &mut self,
        (round, most): (RoundId, Option<u64>),
        nonce: Nonce,
        ask: Option<Amount>,
    ) -> Result<(), RefreshError> {
        self.machine.handle(Notice::Opened(round, most), &mut Decided(ask))?;
        let is_answer = |request: &Request| match request {
            Request::Offer { round: to, .. } | Request::Decline(to) => *to == round,
            _ => false,
        };
        if self.drain().iter().any(is_answer) {
            self.answer = Some(Answer { round, nonce });
        }
        Ok(())
    }

    fn take_over(&mut self, snapshot: Snapshot) -> Result<(), RefreshError> {
        self.machine.handle(Notice::Snapshot(snapshot), &mut Decided(None))?;
        self.drain();
        Ok(())
    }

    /// What the winner of a round delivers; none when it has nothing in flight there.
    pub(super) fn awarded(&mut self, round: RoundId) -> Option<Vec<f64>> {
        // Of what survives a restart an award changes nothing; no price is asked for.
        self.machine.handle(Notice::Awarded(round), &mut Decided(None)).ok()?;
        self.drain().into_iter().find_map(|request| match request {
            Request::Deliver(of, moment) if of == round => Some(moment),
            _ => None,
        })
    }

    fn drain(&mut self) -> Vec<Request> {
        std::iter::from_fn(|| self.machine.poll()).collect()
    }
}
