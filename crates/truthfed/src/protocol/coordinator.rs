//! The coordinator's side of a round.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DeliveryError, Ending, Notice, OfferError, Request, RoundId, RoundRecord, Snapshot, Terms, Time};
use crate::Amount;
use crate::auction::{ClientId, Mechanism, Offer, Outcome, Round, RoundSpec, Winner};
use crate::statistics::Statistics;

/// Runs the rounds of a federation: hand in what arrives, then drain [`Coordinator::poll`].
pub struct Coordinator {
    terms: Terms,
    mechanism: Box<dyn Mechanism>,
    members: BTreeMap<ClientId, Option<RoundId>>,
    former: BTreeMap<ClientId, RoundId>,
    settled: Statistics,
    last_round: RoundId,
    closed: RoundId,
    phase: Phase,
    outbox: VecDeque<Output>,
}

/// What reaches the coordinator.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A message; the driver vouches for who sent it.
    Request(ClientId, Request),
    /// Time has passed.
    Tick,
}

/// What the coordinator wants done.
#[derive(Debug, Clone)]
pub enum Output {
    /// Tell a member.
    Notice(ClientId, Notice),
    /// The offers are closed, and the mechanism has decided.
    Awarded(RoundId, Box<Outcome>),
    /// A round ended.
    Ended(Box<RoundRecord>),
}

/// What a coordinator is between two rounds: all it needs to go on after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Standing {
    /// Members, each with the last round in which its delivery was settled.
    pub members: BTreeMap<ClientId, Option<RoundId>>,
    /// Those that were members and had a delivery settled, with the last such round: one that comes back must learn
    /// what became of its data.
    pub former: BTreeMap<ClientId, RoundId>,
    /// Everything delivered so far.
    pub settled: Statistics,
    /// The last round that ended.
    pub closed: RoundId,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It was taken.
    New,
    /// It had been taken before, or there is nothing to do: nothing changed.
    Repeated,
}

/// Why a request was not taken; nothing changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Rejection {
    /// Member: enrol first.
    #[error("{0} is not a member of this federation")]
    NotAMember(ClientId),
    /// Member: for a round that is over. Harmless.
    #[error("round {got} is over, the last one opened is {last}")]
    StaleRound {
        /// The round of the message.
        got: RoundId,
        /// The last round.
        last: RoundId,
    },
    /// Member: the message does not fit what the round is waiting for.
    #[error("{what} is not expected from {client} in this phase of round {round}")]
    WrongPhase {
        /// Whose message.
        client: ClientId,
        /// What it was.
        what: &'static str,
        /// The last round.
        round: RoundId,
    },
    /// Member: the first message binds.
    #[error("{client} already sent another {what} in round {round}: the first stands")]
    ConflictingRetry {
        /// Whose message.
        client: ClientId,
        /// What it was.
        what: &'static str,
        /// The round.
        round: RoundId,
    },
    /// Member: the offer cannot be right.
    #[error(transparent)]
    Offer(#[from] OfferError),
    /// Member: the delivery cannot be right.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
}

#[derive(Debug)]
enum Phase {
    Idle,
    Offers(Offers),
    Deliveries(Box<Deliveries>),
}

#[derive(Debug)]
struct Opening {
    round: RoundId,
    asked_by: ClientId,
    opened: Time,
}

#[derive(Debug)]
struct Offers {
    opening: Opening,
    deadline: Time,
    offers: BTreeMap<ClientId, Taken>,
    declined: BTreeSet<ClientId>,
}

/// An offer that binds.
#[derive(Debug, PartialEq)]
struct Taken {
    samples: u64,
    offer: Offer,
}

#[derive(Debug)]
struct Deliveries {
    opening: Opening,
    deadline: Time,
    offers: BTreeMap<ClientId, Taken>,
    spec: RoundSpec,
    outcome: Outcome,
    moments: BTreeMap<ClientId, Vec<f64>>,
    /// Winners that were revoked before they delivered.
    revoked: BTreeSet<ClientId>,
}

impl Deliveries {
    /// A winner that may deliver, or has.
    fn winner(&self, client: &ClientId) -> Option<&Winner> {
        self.outcome.winner(client).filter(|_| !self.revoked.contains(client))
    }
}

/// All that decides what it does next, but the terms and the mechanism.
impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("members", &self.members)
            .field("former", &self.former)
            .field("settled", &self.settled)
            .field("last_round", &self.last_round)
            .field("closed", &self.closed)
            .field("phase", &self.phase)
            .field("outbox", &self.outbox)
            .finish_non_exhaustive()
    }
}

impl Coordinator {
    /// A coordinator of checked terms for these members, with nothing settled.
    ///
    /// # Panics
    /// When the terms were not checked.
    pub fn new(
        terms: Terms,
        mechanism: Box<dyn Mechanism>,
        members: impl IntoIterator<Item = ClientId>,
    ) -> Coordinator {
        let settled = Statistics::new(terms.dimension).expect("checked terms have a valid dimension");
        let members = members.into_iter().map(|member| (member, None)).collect();
        let standing = Standing { members, former: BTreeMap::new(), settled, closed: RoundId(0) };
        Coordinator::resume(terms, mechanism, standing)
    }

    /// A coordinator that goes on after the last round that ended. What happened since is brought back by handing it
    /// in again in its order: enrolments, revocations, the requests that were taken, and the ends of phases.
    ///
    /// # Panics
    /// When what is settled has another dimension than the terms.
    pub fn resume(terms: Terms, mechanism: Box<dyn Mechanism>, standing: Standing) -> Coordinator {
        let Standing { members, former, settled, closed } = standing;
        assert_eq!(settled.dimension(), terms.dimension, "what is settled has the dimension of the terms");
        Coordinator {
            terms,
            mechanism,
            members,
            former,
            settled,
            last_round: closed,
            closed,
            phase: Phase::Idle,
            outbox: VecDeque::new(),
        }
    }

    /// What it is between rounds; a round that is open is not in it.
    ///
    /// A message can end a round by its time of arrival and open the next: to see the standing between the two, hand in
    /// an [`Input::Tick`] of that time before it.
    pub fn standing(&self) -> Standing {
        let (members, former) = (self.members.clone(), self.former.clone());
        Standing { members, former, settled: self.settled.clone(), closed: self.closed }
    }

    /// Takes in a new member, or one that was revoked, and tells it where the round stands; a round that is taking
    /// offers waits for it too. False when it is one already.
    pub fn enrol(&mut self, member: ClientId) -> bool {
        if self.members.contains_key(&member) {
            return false;
        }
        let settled = self.former.remove(&member);
        let name = member.clone();
        self.members.insert(member, settled);
        self.tell_standing(&name);
        true
    }

    /// Takes a member out. An offer it made in a round that is still taking offers is taken back; a winner that
    /// has not delivered counts as one that does not, also when it is enrolled again. What it delivered before is
    /// settled and paid. False when it is no member.
    pub fn revoke(&mut self, now: Time, member: &ClientId) -> bool {
        let Some(settled) = self.members.remove(member) else { return false };
        self.former.extend(settled.map(|round| (member.clone(), round)));
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Offers(offers) => {
                offers.offers.remove(member);
                offers.declined.remove(member);
            }
            Phase::Deliveries(deliveries) => {
                if deliveries.winner(member).is_some() && !deliveries.moments.contains_key(member) {
                    deliveries.revoked.insert(member.clone());
                }
            }
        }
        self.award_when_all_answered(now);
        self.settle_when_all_delivered(now);
        true
    }

    /// Gives the current phase its whole time again, from now on: after a restart nobody knows how long it stood.
    pub fn grant_time(&mut self, now: Time) {
        match &mut self.phase {
            Phase::Idle => {}
            Phase::Offers(offers) => offers.deadline = now.plus_ms(self.terms.offers_ms),
            Phase::Deliveries(deliveries) => deliveries.deadline = now.plus_ms(self.terms.deliveries_ms),
        }
    }

    /// Everything delivered so far.
    pub fn settled(&self) -> &Statistics {
        &self.settled
    }

    /// The last round that ended.
    pub fn closed(&self) -> RoundId {
        self.closed
    }

    /// What is settled, as a member sees it.
    pub fn snapshot(&self, member: &ClientId) -> Snapshot {
        let settled = self.members.get(member).copied().flatten();
        Snapshot { closed: self.closed, settled, statistics: self.settled.clone() }
    }

    /// The round that is open.
    pub fn open_round(&self) -> Option<RoundId> {
        (self.last_round > self.closed).then_some(self.last_round)
    }

    /// Whether the open round is decided and waits for deliveries.
    pub fn is_awarded(&self) -> bool {
        matches!(self.phase, Phase::Deliveries(_))
    }

    /// When the current phase ends by itself.
    pub fn deadline(&self) -> Option<Time> {
        match &self.phase {
            Phase::Idle => None,
            Phase::Offers(offers) => Some(offers.deadline),
            Phase::Deliveries(deliveries) => Some(deliveries.deadline),
        }
    }

    /// The next thing to be done.
    pub fn poll(&mut self) -> Option<Output> {
        self.outbox.pop_front()
    }

    /// Takes in a message, or that time has passed.
    ///
    /// # Errors
    /// Says why a message was not taken; nothing changed then but what the passing of time changed.
    pub fn handle(&mut self, now: Time, input: Input) -> Result<Accepted, Rejection> {
        self.pass_deadline(now);
        match input {
            Input::Tick => Ok(Accepted::New),
            Input::Request(from, _) if !self.members.contains_key(&from) => Err(Rejection::NotAMember(from)),
            Input::Request(from, request) => self.request(now, from, request),
        }
    }

    fn request(&mut self, now: Time, from: ClientId, request: Request) -> Result<Accepted, Rejection> {
        match request {
            Request::Ask => Ok(self.open(now, from)),
            Request::Offer { round, samples, offer } => self.offer(now, from, round, Taken { samples, offer }),
            Request::Decline(round) => self.decline(now, from, round),
            Request::Deliver(round, moment) => self.deliver(now, from, round, moment),
            Request::Sync => {
                self.tell_standing(&from);
                Ok(Accepted::New)
            }
        }
    }

    fn open(&mut self, now: Time, asked_by: ClientId) -> Accepted {
        if !matches!(self.phase, Phase::Idle) {
            return Accepted::Repeated;
        }
        self.last_round.0 += 1;
        let round = self.last_round;
        let notices = self.members.keys().map(|member| Output::Notice(member.clone(), Notice::Opened(round)));
        self.outbox.extend(notices);
        self.phase = Phase::Offers(Offers {
            opening: Opening { round, asked_by, opened: now },
            deadline: now.plus_ms(self.terms.offers_ms),
            offers: BTreeMap::new(),
            declined: BTreeSet::new(),
        });
        Accepted::New
    }

    fn offer(&mut self, now: Time, from: ClientId, round: RoundId, taken: Taken) -> Result<Accepted, Rejection> {
        self.check_round(round)?;
        let what = "offer";
        let conflict = |client| Err(Rejection::ConflictingRetry { client, what, round });
        let known = match &self.phase {
            Phase::Offers(offers) if offers.declined.contains(&from) => return conflict(from),
            Phase::Offers(offers) => offers.offers.get(&from),
            Phase::Deliveries(deliveries) => deliveries.offers.get(&from),
            Phase::Idle => None,
        };
        match known {
            Some(known) if *known == taken => return Ok(Accepted::Repeated),
            Some(_) => return conflict(from),
            None => {}
        }
        let Phase::Offers(offers) = &mut self.phase else {
            return Err(Rejection::WrongPhase { client: from, what, round });
        };
        let Taken { samples, offer } = &taken;
        if offer.client != from {
            return Err(OfferError::OtherClient { client: offer.client.clone(), from }.into());
        }
        self.terms.check_offer(offer, *samples)?;
        offers.offers.insert(from, taken);
        self.award_when_all_answered(now);
        Ok(Accepted::New)
    }

    fn decline(&mut self, now: Time, from: ClientId, round: RoundId) -> Result<Accepted, Rejection> {
        self.check_round(round)?;
        let what = "decline";
        match &mut self.phase {
            Phase::Offers(offers) if offers.offers.contains_key(&from) => {
                Err(Rejection::ConflictingRetry { client: from, what, round })
            }
            Phase::Offers(offers) => {
                if !offers.declined.insert(from) {
                    return Ok(Accepted::Repeated);
                }
                self.award_when_all_answered(now);
                Ok(Accepted::New)
            }
            _ => Err(Rejection::WrongPhase { client: from, what, round }),
        }
    }

    fn deliver(&mut self, now: Time, from: ClientId, round: RoundId, moment: Vec<f64>) -> Result<Accepted, Rejection> {
        self.check_round(round)?;
        let what = "delivery";
        let Phase::Deliveries(deliveries) = &mut self.phase else {
            return Err(Rejection::WrongPhase { client: from, what, round });
        };
        if deliveries.winner(&from).is_none() {
            return Err(Rejection::WrongPhase { client: from, what, round });
        }
        match deliveries.moments.get(&from) {
            Some(known) if *known == moment => return Ok(Accepted::Repeated),
            Some(_) => return Err(Rejection::ConflictingRetry { client: from, what, round }),
            None => {}
        }
        let Taken { samples, offer } = deliveries.offers.get(&from).expect("a winner has offered");
        self.terms.check_delivery(offer, *samples, &moment)?;
        deliveries.moments.insert(from, moment);
        self.settle_when_all_delivered(now);
        Ok(Accepted::New)
    }

    /// A message must be for the round that is open.
    fn check_round(&self, got: RoundId) -> Result<(), Rejection> {
        let last = self.last_round;
        if got == last && got > self.closed { Ok(()) } else { Err(Rejection::StaleRound { got, last }) }
    }

    fn pass_deadline(&mut self, now: Time) {
        while self.deadline().is_some_and(|deadline| deadline <= now) {
            match &self.phase {
                Phase::Offers(_) => self.award(now),
                _ => self.settle(now),
            }
        }
    }

    fn award_when_all_answered(&mut self, now: Time) {
        if let Phase::Offers(offers) = &self.phase
            && offers.offers.len() + offers.declined.len() == self.members.len()
        {
            self.award(now);
        }
    }

    fn settle_when_all_delivered(&mut self, now: Time) {
        if let Phase::Deliveries(deliveries) = &self.phase
            && deliveries.moments.len() + deliveries.revoked.len() == deliveries.outcome.winners().len()
        {
            self.settle(now);
        }
    }

    /// The mechanism decides among the offers that came in time.
    fn award(&mut self, now: Time) {
        let Phase::Offers(Offers { opening, offers, .. }) = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return;
        };
        if offers.is_empty() {
            return self.end(now, opening, Ending::NoOffers);
        }
        let spec = self.spec(&offers);
        let round = match Round::new(spec.clone()) {
            Ok(round) => round,
            Err(error) => return self.end(now, opening, Ending::Invalid(error)),
        };
        let outcome = match self.mechanism.run(&round) {
            Ok(outcome) => outcome,
            Err(refusal) => return self.end(now, opening, Ending::Refused(refusal)),
        };
        let awarded = outcome
            .winners()
            .iter()
            .map(|winner| Output::Notice(winner.client.clone(), Notice::Awarded(opening.round, winner.payment)));
        self.outbox.push_back(Output::Awarded(opening.round, Box::new(outcome.clone())));
        self.outbox.extend(awarded);
        let deadline = now.plus_ms(self.terms.deliveries_ms);
        let (moments, revoked) = (BTreeMap::new(), BTreeSet::new());
        let deliveries = Deliveries { opening, deadline, offers, spec, outcome, moments, revoked };
        self.phase = Phase::Deliveries(Box::new(deliveries));
        self.settle_when_all_delivered(now);
    }

    fn spec(&self, offers: &BTreeMap<ClientId, Taken>) -> RoundSpec {
        let samples = offers.values().map(|taken| taken.samples).sum();
        RoundSpec {
            lambda: self.terms.lambda,
            coverage: self.terms.target(&self.settled, samples).expect("checked terms give a target"),
            reserve: self.terms.reserve,
            base: self.settled.gram().clone(),
            offers: offers.values().map(|taken| taken.offer.clone()).collect(),
        }
    }

    /// Adds what was delivered, in the order of client ids.
    fn settle(&mut self, now: Time) {
        let Phase::Deliveries(deliveries) = std::mem::replace(&mut self.phase, Phase::Idle) else { return };
        let Deliveries { opening, mut offers, spec, outcome, mut moments, .. } = *deliveries;
        let (mut paid, mut defaulted): (Vec<(ClientId, Amount)>, Vec<ClientId>) = (Vec::new(), Vec::new());
        for winner in outcome.winners() {
            let client = winner.client.clone();
            #[cfg(feature = "planted-faults")]
            if crate::planted::is(crate::planted::Fault::PaidBeforeDelivery) && !moments.contains_key(&client) {
                paid.push((client, winner.payment));
                continue;
            }
            let Some(moment) = moments.remove(&client) else {
                defaulted.push(client);
                continue;
            };
            let Taken { samples, offer } = offers.remove(&client).expect("a winner has offered");
            let delivered = Statistics::from_parts(offer.gram, moment, samples).expect("both were checked on arrival");
            self.settled.merge(&delivered).expect("all have the dimension of the terms");
            if let Some(settled) = self.members.get_mut(&client) {
                *settled = Some(opening.round);
            } else {
                self.former.insert(client.clone(), opening.round);
            }
            paid.push((client, winner.payment));
        }
        self.end(now, opening, Ending::Settled { spec: Box::new(spec), outcome, paid, defaulted });
    }

    fn end(&mut self, now: Time, opening: Opening, ending: Ending) {
        let Opening { round, asked_by, opened } = opening;
        self.closed = round;
        self.phase = Phase::Idle;
        self.outbox.push_back(Output::Ended(Box::new(RoundRecord { round, asked_by, opened, closed: now, ending })));
        let members: Vec<ClientId> = self.members.keys().cloned().collect();
        members.iter().for_each(|member| self.send_snapshot(member));
    }

    fn send_snapshot(&mut self, member: &ClientId) {
        let snapshot = self.snapshot(member);
        self.outbox.push_back(Output::Notice(member.clone(), Notice::Snapshot(snapshot)));
    }

    /// Tells a member that lost track what is settled and where the round stands.
    fn tell_standing(&mut self, member: &ClientId) {
        self.send_snapshot(member);
        let notice = match &self.phase {
            Phase::Offers(offers) => Some(Notice::Opened(offers.opening.round)),
            Phase::Deliveries(deliveries) => {
                let winner = deliveries.winner(member);
                winner.map(|winner| Notice::Awarded(deliveries.opening.round, winner.payment))
            }
            Phase::Idle => None,
        };
        self.outbox.extend(notice.map(|notice| Output::Notice(member.clone(), notice)));
    }
}
