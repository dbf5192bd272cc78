//! A member's renewal: its present key says which key follows it, so that nobody else can.

use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;

use super::{NameError, Request, check_name};
use crate::digest::{Digest, PublicKey, Signature};
use crate::reading::read_json;
use crate::signature::{Signer, is_signed_by};

pub const RENEWAL_SCHEMA: &str = "truthfed.renewal/1";

/// Which key follows a member's present one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewal {
    pub federation: Digest,
    pub member: ClientId,
    /// The new key.
    pub key: PublicKey,
}

impl Renewal {
    pub fn sign(&self, signer: &Signer) -> Signature {
        signer.sign(RENEWAL_SCHEMA, self.content().as_bytes())
    }

    pub fn is_signed_by(&self, key: &PublicKey, signature: &Signature) -> bool {
        is_signed_by(key, RENEWAL_SCHEMA, self.content().as_bytes(), signature)
    }

    fn content(&self) -> String {
        let Renewal { federation, member, key } = self;
        format!("{federation} {key} {member}")
    }
}

/// A member's request for a certificate for its next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenewalRequest {
    /// Name and new key.
    pub request: Request,
    pub federation: Digest,
    /// The present key's, over the renewal. Only who knows that key can check it.
    pub signature: Signature,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    federation: Digest,
    member: String,
    key: PublicKey,
    /// By the present key, and by the new one.
    present: Signature,
    new: Signature,
}

/// Why a text is no request for a renewal. The operator asks the member for the file that `truthfed member renew` wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenewalError {
    #[error("not a request for a renewal, which `truthfed member renew` makes: {0}")]
    Unreadable(String),
    #[error("the schema is `{0}`: `{RENEWAL_SCHEMA}` is expected")]
    Schema(String),
    #[error("member: {0}")]
    Name(#[from] NameError),
    /// It was altered, or made by somebody who does not hold the new key.
    #[error("the renewal is not signed with the new key that it names: ask the member for it again")]
    Signature,
}

impl RenewalRequest {
    /// The text of a request: a member's present key hands over to the next.
    pub fn text(federation: Digest, member: &ClientId, present: &Signer, next: &Signer) -> String {
        let renewal = Renewal { federation, member: member.clone(), key: next.public() };
        let document = Document {
            schema: RENEWAL_SCHEMA.to_owned(),
            federation,
            member: member.to_string(),
            key: renewal.key,
            present: renewal.sign(present),
            new: renewal.sign(next),
        };
        serde_json::to_string(&document).expect("our own document is JSON") + "\n"
    }

    pub fn read(text: &str) -> Result<RenewalRequest, RenewalError> {
        let read = read_json(text.as_bytes());
        let document: Document = read.map_err(|refusal| RenewalError::Unreadable(refusal.message))?;
        let Document { schema, federation, member, key, present, new } = document;
        if schema != RENEWAL_SCHEMA {
            return Err(RenewalError::Schema(schema));
        }
        let renewal = Renewal { federation, member: check_name(&member)?, key };
        if !renewal.is_signed_by(&key, &new) {
            return Err(RenewalError::Signature);
        }
        Ok(RenewalRequest { request: Request::held(renewal.member, key), federation, signature: present })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(present: &Signer, next: &Signer) -> String {
        RenewalRequest::text(Digest::of(b"federation"), &"zoe".parse().unwrap(), present, next)
    }

    #[test]
    fn a_renewal_is_read_back_and_signed_by_both_keys() {
        let (present, next) = (Signer::random(), Signer::random());
        let RenewalRequest { request, federation, signature } = RenewalRequest::read(&text(&present, &next)).unwrap();
        assert_eq!((request.member().as_str(), request.key()), ("zoe", next.public()));
        let renewal = Renewal { federation, member: request.member().clone(), key: request.key() };
        assert!(renewal.is_signed_by(&present.public(), &signature));
        assert!(!renewal.is_signed_by(&next.public(), &signature));
    }

    #[test]
    fn no_altered_renewal_is_taken() {
        let (present, next, other) = (Signer::random(), Signer::random(), Signer::random());
        let text = text(&present, &next);
        let altered = [
            text.replace("zoe", "ann"),
            text.replace(&next.public().to_string(), &other.public().to_string()),
            text.replace(&Digest::of(b"federation").to_string(), &Digest::of(b"another").to_string()),
        ];
        for text in altered {
            assert_eq!(RenewalRequest::read(&text), Err(RenewalError::Signature), "{text}");
        }
        for (place, _) in text.trim_end().char_indices() {
            assert!(RenewalRequest::read(&text[..place]).is_err(), "{place}");
        }
        let schema = RenewalRequest::read(&text.replace("renewal/1", "renewal/9")).unwrap_err();
        assert!(schema.to_string().contains("`truthfed.renewal/9`"), "{schema}");
        let name = RenewalRequest::read(&text.replace("\"zoe\"", "\"../zoe\"")).unwrap_err();
        assert!(name.to_string().starts_with("member: "), "{name}");
    }
}
