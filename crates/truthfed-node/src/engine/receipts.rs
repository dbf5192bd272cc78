//! What the coordinator signs.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use truthfed::protocol::RoundId;

use crate::digest::{Digest, Nonce};
use crate::signature::Signer;
use crate::wire::{Context, Envelope, RECEIPT_SCHEMA, ReceiptContent};

/// Schema of the signature a nonce is made of.
const NONCE_SCHEMA: &str = "truthfed.nonce/1";
/// Schema of the signature a salt is made of.
const SALT_SCHEMA: &str = "truthfed.payment-salt/1";

/// Receipts for many members, in their order, signed on all cores: everybody waits for them.
pub(super) fn receipts(signer: &Signer, given: &[ReceiptContent]) -> Vec<Envelope> {
    given.par_iter().map(|content| signer.seal(RECEIPT_SCHEMA, content)).collect()
}

/// The salt of a winner's promise: secret as the key is, and the same after a crash.
pub(super) fn salt(signer: &Signer, context: &Context) -> Nonce {
    signer.nonce(SALT_SCHEMA, &serde_json::to_vec(context).expect("names and numbers are JSON"))
}

/// The nonce of a round. Nobody can know it before the round before has ended, and it is the same after a crash.
pub(super) fn nonce(signer: &Signer, federation: Digest, round: RoundId, settled: Digest) -> Nonce {
    signer.nonce(NONCE_SCHEMA, format!("{federation} {round} {settled}").as_bytes())
}
