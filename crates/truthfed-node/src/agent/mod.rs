//! An agent: it runs beside a member's application, chooses arms locally, and takes part in rounds.
//!
//! The application talks to it over plain HTTP on loopback ([`local`]); it talks to the coordinator over a [`Link`]. It
//! writes everything to a file of its own before it answers, and keeps choosing while the coordinator is away.
//!
//! - [`Agent`]: choosing, learning, and what to say in a round, without a network.
//! - [`Policy`]: what it asks for its data.
//! - [`Conversation`]: what it says to the coordinator and when, without I/O.
//! - [`Runner`]: drives a conversation over a link; [`Handle`]: shares an agent with the application.

mod carried;
mod conversation;
mod core;
mod decision;
mod handle;
mod heads;
mod https;
mod link;
pub mod local;
mod metrics;
mod page;
mod pauses;
mod policy;
mod receipts;
mod rounds;
mod run;
mod state;
mod store;
mod token;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use truthfed::auction::ClientId;

pub use self::carried::{AnswerError, FollowError};
pub use self::conversation::{Conversation, ExchangeError, Output, Speaker};
pub use self::core::{Agent, ChooseError, InBatch, LearnError, Status};
pub use self::decision::{DecisionId, DecisionIdError};
pub use self::handle::Handle;
pub use self::heads::Heads;
pub use self::https::{Https, HttpsError};
pub use self::link::{Direct, Link, LinkError};
pub use self::policy::{Policy, PolicyError, Price, RawPolicy};
pub use self::receipts::BadReceipt;
pub use self::rounds::{Step, StepError};
pub use self::run::Runner;
pub use self::store::FileError;
pub use self::token::{Token, TokenError};
use crate::digest::{Digest, PublicKey};
use crate::federation::Bundle;
use crate::signature::Signer;
use crate::terms::Agreement;

/// Who an agent is, and whom it trusts.
#[derive(Debug, Clone)]
pub struct Membership {
    pub federation: Digest,
    pub member: ClientId,
    /// Signs receipts.
    pub coordinator: PublicKey,
    pub agreement: Agreement,
    /// Signs offers and deliveries.
    pub signer: Signer,
}

impl Membership {
    pub fn of(bundle: &Bundle) -> Membership {
        Membership {
            federation: bundle.federation,
            member: bundle.member.clone(),
            coordinator: bundle.coordinator_key,
            agreement: bundle.agreement.clone(),
            signer: bundle.identity.signer().clone(),
        }
    }
}
