//! Refusals: every reason for which a coordinator rejects a request, each under a name that never changes.
//!
//! A refusal travels as `{"error": {"code": "...", "message": "..."}}` with the HTTP status of its [`Code`]. Programs act
//! on the code; the message is for people. Every code has an entry in `docs/errors.md`.
//!
//! Not here: errors that stay inside one process (each verb has its own enum).

use std::fmt;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

/// Who can fix the cause of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// The member that sent the request, or whoever wrote its agent.
    Member,
    Operator,
    /// Nobody needs to: the same request succeeds later.
    Time,
}

/// Defines [`Code`] by one row for each: variant, name, HTTP status, who fixes it, what to do.
macro_rules! codes {
    ($($variant:ident $name:literal $status:literal $whose:ident $advice:literal)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub enum Code {
            $(#[doc = $advice] $variant,)*
        }

        impl Code {
            /// All of them, in the order of `docs/errors.md`.
            pub const ALL: &[Code] = &[$(Code::$variant),*];

            /// The name on the wire: lower-case words with hyphens. It never changes.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name),* }
            }

            pub const fn status(self) -> u16 {
                match self { $(Code::$variant => $status),* }
            }

            pub const fn whose(self) -> Whose {
                match self { $(Code::$variant => Whose::$whose),* }
            }

            /// What happened and what to do, in a sentence.
            pub const fn advice(self) -> &'static str {
                match self { $(Code::$variant => $advice),* }
            }
        }
    };
}

codes! {
    // The form of a message.
    Malformed "malformed" 400 Member "The body is not JSON: send one JSON object."
    Truncated "truncated" 400 Member "The body ends before its JSON value does: send the whole body."
    TrailingBytes "trailing-bytes" 400 Member "Something follows the JSON value: send one value."
    WrongType "wrong-type" 400 Member "A field has the wrong type or form: fix the field that the message names."
    UnknownField "unknown-field" 400 Member "The message has a field that the protocol does not define: remove it."
    MissingField "missing-field" 400 Member "The message lacks a field of the protocol: add it."
    UnknownVersion "unknown-version" 400 Member "The coordinator does not read this schema: use an agent of the coordinator's version."
    TooLarge "too-large" 413 Member "The body is larger than any honest message of this dimension: write numbers without padding."
    TooSlow "too-slow" 408 Member "The body did not arrive in time: send it again."
    NotFound "not-found" 404 Member "There is no such path, round or receipt: check the path."
    MethodNotAllowed "method-not-allowed" 405 Member "The path does not accept this HTTP method: use the one in the protocol."

    // Numbers of an offer or a delivery.
    WrongDimension "wrong-dimension" 422 Member "The gram or the moment has a different dimension from the terms: use the terms' dimension."
    NotFinite "not-finite" 422 Member "A number is not finite: fix the statistics it comes from."
    OutOfRange "out-of-range" 422 Member "A number is larger than the protocol allows: scale contexts and rewards to the terms."
    NotPositive "not-positive" 422 Member "The gram is not positive semi-definite, so no data can produce it: recompute it."
    TraceTooLarge "trace-too-large" 422 Member "That many contexts of allowed length cannot produce this gram: scale the contexts."
    RankTooHigh "rank-too-high" 422 Member "The gram has more independent directions than samples: count every sample."
    DataWithoutSamples "data-without-samples" 422 Member "The number of samples is 0 but the gram is not: count every sample."
    TooManySamples "too-many-samples" 422 Member "The offer has more samples than the terms allow: spread them over several rounds."
    TooFewSamples "too-few-samples" 422 Member "The offer has fewer samples than the terms allow: wait until there are enough."
    MomentOutOfRange "moment-out-of-range" 422 Member "No rewards produce this moment with the offered gram: deliver what you offered."
    MomentEnergy "moment-energy" 422 Member "The moment would need rewards beyond the terms: scale the rewards."
    MomentNotCommitted "moment-not-committed" 422 Member "Moment and salt do not match the commitment in the offer: deliver what you offered."
    AskNegative "ask-negative" 422 Member "The ask is below zero: ask zero or more."
    AskFractional "ask-fractional" 422 Member "The ask is not a whole number of micro-units: round it."
    AskAboveCap "ask-above-cap" 422 Member "The ask exceeds the largest amount of money, 10^12 units: ask less."

    // Where a signed content counts.
    OtherFederation "other-federation" 409 Member "The content is signed for another federation: use this federation's bundle."
    OtherTerms "other-terms" 409 Member "The content is signed under other terms: get the current bundle and decide again."
    OtherMember "other-member" 403 Member "The content names a different member from the certificate: send only your own messages."
    BadSignature "bad-signature" 403 Member "The signature does not match the content and the member's key: sign the exact bytes sent."
    BadNonce "bad-nonce" 409 Member "The content is signed with a nonce that is not the round's: sign the nonce of the current view."
    StaleRound "stale-round" 409 Member "The round is over or was never opened: fetch the current view."
    WrongPhase "wrong-phase" 409 Member "The round does not accept this message now: fetch the current view."
    OtherOffer "other-offer" 409 Member "The delivery names a different offer from the one recorded: deliver for the offer in the receipt."
    ConflictingRetry "conflicting-retry" 409 Member "A message of this kind with other bytes is already recorded in this round: repeat only the same bytes."

    TriggerNotMet "trigger-not-met" 409 Member "No round is open, and the offer is not worth one: learn more first, or wait until another member opens it."
    Excluded "excluded" 403 Member "The member won and did not deliver too often: it may take part again after the round that the message names."
    Suspended "suspended" 409 Member "What the member delivered is in doubt: it may take part again when others have delivered, or the operator has decided."

    // Who asks.
    NotAMember "not-a-member" 403 Operator "The certificate is genuine but not enrolled: the operator adds the member."
    MemberRevoked "member-revoked" 403 Operator "The member was revoked: the operator issues a new bundle to let it return."
    CertificateReplaced "certificate-replaced" 403 Member "The member has renewed its certificate, and this is an earlier one: put the new one in place with `truthfed member renew BUNDLE --issued FILE`. If you did not renew it, tell the operator."
    NotOperator "not-operator" 403 Member "Only the operator's certificate may do this: use the one in the operator folder."

    NoToken "no-token" 401 Member "The request to the agent does not show its token: send the one in the agent's file."

    // What only the operator sees.
    NoLogin "no-login" 401 Operator "The page is open to whoever logged in: run `truthfed page`, for an agent's `truthfed member page`, and open the link that it prints."
    BadName "bad-name" 422 Operator "Not a valid member name: use 1 to 64 letters, digits, dots, underscores or hyphens."
    BadCertificate "bad-certificate" 422 Operator "The certificate is not one that this federation's authority issued to a member, or its time is over: take the member's file from the roster where it was added."
    MemberExists "member-exists" 409 Operator "A member with this name, certificate or key was enrolled before: choose another."
    UnknownMember "unknown-member" 404 Operator "No member has this name: list the members."
    BadRenewal "bad-renewal" 403 Operator "The renewal is not signed with the member's present key: ask the member for a new request."
    NothingInDoubt "nothing-in-doubt" 404 Operator "Nothing that the member delivered is in doubt, or there is nothing to forget: list what is in doubt."
    StillAMember "still-a-member" 409 Operator "Only what a revoked member delivered is forgotten: revoke it first."
    PayoutExists "payout-exists" 409 Operator "A payout with this reference is recorded with another amount: use the reference of the transfer."
    NotOwed "not-owed" 409 Operator "The payout is zero or more than is owed to the member: look at the ledger's totals."
    RoundOpen "round-open" 429 Time "The operator rules about data, and members renew their certificates, between rounds: try again when the round has ended."

    NoOpenRound "no-open-round" 409 Operator "The round has ended or was never opened, so there is nothing to abort: look at `truthfed status`."
    RoundAwarded "round-awarded" 409 Operator "The round is awarded and its winners were promised a payment: wait for its end, at its deadline at the latest."

    // The state of the coordinator.
    RateLimited "rate-limited" 429 Time "Too many requests in a short time: wait the number of seconds in Retry-After."
    TooManyConnections "too-many-connections" 429 Time "The member has too many connections open: reuse one, or wait."
    Busy "busy" 503 Time "The coordinator or its database is overloaded: retry."
    StorageFull "storage-full" 507 Operator "The ledger's disk is full and nothing was written: the operator frees space, then retry."
    TooSoon "too-soon" 429 Time "The last round ended a moment ago: offer again after the time in the message."
    ClockBehind "clock-behind" 503 Operator "The coordinator's clock is minutes behind its journal, and no round opens: the operator sets the clock."
    Paused "paused" 503 Operator "The operator has paused rounds, for the reason in the message: offer again when they are resumed."
    PurseSpent "purse-spent" 429 Time "The rounds of today have been awarded the daily purse: the next opens after midnight, UTC."
    CapacityReached "capacity-reached" 409 Operator "As many samples are settled as the terms allow: the operator begins a new federation with a larger lambda."
    NotLeader "not-leader" 503 Time "Another coordinator has taken over: retry."
    ShuttingDown "shutting-down" 503 Time "The coordinator is stopping: retry when it is back."
    Internal "internal" 500 Operator "The coordinator found a bug in itself: the operator reads its log."
}

impl Code {
    /// Whether the same request, unchanged, may succeed later.
    pub const fn is_passing(self) -> bool {
        matches!(self.status(), 408 | 429 | 503 | 507)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Peer: the text is not a known code; the other side runs a newer version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a code of this version")]
pub struct UnknownCode(String);

impl TryFrom<String> for Code {
    type Error = UnknownCode;

    fn try_from(name: String) -> Result<Code, UnknownCode> {
        Code::ALL.iter().copied().find(|code| code.name() == name).ok_or(UnknownCode(name))
    }
}

impl From<Code> for String {
    fn from(code: Code) -> String {
        code.name().to_owned()
    }
}

/// A refusal, as JSON on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(into = "Wire", from = "Wire")]
#[error("{code}: {message}")]
pub struct Refusal {
    pub code: Code,
    pub message: String,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into() }
    }
}

/// The advice of the code is the message.
impl From<Code> for Refusal {
    fn from(code: Code) -> Refusal {
        Refusal::new(code, code.advice())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.code.status()).expect("the status of every code is valid");
        (status, Json(self)).into_response()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    error: Body,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    code: Code,
    message: String,
}

impl From<Refusal> for Wire {
    fn from(Refusal { code, message }: Refusal) -> Wire {
        Wire { error: Body { code, message } }
    }
}

impl From<Wire> for Refusal {
    fn from(Wire { error: Body { code, message } }: Wire) -> Refusal {
        Refusal { code, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_sent_under_its_code_and_read_back() {
        let refusal = Refusal::new(Code::StaleRound, "round 3 is over");
        let text = serde_json::to_string(&refusal).unwrap();
        assert_eq!(text, r#"{"error":{"code":"stale-round","message":"round 3 is over"}}"#);
        assert_eq!(serde_json::from_str::<Refusal>(&text).unwrap(), refusal);
        assert_eq!(refusal.into_response().status(), StatusCode::CONFLICT);
    }

    #[test]
    fn names_are_words_with_hyphens_and_each_is_used_once() {
        for code in Code::ALL {
            assert_eq!(Code::try_from(code.name().to_owned()), Ok(*code));
            assert!(code.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'), "{code}");
            assert!(StatusCode::from_u16(code.status()).is_ok_and(|s| s.is_client_error() || s.is_server_error()));
            assert!(code.advice().ends_with('.'), "{code}");
        }
        assert_eq!(Code::try_from("nothing".to_owned()), Err(UnknownCode("nothing".to_owned())));
    }

    #[test]
    fn what_passes_by_itself_can_be_sent_again() {
        assert!(Code::ALL.iter().filter(|code| code.whose() == Whose::Time).all(|code| code.is_passing()));
        assert!(!Code::ConflictingRetry.is_passing());
    }
}
