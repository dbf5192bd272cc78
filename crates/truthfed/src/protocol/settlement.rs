//! How a round ends: what was delivered is settled, held or paid for; and what the operator decides between rounds.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::open::{Award, Taken};
use super::quality::{self, Judgement, QualityRule};
use super::share::{self, Part, Payment, Share};
use super::{Coordinator, OpenRound, Output, RoundId, SetAside, Time};
use crate::Amount;
use crate::auction::{ClientId, Outcome, Refusal, RoundDocument, RoundError, RoundSpec};
use crate::statistics::Statistics;

/// Everything there is to say about a round that ended. As JSON, its offers are a round document, and errors are their messages.
#[derive(Debug, Clone, Serialize)]
pub struct RoundRecord {
    pub round: RoundId,
    pub asked_by: ClientId,
    pub opened: Time,
    pub closed: Time,
    pub ending: Ending,
}

#[derive(Debug, Clone, Serialize)]
pub enum Ending {
    /// Settled: what was delivered is shared and paid for, or in doubt.
    Settled {
        #[serde(serialize_with = "document")]
        spec: Box<RoundSpec>,
        /// Offers that it did not look at.
        aside: Vec<SetAside>,
        outcome: Box<Outcome>,
        /// Winners that delivered and are paid, with what they are paid, by client.
        paid: Vec<(ClientId, Amount)>,
        /// Winners that delivered and whose payment waits, with what they are due.
        waiting: Vec<(ClientId, Amount)>,
        /// Winners that did not deliver in time: not paid, their data not used.
        defaulted: Vec<ClientId>,
        /// What became of payments and data of earlier rounds, and whose data is held.
        judgement: Box<Judgement>,
    },
    /// Nobody offered anything in time.
    NoOffers,
    /// The operator ended it before the auction, for this reason.
    Aborted(String),
    /// The offers do not make a round.
    #[serde(serialize_with = "message")]
    Invalid(RoundError),
    #[serde(serialize_with = "message")]
    Refused(Refusal),
}

#[allow(clippy::borrowed_box, reason = "serde calls it so")]
fn document<S: Serializer>(spec: &Box<RoundSpec>, serializer: S) -> Result<S::Ok, S::Error> {
    RoundDocument::of(spec).serialize(serializer)
}

fn message<S: Serializer>(error: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(error)
}

/// What the operator decides about the data of a member, between two rounds. It takes the number of a round, so that
/// everyone hears of it as of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// What is in doubt is settled, and paid.
    Release,
    /// What is in doubt is void, and so are the payments for it.
    Void,
    /// Of somebody who is no member any more: all it ever delivered is taken out of what is shared. What it was paid, it keeps.
    Forget,
}

/// Why a ruling is refused; nothing changed. All are the operator's to fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulingError {
    /// Try again when it has ended.
    #[error("round {0} is open: the operator rules about data between rounds")]
    RoundOpen(RoundId),
    #[error("{0} has delivered nothing, or it is forgotten already")]
    NothingDelivered(ClientId),
    #[error("nothing that {0} delivered is held, and no payment to it waits")]
    NothingInDoubt(ClientId),
    /// Revoke it first: it could deliver the same again.
    #[error("{0} is still a member: only what a revoked member delivered is forgotten")]
    StillAMember(ClientId),
}

/// Why the operator cannot end a round; nothing changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AbortError {
    /// Nobody: it has ended, or was never opened.
    #[error("round {0} is not open")]
    NotOpen(RoundId),
    /// Nobody: winners may deliver already.
    #[error(
        "round {0} is awarded, and its winners were promised a payment: it ends once they deliver, or at its deadline"
    )]
    Awarded(RoundId),
}

impl Coordinator {
    /// Ends a round that takes offers: nobody wins, and all keep their data.
    pub fn abort(&mut self, now: Time, round: RoundId, reason: String) -> Result<(), AbortError> {
        let open = self.open.take_if(|open| open.round == round && !open.is_awarded());
        match (open, &self.open) {
            (Some(open), _) => {
                self.end(now, open, Ending::Aborted(reason));
                Ok(())
            }
            (None, Some(open)) if open.round == round => Err(AbortError::Awarded(round)),
            (None, _) => Err(AbortError::NotOpen(round)),
        }
    }

    /// Settles what was delivered, in the order of client ids.
    pub(super) fn settle(&mut self, now: Time) {
        let Some(mut open) = self.open.take() else { return };
        let Some(award) = open.award.take() else { return };
        let Award { spec, aside, outcome, mut moments, .. } = *award;
        self.standing.awarded = self.terms.quota().map(|_| open.opened);
        let (mut delivered, mut defaulted) = (Vec::new(), Vec::new());
        #[cfg(feature = "planted-faults")]
        let mut unearned = Vec::new();
        for winner in outcome.winners() {
            let member = winner.client.clone();
            #[cfg(feature = "planted-faults")]
            if crate::planted::is(crate::planted::Fault::PaidBeforeDelivery) && !moments.contains_key(&member) {
                unearned.push((member, winner.payment));
                continue;
            }
            let Some(moment) = moments.remove(&member) else {
                let strikes = self.terms.raw().strikes;
                self.standing.conduct_of(&member).default_in(open.round, strikes);
                defaulted.push(member);
                continue;
            };
            let Taken { samples, offer } = open.offers.remove(&member).expect("a winner has offered");
            let data = Statistics::from_parts(offer.gram, moment, samples).expect("both were checked on arrival");
            self.standing.conduct_of(&member).settled = Some(open.round);
            delivered.push((Payment { member, round: open.round, amount: winner.payment }, data));
        }
        let due: Vec<Payment> = delivered.iter().map(|(payment, _)| payment.clone()).collect();
        let mut judgement = Box::new(self.take_in(delivered, open.round));
        let is_of_this = |payment: &mut Payment| payment.round == open.round;
        let now_paid: Vec<Payment> = judgement.paid.extract_if(.., is_of_this).collect();
        let (paid, waiting) = due.into_iter().partition::<Vec<_>, _>(|payment| now_paid.contains(payment));
        let pairs = |payments: Vec<Payment>| payments.into_iter().map(|it| (it.member, it.amount)).collect::<Vec<_>>();
        let (paid, waiting) = (pairs(paid), pairs(waiting));
        #[cfg(feature = "planted-faults")]
        let paid = [paid, unearned].concat();
        let (spec, outcome) = (Box::new(spec), Box::new(outcome));
        self.end(now, open, Ending::Settled { spec, aside, outcome, paid, waiting, defaulted, judgement });
    }

    /// Adds what was delivered to the shares of those who did.
    fn take_in(&mut self, delivered: Vec<(Payment, Statistics)>, round: RoundId) -> Judgement {
        let (quality, config, dimension) = (self.terms.raw().quality, self.terms.bandit(), self.terms.dimension());
        let judgement = match quality.rule {
            QualityRule::Hold => quality::judge(&mut self.standing.shares, delivered, (&config, quality), round),
            QualityRule::Flag => {
                let mut paid = Vec::new();
                for (payment, data) in delivered {
                    let shares = &mut self.standing.shares;
                    let share = shares.entry(payment.member.clone()).or_insert_with(|| Share::nothing(dimension));
                    share::merge(&mut share.confirmed, &data);
                    paid.push(payment);
                }
                Judgement { paid, ..Judgement::default() }
            }
        };
        self.sum_up();
        judgement
    }

    fn sum_up(&mut self) {
        let capacity = self.terms.capacity();
        self.standing.shares.values_mut().for_each(|share| share.keep_within(capacity));
        self.settled = share::sum(&self.standing.shares, self.terms.dimension());
    }

    /// Carries out what the operator decides. What is refused changes only what the passing of time does.
    pub fn rule(&mut self, now: Time, member: &ClientId, ruling: Ruling) -> Result<Judgement, RulingError> {
        self.pass_deadline(now);
        if let Some(open) = &self.open {
            return Err(RulingError::RoundOpen(open.round));
        }
        let is_member = self.standing.members.contains_key(member);
        let Some(share) = self.standing.shares.get_mut(member) else {
            return Err(RulingError::NothingDelivered(member.clone()));
        };
        let mut judgement = Judgement::default();
        match ruling {
            Ruling::Release | Ruling::Void if !share.is_in_doubt() => {
                return Err(RulingError::NothingInDoubt(member.clone()));
            }
            Ruling::Release => {
                judgement.released.push(member.clone());
                judgement.confirmed.push(member.clone());
                let doubts: Vec<_> = share.take_doubts().collect();
                judgement.paid = doubts.into_iter().flat_map(|part| share.confirm(part)).collect();
            }
            Ruling::Void => {
                judgement.voided.push(member.clone());
                let doubts: Vec<_> = share.take_doubts().collect();
                judgement.void = doubts.into_iter().flat_map(|part| share.make_void(part)).collect();
            }
            Ruling::Forget if is_member => return Err(RulingError::StillAMember(member.clone())),
            Ruling::Forget => {
                judgement.void = share.take_doubts().flat_map(Part::payments).collect();
                self.standing.shares.remove(member);
            }
        }
        self.sum_up();
        let round = self.next_round();
        (self.standing.closed, self.ended) = (round, Some(now));
        self.outbox.push_back(Output::Ruled(round));
        Ok(judgement.sort())
    }

    pub(super) fn end(&mut self, now: Time, open: OpenRound, ending: Ending) {
        let OpenRound { round, asked_by, opened, .. } = open;
        (self.standing.closed, self.ended) = (round, Some(now));
        self.outbox.push_back(Output::Ended(Box::new(RoundRecord { round, asked_by, opened, closed: now, ending })));
    }
}
