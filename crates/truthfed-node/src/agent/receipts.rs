//! Checks the coordinator's receipts before anything is built on them.

use truthfed::Amount;
use truthfed::protocol::RoundId;

use super::Membership;
use super::store::Receipt;
use crate::digest::Digest;
use crate::wire::{Context, Envelope, RECEIPT_SCHEMA, ReceiptContent, ReceiptKind};

/// Coordinator: it signed something else than what it should have, or nothing at all. Nothing is built on it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadReceipt(pub(super) String);

/// What the member itself knows about the round of a receipt.
pub(super) struct Known {
    pub(super) context: Context,
    pub(super) offer: Digest,
    /// The least that the terms promise to pay for it.
    pub(super) least: Amount,
    pub(super) promised: Option<Amount>,
}

impl Membership {
    /// A receipt of one of these kinds, about what is known; without knowledge, at least about this member.
    pub(super) fn check_receipt(
        &self,
        envelope: Envelope,
        kinds: &[ReceiptKind],
        known: impl FnOnce(RoundId) -> Result<Option<Known>, super::FileError>,
    ) -> Result<Receipt, super::StepError> {
        let content = self.read_receipt(&envelope)?;
        let (round, kind, payment) = (content.context.round, content.kind, content.payment_micros);
        let bad = |problem: String| BadReceipt(format!("receipt of round {round}: {problem}"));
        if !kinds.contains(&kind) {
            return Err(bad(format!("it says {kind:?}, expected one of {kinds:?}")).into());
        }
        let is_about_money = matches!(kind, ReceiptKind::Won | ReceiptKind::Paid | ReceiptKind::Voided);
        if payment.is_some() != is_about_money {
            return Err(bad(format!("it says {kind:?} with a payment of {payment:?}")).into());
        }
        if let Some(known) = known(round)? {
            check_known(&content, &known).map_err(bad)?;
        }
        Ok(Receipt { round, kind, payment, envelope })
    }

    fn read_receipt(&self, envelope: &Envelope) -> Result<ReceiptContent, BadReceipt> {
        let bad = |problem: &str| BadReceipt(format!("receipt: {problem}"));
        if !envelope.is_signed_by(&self.coordinator, RECEIPT_SCHEMA) {
            return Err(bad("not signed by the coordinator's key"));
        }
        let content: ReceiptContent =
            serde_json::from_str(envelope.content.get()).map_err(|error| bad(&error.to_string()))?;
        let Context { federation, terms, member, .. } = &content.context;
        if content.schema != RECEIPT_SCHEMA {
            return Err(bad("of another schema"));
        }
        if (federation, terms, member) != (&self.federation, &self.agreement.hash(), &self.member) {
            return Err(bad("of another federation or member, or under other terms"));
        }
        Ok(content)
    }
}

fn check_known(content: &ReceiptContent, known: &Known) -> Result<(), String> {
    if content.context != known.context || content.offer != known.offer {
        return Err("it is about another offer than the one that was sent".to_owned());
    }
    match (content.payment_micros, known.promised) {
        (Some(payment), Some(promised)) if payment != promised => {
            Err(format!("the payment is {payment}, promised was {promised}"))
        }
        (Some(payment), _) if payment < known.least => {
            Err(format!("the payment is {payment}, less than the ask of {}", known.least))
        }
        _ => Ok(()),
    }
}
