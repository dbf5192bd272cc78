//! What can be asked of an engine, before and after it was looked at.

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::intake::{self, CheckedDelivery, CheckedOffer};
use super::published::Published;
use crate::digest::{Digest, PublicKey};
use crate::error::Refusal;
use crate::store::Store;
use crate::wire::{Envelope, SyncRequest};

/// What a member asks.
#[derive(Debug, Clone)]
pub enum Call {
    /// For a round.
    Ask,
    /// To take its offer to a round.
    Offer(RoundId, Envelope),
    /// To know that it has nothing to offer to a round.
    Decline(RoundId),
    /// To take what it sold in a round.
    Deliver(RoundId, Envelope),
    /// For what is settled since the round it has.
    Sync(SyncRequest),
    /// For all its receipts, from the first round on.
    Statement,
}

/// Something for the engine to do.
pub struct Command(pub(super) Kind);

pub(super) enum Kind {
    Ask { member: ClientId },
    Offer(Box<CheckedOffer>),
    Decline { member: ClientId, round: RoundId },
    Deliver(Box<CheckedDelivery>),
    Sync { member: ClientId, have: RoundId },
    Statement { member: ClientId },
    Enrol { member: ClientId, key: PublicKey, certificate: Digest },
    Revoke { member: ClientId },
    Read(Read),
}

/// A look into the store.
pub(super) type Read = Box<dyn FnOnce(&mut dyn Store) + Send>;

impl Command {
    /// What a member asks, once its form, context and signature are found right: all of it costs the caller's time, not
    /// the engine's.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn of(published: &Published, member: &ClientId, call: Call) -> Result<Command, Refusal> {
        let whose = || published.check_member(member).map(|_| member.clone());
        Ok(Command(match call {
            Call::Ask => Kind::Ask { member: whose()? },
            Call::Offer(round, envelope) => Kind::Offer(Box::new(intake::offer(published, member, round, envelope)?)),
            Call::Decline(round) => Kind::Decline { member: whose()?, round },
            Call::Deliver(round, envelope) => {
                Kind::Deliver(Box::new(intake::delivery(published, member, round, envelope)?))
            }
            Call::Sync(request) => Kind::Sync { member: whose()?, have: request.have },
            // Also for those who were revoked: what they were paid stays theirs to show.
            Call::Statement => Kind::Statement { member: member.clone() },
        }))
    }

    /// To take a member in.
    pub fn enrol(member: ClientId, key: PublicKey, certificate: Digest) -> Command {
        Command(Kind::Enrol { member, key, certificate })
    }

    /// To take a member out.
    pub fn revoke(member: ClientId) -> Command {
        Command(Kind::Revoke { member })
    }

    pub(super) fn read(read: impl FnOnce(&mut dyn Store) + Send + 'static) -> Command {
        Command(Kind::Read(Box::new(read)))
    }
}
