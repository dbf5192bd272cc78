//! What the coordinator signs.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use crate::digest::{Digest, Nonce, Signature};
use crate::journal::Head;
use crate::ledger::{CHECKPOINT_SCHEMA, Checkpoint, SEAL_SCHEMA, checkpoint_bytes, sealed_bytes};
use crate::signature::Signer;
use crate::wire::{Context, Envelope, RECEIPT_SCHEMA, ReceiptContent, ReceiptKind};

/// Schema of the signature a nonce is made of.
const NONCE_SCHEMA: &str = "truthfed.nonce/1";

/// Where receipts of a round count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    pub(super) federation: Digest,
    pub(super) round: RoundId,
    pub(super) nonce: Nonce,
    pub(super) terms: Digest,
}

/// What a member is given a receipt for.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) member: ClientId,
    pub(super) kind: ReceiptKind,
    pub(super) offer: Digest,
    pub(super) payment: Option<Amount>,
}

/// A receipt for a member.
pub(super) fn receipt(signer: &Signer, scope: Scope, given: &Given) -> Envelope {
    let Scope { federation, round, nonce, terms } = scope;
    let Given { member, kind, offer, payment } = given.clone();
    let context = Context { federation, round, nonce, terms, member };
    let schema = RECEIPT_SCHEMA.to_owned();
    signer.seal(RECEIPT_SCHEMA, &ReceiptContent { schema, context, kind, offer, payment_micros: payment })
}

/// Receipts for many members, in their order, signed on all cores: everybody waits for them.
pub(super) fn receipts(signer: &Signer, scope: Scope, given: &[Given]) -> Vec<Envelope> {
    given.par_iter().map(|given| receipt(signer, scope, given)).collect()
}

/// The nonce of a round. Nobody can know it before the round is opened, and a round that is opened again after a crash
/// has the same one.
pub(super) fn nonce(signer: &Signer, federation: Digest, round: RoundId, head: Digest) -> Nonce {
    signer.nonce(NONCE_SCHEMA, format!("{federation} {round} {head}").as_bytes())
}

/// Signs the offers of a round.
pub(super) fn seal(signer: &Signer, federation: Digest, round: RoundId, offers: Digest) -> Signature {
    signer.sign(SEAL_SCHEMA, &sealed_bytes(federation, round, offers))
}

/// Vouches for the journal up to its end.
pub(super) fn vouch(signer: &Signer, federation: Digest, Head { number, hash }: Head) -> Checkpoint {
    let signature = signer.sign(CHECKPOINT_SCHEMA, &checkpoint_bytes(federation, number, hash));
    Checkpoint { entry: number, head: hash, signature }
}
