//! A member's request for a certificate: made where its key is made, so that nobody else ever holds the key.

use serde::{Deserialize, Serialize};
use truthfed::auction::ClientId;

use super::{NameError, check_name};
use crate::digest::PublicKey;
use crate::reading::read_json;
use crate::signature::Signer;
use crate::wire::Envelope;

pub const REQUEST_SCHEMA: &str = "truthfed.request/1";

/// A name and a key that belong together: whoever wrote it holds the private half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    member: ClientId,
    key: PublicKey,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    schema: String,
    member: String,
    key: PublicKey,
}

/// Why a text is no request. The operator asks the member for the file that `truthfed member init` wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("not a request for a certificate, which `truthfed member init` makes: {0}")]
    Unreadable(String),
    #[error("the schema is `{0}`: `{REQUEST_SCHEMA}` is expected")]
    Schema(String),
    #[error("member: {0}")]
    Name(#[from] NameError),
    /// It was altered, or made by somebody who does not hold the key.
    #[error("the request is not signed with the key that it names: ask the member for it again")]
    Signature,
}

impl Request {
    /// The text of a request for this name and the public half of this key.
    pub fn text(member: &ClientId, signer: &Signer) -> String {
        let content = Content { schema: REQUEST_SCHEMA.to_owned(), member: member.to_string(), key: signer.public() };
        let envelope = signer.seal(REQUEST_SCHEMA, &content);
        serde_json::to_string(&envelope).expect("a sealed content is JSON") + "\n"
    }

    pub fn read(text: &str) -> Result<Request, RequestError> {
        let unreadable = |refusal: crate::error::Refusal| RequestError::Unreadable(refusal.message);
        let envelope: Envelope = read_json(text.as_bytes()).map_err(unreadable)?;
        let content: Content = read_json(envelope.content.get().as_bytes()).map_err(unreadable)?;
        if content.schema != REQUEST_SCHEMA {
            return Err(RequestError::Schema(content.schema));
        }
        let member = check_name(&content.member)?;
        match envelope.is_signed_by(&content.key, REQUEST_SCHEMA) {
            true => Ok(Request { member, key: content.key }),
            false => Err(RequestError::Signature),
        }
    }

    /// Of somebody who was found to hold the key.
    pub(super) fn held(member: ClientId, key: PublicKey) -> Request {
        Request { member, key }
    }

    pub fn member(&self) -> &ClientId {
        &self.member
    }

    pub fn key(&self) -> PublicKey {
        self.key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(signer: &Signer) -> String {
        Request::text(&"zoe".parse().unwrap(), signer)
    }

    #[test]
    fn a_request_is_read_back_and_names_who_made_it() {
        let signer = Signer::random();
        let read = Request::read(&request(&signer)).unwrap();
        assert_eq!((read.member().as_str(), read.key()), ("zoe", signer.public()));
    }

    #[test]
    fn no_altered_request_is_taken() {
        let (signer, other) = (Signer::random(), Signer::random());
        let text = request(&signer);
        let altered =
            [text.replace("zoe", "ann"), text.replace(&signer.public().to_string(), &other.public().to_string())];
        for text in altered {
            assert_eq!(Request::read(&text), Err(RequestError::Signature), "{text}");
        }
        // A key under which anybody can sign is nobody's.
        let weak = text.replace(&signer.public().to_string(), &"00".repeat(32));
        assert_eq!(Request::read(&weak), Err(RequestError::Signature));
        for (place, _) in text.trim_end().char_indices() {
            assert!(Request::read(&text[..place]).is_err(), "{place}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused_with_the_field_that_is_wrong() {
        let signer = Signer::random();
        let sealed =
            |schema: &str, content: serde_json::Value| serde_json::to_string(&signer.seal(schema, &content)).unwrap();
        let key = signer.public();
        let check = |text: String, expected: &str| {
            let error = Request::read(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("[]".to_owned(), "not a request");
        check(
            sealed(REQUEST_SCHEMA, serde_json::json!({"schema": "truthfed.offer/1", "member": "zoe", "key": key})),
            "schema",
        );
        check(
            sealed(REQUEST_SCHEMA, serde_json::json!({"schema": REQUEST_SCHEMA, "member": "../x", "key": key})),
            "member",
        );
        check(
            sealed(REQUEST_SCHEMA, serde_json::json!({"schema": REQUEST_SCHEMA, "member": "zoe", "key": "ab"})),
            "key",
        );
        check(sealed(REQUEST_SCHEMA, serde_json::json!({"schema": REQUEST_SCHEMA, "member": "zoe"})), "key");
        check(
            sealed("truthfed.offer/1", serde_json::json!({"schema": REQUEST_SCHEMA, "member": "zoe", "key": key})),
            "not signed",
        );
    }
}
