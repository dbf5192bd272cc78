//! A federation whose messages somebody else carries, in few and large ones: a framework for federated learning, say.
//!
//! A framework knows its nodes, not our members: a node shows whose it is by signing a challenge ([`check_greeting`]). Every message
//! to a member has all that it lacks ([`Parcel`]), so one that comes twice, or after others were lost, does no harm. What a member
//! says is signed as ever ([`Said`]).
//!
//! Here is what travels. [`Office`](crate::engine::Office) is the coordinator's side, [`Agent`](crate::agent::Agent) the member's.

use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use crate::digest::{Digest, Nonce};
use crate::engine::Published;
use crate::error::{Code, Refusal};
use crate::reading::read_json;
use crate::wire::{Call, Envelope, SyncReply, View};

const GREETING_SCHEMA: &str = "truthfed.greeting/1";

/// What a member is brought in one message.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parcel {
    /// The receipts of rounds that it has not seen the end of: what was taken, and who won.
    pub receipts: Vec<Envelope>,
    /// What is settled, if that is newer than what it has, and how its payments ended.
    pub settled: SyncReply,
    /// The federation as it is now.
    pub view: View,
}

/// What a member says. The same as its [`Call`], for carriers that know no paths.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    Offer { round: RoundId, offer: Envelope },
    Decline { round: RoundId },
    Deliver { round: RoundId, delivery: Envelope },
}

impl Said {
    /// What is said by a call, if it is about a round.
    pub fn by(call: Call) -> Option<Said> {
        match call {
            Call::Offer(round, offer) => Some(Said::Offer { round, offer }),
            Call::Decline(round) => Some(Said::Decline { round }),
            Call::Deliver(round, delivery) => Some(Said::Deliver { round, delivery }),
            Call::Terms | Call::View(_) | Call::Sync(_) | Call::Statement | Call::Head(_) | Call::Said(_) => None,
        }
    }
}

impl From<Said> for Call {
    fn from(said: Said) -> Call {
        match said {
            Said::Offer { round, offer } => Call::Offer(round, offer),
            Said::Decline { round } => Call::Decline(round),
            Said::Deliver { round, delivery } => Call::Deliver(round, delivery),
        }
    }
}

/// What a member signs to show that a node is its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Greeting {
    schema: String,
    federation: Digest,
    terms: Digest,
    member: ClientId,
    challenge: Nonce,
}

/// What a member answers to a challenge.
pub(crate) fn greeting(membership: &crate::agent::Membership, challenge: Nonce) -> Envelope {
    let content = Greeting {
        schema: GREETING_SCHEMA.to_owned(),
        federation: membership.federation,
        terms: membership.agreement.hash(),
        member: membership.member.clone(),
        challenge,
    };
    membership.signer.seal(GREETING_SCHEMA, &content)
}

/// The member that answered a challenge, which is to be used once. Fails unless it may take part, and signed just this.
pub fn check_greeting(published: &Published, challenge: Nonce, answer: &Envelope) -> Result<ClientId, Refusal> {
    let content: Greeting = read_json(answer.content.get().as_bytes())?;
    let refuse = |code, message: &str| Err(Refusal::new(code, message));
    let info = published.check_member(&content.member)?;
    if content.federation != published.federation() {
        return refuse(Code::OtherFederation, "federation: is another federation");
    }
    if content.terms != published.agreement().hash() {
        return refuse(Code::OtherTerms, "terms: are not the terms of this federation");
    }
    if content.challenge != challenge {
        return refuse(Code::BadNonce, "challenge: is not the one that was asked");
    }
    if content.schema != GREETING_SCHEMA || !answer.is_signed_by(&info.key, GREETING_SCHEMA) {
        return refuse(Code::BadSignature, "signature: is not the member's over this greeting");
    }
    Ok(content.member)
}

#[cfg(test)]
mod tests;
