//! An agent without an application of its own, whose messages somebody else carries: it is told what happened up to a moment,
//! and asked for its word.
//!
//! Its driver may run ahead of the federation: on a copy of the agent's machine ([`Agent::rehearsal`]). What came of it is handed
//! in ([`Agent::follow`]) once it is settled how far the others have come. So an agent never goes back, and signs one answer a round.

use truthfed::Amount;
use truthfed::protocol::Member;
use truthfed::statistics::Statistics;

use super::conversation::Speaker;
use super::core::{Agent, ChooseError, InBatch, LearnError};
use super::rounds::{Step, StepError};
use super::state::{Event, Observation};
use super::store::{Beside, FileError};
use crate::carried::{Parcel, Said, greeting};
use crate::digest::Nonce;
use crate::wire::{Envelope, ReceiptContent, ReceiptKind, SyncRequest, View};

/// More steps than a view gives rise to before there is something to say.
const MAX_STEPS: usize = 4;

/// Why what was played is not learned: nothing of it is.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    #[error(transparent)]
    Arm(#[from] ChooseError),
    #[error(transparent)]
    Reward(#[from] LearnError),
}

/// Why an agent has no answer. Nothing is said, and what was not decided is decided again when it is asked again.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError<E> {
    /// Whoever names the price failed.
    #[error("no price: {0}")]
    Price(E),
    #[error(transparent)]
    Step(#[from] StepError),
}

impl Agent {
    /// Shows that this is the member, to whoever asked with that challenge.
    pub fn greet(&self, challenge: Nonce) -> Envelope {
        greeting(&self.membership, challenge)
    }

    /// A copy of what it knows and offered, to run ahead on: nothing that happens to it is kept.
    pub fn rehearsal(&mut self) -> Result<Member, FileError> {
        self.take_up()?;
        Ok(self.state.machine.clone())
    }

    /// Learns the rewards of arms that were played on its rehearsal, in this order: all of them, or none.
    pub fn follow(&mut self, played: Vec<(Vec<f64>, f64)>) -> Result<(), InBatch<FollowError>> {
        self.take_up().map_err(|error| at(0, LearnError::from(error)))?;
        for (place, (arm, reward)) in played.iter().enumerate() {
            self.check_observation(arm, *reward).map_err(|error| at(place, error))?;
        }
        if played.is_empty() {
            return Ok(());
        }
        let event = Event::Learned(played.into_iter().map(|(arm, reward)| Observation { arm, reward }).collect());
        let mut next = self.state.clone();
        next.apply(event.clone()).expect("the arms were checked, and so were the rewards");
        self.commit(&event, &Beside::default(), |state| *state = next).map_err(|error| at(0, LearnError::from(error)))
    }

    fn check_observation(&self, arm: &[f64], reward: f64) -> Result<(), FollowError> {
        self.index_of(&[arm])?;
        self.check_reward(reward)?;
        Ok(())
    }

    /// Which news it lacks.
    pub fn wanted(&mut self) -> Result<SyncRequest, FileError> {
        self.take_up()?;
        Ok(SyncRequest { have: self.state.machine.closed(), waiting: self.store.first_waiting()? })
    }

    /// Takes in what was brought: keeps the receipts, and takes over what is settled. Fails when it cannot be right; what was
    /// taken in before it stays.
    pub fn take_in(&mut self, parcel: Parcel) -> Result<View, StepError> {
        self.take_up()?;
        let Parcel { receipts, settled, view } = parcel;
        for receipt in receipts {
            self.keep_taken(receipt)?;
        }
        if view.closed > self.state.machine.closed() {
            self.synced(settled, view.closed)?;
        }
        self.heard(&view)?;
        Ok(view)
    }

    /// Keeps a receipt of a round whose end it has not seen. Those of other kinds come with what is settled.
    fn keep_taken(&mut self, receipt: Envelope) -> Result<(), StepError> {
        let Ok(ReceiptContent { context, kind, .. }) = serde_json::from_str(receipt.content.get()) else {
            return Err(super::BadReceipt("receipt: cannot be read".to_owned()).into());
        };
        let is_late = context.round <= self.state.machine.closed();
        let is_settlement = !matches!(
            kind,
            ReceiptKind::OfferTaken | ReceiptKind::Won | ReceiptKind::Lost | ReceiptKind::DeliveryTaken
        );
        if is_late || is_settlement || self.store.receipt(context.round, kind)?.is_some() {
            return Ok(());
        }
        self.receive(context.round, kind, receipt)
    }

    /// What it says when it sees this, at the price that `ask` names for its data; nothing if there is nothing to say.
    pub fn answer<E>(
        &mut self,
        view: &View,
        ask: impl FnOnce(&Statistics) -> Result<Option<Amount>, E>,
    ) -> Result<Option<Said>, AnswerError<E>> {
        let mut ask = Some(ask);
        for _ in 0..MAX_STEPS {
            match self.next_step(view)? {
                Step::Nothing => return Ok(None),
                Step::Send(call) => return Ok(Said::by(call)),
                Step::Price(round, nonce, data) => {
                    let price = match (&data, ask.take()) {
                        (Some(data), Some(ask)) => ask(data).map_err(AnswerError::Price)?,
                        _ => None,
                    };
                    // To a round that is not open nothing is said without a price.
                    if price.is_none() && view.open.is_none() {
                        return Ok(None);
                    }
                    self.opened(round, nonce, price)?;
                }
            }
        }
        Ok(None)
    }
}

fn at(place: usize, error: impl Into<FollowError>) -> InBatch<FollowError> {
    InBatch { place, error: error.into() }
}
