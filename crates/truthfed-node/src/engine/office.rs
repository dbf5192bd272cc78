//! A coordinator whose messages somebody else carries, at times that its driver says: an engine without a server.
//!
//! The driver brings what members say ([`Office::handle`]), lets deadlines pass ([`Office::tick`]), and carries to each member what
//! it lacks ([`Office::parcel`]). All of it is in the ledger before it is answered, as in a service.
//!
//! Not here: what the messages are ([`crate::carried`]), who opens a round when several members could (the driver's).

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use truthfed::auction::ClientId;
use truthfed::protocol::{OpenRound, Rejection, RoundId, RoundRecord, Time};
use truthfed::statistics::Statistics;

use super::command::Command;
use super::core::Core;
use super::{Clock, EngineError, Published, Setup};
use crate::carried::{Parcel, Said, check_greeting};
use crate::coordinator::Config;
use crate::digest::{Digest, Nonce};
use crate::error::{Code, Refusal};
use crate::federation::Federation;
use crate::reading::read_json;
use crate::store::{RequestKind, Store};
use crate::wire::{Call, Envelope, ReceiptReply, SyncRequest};

/// How long the store is held without a word of the driver: exchanges of such frameworks take seconds.
const LEASE_MS: u64 = 60_000;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum OfficeError {
    /// Whoever asked. Nothing was changed by it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Whoever asked: the same is taken so many milliseconds later.
    #[error("{refusal}")]
    Early { refusal: Refusal, wait_ms: u64 },
    /// Operator: see the error. Begin anew with what is in the store.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

pub struct Office {
    core: Core,
    clock: Clock,
}

impl Office {
    /// Takes up the federation of a folder: a new one begins with the members of its roster, and one that has begun takes in those who
    /// are new there. A round that was open goes on. Fails as [`Core::start`].
    pub fn open(federation: &Federation) -> Result<Office, OfficeError> {
        let plan = Config::of(federation, LEASE_MS).plan;
        let store = (plan.store)().map_err(EngineError::from)?;
        Office::start(plan.setup(), store)
    }

    /// As [`Office::open`], with what an engine needs. Its clock is not used.
    pub fn start(setup: Setup, store: Box<dyn Store>) -> Result<Office, OfficeError> {
        let roster = setup.members.clone();
        let clock = Clock::Simulated(Arc::new(AtomicU64::new(0)));
        let mut core = Core::start(Setup { clock: clock.clone(), ..setup }, store)?;
        core.keep_records();
        clock.set(core.state().recorded());
        let mut office = Office { core, clock };
        for (member, key, certificate) in roster {
            if !office.published().members().contains_key(&member) {
                office.work(Command::enrol(member, key, certificate))?;
            }
        }
        Ok(office)
    }

    fn published(&self) -> Published {
        self.core.published()
    }

    pub fn federation(&self) -> Digest {
        self.published().federation()
    }

    /// The latest time that was said, or is in the ledger.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Who may take part.
    pub fn members(&self) -> Vec<ClientId> {
        let published = self.published();
        let members = published.members().iter().filter(|(_, info)| !info.is_revoked);
        members.map(|(name, _)| name.clone()).collect()
    }

    /// The last round that ended.
    pub fn closed(&self) -> RoundId {
        self.core.state().machine.closed()
    }

    pub fn round(&self) -> Option<&OpenRound> {
        self.core.state().machine.open()
    }

    /// For whose offer or delivery the open round waits.
    pub fn awaited(&self) -> Vec<ClientId> {
        let machine = &self.core.state().machine;
        let is_awaited = |name: &ClientId| machine.notices(name, Some(machine.closed())).next().is_some();
        self.members().into_iter().filter(is_awaited).collect()
    }

    pub fn settled(&self) -> &Statistics {
        self.core.state().machine.settled()
    }

    /// The member that answered a challenge. Fails as [`check_greeting`].
    pub fn greeted(&self, challenge: Nonce, answer: &Envelope) -> Result<ClientId, Refusal> {
        check_greeting(&self.published(), challenge, answer)
    }

    /// Whether a member may open the next round at that time, with an offer that is reason enough.
    pub fn check_opens(&self, at: Time, member: &ClientId) -> Result<(), OfficeError> {
        self.published().check_member(member)?;
        self.core.state().check_not_paused()?;
        self.core.state().machine.check_may_open(at.max(self.now()), member).map_err(early)
    }

    /// Takes what a member says at that time, which is never before one that was said.
    pub fn handle(&mut self, at: Time, member: &ClientId, said: Said) -> Result<(), OfficeError> {
        self.go_to(at);
        let command = Command::of(&self.published(), member, Call::from(said))?;
        self.work(command).map(drop)
    }

    /// Lets time pass: phases whose deadline has come end.
    pub fn tick(&mut self, at: Time) -> Result<(), OfficeError> {
        self.go_to(at);
        Ok(self.core.work(Vec::new(), &mut give_up).map(drop)?)
    }

    /// How rounds ended, since this was asked last.
    pub fn records(&mut self) -> Vec<RoundRecord> {
        self.core.take_records()
    }

    /// What a member lacks.
    pub fn parcel(&mut self, member: &ClientId, wanted: SyncRequest) -> Result<Parcel, OfficeError> {
        let settled = self.work(Command::of(&self.published(), member, Call::Sync(wanted))?)?;
        let settled = read_json(settled.as_bytes())?;
        let receipts = self.receipts(member, wanted.have)?;
        Ok(Parcel { receipts, settled, view: self.published().view(member) })
    }

    /// What a member was given in rounds after that one, in the order of a round's steps.
    fn receipts(&mut self, member: &ClientId, after: RoundId) -> Result<Vec<Envelope>, Refusal> {
        let mut receipts = Vec::new();
        for kind in [RequestKind::Offer, RequestKind::Decision, RequestKind::Delivery] {
            let replies = self.core.store().replies(member, kind, after).map_err(|error| Refusal::from(&error))?;
            for reply in replies {
                let receipt = match kind {
                    RequestKind::Decision => read_json(reply.body.as_bytes()).map(Some),
                    // A decline is not receipted.
                    _ => Ok(read_json::<ReceiptReply>(reply.body.as_bytes()).ok().map(|reply| reply.receipt)),
                };
                receipts.extend(receipt.map_err(|refusal| Refusal::new(Code::Internal, refusal.message))?);
            }
        }
        Ok(receipts)
    }

    fn go_to(&self, at: Time) {
        self.clock.set(at.max(self.now()));
    }

    fn work(&mut self, command: Command) -> Result<String, OfficeError> {
        self.core.renew_after(0)?;
        let mut answers = self.core.work(vec![command], &mut give_up)?;
        Ok(answers.pop().expect("every command has an answer").map(String::from)?)
    }

    /// Gives the store back. Fails when it does not answer: it is free after a minute then.
    pub fn close(self) -> Result<(), EngineError> {
        self.core.release()
    }
}

/// The driver tries again, if it wants to.
fn give_up(_: &str) -> bool {
    false
}

fn early(rejection: Rejection) -> OfficeError {
    match &rejection {
        Rejection::TooSoon { wait_ms, .. } | Rejection::PurseSpent { wait_ms, .. } => {
            let wait_ms = *wait_ms;
            OfficeError::Early { refusal: rejection.into(), wait_ms }
        }
        _ => Refusal::from(rejection).into(),
    }
}
