//! What the operator transferred to members, as it records it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truthfed::Amount;
use truthfed::auction::ClientId;

use crate::engine::{Handle, PaidOut};
use crate::error::{Code, Refusal};
use crate::ledger::Reference;
use crate::schema;

/// Money that was transferred to a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PayoutRequest {
    /// How much.
    #[schemars(with = "schema::Micros")]
    pub amount_micros: Amount,
    /// Names the transfer, such as the bank's reference: the same again changes nothing.
    #[schemars(with = "schema::Reference")]
    pub reference: Reference,
}

/// A payout that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PayoutReply {
    /// The entry of the journal.
    pub entry: u64,
    /// What is still owed to the member, in micro-units.
    pub owed_micros: i64,
}

impl PayoutReply {
    /// What the engine answered. Fails if that cannot be read.
    pub fn read(answer: &str) -> Result<PayoutReply, Refusal> {
        let PaidOut { entry, owed_micros } = serde_json::from_str(answer)
            .map_err(|error| Refusal::new(Code::Internal, format!("a payout cannot be read: {error}")))?;
        Ok(PayoutReply { entry, owed_micros: i64::try_from(owed_micros).unwrap_or(i64::MAX) })
    }
}

pub(super) async fn pay_out(engine: &Handle, member: ClientId, request: PayoutRequest) -> Result<PayoutReply, Refusal> {
    let PayoutRequest { amount_micros, reference } = request;
    PayoutReply::read(&String::from(engine.pay_out(member, amount_micros, reference).await?))
}
