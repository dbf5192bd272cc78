//! Looks at signed messages before they reach the engine: form, context, signature, and whether the matrix of an offer can
//! come from data. All of it costs the sender's turn, not the engine's.
//!
//! An offer to the round that is next must also be reason enough to open it. A message for any other round that is not open
//! passes without a look at its nonce, which is not known any more, or at its matrix: the engine answers it with the stored
//! reply, or as stale.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use truthfed::Amount;
use truthfed::auction::{ClientId, Offer};
use truthfed::protocol::{CheckedOffer, Rejection, RoundId};
use truthfed::statistics::{Gram, GramError};

use super::published::Published;
use crate::digest::{Digest, PublicKey};
use crate::error::{Code, Refusal};
use crate::reading::read_json;
use crate::wire::{Context, DELIVERY_SCHEMA, DeliveryContent, Envelope, OFFER_SCHEMA, OfferContent};

/// A message whose form, context and signature are right.
pub(super) struct Checked<T> {
    pub(super) member: ClientId,
    pub(super) round: RoundId,
    pub(super) content: T,
    pub(super) digest: Digest,
    pub(super) envelope: Envelope,
    /// The member's when it was checked. It may have renewed it since.
    pub(super) key: PublicKey,
}

/// What an offer says.
pub(super) struct Offered {
    pub(super) commitment: Digest,
    /// None if its round was neither open nor next.
    pub(super) offer: Option<CheckedOffer>,
}

pub(super) fn offer(
    published: &Published,
    member: &ClientId,
    round: RoundId,
    envelope: Envelope,
) -> Result<Checked<Offered>, Refusal> {
    let text = envelope.content.get();
    let content: OfferContent =
        read_json(text.as_bytes()).map_err(|refusal| explain(text, published.agreement.dimension(), refusal))?;
    check_schema(&content.schema, OFFER_SCHEMA)?;
    let key = check(published, member, round, &content.context, &envelope, OFFER_SCHEMA)?;
    check_gram(published.agreement.dimension(), content.gram.lower().to_vec())?;
    let OfferContent { context, gram, samples, ask_micros: ask, commitment, .. } = content;
    let offer = Offer { client: context.member, ask, gram };
    let offer = match published.nonce(round).map(|_| published.agreement.checked(offer, samples)) {
        None => None,
        Some(checked) if published.next.is_none() => Some(checked.map_err(Rejection::from)?),
        Some(checked) => Some(checked.map_err(Rejection::from)?.opening(published.closed, &published.settled)?),
    };
    let content = Offered { commitment, offer };
    Ok(Checked { member: member.clone(), round, content, digest: envelope.digest(), envelope, key })
}

pub(super) fn delivery(
    published: &Published,
    member: &ClientId,
    round: RoundId,
    envelope: Envelope,
) -> Result<Checked<DeliveryContent>, Refusal> {
    let content: DeliveryContent = read_json(envelope.content.get().as_bytes())?;
    check_schema(&content.schema, DELIVERY_SCHEMA)?;
    let key = check(published, member, round, &content.context, &envelope, DELIVERY_SCHEMA)?;
    Ok(Checked { member: member.clone(), round, content, digest: envelope.digest(), envelope, key })
}

/// Looks at the numbers of an offer that cannot be read, since each of them has its own code.
fn explain(text: &str, dimension: usize, refusal: Refusal) -> Refusal {
    let Ok(fields) = serde_json::from_str::<BTreeMap<&str, &RawValue>>(text) else { return refusal };
    let is_about = |name: &str| refusal.message.starts_with(&format!("{name}: "));
    let explained = match (fields.get("gram"), fields.get("ask_micros")) {
        (Some(gram), _) if is_about("gram") => {
            serde_json::from_str(gram.get()).map_or(Ok(()), |lower| check_gram(dimension, lower))
        }
        (_, Some(ask)) if is_about("ask_micros") => read_ask(ask.get()).map(drop),
        _ => Ok(()),
    };
    explained.err().unwrap_or(refusal)
}

fn check_gram(dimension: usize, lower: Vec<f64>) -> Result<(), Refusal> {
    let Err(error) = Gram::from_lower(dimension, lower) else { return Ok(()) };
    let code = match error {
        GramError::OutOfRange { .. } => Code::OutOfRange,
        _ => Code::WrongDimension,
    };
    Err(Refusal::new(code, format!("gram: {error}")))
}

fn read_ask(text: &str) -> Result<Amount, Refusal> {
    let refuse = |code, problem: &str| Err(Refusal::new(code, format!("ask_micros: {problem}")));
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return refuse(Code::WrongType, "must be a whole number");
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return refuse(Code::AskFractional, "must be a whole number of micro-units, without point or exponent");
    }
    // Not even -0: whoever reads the journal would take it for a fraction.
    if digits != text {
        return refuse(Code::AskNegative, "must not be negative");
    }
    match digits.parse().ok().and_then(Amount::from_micros) {
        Some(ask) => Ok(ask),
        None => refuse(Code::AskAboveCap, "must be at most 1000000000000000000, a million million units"),
    }
}

fn check_schema(got: &str, expected: &str) -> Result<(), Refusal> {
    if got == expected {
        return Ok(());
    }
    Err(Refusal::new(Code::UnknownVersion, format!("schema: is `{got}`, this coordinator reads `{expected}`")))
}

/// The key that signed it, which is the member's.
fn check(
    published: &Published,
    member: &ClientId,
    round: RoundId,
    context: &Context,
    envelope: &Envelope,
    schema: &str,
) -> Result<PublicKey, Refusal> {
    let info = published.check_member(member)?;
    let refuse = |code, message: String| Err(Refusal::new(code, message));
    if context.member != *member {
        let message = format!("context.member: is {}, the certificate is of {member}", context.member);
        return refuse(Code::OtherMember, message);
    }
    if context.federation != published.federation {
        return refuse(Code::OtherFederation, "context.federation: is another federation".to_owned());
    }
    if context.terms != published.agreement.hash() {
        return refuse(Code::OtherTerms, "context.terms: are not the terms of this federation".to_owned());
    }
    #[cfg(feature = "planted-faults")]
    if truthfed::planted::is(truthfed::planted::Fault::RoundNotSigned) && envelope.is_signed_by(&info.key, schema) {
        return Ok(info.key);
    }
    if context.round != round {
        let message = format!("context.round: is {}, the message was sent to {round}", context.round);
        return refuse(Code::StaleRound, message);
    }
    if published.nonce(round).is_some_and(|nonce| nonce != context.nonce) {
        return refuse(Code::BadNonce, format!("context.nonce: is not the nonce of round {round}"));
    }
    if !envelope.is_signed_by(&info.key, schema) {
        return refuse(Code::BadSignature, format!("signature: is not {member}'s over this content"));
    }
    Ok(info.key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_is_taken_only_if_the_readers_of_the_journal_read_the_same() {
        for text in ["0", "7", "1000000000000000000"] {
            assert_eq!(read_ask(text).ok(), serde_json::from_str(text).ok(), "{text}");
        }
        // Once taken, this one could be read by neither a restarted coordinator nor a verifier.
        assert_eq!(read_ask("-0").unwrap_err().code, Code::AskNegative);
        assert!(serde_json::from_str::<Amount>("-0").is_err());
    }
}
