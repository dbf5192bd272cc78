//! What travels between agents and the coordinator: JSON objects, read strictly.
//!
//! Offers and deliveries travel as an [`Envelope`]: a content and a signature over its very bytes, so that no canonical
//! form is needed and neither side can deny it later. Receipts travel the same way, signed by the coordinator.
//! What is signed is the schema of the content, a line feed, and the content as it stands in the message.
//!
//! Money is whole micro-units; Gram matrices are packed lower triangles, row by row; floats are written so that they
//! read back to the same bits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use truthfed::Amount;
use truthfed::auction::{ClientId, Offer};
use truthfed::protocol::{Request, RoundId, Snapshot};
use truthfed::statistics::Gram;

use crate::call::calls;
use crate::digest::{Digest, Nonce, Signature};
use crate::log::Proof;
use crate::schema::{self, Signed};
use crate::terms::RawTerms;

pub const OFFER_SCHEMA: &str = "truthfed.offer/1";
pub const DELIVERY_SCHEMA: &str = "truthfed.delivery/1";
pub const RECEIPT_SCHEMA: &str = "truthfed.receipt/1";

/// A content with a signature over its bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// The content, exactly as it was signed.
    pub content: Box<RawValue>,
    /// Over the schema of the content, a line feed, and the bytes of the content.
    pub signature: Signature,
}

impl Envelope {
    /// The hash of the content: its name in receipts and deliveries.
    pub fn digest(&self) -> Digest {
        Digest::of(self.content.get().as_bytes())
    }
}

/// What a signed content belongs to: it counts in one round of one federation, under one set of terms, for one member.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// The federation.
    pub federation: Digest,
    /// The round.
    #[schemars(with = "schema::Round")]
    pub round: RoundId,
    /// The nonce of the round.
    pub nonce: Nonce,
    /// The hash of the terms.
    pub terms: Digest,
    /// Who signs.
    #[schemars(with = "schema::Member")]
    pub member: ClientId,
}

/// The content of an offer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferContent {
    /// [`OFFER_SCHEMA`].
    #[schemars(description = "The schema and its version.", extend("const" = OFFER_SCHEMA))]
    pub schema: String,
    /// Where it counts.
    pub context: Context,
    /// The sum of x x' over what is offered.
    #[schemars(with = "schema::LowerTriangle")]
    pub gram: Gram,
    /// How many observations.
    pub samples: u64,
    /// The price, in micro-units.
    #[schemars(with = "schema::Micros")]
    pub ask_micros: Amount,
    /// [`commitment`] to the moment that will be delivered.
    #[schemars(description = "Commits to the moment: SHA-256 over the salt and its bits.")]
    pub commitment: Digest,
}

impl OfferContent {
    /// What the protocol takes it for, once the context is checked.
    pub(crate) fn into_request(self, round: RoundId) -> Request {
        let OfferContent { context, gram, samples, ask_micros: ask, .. } = self;
        Request::Offer { round, samples, offer: Offer { client: context.member, ask, gram } }
    }
}

/// The content of a delivery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryContent {
    /// [`DELIVERY_SCHEMA`].
    #[schemars(description = "The schema and its version.", extend("const" = DELIVERY_SCHEMA))]
    pub schema: String,
    /// Where it counts.
    pub context: Context,
    /// The hash of the content of the offer it belongs to.
    pub offer: Digest,
    /// The sum of x y over what was offered.
    pub moment: Vec<f64>,
    /// The salt of the commitment.
    pub salt: Nonce,
}

/// The hash by which an offer commits to its moment: of the salt and the big-endian bits of each entry.
pub fn commitment(salt: Nonce, moment: &[f64]) -> Digest {
    let entries: Vec<u8> = moment.iter().flat_map(|entry| entry.to_bits().to_be_bytes()).collect();
    Digest::of_parts([salt.0.as_slice(), &entries])
}

/// What the coordinator vouches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReceiptKind {
    /// The offer is taken and binds.
    OfferTaken,
    /// The member won, and will be paid as promised on delivery.
    Won,
    /// The member did not win.
    Lost,
    /// The delivery is taken.
    DeliveryTaken,
    /// The delivery is settled, and the payment is posted.
    Paid,
    /// The member won and did not deliver in time: the payment is void.
    Voided,
    /// The delivery is taken, and the payment waits until others' data confirms it.
    Waiting,
    /// Others' data contradicts the delivery, or the operator decided so: the payment is void.
    Forfeited,
}

impl ReceiptKind {
    /// In the order of the steps of a round.
    pub(crate) const ALL: [ReceiptKind; 8] = [
        ReceiptKind::OfferTaken,
        ReceiptKind::Won,
        ReceiptKind::Lost,
        ReceiptKind::DeliveryTaken,
        ReceiptKind::Waiting,
        ReceiptKind::Paid,
        ReceiptKind::Voided,
        ReceiptKind::Forfeited,
    ];

    /// As in its JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReceiptKind::OfferTaken => "offer-taken",
            ReceiptKind::Won => "won",
            ReceiptKind::Lost => "lost",
            ReceiptKind::DeliveryTaken => "delivery-taken",
            ReceiptKind::Paid => "paid",
            ReceiptKind::Voided => "voided",
            ReceiptKind::Waiting => "waiting",
            ReceiptKind::Forfeited => "forfeited",
        }
    }
}

/// The content of a receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiptContent {
    /// [`RECEIPT_SCHEMA`].
    #[schemars(description = "The schema and its version.", extend("const" = RECEIPT_SCHEMA))]
    pub schema: String,
    /// Where it counts.
    pub context: Context,
    /// What it says.
    pub kind: ReceiptKind,
    /// The hash of the offer it is about.
    pub offer: Digest,
    /// What the payment will be, when won.
    pub promise: Option<Promise>,
    /// The payment, in micro-units, when paid.
    #[schemars(with = "Option<schema::Micros>")]
    pub payment_micros: Option<Amount>,
    /// The salt of the promise, when paid.
    pub salt: Option<Nonce>,
}

/// What a winner is promised. The payment stays hidden until the delivery is paid for: a member that only wants to know what others
/// ask has to sell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// The payment is at least this: the ask, where the mechanism never pays below it.
    #[schemars(with = "schema::Micros")]
    pub least_micros: Amount,
    /// Commits to the payment: SHA-256 over the salt and the eight big-endian bytes of the micro-units.
    pub commitment: Digest,
}

impl Promise {
    pub fn new(least: Amount, payment: Amount, salt: Nonce) -> Promise {
        let commitment = Digest::of_parts([salt.0.as_slice(), &payment.micros().to_be_bytes()]);
        Promise { least_micros: least, commitment }
    }

    /// Whether it was about this payment, and the payment is no less than it said.
    pub fn is_kept_by(&self, payment: Amount, salt: Nonce) -> bool {
        payment >= self.least_micros && Promise::new(self.least_micros, payment, salt) == *self
    }
}

/// What a member is told about the federation, at any time: absolute, so that missing one view loses nothing.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Grows with every step of the federation, not with what single members say; ask again with it to wait for the next.
    pub version: u64,
    /// The last round that ended.
    #[schemars(with = "schema::Round")]
    pub closed: RoundId,
    /// The round that is open.
    pub open: Option<OpenRound>,
    /// The round that is next, if none is open.
    pub next: Option<NextRound>,
    /// The most observations that this member may offer to that round, where there is a quota. For a round that is next it grows
    /// with time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_samples: Option<u64>,
}

/// A round that an offer may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextRound {
    /// Its number.
    #[schemars(with = "schema::Round")]
    pub round: RoundId,
    /// Its nonce, to be signed.
    pub nonce: Nonce,
}

/// A round that is open, as one member sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenRound {
    /// Its number.
    #[schemars(with = "schema::Round")]
    pub round: RoundId,
    /// Its nonce, to be signed.
    pub nonce: Nonce,
    /// What it waits for.
    pub phase: Phase,
    /// Milliseconds until this phase ends.
    pub remaining_ms: u64,
    /// Whether this member has offered or declined.
    pub answered: bool,
    /// Won or lost, once it is decided and if the member offered.
    #[schemars(with = "Option<Signed<ReceiptContent>>")]
    pub decision: Option<Envelope>,
}

/// What an open round waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Offers.
    Offers,
    /// What the winners offered.
    Deliveries,
}

calls! {
    /// What a member asks of the coordinator.
    Member Call, Reply {
        /// The terms of the federation, as the bytes whose SHA-256 every offer names.
        Terms = GET "/v1/terms" => RawTerms,
        /// What a member sees now; waits for a change when it has seen this version already.
        View(query seen: Seen) = GET "/v1/view" => View,
        /// Offers data at a price; the first offer binds. An offer to the next round opens it, if it is reason enough.
        Offer(path round: RoundId, matrix offer: Envelope as Signed<OfferContent>) =
            POST "/v1/rounds/{round}/offer" => ReceiptReply,
        /// Has nothing to offer in a round, so that nobody waits for it.
        Decline(path round: RoundId) = POST "/v1/rounds/{round}/decline" => DeclineReply,
        /// Delivers the moment that a winning offer committed to.
        Deliver(path round: RoundId, body delivery: Envelope as Signed<DeliveryContent>) =
            POST "/v1/rounds/{round}/delivery" => ReceiptReply,
        /// What is settled, if it is newer than what the member has, and the receipts since.
        Sync(body request: SyncRequest) = POST "/v1/sync" => SyncReply,
        /// All receipts of the member about decisions and payments.
        Statement = GET "/v1/statement" => StatementReply,
        /// The signed head of the journal, and that it is how a smaller one went on.
        Head(query after: After) = GET "/v1/head" => Proof,
        /// That the journal has what the member said in a round.
        Said(path round: RoundId) = GET "/v1/rounds/{round}/proof" => Proof,
    }
}

impl Call {
    pub fn round(&self) -> Option<RoundId> {
        match self {
            Call::Offer(round, _) | Call::Decline(round) | Call::Deliver(round, _) | Call::Said(round) => Some(*round),
            _ => None,
        }
    }
}

/// Which view a member has seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Seen {
    /// The version it has; without it the answer comes at once.
    pub after: Option<u64>,
    /// How long to wait for another one; the coordinator may answer sooner, 30000 is the longest.
    pub wait_ms: u64,
}

impl Seen {
    /// Whether there is nothing new for whoever has seen this, when the coordinator is at `version`. A version above ours
    /// means that an older backup was restored: that is news too.
    pub fn is_latest(&self, version: u64) -> bool {
        self.after == Some(version)
    }
}

/// Which head somebody has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct After {
    /// How many entries it has: how the journal grew from there is proved. Without it, nothing is.
    pub from: Option<u64>,
}

/// A member says which snapshot it holds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncRequest {
    /// The last round that is in it; 0 for none.
    #[schemars(with = "schema::Round")]
    pub have: RoundId,
    /// The first round in which it delivered and has no receipt of how its payment ended, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<schema::Round>")]
    pub waiting: Option<RoundId>,
}

/// What it gets.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncReply {
    /// A newer snapshot, if there is one.
    #[schemars(with = "Option<schema::Snapshot>")]
    pub snapshot: Option<Snapshot>,
    /// Paid, waiting or voided, for each round that ended since and in which the member had won; and paid or forfeited, for
    /// each round from `waiting` on whose payment had to wait.
    #[schemars(with = "Vec<Signed<ReceiptContent>>")]
    pub receipts: Vec<Envelope>,
}

/// Reply to an offer or a delivery.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceiptReply {
    /// Signed by the coordinator.
    #[schemars(with = "Signed<ReceiptContent>")]
    pub receipt: Envelope,
}

/// Reply to a decline.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeclineReply {
    /// The round.
    #[schemars(with = "schema::Round")]
    pub round: RoundId,
}

/// All receipts of a member.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementReply {
    /// Whose.
    #[schemars(with = "schema::Member")]
    pub member: ClientId,
    /// Won or lost, by round.
    #[schemars(with = "Vec<Signed<ReceiptContent>>")]
    pub decisions: Vec<Envelope>,
    /// Paid, waiting or voided, by round.
    #[schemars(with = "Vec<Signed<ReceiptContent>>")]
    pub settlements: Vec<Envelope>,
    /// Paid or forfeited, by round, where the payment had to wait.
    #[serde(default)]
    #[schemars(with = "Vec<Signed<ReceiptContent>>")]
    pub resolutions: Vec<Envelope>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Hex;

    #[test]
    fn a_promise_is_kept_by_its_own_payment_and_by_none_below_what_it_says() {
        let (least, payment, salt) = (Amount::from_units(5), Amount::from_units(7), Hex([3; 16]));
        let promise = Promise::new(least, payment, salt);
        assert!(promise.is_kept_by(payment, salt));
        assert!(!promise.is_kept_by(Amount::from_units(8), salt));
        assert!(!promise.is_kept_by(payment, Hex([4; 16])));
        let low = Amount::from_units(4);
        assert!(!Promise::new(least, low, salt).is_kept_by(low, salt), "it was false from the beginning");
    }
}
