//! A federation from its genesis on: hands the recorded steps to the protocol again, and compares what it decides.

mod endings;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use truthfed::Amount;
use truthfed::auction::catalog::Claim;
use truthfed::auction::{ClientId, Outcome, RawMechanism, RoundSpec};
use truthfed::protocol::{
    Accepted, Coordinator, Input, OpenRound, Output, Request, RoundId, RoundRecord, SetAside, Time,
};

use super::place::Place;
use super::prepared::Readable;
use super::replies::Reply;
use super::{Fault, Verdict};
use crate::digest::{Digest, Nonce, PublicKey, Signature};
use crate::engine::MemberInfo;
use crate::identity::Renewal;
use crate::journal::{Award, Entry, Head, seal};
use crate::ledger::Reason;
use crate::ledger::vouch::{Checkpoint, Pause, Seal, StandingBody, Waiting};
use crate::signature::Verifier;
use crate::store::{RequestKey, RequestKind};
use crate::terms::{Agreement, Terms};
use crate::wire::{
    Context, DELIVERY_SCHEMA, DeliveryContent, OFFER_SCHEMA, OfferContent, Promise, RECEIPT_SCHEMA, ReceiptContent,
    ReceiptKind, commitment,
};

/// What began with the genesis.
pub(super) struct Founded {
    federation: Digest,
    coordinator: PublicKey,
    terms: Digest,
    mechanism: RawMechanism,
    /// Whether nobody is paid less than its ask.
    is_rational: bool,
    machine: Coordinator,
    members: BTreeMap<ClientId, Member>,
    /// Of all members, present and past.
    keys: BTreeSet<PublicKey>,
    open: Option<Open>,
    /// The latest time of a round in the journal.
    latest: Time,
    /// The latest time of a payout or a pause, which move no round on.
    noted: Time,
    paused: Option<Pause>,
    /// What the protocol decided and the journal must say next.
    due: VecDeque<Due>,
    /// Who is said to have signed the last step, if a member must.
    pub(super) signed: Option<Signed>,
    /// The offers whose payments wait.
    waiting: BTreeMap<ClientId, BTreeMap<RoundId, Waiting>>,
    /// What members were told at the last step.
    pub(super) replies: Vec<Reply>,
    /// The auction of the last round that was settled.
    pub(super) auctioned: Option<Auctioned>,
}

/// The auction of a round, as the mechanism saw it.
#[derive(Debug, Clone)]
pub struct Auctioned {
    pub round: RoundId,
    pub mechanism: RawMechanism,
    pub spec: Box<RoundSpec>,
    pub outcome: Outcome,
}

/// Whose signature, and under which schema.
pub(super) struct Signed {
    pub(super) key: Option<Verifier>,
    pub(super) schema: &'static str,
}

struct Member {
    info: MemberInfo,
    key: Option<Verifier>,
}

/// The round that the journal has open. The machine may be ahead of it: what it decided is due to be recorded.
struct Open {
    round: RoundId,
    nonce: Nonce,
    offers: BTreeMap<ClientId, Taken>,
    is_sealed: bool,
}

struct Taken {
    digest: Digest,
    commitment: Digest,
}

enum Due {
    /// The offer of who opened the round.
    Opening(ClientId),
    Award(Box<Outcome>, Vec<SetAside>),
    End(Box<RoundRecord>),
}

impl Founded {
    /// With no members, and nothing settled.
    pub(super) fn new(federation: Digest, coordinator: PublicKey, agreement: &Agreement) -> Founded {
        let machine = Coordinator::new(Terms::clone(agreement), agreement.mechanism(), []);
        let (members, keys, due) = (BTreeMap::new(), BTreeSet::new(), VecDeque::new());
        let is_rational = agreement.claims().individually_rational == Claim::Yes;
        let (terms, replies, mechanism) = (agreement.hash(), Vec::new(), agreement.raw().mechanism.clone());
        Founded {
            federation,
            coordinator,
            terms,
            mechanism,
            is_rational,
            machine,
            members,
            keys,
            open: None,
            latest: Time(0),
            noted: Time(0),
            paused: None,
            due,
            signed: None,
            waiting: BTreeMap::new(),
            replies,
            auctioned: None,
        }
    }

    pub(super) fn coordinator(&self) -> Option<Verifier> {
        Verifier::new(&self.coordinator)
    }

    /// What is kept when a round has ended, after so many postings.
    pub(super) fn standing(&self, postings: u64) -> StandingBody {
        let members = self.members.iter().map(|(name, member)| (name.clone(), member.info.clone())).collect();
        let (standing, ended, waiting) = (self.machine.standing(), self.latest, self.waiting.clone());
        StandingBody { standing, ended, members, postings, waiting, paused: self.paused.clone() }
    }

    /// What must be recorded before the journal may end.
    pub(super) fn due(&self) -> Option<&'static str> {
        self.due.front().map(Due::name)
    }

    /// What the protocol decided must be recorded before anything else is.
    pub(super) fn check_due(&self, number: u64, entry: &Entry) -> Verdict {
        let is_sealed = self.open.as_ref().is_some_and(|open| open.is_sealed);
        let fits = match (self.due.front(), entry) {
            (Some(Due::Opening(by)), Entry::Offered { member, .. }) => member == by,
            (Some(Due::Opening(_)), _) => false,
            (Some(Due::Award(..)), Entry::Sealed { .. }) => !is_sealed,
            (Some(Due::Award(..)), Entry::Awarded { .. }) => is_sealed,
            (Some(Due::End(_)), Entry::Settled { .. } | Entry::Aborted { .. }) => true,
            // A revocation is vouched for before what it decides is recorded.
            (Some(_), Entry::Checkpoint(_)) => true,
            (Some(_), _) => false,
            (None, _) => true,
        };
        match self.due.front() {
            Some(due) if !fits => {
                let round = self.open.as_ref().map(|open| open.round);
                let place = Place { entry: number, round, member: entry.about().speaker };
                let is_late = matches!(entry, Entry::Offered { .. } | Entry::Declined { .. });
                let fault = if is_late && is_sealed { Fault::AfterSealing } else { Fault::OutOfTurn };
                let expected = match due {
                    Due::Award(..) | Due::End(_) if !is_sealed => "the seal of the round, or its end",
                    due => due.name(),
                };
                place.problem(fault, expected, entry.about().name)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn enrol(&mut self, place: Place<'_>, member: &ClientId, info: MemberInfo) -> Verdict {
        if self.members.contains_key(member) {
            return place.problem(Fault::Membership, "a new name", "one that is or was a member's");
        }
        if !self.keys.insert(info.key) {
            return place.problem(Fault::Membership, "a new key", "one that is or was another member's");
        }
        let key = Verifier::new(&info.key);
        self.members.insert(member.clone(), Member { info, key });
        self.machine.enrol(member.clone());
        Ok(())
    }

    pub(super) fn revoke(&mut self, place: Place<'_>, member: &ClientId) -> Verdict {
        match self.members.get_mut(member) {
            Some(known) if !known.info.is_revoked => known.info.is_revoked = true,
            _ => return place.problem(Fault::Membership, "a member", "nobody's name"),
        }
        if let Some(open) = self.open.as_mut().filter(|open| !open.is_sealed) {
            open.offers.remove(member);
        }
        self.machine.revoke(self.latest, member);
        self.drain();
        Ok(())
    }

    /// Only the member's key before can say which key follows.
    pub(super) fn renew(
        &mut self,
        place: Place<'_>,
        member: &ClientId,
        (key, certificate): (PublicKey, Digest),
        signature: &Signature,
    ) -> Verdict {
        if let Some(open) = &self.open {
            return place.problem(Fault::OutOfTurn, format!("the end of round {}", open.round), "a renewal");
        }
        let Some(known) = self.members.get_mut(member).filter(|known| !known.info.is_revoked) else {
            return place.problem(Fault::Membership, "a member", "nobody's name");
        };
        if !self.keys.insert(key) {
            return place.problem(Fault::Membership, "a new key", "one that is or was a member's");
        }
        let renewal = Renewal { federation: self.federation, member: member.clone(), key };
        if !renewal.is_signed_by(&known.info.key, signature) {
            return place.problem(Fault::Signature, "the member's, with the key before", "another");
        }
        known.info.renew(key, certificate);
        known.key = Verifier::new(&key);
        Ok(())
    }

    /// Time only goes on.
    fn pass(&mut self, place: Place<'_>, at: Time) -> Verdict {
        self.check_time(place, at)?;
        self.latest = at;
        Ok(())
    }

    fn check_time(&self, place: Place<'_>, at: Time) -> Verdict {
        let latest = self.latest.max(self.noted);
        if at < latest {
            let expected = format!("{} ms or later, as before it", latest.0);
            return place.problem(Fault::Time, expected, format!("{} ms", at.0));
        }
        Ok(())
    }

    /// Money was transferred to a member, present or past.
    pub(super) fn paid_out(&mut self, place: Place<'_>, member: &ClientId, at: Time) -> Verdict {
        if !self.members.contains_key(member) {
            return place.problem(Fault::Membership, "a member, present or past", "nobody's name");
        }
        self.check_time(place, at)?;
        self.noted = at;
        Ok(())
    }

    /// Rounds are paused, or resumed if there is no reason for a pause.
    pub(super) fn paused(&mut self, place: Place<'_>, reason: Option<&Reason>, at: Time) -> Verdict {
        self.check_time(place, at)?;
        let words = |is_paused: bool| if is_paused { "the end of the pause" } else { "a pause" };
        if self.paused.is_some() == reason.is_some() {
            return place.problem(Fault::OutOfTurn, words(self.paused.is_some()), words(reason.is_none()));
        }
        (self.noted, self.paused) = (at, reason.map(|reason| Pause { reason: reason.clone(), since_ms: at }));
        Ok(())
    }

    pub(super) fn open(
        &mut self,
        place: Place<'_>,
        (round, nonce): (RoundId, Nonce),
        asked_by: &ClientId,
        at: Time,
    ) -> Verdict {
        if let Some(open) = &self.open {
            let expected = format!("the end of round {}", open.round);
            return place.problem(Fault::OutOfTurn, expected, "a round is opened");
        }
        if self.paused.is_some() {
            return place.problem(Fault::OutOfTurn, "the end of the pause", "a round is opened");
        }
        self.pass(place, at)?;
        place.check(Fault::Round, RoundId(self.machine.closed().0 + 1), round)?;
        self.open = Some(Open { round, nonce, offers: BTreeMap::new(), is_sealed: false });
        self.due.push_back(Due::Opening(asked_by.clone()));
        Ok(())
    }

    pub(super) fn offer(
        &mut self,
        place: Place<'_>,
        round: RoundId,
        member: &ClientId,
        (digest, content): (Digest, Readable<OfferContent>),
    ) -> Verdict {
        let open = self.opened(place, round, "an offer")?;
        if open.is_sealed {
            return place.problem(Fault::AfterSealing, "no more offers", "an offer");
        }
        if let Some(Due::Opening(_)) = self.due.front() {
            self.due.pop_front();
        }
        let content = readable(place, content, "an offer")?;
        self.check_signed(place, member, &content.context, (&content.schema, OFFER_SCHEMA))?;
        let commitment = content.commitment;
        self.hand_in(place, member, content.into_request(round))?;
        self.opened(place, round, "an offer")?.offers.insert(member.clone(), Taken { digest, commitment });
        self.tell(member, ReceiptKind::OfferTaken, digest, (None, None));
        self.drain();
        Ok(())
    }

    pub(super) fn decline(&mut self, place: Place<'_>, round: RoundId, member: &ClientId) -> Verdict {
        if self.opened(place, round, "a decline")?.is_sealed {
            return place.problem(Fault::AfterSealing, "no more answers", "a decline");
        }
        self.hand_in(place, member, Request::Decline(round))?;
        self.replies.push(Reply::decline(round, member));
        self.drain();
        Ok(())
    }

    pub(super) fn sealed(
        &mut self,
        place: Place<'_>,
        round: RoundId,
        (offers, at): (Digest, Time),
        signature: &Signature,
    ) -> Verdict {
        if self.opened(place, round, "a seal")?.is_sealed {
            return place.problem(Fault::OutOfTurn, "deliveries, or the end of the round", "a second seal");
        }
        self.end_phase(place, at)?;
        if !matches!(self.due.front(), Some(Due::Award(..))) {
            return place.problem(Fault::Ending, "a round that ends without an auction", "a seal");
        }
        let open = self.opened(place, round, "a seal")?;
        open.is_sealed = true;
        let expected = seal(open.offers.iter().map(|(member, taken)| (member, taken.digest)));
        place.check(Fault::Seal, expected, offers)?;
        let sealed = Seal { federation: self.federation, round, offers, at };
        if !sealed.is_signed_by(&self.coordinator, signature) {
            return place.problem(Fault::Signature, "the coordinator's, over the seal", signature);
        }
        Ok(())
    }

    pub(super) fn awarded(
        &mut self,
        place: Place<'_>,
        round: RoundId,
        winners: &[Award],
        aside: &[SetAside],
    ) -> Verdict {
        let is_sealed = self.opened(place, round, "an award")?.is_sealed;
        let Some(Due::Award(outcome, set_aside)) = self.due.front() else {
            let expected = if is_sealed { "deliveries, or the end of the round" } else { "the seal of the offers" };
            return place.problem(Fault::OutOfTurn, expected, "an award");
        };
        compare_winners(place, &Award::all(outcome), winners)?;
        if set_aside != aside {
            return place.problem(Fault::Winners, format!("set aside: {set_aside:?}"), format!("set aside: {aside:?}"));
        }
        self.due.pop_front();
        let asks: BTreeMap<&ClientId, Amount> = winners.iter().map(|it| (&it.member, it.ask_micros)).collect();
        let offers = &self.opened(place, round, "an award")?.offers;
        let offers: Vec<(ClientId, Digest)> = offers.iter().map(|(member, it)| (member.clone(), it.digest)).collect();
        for (member, offer) in &offers {
            let ask = asks.get(member).copied();
            let kind = if ask.is_some() { ReceiptKind::Won } else { ReceiptKind::Lost };
            let least = ask.map(|ask| if self.is_rational { ask } else { Amount::ZERO });
            self.tell(member, kind, *offer, (least, None));
        }
        Ok(())
    }

    pub(super) fn deliver(
        &mut self,
        place: Place<'_>,
        round: RoundId,
        member: &ClientId,
        (digest, content): (Digest, Readable<DeliveryContent>),
    ) -> Verdict {
        if !self.opened(place, round, "a delivery")?.is_sealed {
            return place.problem(Fault::OutOfTurn, "the award first", "a delivery");
        }
        let content = readable(place, content, "a delivery")?;
        self.check_signed(place, member, &content.context, (&content.schema, DELIVERY_SCHEMA))?;
        let Some(taken) = self.opened(place, round, "a delivery")?.offers.get(member) else {
            return place.problem(Fault::OtherOffer, "an offer", "none");
        };
        place.check(Fault::OtherOffer, taken.digest, content.offer)?;
        place.check(Fault::Commitment, taken.commitment, commitment(content.salt, &content.moment))?;
        self.hand_in(place, member, Request::Deliver(round, content.moment))?;
        self.tell(member, ReceiptKind::DeliveryTaken, digest, (None, None));
        self.drain();
        Ok(())
    }

    /// After a round ended it has the hash of the standing, which is expected to be this.
    pub(super) fn checkpoint(
        &self,
        place: Place<'_>,
        checkpoint: &Checkpoint,
        before: Head,
        standing: Option<Digest>,
    ) -> Verdict {
        place.check(Fault::Checkpoint, before.number, checkpoint.entry)?;
        place.check(Fault::Checkpoint, before.hash, checkpoint.head)?;
        let words = |hash: Option<Digest>| hash.map_or_else(|| "none".to_owned(), |hash| hash.to_string());
        place.check(Fault::Standing, words(standing), words(checkpoint.standing))?;
        if !checkpoint.is_signed_by(&self.coordinator, self.federation) {
            return place.problem(Fault::Signature, "the coordinator's, over the checkpoint", checkpoint.signature);
        }
        Ok(())
    }

    /// That a member was told something about its offer in the open round, as the reply to a request of that hash: with
    /// the least that it will be paid if it won, and with the payment if it is paid.
    fn tell(
        &mut self,
        member: &ClientId,
        said: ReceiptKind,
        request: Digest,
        (least, payment_micros): (Option<Amount>, Option<Amount>),
    ) {
        let Some((open, taken)) = self.open.as_ref().and_then(|open| Some((open, open.offers.get(member)?))) else {
            unreachable!("an offer is open, or what is told of it does not get here");
        };
        let kind = match said {
            ReceiptKind::OfferTaken => RequestKind::Offer,
            ReceiptKind::Won | ReceiptKind::Lost => RequestKind::Decision,
            ReceiptKind::DeliveryTaken => RequestKind::Delivery,
            ReceiptKind::Paid | ReceiptKind::Voided | ReceiptKind::Waiting => RequestKind::Settlement,
            ReceiptKind::Forfeited => RequestKind::Resolution,
        };
        let about = Waiting { nonce: open.nonce, offer: taken.digest };
        self.tell_about((member, open.round), about, (said, kind), request, (least, payment_micros));
    }

    fn tell_about(
        &mut self,
        (member, round): (&ClientId, RoundId),
        Waiting { nonce, offer }: Waiting,
        (said, kind): (ReceiptKind, RequestKind),
        request: Digest,
        (least, payment_micros): (Option<Amount>, Option<Amount>),
    ) {
        let (federation, terms) = (self.federation, self.terms);
        let context = Context { federation, round, nonce, terms, member: member.clone() };
        let schema = RECEIPT_SCHEMA.to_owned();
        // Salts are the coordinator's secret until it pays: see `replies`.
        let promise = least.map(|least_micros| Promise { least_micros, commitment: Digest::of(b"") });
        let receipt = ReceiptContent { schema, context, kind: said, offer, promise, payment_micros, salt: None };
        let key = RequestKey { member: member.clone(), round, kind };
        self.replies.push(Reply { key, request, receipt: Some(receipt) });
    }

    /// The round that is open, which must be this one.
    fn opened(&mut self, place: Place<'_>, round: RoundId, what: &str) -> Verdict<&mut Open> {
        match &mut self.open {
            None => place.problem(Fault::OutOfTurn, "an open round", format!("{what} in round {round}, which is not")),
            Some(open) if open.round != round => place.problem(Fault::Round, open.round, round),
            Some(open) => Ok(open),
        }
    }

    /// The signature itself is checked later, with others.
    fn check_signed(
        &mut self,
        place: Place<'_>,
        member: &ClientId,
        context: &Context,
        (found, schema): (&str, &'static str),
    ) -> Verdict {
        let Some(known) = self.members.get(member).filter(|known| !known.info.is_revoked) else {
            return place.problem(Fault::Membership, "a member", "somebody who is none");
        };
        let Some(open) = &self.open else { return place.problem(Fault::OutOfTurn, "an open round", "none") };
        place.check(Fault::Context, schema, found)?;
        place.check(Fault::Context, self.federation, context.federation)?;
        place.check(Fault::Context, self.terms, context.terms)?;
        place.check(Fault::Context, open.round, context.round)?;
        place.check(Fault::Context, open.nonce, context.nonce)?;
        place.check(Fault::Context, member, &context.member)?;
        self.signed = Some(Signed { key: known.key, schema });
        Ok(())
    }

    fn hand_in(&mut self, place: Place<'_>, member: &ClientId, request: Request) -> Verdict {
        match self.machine.handle(self.latest, Input::Request(member.clone(), request)) {
            Ok(Accepted::New) => Ok(()),
            Ok(Accepted::Repeated) => place.problem(Fault::Refused, "something new", "what was taken before"),
            Err(rejection) => place.problem(Fault::Refused, "what the protocol takes", rejection),
        }
    }

    /// The journal says that a phase ended at this time, and the next began: not everyone was heard only if time had run out.
    fn end_phase(&mut self, place: Place<'_>, at: Time) -> Verdict {
        self.pass(place, at)?;
        if self.due.is_empty() {
            let deadline = self.machine.open().map_or(at, OpenRound::deadline);
            self.machine.handle(at, Input::Tick).expect("time can always pass");
            self.drain();
            if at < deadline {
                let expected = format!("{} ms or later, as not all were heard", deadline.0);
                return place.problem(Fault::Time, expected, format!("{} ms", at.0));
            }
        }
        self.machine.begin_phase(at);
        Ok(())
    }

    /// How the open round ends at this time, if it does.
    fn ending(&mut self, place: Place<'_>, at: Time) -> Verdict<Option<RoundRecord>> {
        self.end_phase(place, at)?;
        Ok(match self.due.pop_front() {
            Some(Due::End(record)) => Some(*record),
            _ => None,
        })
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Opened(_) | Output::News(_) | Output::Ruled(_) => {}
                Output::Awarded(_, outcome, aside) => self.due.push_back(Due::Award(outcome, aside)),
                Output::Ended(record) => self.due.push_back(Due::End(record)),
            }
        }
    }
}

impl Due {
    fn name(&self) -> &'static str {
        match self {
            Due::Opening(_) => "the offer that opens the round",
            Due::Award(..) => "the award of the round",
            Due::End(_) => "the end of the round",
        }
    }
}

fn compare_winners(place: Place<'_>, expected: &[Award], found: &[Award]) -> Verdict {
    let [winning, named] = [expected, found].map(|awards| awards.iter().map(|award| &award.member).collect());
    let (winning, named): (BTreeSet<&ClientId>, BTreeSet<&ClientId>) = (winning, named);
    for Award { member, .. } in expected.iter().chain(found) {
        match (winning.contains(member), named.contains(member)) {
            (true, false) => return place.of(member).problem(Fault::Winners, "wins", "does not win"),
            (false, true) => return place.of(member).problem(Fault::Winners, "does not win", "wins"),
            _ => {}
        }
    }
    for (expected, found) in expected.iter().zip(found) {
        let place = place.of(&expected.member);
        place.check(Fault::Winners, &expected.member, &found.member)?;
        place.check(Fault::Ask, expected.ask_micros, found.ask_micros)?;
        place.check(Fault::Payment, expected.payment_micros, found.payment_micros)?;
        let words = |award: &Award| if award.essential { "essential" } else { "not essential" };
        place.check(Fault::Winners, words(expected), words(found))?;
    }
    place.check(Fault::Winners, expected.len(), found.len())
}

fn readable<T>(place: Place<'_>, content: Readable<T>, what: &str) -> Verdict<Box<T>> {
    match content {
        Ok(content) => Ok(content),
        Err(error) => place.problem(Fault::Unreadable, what, error),
    }
}
