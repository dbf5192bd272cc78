//! The engine's state between two commits, and what a request does to it.
//!
//! Whatever happens here is provisional until the draft is committed; if that fails, the state is read from the store again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use truthfed::auction::{ClientId, Outcome};
use truthfed::protocol::{
    Bounds, Coordinator, Ending, Input, OpenRound, Output, QualityRule, Rejection, Request, RoundId, RoundRecord,
    Ruling, SetAside, Share, Surprise, Time,
};
use truthfed::statistics::{Gram, Statistics};

use super::command::{Command, Kind, Renewed};
use super::core::Answer;
use super::draft::Draft;
use super::intake::{Checked, Offered};
use super::payout;
use super::published::{Counts, MemberInfo, Members, Published, PublishedRound};
use super::receipts;
use super::reply::Reply;
use super::{EngineError, Setup};
use crate::digest::{Digest, Nonce, PublicKey};
use crate::error::{Code, Refusal};
use crate::identity::Renewal;
use crate::journal::{Award, Entry, seal};
use crate::ledger::{Checkpoint, Pause, Reason, Seal, StandingBody, Waiting, aggregate_digest};
use crate::store::{Batch, RequestKey, RequestKind, Store, StoredReply};
use crate::wire::{
    Call, DeclineReply, DeliveryContent, Envelope, Phase, ReceiptContent, ReceiptKind, SyncReply, SyncRequest,
    commitment,
};

pub(super) struct State {
    pub(super) setup: Setup,
    pub(super) terms: Digest,
    /// The time of this batch: all that is in it happens at once, after what time itself brings about.
    pub(super) moment: Time,
    pub(super) machine: Coordinator,
    pub(super) members: Arc<Members>,
    pub(super) open: Option<Open>,
    pub(super) draft: Draft,
    pub(super) counts: Counts,
    /// To be written beside the store once the draft is committed.
    pub(super) checkpoint: Option<Checkpoint>,
    /// What was settled when a round ended, as all its members are told: at 512 dimensions it is over a megabyte.
    pub(super) settled: Option<(RoundId, Bytes)>,
    /// The same, to weigh offers by.
    pub(super) ground: Arc<Gram>,
    /// How many samples members may offer, where there is a quota.
    pub(super) bounds: Option<Arc<Bounds>>,
    /// The nonce of the round that is next.
    pub(super) next: Nonce,
    /// The latest time of a round in the journal: no later entry has an earlier one.
    pub(super) latest: Time,
    /// The same of a payout or a pause: it moves no round on, and no later entry has an earlier time either.
    pub(super) noted: Time,
    /// The offers whose payments wait.
    pub(super) waiting: BTreeMap<ClientId, BTreeMap<RoundId, Waiting>>,
    /// Whether no round opens, and why.
    pub(super) paused: Option<Pause>,
    /// How rounds ended, for a driver that wants to know.
    pub(super) records: Option<Vec<RoundRecord>>,
}

/// How far the clock of the host may lie behind the journal: the time of rounds stands still until it has caught up.
const MOST_BEHIND_MS: u64 = 300_000;

/// What the machine does not know of the open round: nothing of it is in [`OpenRound`].
pub(super) struct Open {
    pub(super) nonce: Nonce,
    pub(super) offers: BTreeMap<ClientId, Taken>,
    pub(super) decisions: Arc<BTreeMap<ClientId, Envelope>>,
    pub(super) replies: BTreeMap<RequestKey, StoredReply>,
}

/// What an offer that binds was signed with.
pub(super) struct Taken {
    pub(super) digest: Digest,
    pub(super) commitment: Digest,
}

impl Open {
    pub(super) fn new(nonce: Nonce) -> Open {
        Open { nonce, offers: BTreeMap::new(), decisions: Arc::default(), replies: BTreeMap::new() }
    }
}

impl State {
    pub(super) fn now(&self) -> Time {
        self.setup.clock.now()
    }

    /// Number of the last entry, with the draft.
    pub(super) fn version(&self) -> u64 {
        self.draft.head().number
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        self.machine.open().map(OpenRound::deadline)
    }

    pub(super) fn is_changed(&self) -> bool {
        !self.draft.is_empty()
    }

    pub(super) fn batch(&self) -> &Batch {
        self.draft.batch()
    }

    pub(super) fn committed(&mut self, took: Duration) -> Result<(), EngineError> {
        self.draft.committed();
        self.counts.commits += 1;
        self.counts.commit_us += took.as_micros() as u64;
        match self.checkpoint.take() {
            Some(checkpoint) => self.setup.checkpoint.write(&checkpoint),
            None => Ok(()),
        }
    }

    pub(super) fn published(&self) -> Published {
        let open = self.machine.open().zip(self.open.as_ref()).map(|(round, open)| PublishedRound {
            round: round.round(),
            nonce: open.nonce,
            phase: if round.is_awarded() { Phase::Deliveries } else { Phase::Offers },
            opened: round.opened(),
            deadline: round.deadline(),
            answered: round.answered().cloned().collect(),
            decisions: open.decisions.clone(),
        });
        Published {
            federation: self.setup.federation,
            agreement: self.setup.agreement.clone(),
            entries: self.version(),
            news: self.draft.news(),
            closed: self.machine.closed(),
            members: self.members.clone(),
            next: open.is_none().then_some(self.next),
            settled: self.ground.clone(),
            bounds: self.bounds.clone(),
            clock: self.setup.clock.clone(),
            open,
            paused: self.paused.clone(),
            counts: self.counts,
        }
    }

    pub(super) fn tick(&mut self) {
        self.moment = self.now().max(self.recorded());
        self.handle_input(Input::Tick).expect("time can always pass");
        self.drain();
    }

    pub(super) fn apply(&mut self, Command(kind): Command, store: &mut dyn Store) -> Answer {
        let text = match kind {
            Kind::Call(member, Call::Sync(request)) => return self.sync(&member, request, store),
            Kind::Offer(offer) => self.offer(*offer, store),
            Kind::Deliver(delivery) => self.deliver(*delivery, store),
            Kind::Call(member, call) => self.call(&member, &call, store),
            Kind::Known(answer) => Ok(answer),
            Kind::Enrol(member, info) => self.enrol(member, &info),
            Kind::Revoke(member) => self.revoke(&member),
            Kind::Renew(member, renewed) => self.renew(&member, &renewed),
            Kind::Rule(member, ruling) => self.rule(member, ruling),
            Kind::PayOut(member, amount, reference) => payout::record(self, member, amount, reference, store),
            Kind::Pause(reason) => Ok(self.pause(reason)),
            Kind::Abort(round, reason) => self.abort(round, reason),
            Kind::Resume => Ok(self.resume()),
            Kind::Read(read) => {
                read(store);
                Ok(String::new())
            }
        };
        text.map(Reply::from)
    }

    fn call(&mut self, member: &ClientId, call: &Call, store: &mut dyn Store) -> Result<String, Refusal> {
        match call {
            Call::Decline(round) => self.decline(member, *round, store),
            Call::Statement => self.statement(member, store),
            Call::Offer(..) | Call::Deliver(..) => {
                unreachable!("signed messages are checked, and of a kind of their own")
            }
            Call::Sync(_) => unreachable!("its reply is of a kind of its own"),
            Call::Head(_) | Call::Said(_) => unreachable!("the engine refuses them: it keeps no tree"),
            Call::Terms | Call::View(_) => unreachable!("what is published is known before it comes here"),
        }
    }

    fn handle_input(&mut self, input: Input) -> Result<truthfed::protocol::Accepted, Rejection> {
        self.machine.handle(self.moment, input)
    }

    fn request(&mut self, member: &ClientId, request: Request) -> Result<(), Refusal> {
        self.members.check(member)?;
        self.handle_input(Input::Request(member.clone(), request))?;
        Ok(())
    }

    /// The time of an entry, which is the latest from now on.
    fn at(&mut self) -> Time {
        self.latest = self.moment;
        self.moment
    }

    /// The latest time in the journal, of whatever entry.
    pub(super) fn recorded(&self) -> Time {
        self.latest.max(self.noted)
    }

    fn check_clock(&self) -> Result<(), Refusal> {
        let behind_ms = self.recorded().0.saturating_sub(self.now().0);
        if behind_ms <= MOST_BEHIND_MS {
            return Ok(());
        }
        let message = format!("the coordinator's clock is {} s behind its journal: no round opens", behind_ms / 1000);
        Err(Refusal::new(Code::ClockBehind, message))
    }

    fn offer(&mut self, offer: Checked<Offered>, store: &mut dyn Store) -> Result<String, Refusal> {
        let Checked { member, round, content, digest, envelope, key: signed_by } = offer;
        let key = RequestKey { member: member.clone(), round, kind: RequestKind::Offer };
        if let Some(reply) = self.earlier(&key, digest, store)? {
            return Ok(reply);
        }
        self.check_present(&member, &signed_by)?;
        let Offered { commitment, offer } = content;
        let offer = offer.ok_or_else(|| self.not_open(round))?;
        if self.open.is_none() {
            self.check_clock()?;
            self.check_not_paused()?;
        }
        self.handle_input(Input::Offer(round, Box::new(offer)))?;
        if self.open.is_none() {
            let (nonce, asked_by, at_ms) = (self.next, member.clone(), self.at());
            self.draft.record(&Entry::Opened { round, nonce, asked_by, at_ms });
            self.open = Some(Open::new(nonce));
        }
        self.draft.record(&Entry::Offered { round, member: member.clone(), offer: envelope });
        self.counts.offers += 1;
        self.open_mut().offers.insert(member, Taken { digest, commitment });
        Ok(self.acknowledge(key, digest, ReceiptKind::OfferTaken))
    }

    /// A message was checked before its turn came: its member may have renewed its key meanwhile, and whoever reads the journal
    /// expects the new one.
    fn check_present(&self, member: &ClientId, key: &PublicKey) -> Result<(), Refusal> {
        match self.members.check(member)?.key == *key {
            true => Ok(()),
            false => Err(Code::CertificateReplaced.into()),
        }
    }

    /// Why an offer is not taken whose round was not open when it came: neither its nonce nor its matrix was looked at.
    fn not_open(&self, got: RoundId) -> Refusal {
        match self.machine.open().map(OpenRound::round) {
            Some(open) if open == got => {
                Refusal::new(Code::StaleRound, format!("round {got} opened after the offer was sent: look again"))
            }
            open => Rejection::StaleRound { got, last: open.unwrap_or_else(|| self.machine.closed()) }.into(),
        }
    }

    fn decline(&mut self, member: &ClientId, round: RoundId, store: &mut dyn Store) -> Result<String, Refusal> {
        // A decline takes the place of an offer: whichever came first stands.
        let key = RequestKey { member: member.clone(), round, kind: RequestKind::Offer };
        let digest = Digest::of(b"decline");
        if let Some(reply) = self.earlier(&key, digest, store)? {
            return Ok(reply);
        }
        self.request(member, Request::Decline(round))?;
        self.draft.record(&Entry::Declined { round, member: member.clone() });
        let reply = self.keep(key, digest, json(&DeclineReply { round }));
        self.drain();
        Ok(reply)
    }

    fn deliver(&mut self, delivery: Checked<DeliveryContent>, store: &mut dyn Store) -> Result<String, Refusal> {
        let Checked { member, round, content, digest, envelope, key: signed_by } = delivery;
        let key = RequestKey { member: member.clone(), round, kind: RequestKind::Delivery };
        if let Some(reply) = self.earlier(&key, digest, store)? {
            return Ok(reply);
        }
        self.check_present(&member, &signed_by)?;
        let open = self.machine.open().filter(|open| open.round() == round && open.is_awarded());
        let offered = open.and_then(|open| open.offer(&member));
        let taken = offered.and(self.open.as_ref()).and_then(|open| open.offers.get(&member));
        match taken {
            Some(taken) if content.offer != taken.digest => {
                return Err(Refusal::new(Code::OtherOffer, "offer: is not the hash of the offer that was taken"));
            }
            Some(taken) if commitment(content.salt, &content.moment) != taken.commitment => {
                return Err(Refusal::new(Code::MomentNotCommitted, "moment: is not the one the offer committed to"));
            }
            _ => {}
        }
        // What the delivery is compared with is taken now, for it may end the round; it is compared once it is found valid.
        let is_flagged_only = self.setup.agreement.raw().quality.rule == QualityRule::Flag;
        let before = is_flagged_only.then(|| (self.machine.settled_without(&member), content.moment.clone()));
        let offered = offered.map(|(offer, samples)| (offer.gram.clone(), samples));
        self.request(&member, Request::Deliver(round, content.moment))?;
        let compared = before.zip(offered);
        if compared.is_some_and(|(before, (gram, samples))| self.is_surprising(&before, (&gram, samples))) {
            tracing::warn!(round = round.0, %member, "a delivery fits what is settled badly: it is taken, have a look");
        }
        self.draft.record(&Entry::Delivered { round, member, delivery: envelope });
        self.counts.deliveries += 1;
        Ok(self.acknowledge(key, digest, ReceiptKind::DeliveryTaken))
    }

    /// Whether a moment fits what others had settled before it badly: told in the log, not punished.
    fn is_surprising(&self, (settled, moment): &(Statistics, Vec<f64>), offered: (&Gram, u64)) -> bool {
        let bandit = self.setup.agreement.bandit();
        let surprise = Surprise::of(settled, bandit.lambda(), bandit.sigma(), offered, moment);
        surprise.is_some_and(|found| found.is_flagged())
    }

    fn sync(&mut self, member: &ClientId, request: SyncRequest, store: &mut dyn Store) -> Answer {
        self.members.check(member)?;
        let SyncRequest { have, waiting } = request;
        let mut receipts = self.receipts_of(member, RequestKind::Settlement, have, store)?;
        // What this member does not know to wait may have waited and ended since.
        let since = waiting.map_or(have, |first| have.min(RoundId(first.0.saturating_sub(1))));
        receipts.extend(self.receipts_of(member, RequestKind::Resolution, since, store)?);
        let closed = self.machine.closed();
        if closed <= have {
            return Ok(json(&SyncReply { snapshot: None, receipts }).into());
        }
        // The fields of a `SyncReply`, around what all members are told: a test compares them.
        let settled = self.machine.conduct(member).and_then(|conduct| conduct.settled);
        let own = self.machine.shares().get(member).and_then(Share::own);
        let own = own.map_or_else(String::new, |own| format!(r#","own":{}"#, json(&own)));
        let (settled, receipts) = (json(&settled), json(&receipts));
        let before = format!(r#"{{"snapshot":{{"closed":{closed},"settled":{settled},"statistics":"#);
        Ok(Reply::around(self.settled(closed), before, format!(r#"{own}}},"receipts":{receipts}}}"#)))
    }

    /// What is settled after the last round that ended, written once for all.
    fn settled(&mut self, closed: RoundId) -> Bytes {
        match &self.settled {
            Some((round, text)) if *round == closed => text.clone(),
            _ => self.settled.insert((closed, json(self.machine.settled()).into())).1.clone(),
        }
    }

    fn enrol(&mut self, member: ClientId, info: &MemberInfo) -> Result<String, Refusal> {
        let MemberInfo { key, certificate, .. } = *info;
        if self.members.by_name().get(&member) == Some(info) {
            // The reply was lost.
            return Ok("{}".to_owned());
        }
        self.check_new(&member, &key, &certificate)?;
        self.draft.record(&Entry::Enrolled { member: member.clone(), key, certificate });
        self.vouch(None);
        self.take_in(member, key, certificate);
        Ok("{}".to_owned())
    }

    /// Name, key and certificate are no other member's, present or past: a signature must tell who signed.
    pub(super) fn check_new(&self, member: &ClientId, key: &PublicKey, certificate: &Digest) -> Result<(), Refusal> {
        let members = self.members.by_name();
        if members.contains_key(member) {
            let message = format!("{member} is or was a member already: take another name");
            return Err(Refusal::new(Code::MemberExists, message));
        }
        self.check_unused(key, certificate)
    }

    /// Key and certificate are nobody's, present or past.
    fn check_unused(&self, key: &PublicKey, certificate: &Digest) -> Result<(), Refusal> {
        let message = if let Some(holder) = self.members.holder(certificate) {
            format!("the certificate is or was {holder}'s: issue another")
        } else if let Some(holder) = self.members.key_holder(key) {
            format!("the key is or was {holder}'s: issue a certificate with another")
        } else {
            return Ok(());
        };
        Err(Refusal::new(Code::MemberExists, message))
    }

    /// A member from now on.
    pub(super) fn take_in(&mut self, member: ClientId, key: PublicKey, certificate: Digest) {
        self.machine.enrol(member.clone());
        Arc::make_mut(&mut self.members).enrol(member, MemberInfo::new(key, certificate));
    }

    /// A member goes on with another key and certificate. While a round is open its messages are signed with the key that it
    /// had when the round was opened.
    fn renew(&mut self, member: &ClientId, renewed: &Renewed) -> Result<String, Refusal> {
        let Renewed { key, certificate, signature } = *renewed;
        let known = self.members.check(member)?;
        if (known.key, known.certificate) == (key, certificate) {
            // The reply was lost.
            return Ok("{}".to_owned());
        }
        if self.machine.open().is_some() {
            let round = RoundId(self.machine.closed().0 + 1);
            let message = format!("round {round} is open: a member renews between rounds");
            return Err(Refusal::new(Code::RoundOpen, message));
        }
        let renewal = Renewal { federation: self.setup.federation, member: member.clone(), key };
        if !renewal.is_signed_by(&known.key, &signature) {
            let message = format!("{member} did not sign the renewal with its present key");
            return Err(Refusal::new(Code::BadRenewal, message));
        }
        self.check_unused(&key, &certificate)?;
        self.draft.record(&Entry::Renewed { member: member.clone(), key, certificate, signature });
        self.vouch(None);
        self.take_over(member, key, certificate);
        Ok("{}".to_owned())
    }

    /// The member's key and certificate are these from now on.
    pub(super) fn take_over(&mut self, member: &ClientId, key: PublicKey, certificate: Digest) {
        Arc::make_mut(&mut self.members).renew(member, key, certificate);
    }

    fn revoke(&mut self, member: &ClientId) -> Result<String, Refusal> {
        if self.members.by_name().get(member).is_some_and(|known| known.is_revoked) {
            // The reply was lost.
            return Ok("{}".to_owned());
        }
        self.members.check(member)?;
        self.draft.record(&Entry::Revoked { member: member.clone() });
        self.vouch(None);
        self.take_out(member, self.moment);
        self.drain();
        Ok("{}".to_owned())
    }

    /// No member any more.
    pub(super) fn take_out(&mut self, member: &ClientId, now: Time) {
        Arc::make_mut(&mut self.members).revoke(member);
        if let Some(open) = self.open.as_mut()
            && self.machine.open().is_some_and(|round| !round.is_awarded())
        {
            open.offers.remove(member);
        }
        self.machine.revoke(now, member);
    }

    pub(super) fn drain(&mut self) {
        while let Some(output) = self.machine.poll() {
            match output {
                // Members see it in their views and snapshots.
                Output::Opened(_) | Output::News(_) | Output::Ruled(_) => {}
                Output::Awarded(round, outcome, aside) => self.awarded(round, &outcome, aside),
                Output::Ended(record) => self.ended(*record),
            }
        }
    }

    fn awarded(&mut self, round: RoundId, outcome: &Outcome, aside: Vec<SetAside>) {
        for SetAside { client, samples, room } in &aside {
            tracing::warn!(round = round.0, member = %client, samples, room, "an offer is set aside: it exceeds the capacity");
        }
        let federation = self.setup.federation;
        let offers = seal(self.opened().offers.iter().map(|(member, taken)| (member, taken.digest)));
        let at_ms = self.at();
        let signature = Seal { federation, round, offers, at: at_ms }.sign(&self.setup.signer);
        self.draft.record(&Entry::Sealed { round, offers, at_ms, signature });
        self.draft.record(&Entry::Awarded { round, winners: Award::all(outcome), aside });
        let decided = |member: &ClientId| {
            let winner = outcome.winner(member);
            let kind = if winner.is_some() { ReceiptKind::Won } else { ReceiptKind::Lost };
            let receipt = self.receipt(member, round, kind);
            let promise = winner.map(|winner| self.promise(winner, &receipt.context));
            ReceiptContent { promise, ..receipt }
        };
        let given = self.opened().offers.keys().map(decided).collect();
        let decisions = self.give(RequestKind::Decision, given).into_iter().collect();
        self.open_mut().decisions = Arc::new(decisions);
    }

    fn ended(&mut self, record: RoundRecord) {
        let round = record.round;
        if let Some(records) = &mut self.records {
            records.push(record.clone());
        }
        match record.ending {
            Ending::Settled { paid, waiting, defaulted, judgement, .. } => {
                let aggregate = aggregate_digest(self.machine.settled());
                self.settle(round, &paid, &waiting, &defaulted);
                self.resolve(&judgement);
                self.counts.settled += 1;
                self.counts.payments += (paid.len() + judgement.paid.len()) as u64;
                self.counts.defaults += defaulted.len() as u64;
                self.counts.held += judgement.held.len() as u64;
                let [paid, waiting] =
                    [paid, waiting].map(|payments| payments.into_iter().map(|(member, _)| member).collect());
                let at_ms = self.at();
                let judgement = *judgement;
                self.draft.record(&Entry::Settled { round, paid, waiting, defaulted, judgement, aggregate, at_ms });
            }
            Ending::NoOffers => self.aborted(round, "nobody offered anything in time".to_owned(), false),
            Ending::Invalid(error) => self.aborted(round, error.to_string(), false),
            Ending::Refused(refusal) => self.aborted(round, refusal.to_string(), false),
            Ending::Aborted(reason) => self.aborted(round, reason, true),
        }
        self.open = None;
        self.stand();
    }

    /// What the operator rules about the data of a member, between two rounds.
    fn rule(&mut self, member: ClientId, ruling: Ruling) -> Result<String, Refusal> {
        let judgement = self.machine.rule(self.moment, &member, ruling)?;
        self.drain();
        self.resolve(&judgement);
        self.counts.payments += judgement.paid.len() as u64;
        let (round, aggregate, at_ms) = (self.machine.closed(), aggregate_digest(self.machine.settled()), self.at());
        let reply = json(&judgement);
        self.draft.record(&Entry::Ruled { round, member, ruling, judgement, aggregate, at_ms });
        self.stand();
        Ok(reply)
    }

    /// The operator ends a round that takes offers.
    fn abort(&mut self, round: RoundId, reason: Reason) -> Result<String, Refusal> {
        self.machine.abort(self.moment, round, reason.into())?;
        self.drain();
        Ok("{}".to_owned())
    }

    /// Keeps what the coordinator is now that a round has ended.
    fn stand(&mut self) {
        let body = StandingBody {
            standing: self.machine.standing(),
            ended: self.latest,
            members: self.members.by_name().clone(),
            postings: self.draft.ledger().postings(),
            waiting: self.waiting.clone(),
            paused: self.paused.clone(),
        };
        let body = body.json();
        self.vouch(Some(Digest::of(body.as_bytes())));
        self.draft.stand(body);
        self.look_ahead();
    }

    /// What members need to know to open the next round. Nothing that comes between two rounds changes it.
    pub(super) fn look_ahead(&mut self) {
        let (round, settled) = (RoundId(self.machine.closed().0 + 1), aggregate_digest(self.machine.settled()));
        self.next = receipts::nonce(&self.setup.signer, self.setup.federation, round, settled);
        self.ground = Arc::new(self.machine.settled().gram().clone());
        self.bounds = self.machine.bounds().map(Arc::new);
    }

    fn aborted(&mut self, round: RoundId, reason: String, by_operator: bool) {
        self.counts.aborted += 1;
        let at_ms = self.at();
        self.draft.record(&Entry::Aborted { round, reason, at_ms, by_operator });
    }

    pub(super) fn opened(&self) -> &Open {
        self.open.as_ref().expect("the machine and the engine agree on the open round")
    }

    pub(super) fn open_mut(&mut self) -> &mut Open {
        self.open.as_mut().expect("the machine and the engine agree on the open round")
    }
}

pub(super) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our own structs are JSON")
}
