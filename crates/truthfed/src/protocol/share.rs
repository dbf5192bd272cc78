//! What one member delivered, by what is known of it.
//!
//! The shared statistics are the sum of all shares in the order of client ids, never a running total: without one member
//! they are, bit for bit, what they would be had it never delivered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RoundId;
use crate::Amount;
use crate::auction::ClientId;
use crate::statistics::Statistics;

/// One member's part of what is shared, and what it delivered beside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Settled for good.
    pub confirmed: Statistics,
    /// Settled, and still compared with what others deliver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Part>,
    /// Not settled: it contradicts what others delivered, and nothing has decided who is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Part>,
    /// Void: in the model of its own member, and in no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<Statistics>,
}

/// Deliveries that are in doubt, summed, and the payments for them that are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub statistics: Statistics,
    /// The round in which the first of them came to be here.
    pub since: RoundId,
    /// Whether nobody else has delivered anything that is believed since the last of them, nor beside it.
    pub alone: bool,
    /// By round.
    pub owed: Vec<Owed>,
}

/// A payment that waits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owed {
    pub payment: Payment,
    /// Later rounds in which others delivered something that is believed: so often it could have been contradicted.
    pub heard: u64,
}

/// A payment for the delivery in a round.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Payment {
    pub member: ClientId,
    pub round: RoundId,
    #[serde(rename = "payment_micros")]
    pub amount: Amount,
}

impl Share {
    pub(super) fn nothing(dimension: usize) -> Share {
        Share { confirmed: nothing(dimension), waiting: None, held: None, void: None }
    }

    /// What of it everybody shares, in the order in which it is summed.
    fn settled(&self) -> impl Iterator<Item = &Statistics> {
        [Some(&self.confirmed), self.waiting.as_ref().map(|part| &part.statistics)].into_iter().flatten()
    }

    pub(super) fn has_dimension(&self, dimension: usize) -> bool {
        let held = self.held.as_ref().map(|part| &part.statistics);
        self.settled().chain(held).chain(&self.void).all(|part| part.dimension() == dimension)
    }

    /// What only its own member knows.
    pub fn own(&self) -> Option<Statistics> {
        let held = self.held.as_ref().map(|part| &part.statistics);
        let mut parts = held.into_iter().chain(&self.void);
        let mut sum = parts.next()?.clone();
        parts.for_each(|part| merge(&mut sum, part));
        Some(sum)
    }

    /// How many samples are settled, or may be once it is decided.
    pub(super) fn samples(&self) -> u64 {
        let held = self.held.as_ref().map(|part| &part.statistics);
        self.settled().chain(held).map(Statistics::samples).sum()
    }

    /// Payments that wait.
    pub fn owed(&self) -> impl Iterator<Item = &Payment> {
        self.waiting.iter().chain(&self.held).flat_map(|part| &part.owed).map(|owed| &owed.payment)
    }

    /// Whether anything of it is in doubt.
    pub fn is_in_doubt(&self) -> bool {
        self.waiting.is_some() || self.held.is_some()
    }

    /// Whether it takes no part in rounds until others' data says more, if so many samples are settled in all: what it delivered is
    /// contradicted, or there is more of it that nobody confirmed than all others have, and nobody else has delivered since. Otherwise
    /// one who is false could go on winning, and nothing would ever contradict it.
    pub(super) fn is_suspended(&self, settled: u64) -> bool {
        let others = settled.saturating_sub(self.settled().map(Statistics::samples).sum());
        let outweighs = |part: &Part| part.alone && part.statistics.samples() > others;
        self.held.is_some() || self.waiting.as_ref().is_some_and(outweighs)
    }

    pub(super) fn confirm(&mut self, part: Part) -> Vec<Payment> {
        merge(&mut self.confirmed, &part.statistics);
        part.payments()
    }

    pub(super) fn hold(&mut self, part: Part) {
        put(&mut self.held, part);
    }

    pub(super) fn wait(&mut self, part: Part) {
        put(&mut self.waiting, part);
    }

    pub(super) fn make_void(&mut self, part: Part) -> Vec<Payment> {
        match &mut self.void {
            Some(void) => merge(void, &part.statistics),
            None => self.void = Some(part.statistics.clone()),
        }
        part.payments()
    }

    /// Forgets what is void where it and the rest could exceed what may ever be settled: nobody could read the sum.
    pub(super) fn keep_within(&mut self, capacity: u64) {
        let samples = self.samples();
        self.void.take_if(|void| void.samples().saturating_add(samples) > capacity);
    }

    /// All parts that are in doubt, which it has no more.
    pub(super) fn take_doubts(&mut self) -> impl Iterator<Item = Part> + use<> {
        [self.waiting.take(), self.held.take()].into_iter().flatten()
    }
}

impl Part {
    /// What was delivered in a round, with the payment for it.
    pub(super) fn new(statistics: Statistics, payment: Payment) -> Part {
        Part { statistics, since: payment.round, alone: false, owed: vec![Owed { payment, heard: 0 }] }
    }

    pub(super) fn payments(self) -> Vec<Payment> {
        self.owed.into_iter().map(|owed| owed.payment).collect()
    }
}

/// Everything that is settled: the sum of what everyone has settled, in the order of client ids.
pub(super) fn sum(shares: &BTreeMap<ClientId, Share>, dimension: usize) -> Statistics {
    let mut sum = nothing(dimension);
    shares.values().flat_map(Share::settled).for_each(|part| merge(&mut sum, part));
    sum
}

/// The same without one member.
pub(super) fn sum_without(shares: &BTreeMap<ClientId, Share>, dimension: usize, member: &ClientId) -> Statistics {
    let mut sum = nothing(dimension);
    let others = shares.iter().filter(|(id, _)| *id != member);
    others.flat_map(|(_, share)| share.settled()).for_each(|part| merge(&mut sum, part));
    sum
}

fn put(place: &mut Option<Part>, part: Part) {
    match place {
        Some(there) => {
            merge(&mut there.statistics, &part.statistics);
            there.since = there.since.min(part.since);
            there.owed.extend(part.owed);
            there.owed.sort();
        }
        None => *place = Some(part),
    }
}

pub(super) fn nothing(dimension: usize) -> Statistics {
    Statistics::new(dimension).expect("checked terms have a valid dimension")
}

pub(super) fn merge(sum: &mut Statistics, part: &Statistics) {
    sum.merge(part).expect("all have the dimension of the terms, and counts far within 64 bits");
}
