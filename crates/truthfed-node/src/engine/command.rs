//! What an engine can be asked to do, checked as far as that needs no engine.

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{RoundId, Ruling};

use super::intake::{self, Checked, Offered};
use super::published::{MemberInfo, Published};
use crate::digest::{Digest, PublicKey, Signature};
use crate::error::{Code, Refusal};
use crate::ledger::{Reason, Reference};
use crate::store::Store;
use crate::wire::{Call, DeliveryContent};

/// Something for the engine to do.
pub struct Command(pub(super) Kind);

pub(super) enum Kind {
    Offer(Box<Checked<Offered>>),
    Deliver(Box<Checked<DeliveryContent>>),
    /// Any other call.
    Call(ClientId, Call),
    /// What is published already.
    Known(String),
    Enrol(ClientId, MemberInfo),
    Revoke(ClientId),
    Renew(ClientId, Renewed),
    Rule(ClientId, Ruling),
    PayOut(ClientId, Amount, Reference),
    Pause(Reason),
    Resume,
    Abort(RoundId, Reason),
    Read(Read),
}

/// How a member goes on.
pub(super) struct Renewed {
    pub(super) key: PublicKey,
    pub(super) certificate: Digest,
    /// By the key before.
    pub(super) signature: Signature,
}

/// A look into the store.
type Read = Box<dyn FnOnce(&mut dyn Store) + Send>;

impl Command {
    /// What a member asks, once its form, context and signature are found right: all of it costs the caller's time, not
    /// the engine's. The error says what is wrong with it.
    pub fn of(published: &Published, member: &ClientId, call: Call) -> Result<Command, Refusal> {
        Ok(Command(match call {
            Call::Offer(round, envelope) => Kind::Offer(Box::new(intake::offer(published, member, round, envelope)?)),
            Call::Deliver(round, envelope) => {
                Kind::Deliver(Box::new(intake::delivery(published, member, round, envelope)?))
            }
            Call::Head(_) | Call::Said(_) => {
                published.check_member(member)?;
                return Err(Refusal::new(Code::NotFound, "the engine keeps no tree over its journal"));
            }
            // Also for those who were revoked: what they were paid stays theirs to show.
            Call::Statement => Kind::Call(member.clone(), call),
            Call::Terms => {
                published.check_member(member)?;
                Kind::Known(published.agreement.text().to_owned())
            }
            Call::View(_) => {
                published.check_member(member)?;
                Kind::Known(serde_json::to_string(&published.view(member)).expect("a view is JSON"))
            }
            call => {
                published.check_member(member)?;
                Kind::Call(member.clone(), call)
            }
        }))
    }

    pub fn enrol(member: ClientId, key: PublicKey, certificate: Digest) -> Command {
        Command(Kind::Enrol(member, MemberInfo::new(key, certificate)))
    }

    /// Lets a member go on with another key and certificate, if its present key signed that.
    pub fn renew(member: ClientId, key: PublicKey, certificate: Digest, signature: Signature) -> Command {
        Command(Kind::Renew(member, Renewed { key, certificate, signature }))
    }

    pub fn revoke(member: ClientId) -> Command {
        Command(Kind::Revoke(member))
    }

    /// Rules about the data of a member.
    pub fn rule(member: ClientId, ruling: Ruling) -> Command {
        Command(Kind::Rule(member, ruling))
    }

    /// Records what was transferred to a member.
    pub fn pay_out(member: ClientId, amount: Amount, reference: Reference) -> Command {
        Command(Kind::PayOut(member, amount, reference))
    }

    /// Lets no round open.
    pub fn pause(reason: Reason) -> Command {
        Command(Kind::Pause(reason))
    }

    /// Lets rounds open again.
    pub fn resume() -> Command {
        Command(Kind::Resume)
    }

    /// Ends a round that takes offers.
    pub fn abort(round: RoundId, reason: Reason) -> Command {
        Command(Kind::Abort(round, reason))
    }

    /// How much of it is written down, if it may be much.
    pub(super) fn bytes(&self) -> usize {
        match &self.0 {
            Kind::Offer(checked) => checked.envelope.content.get().len(),
            Kind::Deliver(checked) => checked.envelope.content.get().len(),
            _ => 0,
        }
    }

    pub(super) fn read(read: impl FnOnce(&mut dyn Store) + Send + 'static) -> Command {
        Command(Kind::Read(Box::new(read)))
    }
}
