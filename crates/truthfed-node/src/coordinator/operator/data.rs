//! What the operator sees of data that is in doubt, and what it rules about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{Judgement, Part, Payment, RoundId, Ruling};

use crate::engine::Handle;
use crate::error::{Code, Refusal};
use crate::ledger::StandingBody;
use crate::schema;
use crate::store::{Store, StoreError};

/// What is in doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoubtsReply {
    /// By member.
    pub doubts: Vec<DoubtLine>,
}

/// What a member delivered that is in doubt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoubtLine {
    /// Whose.
    #[schemars(with = "schema::Member")]
    pub member: ClientId,
    /// Whether it contradicts others' data and is held: not settled. If not, it is settled and still compared.
    pub is_held: bool,
    /// Observations.
    pub samples: u64,
    /// The round since which it is held, or in which the first of it was delivered.
    #[schemars(with = "schema::Round")]
    pub since: RoundId,
    /// Payments for it that wait.
    pub payments: u64,
    /// What they come to, in micro-units.
    #[schemars(with = "schema::Micros")]
    pub waiting_micros: i64,
}

/// What to do with the data of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RulingRequest {
    /// The ruling.
    pub ruling: RulingName,
}

/// A ruling about the data of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RulingName {
    /// What is in doubt is settled, and paid.
    Release,
    /// What is in doubt is void, and so are the payments for it.
    Void,
    /// All that a revoked member ever delivered is taken out of what is shared.
    Forget,
}

impl RulingName {
    /// As in its JSON.
    pub fn words(self) -> &'static str {
        match self {
            RulingName::Release => "release",
            RulingName::Void => "void",
            RulingName::Forget => "forget",
        }
    }
}

impl From<Ruling> for RulingName {
    fn from(ruling: Ruling) -> RulingName {
        match ruling {
            Ruling::Release => RulingName::Release,
            Ruling::Void => RulingName::Void,
            Ruling::Forget => RulingName::Forget,
        }
    }
}

impl From<RulingName> for Ruling {
    fn from(name: RulingName) -> Ruling {
        match name {
            RulingName::Release => Ruling::Release,
            RulingName::Void => Ruling::Void,
            RulingName::Forget => Ruling::Forget,
        }
    }
}

/// What followed from a ruling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuledReply {
    /// Payments that were made.
    pub paid: u64,
    /// What they come to, in micro-units.
    #[schemars(with = "schema::Micros")]
    pub paid_micros: i64,
    /// Payments that are void.
    pub void: u64,
    /// What they would have come to, in micro-units.
    #[schemars(with = "schema::Micros")]
    pub void_micros: i64,
}

impl From<&Judgement> for RuledReply {
    fn from(Judgement { paid, void, .. }: &Judgement) -> RuledReply {
        let counted = |payments: &[Payment]| payments.len() as u64;
        RuledReply { paid: counted(paid), paid_micros: micros(paid), void: counted(void), void_micros: micros(void) }
    }
}

/// Of one member, so far within 64 bits.
fn micros<'a>(payments: impl IntoIterator<Item = &'a Payment>) -> i64 {
    payments.into_iter().map(|payment| payment.amount).map(Amount::micros).fold(0, i64::saturating_add)
}

/// What is in doubt, read from a store without its coordinator. Fails when the store does not answer, or cannot be read.
pub fn read_doubts(store: &mut dyn Store) -> Result<Vec<DoubtLine>, StoreError> {
    let Some(row) = store.standing()? else { return Ok(Vec::new()) };
    let damaged = |error: serde_json::Error| StoreError::Damaged(format!("the standing cannot be read: {error}"));
    let StandingBody { standing, .. } = serde_json::from_str(&row.body).map_err(damaged)?;
    let line = |member: &ClientId, is_held: bool, part: &Part| DoubtLine {
        member: member.clone(),
        is_held,
        samples: part.statistics.samples(),
        since: part.since,
        payments: part.owed.len() as u64,
        waiting_micros: micros(part.owed.iter().map(|owed| &owed.payment)),
    };
    let mut doubts = Vec::new();
    for (member, share) in &standing.shares {
        doubts.extend(share.held.iter().map(|part| line(member, true, part)));
        doubts.extend(share.waiting.iter().map(|part| line(member, false, part)));
    }
    Ok(doubts)
}

pub(in crate::coordinator) async fn doubts(engine: &Handle) -> Result<DoubtsReply, Refusal> {
    Ok(DoubtsReply { doubts: engine.read(read_doubts).await? })
}

pub(super) async fn rule(engine: &Handle, member: ClientId, request: RulingRequest) -> Result<RuledReply, Refusal> {
    let answer = engine.rule(member, request.ruling.into()).await?;
    let judgement: Judgement = serde_json::from_str(&String::from(answer))
        .map_err(|error| Refusal::new(Code::Internal, format!("a judgement cannot be read: {error}")))?;
    Ok(RuledReply::from(&judgement))
}
