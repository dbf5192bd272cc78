//! What the operator may ask: members, rounds as the journal has them, and how the coordinator is doing.

mod data;
mod pauses;
mod payouts;
mod rounds;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

pub(super) use self::data::doubts;
pub use self::data::{DoubtLine, DoubtsReply, RuledReply, RulingName, RulingRequest, read_doubts};
pub use self::pauses::{PauseReply, PauseRequest, read_pause};
pub use self::payouts::{PayoutReply, PayoutRequest};
use self::rounds::CHUNK;
pub(super) use self::rounds::last_before;
pub use self::rounds::{
    AbortRequest, AwardLine, DeliveryLine, OfferLine, RoundReply, RoundState, RoundSummary, RoundsReply, awarded_today,
    read_rounds,
};
pub(super) use self::rounds::{add, round};
pub use super::page::LinkReply;
use super::service::Service;
use crate::call::calls;
use crate::digest::{Digest, PublicKey, Signature};
use crate::engine::{Handle, MemberInfo};
use crate::error::{Code, Refusal};
use crate::identity::check_name;
use crate::journal::Entry;
use crate::ledger::Pause;
use crate::log::Proof;
pub use crate::page::LinkRequest;
use crate::schema;
use crate::store::{Store, StoreError};

/// How long a revoked member's connections stay open, so that it can read why its requests are refused.
const LINGER: Duration = Duration::from_secs(1);

calls! {
    /// What the operator asks of the coordinator.
    Operator Order, OrderReply {
        /// All members, present and past.
        Members = GET "/v1/operator/members" => MembersReply,
        /// Takes a member in.
        Enrol(body request: EnrolRequest) = POST "/v1/operator/members" => MemberLine,
        /// Takes a member out: at once, also on its open connections.
        Revoke(path member: ClientId) = DELETE "/v1/operator/members/{member}" => MemberLine,
        /// Lets a member go on with another key and certificate, between two rounds, if its present key signed that.
        Renew(path member: ClientId, body request: RenewRequest) = POST "/v1/operator/members/{member}/renewal" => MemberLine,
        /// What members delivered that is in doubt, and the payments for it that wait.
        Doubts = GET "/v1/operator/doubts" => DoubtsReply,
        /// Settles, voids or forgets what a member delivered, between two rounds.
        Rule(path member: ClientId, body request: RulingRequest) = POST "/v1/operator/members/{member}/ruling" => RuledReply,
        /// Records what was transferred to a member; the same again changes nothing.
        PayOut(path member: ClientId, body request: PayoutRequest) = POST "/v1/operator/members/{member}/payouts" => PayoutReply,
        /// Lets no round open; one that is open goes on to its end. The first reason stands.
        Pause(body request: PauseRequest) = POST "/v1/operator/pause" => PauseReply,
        /// Lets rounds open again.
        Resume = DELETE "/v1/operator/pause" => PauseReply,
        /// Rounds in their order, as the journal has them.
        Rounds(query after: After) = GET "/v1/operator/rounds" => RoundsReply,
        /// One round, with what each member did in it.
        Round(path round: RoundId) = GET "/v1/operator/rounds/{round}" => RoundReply,
        /// Ends a round that takes offers: nobody wins, and all keep their data.
        Abort(path round: RoundId, body request: AbortRequest) = POST "/v1/operator/rounds/{round}/abort" => RoundReply,
        /// How the coordinator is doing.
        Status = GET "/v1/operator/status" => StatusReply,
        /// The signed head of the journal, that it has an entry, and that it is how a smaller one went on.
        Prove(query of: Asked) = GET "/v1/operator/proof" => Proof,
        /// Makes a link that opens the page once.
        Link(body request: LinkRequest) = POST "/v1/operator/page" => LinkReply,
    }
}

/// What is to be proved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Asked {
    /// That the journal has this entry.
    pub entry: Option<u64>,
    /// How it grew from so many entries.
    pub from: Option<u64>,
}

/// Which rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct After {
    /// Those after this one.
    pub after: u64,
}

pub(super) async fn answer(service: &Service, engine: &Handle, order: Order) -> Result<OrderReply, Refusal> {
    Ok(match order {
        Order::Members => OrderReply::Members(members(engine)),
        Order::Enrol(request) => OrderReply::Enrol(enrol(service, engine, request).await?),
        Order::Revoke(member) => OrderReply::Revoke(revoke(service, engine, member).await?),
        Order::Renew(member, request) => OrderReply::Renew(renew(service, engine, member, request).await?),
        Order::Doubts => OrderReply::Doubts(data::doubts(engine).await?),
        Order::Rule(member, request) => OrderReply::Rule(data::rule(engine, member, request).await?),
        Order::PayOut(member, request) => OrderReply::PayOut(payouts::pay_out(engine, member, request).await?),
        Order::Pause(request) => OrderReply::Pause(pauses::pause(engine, request).await?),
        Order::Resume => OrderReply::Resume(pauses::resume(engine).await?),
        Order::Rounds(After { after }) => OrderReply::Rounds(rounds::rounds(engine, after).await?),
        Order::Round(round) => OrderReply::Round(rounds::round(engine, round).await?),
        Order::Abort(round, request) => OrderReply::Abort(rounds::abort(engine, round, request).await?),
        Order::Status => OrderReply::Status(status(service, engine)),
        Order::Prove(Asked { entry: Some(entry), from }) => {
            OrderReply::Prove(service.heads.entry(engine, entry, from).await?)
        }
        Order::Prove(Asked { entry: None, from }) => OrderReply::Prove(service.heads.head(engine, from).await?),
        Order::Link(request) => OrderReply::Link(service.page.link(request, engine)?),
    })
}

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
    /// The keys that it had before it renewed, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_keys: Vec<PublicKey>,
}

impl MemberLine {
    /// How a member stands.
    pub fn of(member: &ClientId, info: &MemberInfo) -> MemberLine {
        MemberLine {
            member: member.clone(),
            key: info.key,
            certificate: info.certificate,
            is_revoked: info.is_revoked,
            past_keys: info.past.iter().map(|past| past.key).collect(),
        }
    }
}

/// How a member goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewRequest {
    /// The key of its new certificate.
    pub key: PublicKey,
    /// The hash of its new certificate.
    pub certificate: Digest,
    /// Of the present key, as the member's request has it.
    pub signature: Signature,
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
    /// Whether the operator lets no round open.
    pub paused: Option<Pause>,
    /// Members that may take part.
    pub members: u64,
    /// The epoch of the lease.
    pub epoch: u64,
    /// Milliseconds since this coordinator started.
    pub uptime_ms: u64,
    /// Whether the store answers and the lease is renewed.
    pub is_healthy: bool,
}

/// All members of a store, by name, read without its coordinator. Fails when the store does not answer, or an entry cannot
/// be read.
pub fn read_members(store: &mut dyn Store) -> Result<Vec<MemberLine>, StoreError> {
    Ok(read_member_infos(store)?.iter().map(|(member, info)| MemberLine::of(member, info)).collect())
}

/// The same with the certificates that they had before.
pub(crate) fn read_member_infos(store: &mut dyn Store) -> Result<BTreeMap<ClientId, MemberInfo>, StoreError> {
    let (mut members, mut last) = (BTreeMap::<ClientId, MemberInfo>::new(), 0);
    loop {
        let rows = store.rows(last, CHUNK)?;
        let Some(end) = rows.last() else { return Ok(members) };
        last = end.number;
        for row in &rows {
            match row.entry()? {
                Entry::Enrolled { member, key, certificate } => {
                    members.insert(member, MemberInfo::new(key, certificate));
                }
                Entry::Revoked { member } => {
                    members.entry(member).and_modify(|info| info.is_revoked = true);
                }
                Entry::Renewed { member, key, certificate, .. } => {
                    members.entry(member).and_modify(|info| info.renew(key, certificate));
                }
                _ => {}
            }
        }
    }
}

pub(super) fn members(engine: &Handle) -> MembersReply {
    let published = engine.published();
    let members = published.members().iter().map(|(member, info)| MemberLine::of(member, info));
    MembersReply { members: members.collect() }
}

/// Takes a member in; the same again changes nothing.
pub(super) async fn enrol(service: &Service, engine: &Handle, request: EnrolRequest) -> Result<MemberLine, Refusal> {
    let EnrolRequest { member, key, certificate } = request;
    let member = check_name(&member).map_err(|error| Refusal::new(Code::BadName, error.to_string()))?;
    let line = MemberLine::of(&member, &MemberInfo::new(key, certificate));
    if engine.published().members().get(&member).is_some_and(|known| MemberLine::of(&member, known) == line) {
        return Ok(line);
    }
    check_not_operator(service, &certificate)?;
    engine.enrol(member, key, certificate).await?;
    Ok(line)
}

fn check_not_operator(service: &Service, certificate: &Digest) -> Result<(), Refusal> {
    match *certificate == service.operator {
        true => Err(Refusal::new(Code::MemberExists, "the certificate is the operator's: issue another")),
        false => Ok(()),
    }
}

/// Lets a member go on with another key and certificate; the same again changes nothing.
async fn renew(
    service: &Service,
    engine: &Handle,
    member: ClientId,
    request: RenewRequest,
) -> Result<MemberLine, Refusal> {
    let RenewRequest { key, certificate, signature } = request;
    known(engine, &member)?;
    check_not_operator(service, &certificate)?;
    engine.renew(member.clone(), key, certificate, signature).await?;
    Ok(MemberLine::of(&member, &known(engine, &member)?))
}

/// A member, present or past.
fn known(engine: &Handle, member: &ClientId) -> Result<MemberInfo, Refusal> {
    let unknown = || Refusal::new(Code::UnknownMember, format!("{member} is not a member of this federation"));
    engine.published().members().get(member).cloned().ok_or_else(unknown)
}

/// Takes a member out; the same again changes nothing.
async fn revoke(service: &Service, engine: &Handle, member: ClientId) -> Result<MemberLine, Refusal> {
    let known = known(engine, &member)?;
    if !known.is_revoked {
        engine.revoke(member.clone()).await?;
        // Its requests are refused from the commit on; its connections stay a little longer, so that it can read that.
        let (revocations, certificates) = (service.revocations.clone(), Vec::from_iter(known.certificates()));
        tokio::spawn(async move {
            tokio::time::sleep(LINGER).await;
            certificates.into_iter().for_each(|certificate| revocations.revoke(certificate));
        });
    }
    Ok(MemberLine::of(&member, &MemberInfo { is_revoked: true, ..known }))
}

fn status(service: &Service, engine: &Handle) -> StatusReply {
    let published = engine.published();
    StatusReply {
        entries: published.entries(),
        closed: published.closed(),
        open: published.open_round(),
        paused: published.paused().cloned(),
        members: published.members().values().filter(|member| !member.is_revoked).count() as u64,
        epoch: engine.epoch(),
        uptime_ms: service.started.elapsed().as_millis() as u64,
        is_healthy: engine.problem().is_none(),
    }
}
