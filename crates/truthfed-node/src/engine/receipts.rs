//! What the coordinator signs, and the replies it keeps: asked again, it gives the same.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use truthfed::Amount;
use truthfed::auction::catalog::Claim;
use truthfed::auction::{ClientId, Winner};
use truthfed::protocol::{Judgement, Payment, RoundId};

use super::state::{State, json};
use crate::digest::{Digest, Nonce};
use crate::error::{Code, Refusal};
use crate::journal::Entry;
use crate::ledger::{Checkpoint, Waiting};
use crate::signature::Signer;
use crate::store::{RequestKey, RequestKind, Store, StoredReply};
use crate::wire::{
    Context, Envelope, Promise, RECEIPT_SCHEMA, ReceiptContent, ReceiptKind, ReceiptReply, StatementReply,
};

/// Schema of the signature a nonce is made of.
const NONCE_SCHEMA: &str = "truthfed.nonce/1";
/// Schema of the signature a salt is made of.
const SALT_SCHEMA: &str = "truthfed.payment-salt/1";

impl State {
    /// Tells all winners whether they are paid.
    pub(super) fn settle(
        &mut self,
        round: RoundId,
        paid: &[(ClientId, Amount)],
        waiting: &[(ClientId, Amount)],
        defaulted: &[ClientId],
    ) {
        let void = defaulted.iter().map(|member| self.receipt(member, round, ReceiptKind::Voided));
        let waits = waiting.iter().map(|(member, _)| self.receipt(member, round, ReceiptKind::Waiting));
        let paid = paid.iter().map(|(member, payment)| {
            let receipt = self.receipt(member, round, ReceiptKind::Paid);
            self.with_payment(receipt, *payment)
        });
        let given = paid.chain(waits).chain(void).collect();
        self.give(RequestKind::Settlement, given);
        for (member, _) in waiting {
            let (nonce, offer) = (self.opened().nonce, self.opened().offers[member].digest);
            self.waiting.entry(member.clone()).or_default().insert(round, Waiting { nonce, offer });
        }
    }

    /// Tells whose payments had to wait how they ended.
    pub(super) fn resolve(&mut self, judgement: &Judgement) {
        let paid = judgement.paid.iter().map(|payment| (payment, ReceiptKind::Paid));
        let void = judgement.void.iter().map(|payment| (payment, ReceiptKind::Forfeited));
        let mut given = Vec::new();
        for (Payment { member, round, amount }, kind) in paid.chain(void) {
            let rounds = self.waiting.get_mut(member).expect("a payment that is decided has waited");
            let Waiting { nonce, offer } = rounds.remove(round).expect("a payment that is decided has waited");
            if rounds.is_empty() {
                self.waiting.remove(member);
            }
            let receipt = self.receipt_about((member, *round), (nonce, offer), kind);
            given.push(if kind == ReceiptKind::Paid { self.with_payment(receipt, *amount) } else { receipt });
        }
        self.give(RequestKind::Resolution, given);
    }

    fn with_payment(&self, receipt: ReceiptContent, payment: Amount) -> ReceiptContent {
        let salt = Some(salt(&self.setup.signer, &receipt.context));
        ReceiptContent { payment_micros: Some(payment), salt, ..receipt }
    }

    /// Signs receipts that nobody asked for, and keeps them.
    pub(super) fn give(&mut self, kind: RequestKind, given: Vec<ReceiptContent>) -> Vec<(ClientId, Envelope)> {
        let receipts = receipts(&self.setup.signer, &given);
        let mut all = Vec::with_capacity(given.len());
        for (ReceiptContent { context: Context { member, round, .. }, offer, .. }, receipt) in
            given.into_iter().zip(receipts)
        {
            self.keep(RequestKey { member: member.clone(), round, kind }, offer, json(&receipt));
            all.push((member, receipt));
        }
        all
    }

    /// Signs everything up to here, with the hash of the standing if there is a new one.
    pub(super) fn vouch(&mut self, standing: Option<Digest>) {
        let checkpoint = Checkpoint::sign(&self.setup.signer, self.setup.federation, self.draft.head(), standing);
        self.draft.record(&Entry::Checkpoint(checkpoint));
        self.checkpoint = Some(checkpoint);
    }

    /// A receipt about the offer of a member in the open round.
    pub(super) fn receipt(&self, member: &ClientId, round: RoundId, kind: ReceiptKind) -> ReceiptContent {
        let open = self.opened();
        self.receipt_about((member, round), (open.nonce, open.offers[member].digest), kind)
    }

    fn receipt_about(
        &self,
        (member, round): (&ClientId, RoundId),
        (nonce, offer): (Nonce, Digest),
        kind: ReceiptKind,
    ) -> ReceiptContent {
        let (schema, federation, member) = (RECEIPT_SCHEMA.to_owned(), self.setup.federation, member.clone());
        let context = Context { federation, round, nonce, terms: self.terms, member };
        ReceiptContent { schema, context, kind, offer, promise: None, payment_micros: None, salt: None }
    }

    pub(super) fn promise(&self, winner: &Winner, context: &Context) -> Promise {
        let is_rational = self.setup.agreement.claims().individually_rational == Claim::Yes;
        let least = if is_rational { winner.ask } else { Amount::ZERO };
        Promise::new(least, winner.payment, salt(&self.setup.signer, context))
    }

    /// The reply to an offer or a delivery that was taken.
    pub(super) fn acknowledge(&mut self, key: RequestKey, digest: Digest, kind: ReceiptKind) -> String {
        let content = self.receipt(&key.member, key.round, kind);
        let receipt = self.setup.signer.seal(RECEIPT_SCHEMA, &content);
        let reply = self.keep(key, digest, json(&ReceiptReply { receipt }));
        self.drain();
        reply
    }

    /// The reply to the same request before, if there was one.
    pub(super) fn earlier(
        &mut self,
        key: &RequestKey,
        digest: Digest,
        store: &mut dyn Store,
    ) -> Result<Option<String>, Refusal> {
        self.members.check(&key.member)?;
        #[cfg(feature = "planted-faults")]
        if truthfed::planted::is(truthfed::planted::Fault::NoIdempotency) {
            return Ok(None);
        }
        let is_open = self.machine.open().is_some_and(|open| open.round() == key.round);
        let known = match &self.open {
            Some(open) if is_open => open.replies.get(key).cloned(),
            _ => match self.draft.batch().replies.iter().find(|reply| reply.key == *key) {
                Some(reply) => Some(reply.clone()),
                None => store.reply(key).map_err(|error| Refusal::from(&error))?,
            },
        };
        match known {
            None => Ok(None),
            Some(known) if known.request == digest => Ok(Some(known.body)),
            Some(_) => {
                let RequestKey { member, round, kind } = key;
                let message =
                    format!("{member} already sent another {} in round {round}: the first stands", kind.name());
                Err(Refusal::new(Code::ConflictingRetry, message))
            }
        }
    }

    /// The receipts of one kind that a member was given after a round, with those that are about to be committed.
    pub(super) fn receipts_of(
        &self,
        member: &ClientId,
        kind: RequestKind,
        after: RoundId,
        store: &mut dyn Store,
    ) -> Result<Vec<Envelope>, Refusal> {
        let mut replies = store.replies(member, kind, after).map_err(|error| Refusal::from(&error))?;
        let is_meant = |key: &RequestKey| key.member == *member && key.kind == kind && key.round > after;
        replies.extend(self.draft.batch().replies.iter().filter(|reply| is_meant(&reply.key)).cloned());
        let read = |reply: StoredReply| serde_json::from_str(&reply.body);
        let receipts: Result<_, _> = replies.into_iter().map(read).collect();
        receipts.map_err(|error| Refusal::new(Code::Internal, format!("a stored receipt cannot be read: {error}")))
    }

    pub(super) fn statement(&mut self, member: &ClientId, store: &mut dyn Store) -> Result<String, Refusal> {
        let mut of = |kind| self.receipts_of(member, kind, RoundId(0), store);
        let (decisions, settlements) = (of(RequestKind::Decision)?, of(RequestKind::Settlement)?);
        let resolutions = of(RequestKind::Resolution)?;
        Ok(json(&StatementReply { member: member.clone(), decisions, settlements, resolutions }))
    }

    pub(super) fn keep(&mut self, key: RequestKey, request: Digest, body: String) -> String {
        let reply = StoredReply { key: key.clone(), request, body: body.clone() };
        if let Some(open) = &mut self.open {
            open.replies.insert(key, reply.clone());
        }
        self.draft.keep(reply);
        body
    }
}

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
