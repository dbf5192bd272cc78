//! One writer's work, without threads: what is asked, one transaction, the answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use truthfed::protocol::{RoundRecord, Time};

use super::ahead::Ahead;
use super::command::Command;
use super::health::Health;
use super::published::Published;
use super::reply::Reply;
use super::state::State;
use super::{EngineError, Setup};
use crate::error::Refusal;
use crate::seldom::Seldom;
use crate::store::{Lease, Store, StoreError};

pub type Answer = Result<Reply, Refusal>;

/// A federation's state and its store, held by lease.
pub struct Core {
    state: State,
    store: Box<dyn Store>,
    lease: Lease,
    health: Arc<Health>,
    /// Whether the last work was written, if it changed anything.
    is_sound: bool,
    seldom: Seldom,
}

impl Core {
    /// Takes the lease of a store and the state that is in it; of an empty one, after its first entries are written.
    /// Fails when the store is held by another coordinator, damaged, or not of this federation.
    pub fn start(setup: Setup, store: Box<dyn Store>) -> Result<Core, EngineError> {
        Core::start_ahead(setup, store, &mut Ahead::default())
    }

    /// As [`Core::start`], with what was read ahead; reads on if another coordinator holds the store.
    pub fn start_ahead(setup: Setup, store: Box<dyn Store>, ahead: &mut Ahead) -> Result<Core, EngineError> {
        Core::start_held(setup, store, ahead, |_, _| Ok(())).map(|(core, ())| core)
    }

    /// As [`Core::start_ahead`]; `hold` is called as soon as the lease is there, before the state is read. Fails when it does, too.
    pub(super) fn start_held<T>(
        setup: Setup,
        mut store: Box<dyn Store>,
        ahead: &mut Ahead,
        hold: impl FnOnce(Lease, &Arc<Health>) -> Result<T, StoreError>,
    ) -> Result<(Core, T), EngineError> {
        kill_point!(before(&"recovery"));
        let lease = match store.acquire(setup.lease_ms) {
            Err(error @ StoreError::Held) => {
                ahead.look(&setup.agreement, store.as_mut());
                return Err(error.into());
            }
            granted => granted?,
        };
        let health = Arc::new(Health::new(&setup));
        kill_point!(inside(&"recovery"));
        let held = hold(lease, &health).map_err(EngineError::from);
        match held.and_then(|held| Ok((take_up(setup, store.as_mut(), lease, ahead)?, held))) {
            Ok((state, held)) => {
                Ok((Core { state, store, lease, health, is_sound: true, seldom: Seldom::default() }, held))
            }
            Err(error) => {
                // Nobody should wait for a coordinator that does not run; if this fails too, the lease runs out.
                let _ = store.release(lease);
                Err(error)
            }
        }
    }

    pub fn epoch(&self) -> u64 {
        self.lease.epoch
    }

    /// Number of the last entry of the journal.
    pub fn version(&self) -> u64 {
        self.state.version()
    }

    pub fn is_sound(&self) -> bool {
        self.is_sound
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn store(&mut self) -> &mut dyn Store {
        self.store.as_mut()
    }

    /// From now on, keeps how rounds ended until they are taken.
    pub(super) fn keep_records(&mut self) {
        self.state.records.get_or_insert_default();
    }

    pub(super) fn take_records(&mut self) -> Vec<RoundRecord> {
        self.state.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// What requests need that write nothing.
    pub fn published(&self) -> Published {
        self.state.published()
    }

    /// Until time itself brings something about; none while no round is open.
    pub fn until_deadline(&self) -> Option<Duration> {
        let now = self.state.now();
        self.state.deadline().map(|Time(ms)| Duration::from_millis(ms.saturating_sub(now.0)))
    }

    /// Holds the lease for longer, when a third of it has passed. Fails when another coordinator has taken over.
    pub fn renew(&mut self) -> Result<(), EngineError> {
        self.renew_after(self.health.lease_ms() / 3)
    }

    /// As [`Core::renew`], if that long ago the lease was renewed last.
    pub(super) fn renew_after(&mut self, age_ms: u64) -> Result<(), EngineError> {
        if self.health.age_ms() < age_ms {
            return Ok(());
        }
        Ok(self.health.renew(self.store.as_mut(), self.lease)?)
    }

    pub(super) fn lease_ms(&self) -> u64 {
        self.health.lease_ms()
    }

    /// Lets time pass, does what is asked, and commits all that follows in one transaction. The answers are in the order of
    /// the commands, and may be given.
    ///
    /// `wait` is called with what is wrong while the store is away or a commit is in doubt; nothing can be done
    /// meanwhile, and the same is tried again for as long as it returns true. Fails when it has to stop: another
    /// coordinator took over, the store is damaged, or `wait` gave up a commit in doubt.
    pub fn work(
        &mut self,
        commands: Vec<Command>,
        wait: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Vec<Answer>, EngineError> {
        let health = self.health.clone();
        let worked = self.transact(commands, &mut |problem| {
            health.waits_for(Some(problem));
            wait(problem)
        });
        self.health.waits_for(None);
        worked
    }

    fn transact(
        &mut self,
        commands: Vec<Command>,
        wait: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Vec<Answer>, EngineError> {
        self.is_sound = true;
        self.state.tick();
        let store = self.store.as_mut();
        let answers: Vec<Answer> = commands.into_iter().map(|command| self.state.apply(command, store)).collect();
        if !self.state.is_changed() {
            return Ok(answers);
        }
        #[cfg(feature = "planted-faults")]
        if truthfed::planted::is(truthfed::planted::Fault::AcknowledgedBeforeCommit) && !answers.is_empty() {
            // What was asked is committed with whatever comes next.
            return Ok(answers);
        }
        let started = Instant::now();
        let committed = self.commit(wait);
        self.is_sound = committed.is_ok();
        match committed {
            Ok(()) => {
                kill_point!(committed(self.state.batch().rows.as_slice()));
                self.state.committed(started.elapsed())?;
                Ok(answers)
            }
            Err(error) => self.fail(error, answers.len(), wait),
        }
    }

    /// Commits the draft. While it is in doubt whether it is written, the same is committed again: nothing else may be.
    fn commit(&mut self, wait: &mut dyn FnMut(&str) -> bool) -> Result<(), StoreError> {
        kill_point!(before(self.state.batch().rows.as_slice()));
        let began = self.health.now();
        loop {
            match self.store.commit(self.lease, self.state.batch()) {
                Err(error @ StoreError::InDoubt(_)) => {
                    self.seldom.tell("doubt", |times| tracing::warn!(%error, times, "a commit is in doubt"));
                    if !wait(&error.to_string()) {
                        return Err(error);
                    }
                }
                answered => {
                    // Who renews the lease may have waited for the commit: it did the same.
                    answered.iter().for_each(|()| self.health.held(began));
                    return answered;
                }
            }
        }
    }

    /// Nothing was written: everyone is told so, and the state of the store is read again, as long as it takes.
    fn fail(
        &mut self,
        error: StoreError,
        asked: usize,
        wait: &mut dyn FnMut(&str) -> bool,
    ) -> Result<Vec<Answer>, EngineError> {
        self.seldom.tell("write", |times| tracing::error!(%error, times, "nothing was written"));
        self.health.failed(&error);
        let refusal = Refusal::from(&error);
        if !matches!(error, StoreError::Full | StoreError::Unavailable(_)) {
            return Err(error.into());
        }
        loop {
            match self.state.reload(self.store.as_mut(), &mut Ahead::default()) {
                Err(EngineError::Store(error @ StoreError::Unavailable(_))) if wait(&error.to_string()) => {}
                reloaded => return reloaded.map(|()| vec![Err(refusal); asked]),
            }
        }
    }

    /// Gives the lease back. Fails when the store does not answer: the lease runs out by itself then.
    pub fn release(mut self) -> Result<(), EngineError> {
        Ok(self.store.release(self.lease)?)
    }
}

fn take_up(setup: Setup, store: &mut dyn Store, lease: Lease, ahead: &mut Ahead) -> Result<State, EngineError> {
    let mut state = State::recover(setup, store, ahead)?;
    kill_point!(committed(&"recovery"));
    if state.is_changed() {
        kill_point!(before(state.batch().rows.as_slice()));
        store.commit(lease, state.batch())?;
        kill_point!(committed(state.batch().rows.as_slice()));
        state.committed(Duration::ZERO)?;
    }
    Ok(state)
}
