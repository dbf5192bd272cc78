//! What an agent is between two events, and what an event makes of it. No I/O: the same events give the same bits.
//!
//! The machine's outbox is empty between two events: what it wants sent is kept here in a form that survives a restart
//! (a wish for a round, the answer to the open round), and is sent until it is acknowledged or moot.

use serde::{Deserialize, Serialize};
use truthfed::Amount;
use truthfed::auction::{ClientId, Offer};
use truthfed::bandit::RefreshError;
use truthfed::protocol::{Asking, Member, Notice, Request, RoundId, Snapshot};
use truthfed::statistics::{Statistics, StatisticsError};

use crate::digest::Nonce;
use crate::terms::Agreement;

/// Something that happened to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum Event {
    /// The reward of an arm that was chosen.
    Learned { arm: Vec<f64>, reward: f64 },
    /// A round is open; the price that was decided on, if any.
    Opened { round: RoundId, nonce: Nonce, ask: Option<Amount> },
    /// What is settled.
    Snapshot(Snapshot),
    /// The coordinator was asked for a round.
    Asked,
}

/// Why an event cannot happen; nothing is changed then.
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
    machine: Member,
    /// The last round that is in the machine's snapshot.
    closed: RoundId,
    wants_round: bool,
    answer: Option<Answer>,
}

/// What an agent says to a round: once, and it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) round: RoundId,
    pub(super) nonce: Nonce,
    /// What is in flight; none when it declined.
    pub(super) offered: Option<Offered>,
}

/// What was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Offered {
    pub(super) samples: u64,
    pub(super) ask: Amount,
}

/// An offer to be signed, with the moment it commits to.
pub(super) struct NewOffer {
    pub(super) samples: u64,
    pub(super) offer: Offer,
    pub(super) moment: Vec<f64>,
}

/// The price that was decided on before.
struct Decided(Option<Amount>);

impl Asking for Decided {
    fn ask(&mut self, _: &Statistics) -> Option<Amount> {
        self.0
    }
}

impl State {
    /// Of a member that knows nothing yet.
    pub(super) fn new(member: ClientId, agreement: &Agreement) -> State {
        let machine = Member::new(member, agreement.bandit(), agreement.trigger());
        State { machine, closed: RoundId(0), wants_round: false, answer: None }
    }

    pub(super) fn machine(&self) -> &Member {
        &self.machine
    }

    pub(super) fn closed(&self) -> RoundId {
        self.closed
    }

    pub(super) fn wants_round(&self) -> bool {
        self.wants_round
    }

    /// The answer to a round, if there is one.
    pub(super) fn answer_to(&self, round: RoundId) -> Option<Answer> {
        self.answer.filter(|answer| answer.round == round)
    }

    /// What is offered in a round that has not ended.
    pub(super) fn in_flight(&self) -> Option<(RoundId, Offered)> {
        let open = self.answer.filter(|answer| answer.round > self.closed);
        open.and_then(|answer| Some((answer.round, answer.offered?)))
    }

    /// What would be offered to a round that has no answer yet; none when there is nothing.
    pub(super) fn to_offer(&self) -> Option<Statistics> {
        let unshared = self.machine.undelivered();
        (unshared.samples() > 0 && self.in_flight().is_none()).then_some(unshared)
    }

    /// Takes an event in. An offer that follows from it is returned, to be signed and kept with it.
    pub(super) fn apply(&mut self, event: Event) -> Result<Option<NewOffer>, EventError> {
        match event {
            Event::Learned { arm, reward } => {
                self.machine.learn(&arm, reward)?;
                self.wants_round |= self.drain().contains(&Request::Ask);
                Ok(None)
            }
            Event::Opened { round, nonce, ask } => Ok(self.opened(round, nonce, ask)?),
            Event::Snapshot(snapshot) => Ok(self.take_over(snapshot).map(|()| None)?),
            Event::Asked => {
                self.wants_round = false;
                Ok(None)
            }
        }
    }

    fn opened(&mut self, round: RoundId, nonce: Nonce, ask: Option<Amount>) -> Result<Option<NewOffer>, RefreshError> {
        let moment = self.machine.undelivered().moment().to_vec();
        self.machine.handle(Notice::Opened(round), &mut Decided(ask))?;
        // It takes part in the round it may have wished for.
        self.wants_round = false;
        let mut offer = None;
        for request in self.drain() {
            match request {
                Request::Offer { round: to, samples, offer: new } if to == round => {
                    offer = Some(NewOffer { samples, offer: new, moment: moment.clone() });
                }
                Request::Decline(to) if to == round => {}
                _ => continue,
            }
            let offered = offer.as_ref().map(|offer| Offered { samples: offer.samples, ask: offer.offer.ask });
            self.answer = Some(Answer { round, nonce, offered });
        }
        Ok(offer)
    }

    fn take_over(&mut self, snapshot: Snapshot) -> Result<(), RefreshError> {
        let (got, expected) = (snapshot.statistics.dimension(), self.machine.known().dimension());
        if got != expected {
            return Err(RefreshError::WrongDimension { got, expected });
        }
        let closed = snapshot.closed.max(self.closed);
        let in_flight = self.in_flight();
        self.machine.handle(Notice::Snapshot(snapshot), &mut Decided(None))?;
        self.drain();
        self.closed = closed;
        if in_flight.is_some_and(|(round, _)| round <= closed) {
            // The wish came from data that has had its round; what is new since is weighed at the next reward.
            self.wants_round = false;
        }
        Ok(())
    }

    /// What the winner of a round delivers; none when it has nothing in flight there.
    pub(super) fn moment(&self, round: RoundId, payment: Amount) -> Option<Vec<f64>> {
        let mut machine = self.machine.clone();
        // An award changes nothing but the outbox; no price is asked for.
        machine.handle(Notice::Awarded(round, payment), &mut Decided(None)).ok()?;
        std::iter::from_fn(|| machine.poll()).find_map(|request| match request {
            Request::Deliver(of, moment) if of == round => Some(moment),
            _ => None,
        })
    }

    fn drain(&mut self) -> Vec<Request> {
        std::iter::from_fn(|| self.machine.poll()).collect()
    }
}
