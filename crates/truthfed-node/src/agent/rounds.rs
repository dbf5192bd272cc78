//! An agent's part in rounds, without a network: what it would send next, and what a reply means to it.
//!
//! Nothing is said before it is written: what a round is answered with is signed and kept in the same transaction
//! that puts the data in flight, so that a crash at any point repeats the same bytes, or nothing.

use truthfed::Amount;
use truthfed::auction::catalog::Claim;
use truthfed::bandit::RefreshError;
use truthfed::protocol::{InFlight, RoundId, Snapshot};
use truthfed::statistics::Statistics;

use super::conversation::Speaker;
use super::core::Agent;
use super::receipts::{BadReceipt, Known};
use super::state::{Event, EventError, State};
use super::store::{Beside, FileError, Receipt, SignedOffer};
use crate::digest::Nonce;
use crate::wire::{
    Call, Context, DELIVERY_SCHEMA, DeliveryContent, Envelope, NextRound, OFFER_SCHEMA, OfferContent, OpenRound, Phase,
    Promise, ReceiptContent, ReceiptKind, ReceiptReply, Reply, SyncReply, SyncRequest, View, commitment,
};

/// Schema of the signature a salt is made of.
const SALT_SCHEMA: &str = "truthfed.salt/1";

#[derive(Debug, Clone)]
pub enum Step {
    /// Nothing, as long as the view stays the same.
    Nothing,
    /// Decide on a price, and hand it to [`Speaker::opened`]: for a round, open or next, its nonce, and what is there to offer.
    Price(RoundId, Nonce, Option<Statistics>),
    /// Send this, and hand the reply to [`Speaker::taken`].
    Send(Call),
}

#[derive(Debug, thiserror::Error)]
pub enum StepError {
    #[error(transparent)]
    BadReceipt(#[from] BadReceipt),
    /// Coordinator: a snapshot that no data gives, or that does not fit the terms.
    #[error("snapshot: {0}")]
    Snapshot(#[from] RefreshError),
    /// Coordinator: it says that a round has ended and shows nothing of it.
    #[error("round {ended} has ended, but the snapshot that came is of round {got}")]
    NoSnapshot { ended: RoundId, got: RoundId },
    /// Coordinator: a round has another nonce than it was opened with.
    #[error("round {0} has another nonce than before")]
    OtherNonce(RoundId),
    /// Coordinator: it lacks what this agent has heard, and perhaps holds a receipt for. An old backup was put in place of the
    /// store, or a coordinator that was replaced has not noticed yet: that passes within seconds.
    #[error(
        "the coordinator went back to the end of round {shown}, but this agent has seen round {seen}: \
         an old backup was restored, or a coordinator that was replaced still answers. {}", proof(.receipt)
    )]
    RolledBack { shown: RoundId, seen: RoundId, receipt: Option<(RoundId, ReceiptKind)> },
    /// Coordinator: its journal went another way than it did when this agent looked last. Members see different ones, or an old
    /// backup was restored and went on.
    #[error(
        "the coordinator signed two histories: the journal of {shown} entries does not go on from that of {kept} entries, which this \
         agent has seen. Keep the agent's file: it has both heads, signed by the coordinator; `truthfed member head` prints them. \
         Show them to the other members"
    )]
    TwoHistories { kept: u64, shown: u64 },
    /// Coordinator: an old backup was restored, or a coordinator that was replaced still answers.
    #[error("the coordinator shows a journal of {shown} entries, but this agent has seen {kept}")]
    HeadBehind { kept: u64, shown: u64 },
    /// Coordinator: what it gives for a head is none.
    #[error("the head of the coordinator's journal: {0}")]
    Head(String),
    /// Member: the file is an old copy. What it counts as new was delivered already and must not be sold twice: put the
    /// latest file back, or remove it to begin anew with what is settled.
    #[error("round {0} settled a delivery that this agent's file knows nothing of: the file is an old copy")]
    OldFile(RoundId),
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<EventError> for StepError {
    fn from(error: EventError) -> StepError {
        match error {
            EventError::Snapshot(error) => StepError::Snapshot(error),
            EventError::Observation(error) => FileError::Damaged(error.to_string()).into(),
        }
    }
}

fn proof(receipt: &Option<(RoundId, ReceiptKind)>) -> String {
    match receipt {
        None => "The agent holds no receipt of what is missing".to_owned(),
        Some((round, kind)) => format!(
            "Keep the agent's file: it has the receipt `{}` of round {round}, signed by the coordinator. \
             `truthfed ledger statement BUNDLE` checks the receipts while the agent is stopped",
            kind.name()
        ),
    }
}

impl Speaker for Agent {
    /// The coordinator shows a step before it answers whoever took it, so a view that was asked for after a reply lacks nothing
    /// of it. One that does comes from a store that went back, or from a coordinator that was replaced and has not noticed.
    /// The agent cannot tell them apart, and reports both at once: the second ends by itself, with the next view.
    fn heard(&mut self, view: &View) -> Result<(), StepError> {
        self.take_up()?;
        self.heads()?.check()?;
        let (shown, closed) = (view.closed, self.state.machine.closed());
        let receipt = self.store.last_receipt(shown)?;
        match receipt {
            _ if shown < closed => Err(StepError::RolledBack { shown, seen: closed, receipt }),
            Some((seen, kind)) if shown == closed && !self.shows(view, seen, kind) => {
                Err(StepError::RolledBack { shown, seen, receipt })
            }
            _ => Ok(()),
        }
    }

    fn next_step(&mut self, view: &View) -> Result<Step, StepError> {
        self.take_up()?;
        self.most = view.most_samples;
        let closed = self.state.machine.closed();
        if view.closed > closed {
            let waiting = self.store.first_waiting()?;
            return Ok(Step::Send(Call::Sync(SyncRequest { have: closed, waiting })));
        }
        match &view.open {
            // Overtaken by the reply to a call since: the next one says more.
            _ if view.closed < closed => Ok(Step::Nothing),
            _ if self.finished == Some(RoundId(closed.0 + 1)) => Ok(Step::Nothing),
            None => view.next.map_or(Ok(Step::Nothing), |next| self.before_round(next)),
            Some(open) if open.round.0 != closed.0 + 1 => Ok(Step::Nothing),
            Some(open) => self.in_round(open),
        }
    }

    fn opened(&mut self, round: RoundId, nonce: Nonce, ask: Option<Amount>) -> Result<(), StepError> {
        self.happen(&Event::Opened { round, nonce, ask, most: self.most }, |agent, next| {
            let offer = next.in_flight_in(round).map(|offered| (round, agent.sign(nonce, offered)));
            Beside { offer, ..Beside::default() }
        })
    }

    fn taken(&mut self, call: &Call, reply: Reply, ended: RoundId) -> Result<(), StepError> {
        match (call, reply) {
            (Call::Offer(round, _), Reply::Offer(ReceiptReply { receipt })) => {
                self.receive(*round, ReceiptKind::OfferTaken, receipt)
            }
            (Call::Deliver(round, _), Reply::Deliver(ReceiptReply { receipt })) => {
                self.receive(*round, ReceiptKind::DeliveryTaken, receipt)
            }
            (Call::Sync(_), Reply::Sync(reply)) => self.synced(reply, ended),
            (Call::Decline(round), Reply::Decline(_)) => {
                self.finish(*round);
                Ok(())
            }
            (call, reply) => unreachable!("{call:?} was never sent, or answered with {reply:?}"),
        }
    }

    fn hold_back(&mut self, round: RoundId) {
        self.held_back = Some(round);
    }

    fn finish(&mut self, round: RoundId) {
        self.finished = Some(round);
    }
}

impl Agent {
    /// Whether a view has what a receipt says about a round that has not ended.
    fn shows(&self, view: &View, round: RoundId, kind: ReceiptKind) -> bool {
        let Some(open) = view.open.as_ref().filter(|open| open.round == round) else { return false };
        let is_same = self.state.answer_to(round).is_none_or(|answer| answer.nonce == open.nonce);
        is_same && open.answered && (kind == ReceiptKind::OfferTaken || open.phase == Phase::Deliveries)
    }

    /// Opens the next round with an offer, if it wants one; the same again until it is known to be taken.
    fn before_round(&mut self, next: NextRound) -> Result<Step, StepError> {
        let NextRound { round, nonce } = next;
        match self.state.answer_to(round) {
            Some(answer) if answer.nonce != nonce => Err(StepError::OtherNonce(round)),
            _ if self.held_back == Some(round) => Ok(Step::Nothing),
            Some(_) if self.state.in_flight_in(round).is_some() => {
                let is_taken = self.store.receipt(round, ReceiptKind::OfferTaken)?.is_some();
                let sent = self.signed_offer(round)?;
                Ok(if is_taken { Step::Nothing } else { Step::Send(Call::Offer(round, sent.envelope)) })
            }
            None if self.state.machine.in_flight().is_none() => {
                let data = self.state.machine.to_open(self.most);
                Ok(data.map_or(Step::Nothing, |data| Step::Price(round, nonce, Some(data))))
            }
            _ => Ok(Step::Nothing),
        }
    }

    fn in_round(&mut self, open: &OpenRound) -> Result<Step, StepError> {
        let round = open.round;
        let takes_offers = open.phase == Phase::Offers;
        match self.state.answer_to(round) {
            Some(answer) if answer.nonce != open.nonce => Err(StepError::OtherNonce(round)),
            None if takes_offers && !open.answered => {
                Ok(Step::Price(round, open.nonce, self.state.to_offer(self.most)))
            }
            Some(_) if self.state.in_flight_in(round).is_some() => self.after_offer(open),
            Some(_) if takes_offers && !open.answered => Ok(Step::Send(Call::Decline(round))),
            _ => Ok(Step::Nothing),
        }
    }

    fn after_offer(&mut self, open: &OpenRound) -> Result<Step, StepError> {
        let round = open.round;
        let sent = self.signed_offer(round)?;
        let is_taken = self.store.receipt(round, ReceiptKind::OfferTaken)?.is_some();
        if !is_taken && (open.phase == Phase::Offers || open.answered) {
            // Also when only the receipt was lost on the way: the same bytes get the same reply.
            return Ok(Step::Send(Call::Offer(round, sent.envelope)));
        }
        if !self.has_won(open)? || self.store.receipt(round, ReceiptKind::DeliveryTaken)?.is_some() {
            return Ok(Step::Nothing);
        }
        match self.state.awarded(round) {
            Some(moment) => Ok(Step::Send(Call::Deliver(round, self.delivery(round, &sent, moment)?))),
            None => Ok(Step::Nothing),
        }
    }

    fn signed_offer(&self, round: RoundId) -> Result<SignedOffer, FileError> {
        let missing = || FileError::Damaged(format!("the offer of round {round} is missing"));
        let mut sent = self.store.offer(round)?.ok_or_else(missing)?;
        // The same bytes again, unless the member has renewed its key since.
        let SignedOffer { envelope, .. } = &mut sent;
        envelope.signature = self.membership.signer.sign(OFFER_SCHEMA, envelope.content.get().as_bytes());
        Ok(sent)
    }

    /// Whether the offer won. What the coordinator promised for it is kept before anything is delivered.
    fn has_won(&mut self, open: &OpenRound) -> Result<bool, StepError> {
        for kind in [ReceiptKind::Won, ReceiptKind::Lost] {
            if self.store.receipt(open.round, kind)?.is_some() {
                return Ok(kind == ReceiptKind::Won);
            }
        }
        let Some(decision) = open.decision.clone() else { return Ok(false) };
        let receipt = self.check(decision, open.round, &[ReceiptKind::Won, ReceiptKind::Lost])?;
        let has_won = receipt.kind == ReceiptKind::Won;
        self.keep(receipt)?;
        Ok(has_won)
    }

    pub(super) fn receive(&mut self, round: RoundId, kind: ReceiptKind, receipt: Envelope) -> Result<(), StepError> {
        let receipt = self.check(receipt, round, &[kind])?;
        self.keep(receipt)
    }

    /// Takes over what is settled, up to a round that ended at least; nothing of a reply that cannot be right.
    pub(super) fn synced(&mut self, reply: SyncReply, ended: RoundId) -> Result<(), StepError> {
        self.take_up()?;
        let closed = self.state.machine.closed();
        let SyncReply { snapshot, receipts } = reply;
        let Some(snapshot) = snapshot.filter(|snapshot| snapshot.closed >= ended) else {
            return Err(StepError::NoSnapshot { ended, got: closed });
        };
        let kinds = [ReceiptKind::Paid, ReceiptKind::Voided, ReceiptKind::Waiting, ReceiptKind::Forfeited];
        let check = |receipt| self.membership.check_receipt(receipt, &kinds, |round| self.offer_in(round));
        let receipts = receipts.into_iter().map(check).collect::<Result<Vec<_>, _>>()?;
        self.check_settled(&snapshot, &receipts)?;
        self.happen(&Event::Snapshot(snapshot), |_, _| Beside { receipts, ..Beside::default() })
    }

    /// A delivery that was taken is one that this agent made, and is paid for or will be.
    fn check_settled(&self, snapshot: &Snapshot, receipts: &[Receipt]) -> Result<(), StepError> {
        let closed = self.state.machine.closed();
        let Some(settled) = snapshot.settled.filter(|settled| *settled > closed) else { return Ok(()) };
        match self.state.machine.in_flight() {
            Some(in_flight) if in_flight.round() == settled => {
                let kinds = [ReceiptKind::Paid, ReceiptKind::Waiting];
                let is_owed = |receipt: &Receipt| receipt.round == settled && kinds.contains(&receipt.kind);
                match receipts.iter().any(is_owed) {
                    true => Ok(()),
                    false => Err(BadReceipt(format!("round {settled} is settled without a receipt of payment")).into()),
                }
            }
            // A new file in the place of a lost one: everything in it was learned after what is settled.
            None if closed == RoundId(0) => Ok(()),
            _ => Err(StepError::OldFile(settled)),
        }
    }

    /// Writes an event and what follows from the next state, and lets it take effect.
    fn happen(&mut self, event: &Event, beside: impl FnOnce(&Agent, &State) -> Beside) -> Result<(), StepError> {
        self.take_up()?;
        let mut next = self.state.clone();
        next.apply(event.clone())?;
        let beside = beside(self, &next);
        Ok(self.commit(event, &beside, |state| *state = next)?)
    }

    fn keep(&mut self, receipt: Receipt) -> Result<(), StepError> {
        Ok(self.store.record(None, &Beside { receipts: vec![receipt], ..Beside::default() })?)
    }

    /// A receipt about the offer that was sent in this round.
    fn check(&self, receipt: Envelope, round: RoundId, kinds: &[ReceiptKind]) -> Result<Receipt, StepError> {
        self.membership.check_receipt(receipt, kinds, |_| self.offer_in(round))
    }

    /// What this agent knows about its offer in a round.
    fn offer_in(&self, round: RoundId) -> Result<Option<Known>, FileError> {
        let Some(SignedOffer { envelope, .. }) = self.store.offer(round)? else { return Ok(None) };
        let content = offer_content(round, &envelope)?;
        let promised = match self.store.receipt(round, ReceiptKind::Won)? {
            Some(won) => promise(round, &won.envelope)?,
            None => None,
        };
        let OfferContent { context, ask_micros: ask, .. } = content;
        // Under terms that do not promise the ask, such as those that pay nobody, any payment may be right.
        let is_promised = self.membership.agreement.claims().individually_rational == Claim::Yes;
        let least = if is_promised { ask } else { Amount::ZERO };
        Ok(Some(Known { context, offer: envelope.digest(), least, promised }))
    }

    fn sign(&self, nonce: Nonce, offered: &InFlight) -> SignedOffer {
        let (data, moment) = (offered.statistics(), offered.statistics().moment());
        let membership = &self.membership;
        let context = Context {
            federation: membership.federation,
            round: offered.round(),
            nonce,
            terms: membership.agreement.hash(),
            member: membership.member.clone(),
        };
        // Secret as the key is, and another one for other data: nothing is to be learned from the commitment.
        let secret = serde_json::to_vec(&(&context, moment)).expect("numbers and names are JSON");
        let salt = membership.signer.nonce(SALT_SCHEMA, &secret);
        let content = OfferContent {
            schema: OFFER_SCHEMA.to_owned(),
            context,
            gram: data.gram().clone(),
            samples: data.samples(),
            ask_micros: offered.ask(),
            commitment: commitment(salt, moment),
        };
        SignedOffer { envelope: membership.signer.seal(OFFER_SCHEMA, &content), salt }
    }

    /// The delivery for an offer: always the same bytes, since nothing in it is drawn anew.
    fn delivery(&self, round: RoundId, sent: &SignedOffer, moment: Vec<f64>) -> Result<Envelope, FileError> {
        let context = offer_content(round, &sent.envelope)?.context;
        let schema = DELIVERY_SCHEMA.to_owned();
        let content = DeliveryContent { schema, context, offer: sent.envelope.digest(), moment, salt: sent.salt };
        Ok(self.membership.signer.seal(DELIVERY_SCHEMA, &content))
    }
}

fn offer_content(round: RoundId, envelope: &Envelope) -> Result<OfferContent, FileError> {
    let problem = |error| FileError::Damaged(format!("the offer of round {round} cannot be read: {error}"));
    serde_json::from_str(envelope.content.get()).map_err(problem)
}

fn promise(round: RoundId, won: &Envelope) -> Result<Option<Promise>, FileError> {
    let problem = |error| FileError::Damaged(format!("the receipt of round {round} cannot be read: {error}"));
    let content: ReceiptContent = serde_json::from_str(won.content.get()).map_err(problem)?;
    Ok(content.promise)
}
