//! What the operator may ask: members, rounds as the journal has them, and how the coordinator is doing.

mod rounds;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

pub use self::rounds::{
    AwardLine, DeliveryLine, OfferLine, RoundReply, RoundState, RoundSummary, RoundsReply, read_rounds,
};
pub(super) use self::rounds::{round, rounds};
use super::route::{Call, Json, Nothing, Reply};
use crate::digest::{Digest, PublicKey};
use crate::error::{Code, Refusal};
use crate::identity::check_name;
use crate::schema;

/// How long a revoked member's connections stay open, so that it reads why.
const LINGER: Duration = Duration::from_secs(1);

/// All members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MembersReply {
    /// By name.
    pub members: Vec<MemberLine>,
}

/// A member, present or past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberLine {
    /// Its name.
    #[schemars(with = "schema::Member")]
    pub member: ClientId,
    /// Signs its offers and deliveries.
    pub key: PublicKey,
    /// The hash of its certificate.
    pub certificate: Digest,
    /// May not take part any more.
    pub is_revoked: bool,
}

/// A member to be taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnrolRequest {
    /// Its name: 1 to 64 letters, digits, `.`, `_` or `-`, a letter or a digit first.
    pub member: String,
    /// The key of its certificate.
    pub key: PublicKey,
    /// The hash of its certificate.
    pub certificate: Digest,
}

/// How a coordinator is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusReply {
    /// Number of the last entry of the journal.
    pub entries: u64,
    /// The last round that ended.
    #[schemars(with = "schema::Round")]
    pub closed: RoundId,
    /// The round that is open.
    #[schemars(with = "Option<schema::Round>")]
    pub open: Option<RoundId>,
    /// Members that may take part.
    pub members: u64,
    /// The epoch of the lease.
    pub epoch: u64,
    /// Milliseconds since this coordinator started.
    pub uptime_ms: u64,
    /// Whether the last commit worked.
    pub is_healthy: bool,
}

pub(super) async fn members(call: Call, _: Nothing) -> Result<Reply<MembersReply>, Refusal> {
    let published = call.engine.published();
    let members = published.members().iter().map(|(member, info)| MemberLine {
        member: member.clone(),
        key: info.key,
        certificate: info.certificate,
        is_revoked: info.is_revoked,
    });
    Ok(Reply::new(&MembersReply { members: members.collect() }))
}

/// Takes a member in; the same again changes nothing.
pub(super) async fn enrol(call: Call, Json(request): Json<EnrolRequest>) -> Result<Reply<MemberLine>, Refusal> {
    let EnrolRequest { member, key, certificate } = request;
    let member = check_name(&member).map_err(|error| Refusal::new(Code::BadName, error.to_string()))?;
    let line = MemberLine { member: member.clone(), key, certificate, is_revoked: false };
    let known = call.engine.published().members().get(&member).copied();
    if known.is_some_and(|known| (known.key, known.certificate, known.is_revoked) == (key, certificate, false)) {
        return Ok(Reply::new(&line));
    }
    if certificate == call.service.operator {
        return Err(Refusal::new(Code::MemberExists, "the certificate is the operator's: issue another"));
    }
    call.engine.enrol(member, key, certificate).await?;
    Ok(Reply::new(&line))
}

/// Takes a member out; the same again changes nothing.
pub(super) async fn revoke(call: Call, _: Nothing) -> Result<Reply<MemberLine>, Refusal> {
    let member: ClientId = call.parameter("member")?;
    let unknown = || Refusal::new(Code::UnknownMember, format!("{member} is not a member of this federation"));
    let known = call.engine.published().members().get(&member).copied().ok_or_else(unknown)?;
    if !known.is_revoked {
        call.engine.revoke(member.clone()).await?;
        // From the commit on its requests are refused; that it is told, its connections stay a little longer.
        let revocations = call.service.revocations.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LINGER).await;
            revocations.revoke(known.certificate);
        });
    }
    Ok(Reply::new(&MemberLine { member, key: known.key, certificate: known.certificate, is_revoked: true }))
}

pub(super) async fn status(call: Call, _: Nothing) -> Result<Reply<StatusReply>, Refusal> {
    let published = call.engine.published();
    Ok(Reply::new(&StatusReply {
        entries: published.entries(),
        closed: published.closed(),
        open: published.open_round(),
        members: published.members().values().filter(|member| !member.is_revoked).count() as u64,
        epoch: call.engine.epoch(),
        uptime_ms: call.service.started.elapsed().as_millis() as u64,
        is_healthy: call.engine.is_healthy(),
    }))
}
