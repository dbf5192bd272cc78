//! An engine over memory, driven by hand: one request at a time, and time passes only when a test says so.

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Ruling, Time};

use super::{Forwarding, Memory};
use crate::digest::{Digest, PublicKey, Signature};
use crate::engine::{Answer, Clock, Command, Core, EngineError, Published, Setup, Witness};
use crate::error::Refusal;
use crate::ledger::{Checkpoint, Reference};
use crate::wire::Call;

pub struct Stepwise {
    core: Core,
    store: Forwarding<Memory>,
    clock: Clock,
    published: Published,
}

impl Stepwise {
    /// The engine of a store; of an empty one, after its first entries are written. Its clock should be simulated.
    /// Fails as [`Core::start`].
    pub fn start(setup: Setup, store: Memory) -> Result<Stepwise, EngineError> {
        let (store, clock) = (Forwarding::new(store), setup.clock.clone());
        let core = Core::start(setup, Box::new(store.clone()))?;
        Ok(Stepwise { published: core.published(), core, store, clock })
    }

    /// The store as it is now, which is also what a crash leaves.
    pub fn store(&self) -> Memory {
        self.store.look(|store| store.clone())
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    pub fn version(&self) -> u64 {
        self.core.version()
    }

    pub fn published(&self) -> &Published {
        &self.published
    }

    /// Time passes until the phase of the open round ends.
    pub fn pass_time(&mut self) {
        let left = self.core.until_deadline().map_or(0, |left| left.as_millis() as u64);
        self.wait(left);
    }

    /// Time passes, whatever it brings about.
    pub fn wait(&mut self, ms: u64) {
        self.clock.set(self.clock.now().plus_ms(ms));
        self.work(Vec::new());
    }

    pub fn call(&mut self, member: &ClientId, call: Call) -> Result<String, Refusal> {
        self.take(Command::of(&self.published, member, call)?)
    }

    pub fn enrol(&mut self, member: ClientId, key: PublicKey, certificate: Digest) -> Result<String, Refusal> {
        self.take(Command::enrol(member, key, certificate))
    }

    pub fn renew(
        &mut self,
        member: ClientId,
        key: PublicKey,
        certificate: Digest,
        signature: Signature,
    ) -> Result<String, Refusal> {
        self.take(Command::renew(member, key, certificate, signature))
    }

    pub fn rule(&mut self, member: ClientId, ruling: Ruling) -> Result<String, Refusal> {
        self.take(Command::rule(member, ruling))
    }

    pub fn pay_out(&mut self, member: ClientId, amount: Amount, reference: Reference) -> Result<String, Refusal> {
        self.take(Command::pay_out(member, amount, reference))
    }

    pub fn pause(&mut self, reason: &str) {
        self.take(Command::pause(reason.parse().expect("it is a reason"))).expect("rounds can always be paused");
    }

    pub fn abort(&mut self, round: RoundId, reason: &str) -> Result<String, Refusal> {
        self.take(Command::abort(round, reason.parse().expect("it is a reason")))
    }

    pub fn resume(&mut self) {
        self.take(Command::resume()).expect("rounds can always be resumed");
    }

    pub fn revoke(&mut self, member: ClientId) -> Result<String, Refusal> {
        self.take(Command::revoke(member))
    }

    fn take(&mut self, command: Command) -> Result<String, Refusal> {
        self.work(vec![command]).pop().unwrap().map(String::from)
    }

    pub(super) fn work(&mut self, commands: Vec<Command>) -> Vec<Answer> {
        let answers = self.core.work(commands, &mut |_| false).expect("memory takes every commit");
        self.published = self.core.published();
        answers
    }
}

pub struct Nowhere;

impl Witness for Nowhere {
    fn read(&self) -> Result<Option<Checkpoint>, EngineError> {
        Ok(None)
    }

    fn write(&self, _: &Checkpoint) -> Result<(), EngineError> {
        Ok(())
    }
}
