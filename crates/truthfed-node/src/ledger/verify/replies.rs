//! The replies that follow from entries, and whether the store keeps them and no others.
//!
//! A member that repeats a request gets the reply that is kept, and statements are made of receipts that are kept: whoever
//! changes one puts words into the coordinator's mouth. What is said follows from the journal; the signature under it is
//! checked with those of the members. A winner's receipt only commits to its payment: we check that with the salt in the
//! receipt of the payment. Of a payment that was voided, nobody but the coordinator knows the salt.

use std::collections::BTreeMap;

use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::place::Place;
use super::replay::Claimed;
use super::{Fault, Found, Problem, Tally};
use crate::claims::Claim;
use crate::digest::{Digest, Signature};
use crate::signature::Verifier;
use crate::store::{RequestKey, RequestKind, StoredReply};
use crate::wire::{DeclineReply, Envelope, RECEIPT_SCHEMA, ReceiptContent, ReceiptReply};

/// What was replied to a request, or given without one.
pub(super) struct Reply {
    pub(super) key: RequestKey,
    /// The hash of the request, or of the offer it is about.
    pub(super) request: Digest,
    /// The receipt; none for a decline.
    pub(super) receipt: Option<ReceiptContent>,
}

/// A reply that must be kept, with what is right before its entry.
pub(super) struct Expected {
    pub(super) reply: Reply,
    pub(super) tally: Tally,
}

impl Reply {
    pub(super) fn decline(round: RoundId, member: &ClientId) -> Reply {
        let key = RequestKey { member: member.clone(), round, kind: RequestKind::Offer };
        Reply { key, request: Digest::of(b"decline"), receipt: None }
    }
}

/// Compares replies with those that are kept. Gives what the coordinator is said to have signed, or the first that differs.
pub(super) fn compare(
    expected: Vec<Expected>,
    kept: Vec<StoredReply>,
    coordinator: Option<Verifier>,
) -> Result<Vec<Claimed>, Found> {
    let kept: BTreeMap<RequestKey, StoredReply> = kept.into_iter().map(|reply| (reply.key.clone(), reply)).collect();
    let mut claimed = Vec::with_capacity(expected.len());
    for Expected { reply, tally } in expected {
        match reply.signature(&kept) {
            Err(found) => return Err(Found { tally, problem: reply.problem(tally, found) }),
            Ok(None) => {}
            Ok(Some((content, signature))) => {
                let claim = Claim { key: coordinator, schema: RECEIPT_SCHEMA, content, signature };
                let RequestKey { member, round, .. } = reply.key;
                claimed.push(Claimed { claim, round, member, fault: Fault::Reply, tally });
            }
        }
    }
    Ok(claimed)
}

impl Reply {
    /// The content of the receipt and the signature that is kept under it, if it is one. Fails with what is kept instead.
    fn signature(&self, kept: &BTreeMap<RequestKey, StoredReply>) -> Result<Option<(Box<str>, Signature)>, String> {
        let Some(StoredReply { key, request, body }) = kept.get(&self.key) else { return Err("none".to_owned()) };
        if *request != self.request {
            return Err(format!("one to a request of hash {request}"));
        }
        let Some(expected) = &self.receipt else {
            let is_same = *body == json(&DeclineReply { round: key.round });
            return if is_same { Ok(None) } else { Err(body.clone()) };
        };
        let Some((Envelope { signature, .. }, found)) = receipt(key, body) else { return Err(body.clone()) };
        let mut expected = expected.clone();
        if let (Some(promise), Some(found)) = (&mut expected.promise, found.promise) {
            promise.commitment = found.commitment;
        }
        if let Some(payment) = expected.payment_micros {
            let decision = kept.get(&self.promised_in()).and_then(|reply| receipt(&reply.key, &reply.body));
            let promise = decision.and_then(|(_, content)| content.promise);
            match (promise, found.salt) {
                (Some(promise), Some(salt)) if promise.is_kept_by(payment, salt) => expected.salt = Some(salt),
                _ => return Err(format!("one that does not keep the promise of the award: {body}")),
            }
        }
        let content = serde_json::value::to_raw_value(&expected).expect("our own contents are JSON");
        let receipt = Envelope { content: content.clone(), signature };
        let same = if is_reply(key) { json(&ReceiptReply { receipt }) } else { json(&receipt) };
        if *body == same { Ok(Some((content.into(), signature))) } else { Err(body.clone()) }
    }

    /// The reply by which the payment was promised, if this is about one.
    fn promised_in(&self) -> RequestKey {
        RequestKey { kind: RequestKind::Decision, ..self.key.clone() }
    }

    /// The replies that are compared to check it.
    pub(super) fn keys(&self) -> impl Iterator<Item = RequestKey> {
        let is_paid = self.receipt.as_ref().is_some_and(|receipt| receipt.payment_micros.is_some());
        std::iter::once(self.key.clone()).chain(is_paid.then(|| self.promised_in()))
    }

    fn problem(&self, tally: Tally, found: String) -> Box<Problem> {
        let RequestKey { member, round, kind } = &self.key;
        let place = Place { entry: tally.entries + 1, round: Some(*round), member: Some(member) };
        let receipt = self.receipt.as_ref().map_or_else(|| "a decline".to_owned(), json);
        place.fault(Fault::Reply, format!("a reply of kind {}: {receipt}", kind.name()), found)
    }
}

/// Whether a receipt is the reply to a request, or was given without one.
fn is_reply(key: &RequestKey) -> bool {
    matches!(key.kind, RequestKind::Offer | RequestKind::Delivery)
}

/// The receipt in a body, if there is one.
fn receipt(key: &RequestKey, body: &str) -> Option<(Envelope, ReceiptContent)> {
    let envelope: Envelope = match is_reply(key) {
        true => serde_json::from_str::<ReceiptReply>(body).ok()?.receipt,
        false => serde_json::from_str(body).ok()?,
    };
    let content = serde_json::from_str(envelope.content.get()).ok()?;
    Some((envelope, content))
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our own structs are JSON")
}
