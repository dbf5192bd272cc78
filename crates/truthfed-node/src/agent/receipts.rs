//! Checks the coordinator's receipts before anything is built on them.

use truthfed::Amount;
use truthfed::protocol::RoundId;

use super::Membership;
use super::store::Receipt;
use crate::digest::Digest;
use crate::wire::{Context, Envelope, Promise, RECEIPT_SCHEMA, ReceiptContent, ReceiptKind};

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
    pub(super) promised: Option<Promise>,
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
        let (promise, salt) = (content.promise, content.salt);
        let (is_promised, is_paid) = (kind == ReceiptKind::Won, kind == ReceiptKind::Paid);
        if (promise.is_some(), payment.is_some(), salt.is_some()) != (is_promised, is_paid, is_paid) {
            let problem = format!("it says {kind:?} with a promise of {promise:?} and a payment of {payment:?}");
            return Err(bad(problem).into());
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
    let paid = content.payment_micros.zip(content.salt);
    match (paid, known.promised) {
        (Some((payment, salt)), Some(promise)) if !promise.is_kept_by(payment, salt) => {
            Err(format!("the payment is {payment}, promised was another"))
        }
        _ => match content.payment_micros.or(content.promise.map(|promise| promise.least_micros)) {
            Some(least) if least < known.least => {
                Err(format!("the payment is {least}, less than the ask of {}", known.least))
            }
            _ => Ok(()),
        },
    }
}
