//! An agent without a network: it decides, learns, and keeps everything before it answers.
//!
//! Every change is an event that is written first and then takes effect. When a write fails nobody knows whether it
//! happened: the agent then reads its file again before it does anything else.
//!
//! Not here: what an agent says in a round ([`super::rounds`]), and when ([`super::conversation`]).

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;
use truthfed::bandit;
use truthfed::protocol::RoundId;
use truthfed::statistics::{MAX_OBSERVATION, Statistics};

use super::Membership;
use super::decision::DecisionId;
use super::state::{Event, Observation, State};
use super::store::{AgentStore, Beside, Decision, FileError, Owner};
use crate::wire::Envelope;

/// Events between two checkpoints: so many are applied again at most when the agent starts.
const CHECKPOINT_EVERY: u64 = 256;
/// By this share a context may be longer than the terms allow: an application that scales it to that length rounds.
const NORM_SLACK: f64 = 1e-9;

pub struct Agent {
    pub(super) membership: Membership,
    pub(super) store: AgentStore,
    pub(super) state: State,
    /// A write failed, and the file may hold more than `state`.
    is_stale: bool,
    /// Nothing more is to be sent in this round. Not kept: after a restart one more message does no harm.
    pub(super) finished: Option<RoundId>,
    /// The round that its offer may not open.
    pub(super) held_back: Option<RoundId>,
    /// The most samples for the round that is open or next, by the last view.
    pub(super) most: Option<u64>,
}

/// Why no arm was chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// Application: no arms, or one that does not fit.
    #[error(transparent)]
    Arms(#[from] bandit::ChooseError),
    /// Application: scale contexts to the terms; the coordinator would not take such data.
    #[error("arm {index} has length {length}: the terms admit at most {most}")]
    TooLong { index: usize, length: f64, most: f64 },
    #[error(transparent)]
    File(#[from] FileError),
}

/// Why a reward was not learned.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    /// Application: no such decision was made here, or so long ago that it is forgotten.
    #[error("decision {0} was not made by this agent, or is forgotten")]
    UnknownDecision(DecisionId),
    #[error("decision {decision} has the reward {learned} already: the first stands")]
    OtherReward { decision: DecisionId, learned: f64 },
    /// Application: scale rewards to the terms; the coordinator would not take such data.
    #[error("reward is {reward}: it must be finite and at most {most} in size")]
    OutOfRange { reward: f64, most: f64 },
    #[error(transparent)]
    File(#[from] FileError),
}

/// Why nothing of a batch was done: what is wrong with the one at this place, from 0.
#[derive(Debug, thiserror::Error)]
#[error("each[{place}]: {error}")]
pub struct InBatch<E: std::error::Error> {
    pub place: usize,
    pub error: E,
}

impl<E: std::error::Error> InBatch<E> {
    fn at<F: Into<E>>(place: usize) -> impl Fn(F) -> InBatch<E> {
        move |error| InBatch { place, error: error.into() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    pub member: ClientId,
    /// Observations it decides by: its own and those that others delivered.
    pub known: u64,
    /// Its own that nobody else has.
    pub unshared: u64,
    /// Its own that are offered in a round that has not ended.
    pub in_flight: u64,
    /// Its own that it delivered and nobody else uses, because they are held or void.
    #[serde(default)]
    pub own: u64,
    /// The last round that is in what it knows; 0 for none.
    pub last_round: RoundId,
    /// Whether the coordinator answered the last request for a view.
    pub coordinator_reachable: bool,
    /// What it was paid so far, in units, by the receipts it holds.
    pub earned: String,
    /// Payments that wait until others' data confirms what they are for.
    #[serde(default)]
    pub payments_waiting: u64,
    /// Why it takes no part in rounds for now, if it does not: the coordinator's fault, or the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Agent {
    pub fn open(membership: Membership, path: &Path) -> Result<Agent, FileError> {
        Agent::start(membership, path, None)
    }

    /// As [`Agent::open`], on a file system (VFS) that is registered with SQLite under that name.
    pub fn open_on(membership: Membership, path: &Path, vfs: &str) -> Result<Agent, FileError> {
        Agent::start(membership, path, Some(vfs))
    }

    fn start(membership: Membership, path: &Path, vfs: Option<&str>) -> Result<Agent, FileError> {
        let Membership { federation, member, agreement, .. } = &membership;
        let owner = Owner { federation: *federation, member: member.clone(), terms: agreement.hash() };
        let mut store = AgentStore::open(path, vfs, &owner, agreement.dimension())?;
        let state = read_state(&mut store, &membership)?;
        Ok(Agent { membership, store, state, is_stale: false, finished: None, held_back: None, most: None })
    }

    pub(super) fn take_up(&mut self) -> Result<(), FileError> {
        if self.is_stale {
            self.state = read_state(&mut self.store, &self.membership)?;
            self.is_stale = false;
        }
        Ok(())
    }

    pub(super) fn commit(
        &mut self,
        event: &Event,
        beside: &Beside,
        take_effect: impl FnOnce(&mut State),
    ) -> Result<(), FileError> {
        self.is_stale = true;
        self.store.record(Some(event), beside)?;
        take_effect(&mut self.state);
        self.is_stale = false;
        if self.store.since_checkpoint >= CHECKPOINT_EVERY {
            self.checkpoint();
        }
        Ok(())
    }

    /// Writes a checkpoint, so that the next start is quick. A failure is only logged: the events are there.
    pub fn checkpoint(&mut self) {
        if !self.is_stale
            && let Err(error) = self.store.checkpoint(&self.state)
        {
            tracing::warn!(%error, "cannot write a checkpoint");
        }
    }

    /// Chooses an arm, and keeps the decision until its reward comes.
    pub fn choose<A: AsRef<[f64]>>(&mut self, arms: &[A]) -> Result<(DecisionId, usize), ChooseError> {
        self.choose_each(&[arms]).map(|choices| choices[0]).map_err(|InBatch { error, .. }| error)
    }

    /// Chooses from each of several sets of arms, by what it knows now. All decisions are kept, or none.
    pub fn choose_each<A: AsRef<[f64]>>(
        &mut self,
        each: &[impl AsRef<[A]>],
    ) -> Result<Vec<(DecisionId, usize)>, InBatch<ChooseError>> {
        self.take_up().map_err(InBatch::at(0))?;
        let chosen = |(place, arms): (usize, &_)| self.index_of(AsRef::<[A]>::as_ref(arms)).map_err(InBatch::at(place));
        let indices: Vec<usize> = each.iter().enumerate().map(chosen).collect::<Result<_, _>>()?;
        let arms: Vec<&[f64]> = each.iter().zip(&indices).map(|(arms, index)| arms.as_ref()[*index].as_ref()).collect();
        let ids = self.store.decide(&arms).map_err(InBatch::at(0))?;
        Ok(ids.into_iter().zip(indices).collect())
    }

    pub(super) fn index_of<A: AsRef<[f64]>>(&self, arms: &[A]) -> Result<usize, ChooseError> {
        let index = self.state.machine.choose(arms)?;
        for (index, arm) in arms.iter().enumerate() {
            self.check_length(index, arm.as_ref())?;
        }
        Ok(index)
    }

    fn check_length(&self, index: usize, arm: &[f64]) -> Result<(), ChooseError> {
        let most = self.membership.agreement.raw().norm.min(MAX_OBSERVATION);
        let length = arm.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length <= most * (1.0 + NORM_SLACK) && arm.iter().all(|x| x.abs() <= MAX_OBSERVATION) {
            return Ok(());
        }
        Err(ChooseError::TooLong { index, length, most })
    }

    /// Learns the reward of a decision, however late; the same again changes nothing.
    pub fn learn(&mut self, decision: DecisionId, reward: f64) -> Result<(), LearnError> {
        self.learn_each(&[(decision, reward)]).map_err(|InBatch { error, .. }| error)
    }

    /// Learns several rewards, in this order: all of them, or none.
    pub fn learn_each(&mut self, rewards: &[(DecisionId, f64)]) -> Result<(), InBatch<LearnError>> {
        self.take_up().map_err(InBatch::at(0))?;
        let mut observations = Vec::new();
        let mut learned: Vec<(DecisionId, f64)> = Vec::new();
        let mut seen = HashMap::new();
        for (place, (decision, reward)) in rewards.iter().enumerate() {
            let arm = self.open_arm(*decision, *reward, seen.get(decision).copied()).map_err(InBatch::at(place))?;
            let Some(arm) = arm else { continue };
            seen.insert(*decision, *reward);
            observations.push(Observation { arm, reward: *reward });
            learned.push((*decision, *reward));
        }
        if observations.is_empty() {
            return Ok(());
        }
        let event = Event::Learned(observations);
        let committed = self.commit(&event, &Beside { learned, ..Beside::default() }, |state| {
            let applied = state.apply(event.clone());
            applied.expect("the arms were checked when they were chosen, and so were the rewards");
        });
        committed.map_err(InBatch::at(0))
    }

    /// The arm whose reward this is; none if it is known already, from before or from the same batch.
    fn open_arm(
        &self,
        decision: DecisionId,
        reward: f64,
        in_batch: Option<f64>,
    ) -> Result<Option<Vec<f64>>, LearnError> {
        self.check_reward(reward)?;
        let learned = match (in_batch, self.store.decision(decision)?) {
            (_, None) => return Err(LearnError::UnknownDecision(decision)),
            (Some(learned), _) | (None, Some(Decision::Learned { reward: learned })) => learned,
            (None, Some(Decision::Open { arm })) => return Ok(Some(arm)),
        };
        if learned == reward { Ok(None) } else { Err(LearnError::OtherReward { decision, learned }) }
    }

    pub(super) fn check_reward(&self, reward: f64) -> Result<(), LearnError> {
        let most = self.membership.agreement.raw().reward.min(MAX_OBSERVATION);
        match reward.is_finite() && reward.abs() <= most {
            true => Ok(()),
            false => Err(LearnError::OutOfRange { reward, most }),
        }
    }

    pub fn status(&mut self, coordinator_reachable: bool) -> Result<Status, FileError> {
        self.take_up()?;
        let machine = &self.state.machine;
        Ok(Status {
            member: self.membership.member.clone(),
            known: machine.known().samples(),
            unshared: machine.unshared().samples(),
            own: machine.own().map_or(0, Statistics::samples),
            in_flight: machine.in_flight().map_or(0, |in_flight| in_flight.statistics().samples()),
            last_round: machine.closed(),
            coordinator_reachable,
            earned: self.store.earned()?.to_string(),
            payments_waiting: self.store.waiting()?,
            problem: None,
        })
    }

    /// All receipts it holds, by round, as the coordinator signed them. Fails when the file cannot be read.
    pub fn receipts(&self) -> Result<Vec<Envelope>, FileError> {
        Ok(self.store.receipts(0..=u64::MAX)?.into_iter().map(|kept| kept.envelope).collect())
    }

    pub fn known(&self) -> &Statistics {
        self.state.machine.known()
    }

    pub fn wants_round(&self) -> bool {
        self.state.machine.wants_round()
    }

    /// The state with all its bits, to compare.
    #[cfg(test)]
    pub(super) fn bits(&self) -> String {
        serde_json::to_string(&self.state).unwrap()
    }
}

fn read_state(store: &mut AgentStore, membership: &Membership) -> Result<State, FileError> {
    let (checkpoint, events) = store.load()?;
    let mut state = checkpoint.unwrap_or_else(|| State::new(membership.member.clone(), &membership.agreement));
    for event in events {
        let problem = |error| FileError::Damaged(format!("an event cannot have happened: {error}"));
        state.apply(event).map_err(problem)?;
    }
    Ok(state)
}
