//! The coordinator's side of a round.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use serde::Serialize;

use super::open::{Award, Taken};
use super::share::{self, Share};
use super::{
    Bounds, CheckedOffer, Conduct, Ending, Notice, OfferError, OpenRound, Rejection, Request, RoundId, RoundRecord,
    SetAside, Snapshot, Spent, Standing, Terms, Time,
};
use crate::auction::{ClientId, Mechanism, Outcome, Round, RoundSpec};
use crate::statistics::Statistics;

/// Runs the rounds of a federation: hand in what arrives, then drain [`Coordinator::poll`].
pub struct Coordinator {
    pub(super) terms: Terms,
    mechanism: Box<dyn Mechanism>,
    pub(super) standing: Standing,
    /// The sum of what everyone has settled.
    pub(super) settled: Statistics,
    /// When the last round ended; none before the first.
    pub(super) ended: Option<Time>,
    pub(super) open: Option<OpenRound>,
    pub(super) outbox: VecDeque<Output>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A message; the driver vouches for who sent it.
    Request(ClientId, Request),
    /// An offer for a round, by the client that it names, whose matrix need not be checked again.
    Offer(RoundId, Box<CheckedOffer>),
    Tick,
}

/// What happened. Whoever it concerns has news to hear: [`Coordinator::notices`].
#[derive(Debug, Clone, Serialize)]
pub enum Output {
    Opened(RoundId),
    /// The offers are closed, and the mechanism has decided among those that were not set aside.
    Awarded(RoundId, Box<Outcome>, Vec<SetAside>),
    Ended(Box<RoundRecord>),
    /// The operator decided about a member's data, under the number of a round.
    Ruled(RoundId),
    /// A member asked how things stand, or is new.
    News(ClientId),
}

impl Output {
    pub fn concerns(&self, member: &ClientId) -> bool {
        match self {
            Output::Opened(_) | Output::Ended(_) | Output::Ruled(_) => true,
            Output::Awarded(_, outcome, _) => outcome.winner(member).is_some(),
            Output::News(to) => to == member,
        }
    }
}

/// What is known about an offer before the coordinator looks at it.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Whether it can come from data.
    is_checked: bool,
    /// Whether it is reason enough for the next round.
    is_worth_it: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    New,
    /// It had been taken before, or there is nothing to do: nothing changed.
    Repeated,
}

/// All that decides what it does next, but the terms and the mechanism.
impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator")
            .field("standing", &self.standing)
            .field("ended", &self.ended)
            .field("open", &self.open)
            .field("outbox", &self.outbox)
            .finish_non_exhaustive()
    }
}

impl Coordinator {
    /// A coordinator for these members, with nothing settled. The mechanism is that of the terms, or the caller's own.
    pub fn new(
        terms: Terms,
        mechanism: Box<dyn Mechanism>,
        members: impl IntoIterator<Item = ClientId>,
    ) -> Coordinator {
        let members = members.into_iter().map(|member| (member, Conduct::default())).collect();
        let (former, shares, closed) = (BTreeMap::new(), BTreeMap::new(), RoundId(0));
        let standing = Standing { members, former, shares, closed, spent: Spent::default(), awarded: None };
        Coordinator::resume(terms, mechanism, standing)
    }

    /// A coordinator that goes on after the last round that ended. What happened since is brought back by handing it
    /// in again in its order: enrolments, revocations, the requests that were taken, and the ends of phases.
    ///
    /// # Panics
    /// When what was delivered has another dimension than the terms.
    pub fn resume(terms: Terms, mechanism: Box<dyn Mechanism>, standing: Standing) -> Coordinator {
        let dimension = terms.dimension();
        assert!(standing.has_dimension(dimension), "what was delivered has the dimension of the terms");
        let settled = share::sum(&standing.shares, dimension);
        Coordinator { terms, mechanism, standing, settled, ended: None, open: None, outbox: VecDeque::new() }
    }

    /// What it is between rounds; a round that is open is not in it.
    ///
    /// A message can end a round by its time of arrival and open the next: to see the standing between the two, hand in
    /// an [`Input::Tick`] of that time before it.
    pub fn standing(&self) -> Standing {
        self.standing.clone()
    }

    /// Takes in a new member, or one that was revoked; a round that is taking offers waits for it too. False when it is one already.
    pub fn enrol(&mut self, member: ClientId) -> bool {
        if self.standing.members.contains_key(&member) {
            return false;
        }
        let conduct = self.standing.former.remove(&member).unwrap_or_default();
        self.standing.members.insert(member.clone(), conduct);
        self.outbox.push_back(Output::News(member));
        true
    }

    /// Takes a member out. An offer it made in a round that is still taking offers is taken back; a winner that
    /// has not delivered counts as one that does not, also when it is enrolled again. What it delivered before is
    /// settled and paid. False when it is no member.
    pub fn revoke(&mut self, now: Time, member: &ClientId) -> bool {
        let Some(conduct) = self.standing.members.remove(member) else { return false };
        if conduct != Conduct::default() {
            self.standing.former.insert(member.clone(), conduct);
        }
        if let Some(open) = &mut self.open {
            match &mut open.award {
                None => {
                    open.offers.remove(member);
                    open.declined.remove(member);
                }
                Some(award) if award.winner(member).is_some() && !award.moments.contains_key(member) => {
                    award.revoked.insert(member.clone());
                }
                Some(_) => {}
            }
        }
        self.award_when_all_answered(now);
        self.settle_when_all_delivered(now);
        true
    }

    /// Lets the current phase, or the gap after the last round, begin at this time: a phase that a restart interrupted has
    /// its whole time again, and whoever replays recorded steps knows when each began from the record only.
    pub fn begin_phase(&mut self, at: Time) {
        if let Some(open) = &mut self.open {
            let ms = if open.is_awarded() { self.terms.raw().deliveries_ms } else { self.terms.raw().offers_ms };
            open.deadline = at.plus_ms(ms);
        } else if self.standing.closed > RoundId(0) {
            self.ended = Some(at);
        }
    }

    pub fn settled(&self) -> &Statistics {
        &self.settled
    }

    /// What everyone but one member has settled.
    pub fn settled_without(&self, member: &ClientId) -> Statistics {
        share::sum_without(&self.standing.shares, self.terms.dimension(), member)
    }

    /// What everyone delivered who ever did.
    pub fn shares(&self) -> &BTreeMap<ClientId, Share> {
        &self.standing.shares
    }

    pub fn closed(&self) -> RoundId {
        self.standing.closed
    }

    /// The round after the last that ended: the one that is open, or the one that is next.
    pub(super) fn next_round(&self) -> RoundId {
        RoundId(self.standing.closed.0 + 1)
    }

    pub fn snapshot(&self, member: &ClientId) -> Snapshot {
        let settled = self.conduct(member).and_then(|conduct| conduct.settled);
        let own = self.standing.shares.get(member).and_then(Share::own);
        Snapshot { closed: self.standing.closed, settled, statistics: self.settled.clone(), own }
    }

    /// What is remembered about a member.
    pub fn conduct(&self, member: &ClientId) -> Option<&Conduct> {
        self.standing.members.get(member)
    }

    /// The round that is open, if any.
    pub fn open(&self) -> Option<&OpenRound> {
        self.open.as_ref()
    }

    /// What a member is to hear now, if `have` is the last round in its snapshot (none if it knows nothing): the snapshot if
    /// a newer one exists, then what the open round waits for from it. Nothing for anybody else.
    pub fn notices(&self, member: &ClientId, have: Option<RoundId>) -> impl Iterator<Item = Notice> + use<> {
        let is_member = self.standing.members.contains_key(member);
        let is_news = is_member && have.is_none_or(|have| self.standing.closed > have);
        let snapshot = is_news.then(|| Notice::Snapshot(self.snapshot(member)));
        let awaited = self.open.as_ref().filter(|_| is_member).and_then(|open| open.waits_for(member));
        let awaited = awaited.map(|notice| match notice {
            Notice::Opened(round, _) => Notice::Opened(round, self.most_samples(member, Time(0))),
            notice => notice,
        });
        snapshot.into_iter().chain(awaited)
    }

    /// Most samples that a member may offer to the open round, or to the next if it opens now; none without a quota.
    pub fn most_samples(&self, member: &ClientId, now: Time) -> Option<u64> {
        let quota = self.terms.quota()?;
        #[cfg(feature = "planted-faults")]
        if crate::planted::is(crate::planted::Fault::QuotaIgnored) {
            return Some(self.most_of_anyone());
        }
        let opened = self.open.as_ref().map_or(now, |open| open.opened);
        let due = self.standing.awarded.map(|last| quota.since(last, member, opened));
        Some(due.into_iter().chain([self.most_of_anyone()]).min().expect("there is one"))
    }

    /// The same for all members; none without a quota.
    pub fn bounds(&self) -> Option<Bounds> {
        let quota = self.terms.quota()?.clone();
        Some(Bounds { quota, last: self.standing.awarded, most: self.most_of_anyone() })
    }

    /// Most samples in any offer.
    fn most_of_anyone(&self) -> u64 {
        self.terms.raw().samples.min(self.room())
    }

    pub fn poll(&mut self) -> Option<Output> {
        self.outbox.pop_front()
    }

    /// Takes in a message, or that time has passed. A message that is refused changes only what the passing of time does.
    pub fn handle(&mut self, now: Time, input: Input) -> Result<Accepted, Rejection> {
        self.pass_deadline(now);
        match input {
            Input::Tick => Ok(Accepted::New),
            Input::Request(from, _) if !self.standing.members.contains_key(&from) => Err(Rejection::NotAMember(from)),
            Input::Request(from, request) => self.request(now, from, request),
            Input::Offer(_, checked) if !self.standing.members.contains_key(&checked.offer.client) => {
                Err(Rejection::NotAMember(checked.offer.client))
            }
            Input::Offer(round, checked) => {
                let CheckedOffer { terms, samples, offer, worth_after } = *checked;
                let (from, is_checked) = (offer.client.clone(), terms == self.terms);
                let known = Known { is_checked, is_worth_it: is_checked && worth_after == Some(self.standing.closed) };
                self.offer(now, from, round, (Taken { samples, offer }, known))
            }
        }
    }

    fn request(&mut self, now: Time, from: ClientId, request: Request) -> Result<Accepted, Rejection> {
        match request {
            Request::Offer { round, samples, offer } => {
                self.offer(now, from, round, (Taken { samples, offer }, Known::default()))
            }
            Request::Decline(round) => self.decline(now, from, round),
            Request::Deliver(round, moment) => self.deliver(now, from, round, moment),
            Request::Sync => {
                self.outbox.push_back(Output::News(from));
                Ok(Accepted::New)
            }
        }
    }

    /// Whether a member may open the round that is next, with an offer that is reason enough.
    pub fn check_may_open(&self, now: Time, member: &ClientId) -> Result<(), Rejection> {
        self.check_opens(now, member).map(drop)
    }

    /// Whether a member may open the round that is next; who else may not take part in it.
    fn check_opens(&self, now: Time, member: &ClientId) -> Result<BTreeSet<ClientId>, Rejection> {
        if self.room() == 0 {
            return Err(Rejection::CapacityReached(self.terms.capacity()));
        }
        let gap_ms = self.terms.raw().gap_ms;
        #[cfg(feature = "planted-faults")]
        let gap_ms = if crate::planted::is(crate::planted::Fault::GapIgnored) { 0 } else { gap_ms };
        if let Some(opens) = self.ended.map(|ended| ended.plus_ms(gap_ms)).filter(|opens| now < *opens) {
            return Err(Rejection::TooSoon { gap_ms, wait_ms: opens.0 - now.0 });
        }
        self.terms.check_purse(&self.standing.spent, now)?;
        let round = self.next_round();
        let excluded = self.excluded_from(round);
        self.check_admitted(&excluded, member, round)?;
        Ok(excluded)
    }

    /// Opens the next round with the offer that is reason enough for it.
    fn open_with(&mut self, now: Time, from: ClientId, (taken, known): (Taken, Known)) -> Result<Accepted, Rejection> {
        let excluded = self.check_opens(now, &from)?;
        self.check_taken(now, &from, &taken, known)?;
        let (trigger, lambda, settled) = (self.terms.trigger(), self.terms.bandit().lambda(), &self.settled);
        if !known.is_worth_it && !trigger.is_met(lambda, settled.gram(), taken.samples, &taken.offer.gram) {
            return Err(Rejection::TriggerNotMet { client: from, threshold: trigger.threshold });
        }
        let round = self.next_round();
        self.outbox.push_back(Output::Opened(round));
        let times = (now, now.plus_ms(self.terms.raw().offers_ms));
        let mut open = OpenRound::new(round, from.clone(), times, excluded);
        open.offers.insert(from, taken);
        self.open = Some(open);
        self.award_when_all_answered(now);
        Ok(Accepted::New)
    }

    /// Whether an offer can come from data, and fits into what may still be settled.
    fn check_taken(&self, now: Time, from: &ClientId, taken: &Taken, known: Known) -> Result<(), OfferError> {
        let Taken { samples, offer } = taken;
        if offer.client != *from {
            return Err(OfferError::OtherClient { client: offer.client.clone(), from: from.clone() });
        }
        if !known.is_checked {
            self.terms.check_offer(offer, *samples)?;
        }
        let (samples, most) = (*samples, self.most_samples(from, now).unwrap_or_else(|| self.room()));
        if samples > most {
            return Err(OfferError::TooManySamples { client: from.clone(), samples, most });
        }
        Ok(())
    }

    /// That a message comes from somebody who may take part in the round.
    fn check_admitted(
        &self,
        excluded: &BTreeSet<ClientId>,
        member: &ClientId,
        round: RoundId,
    ) -> Result<(), Rejection> {
        if !excluded.contains(member) {
            return Ok(());
        }
        let client = member.clone();
        let last = self.conduct(member).and_then(|conduct| conduct.excluded).filter(|last| round <= *last);
        Err(last.map_or(Rejection::Suspended(member.clone()), |last| Rejection::Excluded { client, last }))
    }

    /// Whether what a member delivered must be decided before it takes part again.
    fn is_suspended(&self, member: &ClientId) -> bool {
        let settled = self.settled.samples();
        self.standing.shares.get(member).is_some_and(|share| share.is_suspended(settled))
    }

    /// Who may not take part in a round. If that were everybody, it is nobody: rounds would never go on.
    fn excluded_from(&self, round: RoundId) -> BTreeSet<ClientId> {
        #[cfg(feature = "planted-faults")]
        if crate::planted::is(crate::planted::Fault::StrikesIgnored) {
            return BTreeSet::new();
        }
        let is_excluded =
            |(id, conduct): &(&ClientId, &Conduct)| conduct.is_excluded_from(round) || self.is_suspended(id);
        let excluded: BTreeSet<ClientId> =
            self.standing.members.iter().filter(is_excluded).map(|(id, _)| id.clone()).collect();
        if excluded.len() == self.standing.members.len() { BTreeSet::new() } else { excluded }
    }

    fn offer(
        &mut self,
        now: Time,
        from: ClientId,
        round: RoundId,
        (taken, known): (Taken, Known),
    ) -> Result<Accepted, Rejection> {
        if self.open.is_none() && round == self.next_round() {
            return self.open_with(now, from, (taken, known));
        }
        let what = "offer";
        let open = open_round(&self.open, round, self.standing.closed)?;
        self.check_admitted(&open.excluded, &from, round)?;
        match open.offers.get(&from) {
            Some(first) if *first == taken => return Ok(Accepted::Repeated),
            Some(_) => return Err(Rejection::ConflictingRetry { client: from, what, round }),
            None if open.is_awarded() => return Err(Rejection::WrongPhase { client: from, what, round }),
            None if open.declined.contains(&from) => {
                return Err(Rejection::ConflictingRetry { client: from, what, round });
            }
            None => {}
        }
        self.check_taken(now, &from, &taken, known)?;
        if let Some(open) = &mut self.open {
            open.offers.insert(from, taken);
        }
        self.award_when_all_answered(now);
        Ok(Accepted::New)
    }

    fn decline(&mut self, now: Time, from: ClientId, round: RoundId) -> Result<Accepted, Rejection> {
        let what = "decline";
        let open = open_round(&self.open, round, self.standing.closed)?;
        self.check_admitted(&open.excluded, &from, round)?;
        if open.is_awarded() {
            return Err(Rejection::WrongPhase { client: from, what, round });
        }
        if open.offers.contains_key(&from) {
            return Err(Rejection::ConflictingRetry { client: from, what, round });
        }
        if !self.open.as_mut().is_some_and(|open| open.declined.insert(from)) {
            return Ok(Accepted::Repeated);
        }
        self.award_when_all_answered(now);
        Ok(Accepted::New)
    }

    fn deliver(&mut self, now: Time, from: ClientId, round: RoundId, moment: Vec<f64>) -> Result<Accepted, Rejection> {
        let what = "delivery";
        open_round(&self.open, round, self.standing.closed)?;
        let open = self.open.as_mut().expect("it is open");
        let Some(award) = open.award.as_mut().filter(|award| award.winner(&from).is_some()) else {
            return Err(Rejection::WrongPhase { client: from, what, round });
        };
        match award.moments.get(&from) {
            Some(known) if *known == moment => return Ok(Accepted::Repeated),
            Some(_) => return Err(Rejection::ConflictingRetry { client: from, what, round }),
            None => {}
        }
        let Taken { samples, offer } = open.offers.get(&from).expect("a winner has offered");
        self.terms.check_delivery(offer, *samples, &moment)?;
        award.moments.insert(from, moment);
        self.settle_when_all_delivered(now);
        Ok(Accepted::New)
    }

    pub(super) fn pass_deadline(&mut self, now: Time) {
        let early = now;
        #[cfg(feature = "planted-faults")]
        let early = if crate::planted::is(crate::planted::Fault::PhaseCutShort) { now.plus_ms(50) } else { early };
        while let Some(open) = self.open.as_ref().filter(|open| open.deadline <= early) {
            if open.is_awarded() { self.settle(now) } else { self.award(now) }
        }
    }

    fn award_when_all_answered(&mut self, now: Time) {
        if let Some(open) = self.open.as_ref().filter(|open| !open.is_awarded())
            && open.answered().count() == self.standing.members.keys().filter(|it| !open.excluded.contains(*it)).count()
        {
            self.award(now);
        }
    }

    fn settle_when_all_delivered(&mut self, now: Time) {
        let award = self.open.as_ref().and_then(|open| open.award.as_ref());
        if award.is_some_and(|award| award.is_whole()) {
            self.settle(now);
        }
    }

    /// The mechanism decides among the offers that came in time.
    fn award(&mut self, now: Time) {
        let Some(mut open) = self.open.take() else { return };
        if open.offers.is_empty() {
            return self.end(now, open, Ending::NoOffers);
        }
        let (spec, aside) = self.spec(&open);
        let round = match Round::new(spec.clone()) {
            Ok(round) => round,
            Err(error) => return self.end(now, open, Ending::Invalid(error)),
        };
        let outcome = match self.mechanism.run(&round) {
            Ok(outcome) => outcome,
            Err(refusal) => return self.end(now, open, Ending::Refused(refusal)),
        };
        self.standing.spent.add(open.opened, outcome.payments().micros());
        self.outbox.push_back(Output::Awarded(open.round, Box::new(outcome.clone()), aside.clone()));
        let (moments, revoked) = (BTreeMap::new(), BTreeSet::new());
        open.award = Some(Box::new(Award { spec, aside, outcome, moments, revoked }));
        open.deadline = now.plus_ms(self.terms.raw().deliveries_ms);
        self.open = Some(open);
        self.settle_when_all_delivered(now);
    }

    /// The round of the offers that fit into the capacity, and those that do not. The smallest are taken first: a member that
    /// claims many samples displaces nobody.
    fn spec(&self, open: &OpenRound) -> (RoundSpec, Vec<SetAside>) {
        let mut by_size: Vec<(&ClientId, &Taken)> = open.offers.iter().collect();
        by_size.sort_by_key(|(client, taken)| (taken.samples, *client));
        let (mut samples, mut room) = (0, self.room());
        let (mut taking_part, mut aside) = (Vec::new(), Vec::new());
        for (client, taken) in by_size {
            if taken.samples <= room {
                (samples, room) = (samples + taken.samples, room - taken.samples);
                taking_part.push(taken.offer.clone());
            } else {
                aside.push(SetAside { client: client.clone(), samples: taken.samples, room });
            }
        }
        taking_part.sort_by(|a, b| a.client.cmp(&b.client));
        aside.sort_by(|a, b| a.client.cmp(&b.client));
        let spec = RoundSpec {
            lambda: self.terms.bandit().lambda(),
            coverage: self.terms.target(&self.settled, samples).expect("checked terms give a target"),
            reserve: self.terms.raw().reserve,
            purse: self.terms.purse_of(&self.standing.spent, open.opened),
            work: Some(self.terms.raw().work),
            ..RoundSpec::new(self.settled.gram().clone(), taking_part)
        };
        (spec, aside)
    }

    /// How many more samples can be settled below the capacity of the terms, should all that is held be settled too.
    pub fn room(&self) -> u64 {
        let taken: u64 = self.standing.shares.values().map(Share::samples).sum();
        self.terms.capacity().saturating_sub(taken)
    }
}

/// The open round, which a message must be for; `closed` is the last that ended.
fn open_round(open: &Option<OpenRound>, got: RoundId, closed: RoundId) -> Result<&OpenRound, Rejection> {
    let last = open.as_ref().map_or(closed, |open| open.round);
    open.as_ref().filter(|open| open.round == got).ok_or(Rejection::StaleRound { got, last })
}
