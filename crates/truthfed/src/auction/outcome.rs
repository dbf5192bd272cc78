//! What an auction decided.

use rayon::prelude::*;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{ClientId, Coverage, Information, Round, Seat};
use crate::money::raw;
use crate::{Amount, Total};

/// So many winners are copied on all cores.
const MANY: usize = 10_000;

/// A client that takes part, and its payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Winner {
    #[serde(skip)]
    pub seat: Seat,
    pub client: ClientId,
    #[serde(serialize_with = "decimal")]
    pub ask: Amount,
    /// What it is paid on delivery.
    #[serde(serialize_with = "decimal")]
    pub payment: Amount,
    /// Whether the target could not be met without it.
    pub essential: bool,
}

/// How a mechanism arrives at its payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PaymentRule {
    /// The largest ask with which the winner would still have won.
    Critical,
    /// An estimate of that, found by bisection up to a tolerance.
    Bisected,
    /// What the winner asked, less what the data it receives is worth to it.
    Asked,
    Unpaid,
}

/// How many log determinants were evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Evaluations {
    /// To choose the winners.
    pub select: u64,
    /// To price them.
    pub price: u64,
}

/// A winner with its payment, and the log determinants that took.
pub(super) type Priced = ((Seat, Amount), u64);

/// All winners with their payments, and the log determinants of all.
pub(super) fn tally(priced: Vec<Priced>) -> (Vec<(Seat, Amount)>, u64) {
    let evaluations = priced.iter().map(|(_, evaluations)| evaluations).sum();
    (priced.into_iter().map(|(paid, _)| paid).collect(), evaluations)
}

/// Winners, payments and what they cover.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    mechanism: String,
    rule: PaymentRule,
    winners: Vec<Winner>,
    turned_away: Vec<ClientId>,
    reached: Information,
    total: Information,
    target: Coverage,
    purse: Option<Amount>,
    is_bound: bool,
    evaluations: Evaluations,
}

impl Outcome {
    /// An outcome of `mechanism` in which the clients of `paid` win and are paid that; `target` is the
    /// coverage the mechanism set out to meet.
    ///
    /// # Panics
    /// When a seat is named twice.
    pub fn new(
        round: &Round,
        mechanism: &str,
        rule: PaymentRule,
        target: Coverage,
        paid: Vec<(Seat, Amount)>,
        evaluations: Evaluations,
    ) -> Outcome {
        let mut seats: Vec<Seat> = paid.iter().map(|(seat, _)| *seat).collect();
        seats.sort();
        let essential = round.essential(&seats, round.required(target));
        let price = evaluations.price + seats.len() as u64;
        Outcome::known(round, mechanism, rule, target, paid, &essential, Evaluations { price, ..evaluations })
    }

    /// [`Outcome::new`] where it is known which clients are essential, at least of the winners, by seat.
    pub(super) fn known(
        round: &Round,
        mechanism: &str,
        rule: PaymentRule,
        target: Coverage,
        mut paid: Vec<(Seat, Amount)>,
        essential: &[Seat],
        evaluations: Evaluations,
    ) -> Outcome {
        paid.sort_by_key(|(seat, _)| *seat);
        assert!(paid.windows(2).all(|pair| pair[0].0 < pair[1].0), "a client cannot win twice");
        let seats: Vec<Seat> = paid.iter().map(|(seat, _)| *seat).collect();
        #[cfg(feature = "planted-faults")]
        if crate::planted::is(crate::planted::Fault::PaidMidpoint) {
            paid.iter_mut().for_each(|(_, paid)| *paid = crate::planted::midpoint(*paid, round.reserve()));
        }
        let winner = |(seat, payment)| Winner {
            seat,
            client: round.client(seat).clone(),
            ask: round.ask(seat),
            payment,
            essential: essential.binary_search(&seat).is_ok(),
        };
        Outcome {
            mechanism: mechanism.to_owned(),
            rule,
            winners: if paid.len() < MANY {
                paid.into_iter().map(winner).collect()
            } else {
                paid.into_par_iter().map(winner).collect()
            },
            turned_away: round.turned_away().iter().map(|offer| offer.client.clone()).collect(),
            reached: round.level(&seats),
            total: round.total_level(),
            target,
            purse: round.purse(),
            is_bound: false,
            evaluations: Evaluations { select: evaluations.select + 1, ..evaluations },
        }
    }

    /// The same outcome of a mechanism that gave the target up to keep to the purse.
    #[must_use]
    pub fn bound_by_purse(self) -> Outcome {
        Outcome { is_bound: true, ..self }
    }

    /// Whether the prices of the target were above the purse, and it bought what the purse could pay instead.
    pub fn is_bound_by_purse(&self) -> bool {
        self.is_bound
    }

    /// What all payments together may come to, if the round says so.
    pub fn purse(&self) -> Option<Amount> {
        self.purse
    }

    pub fn mechanism(&self) -> &str {
        &self.mechanism
    }

    pub fn rule(&self) -> PaymentRule {
        self.rule
    }

    /// The winners, sorted by client.
    pub fn winners(&self) -> &[Winner] {
        &self.winners
    }

    pub fn winner(&self, client: &ClientId) -> Option<&Winner> {
        let found = self.winners.binary_search_by(|winner| winner.client.cmp(client)).ok()?;
        Some(&self.winners[found])
    }

    /// Who asked more than the reserve, or the purse, sorted.
    pub fn turned_away(&self) -> &[ClientId] {
        &self.turned_away
    }

    /// det V(winners) / det V(all admitted), at most 1.
    pub fn coverage(&self) -> f64 {
        (self.reached - self.total).to_ratio().min(1.0)
    }

    /// The ratio this mechanism required.
    pub fn target(&self) -> f64 {
        self.target.to_ratio()
    }

    pub fn is_covered(&self, round: &Round) -> bool {
        self.reached >= round.required(self.target)
    }

    /// Sum of the winners' asks: the social cost, when all tell the truth.
    pub fn social_cost(&self) -> Total {
        self.winners.iter().map(|winner| winner.ask).sum()
    }

    pub fn payments(&self) -> Total {
        self.winners.iter().map(|winner| winner.payment).sum()
    }

    pub fn evaluations(&self) -> Evaluations {
        self.evaluations
    }

    /// Why a winner of this outcome is paid what it is, in words.
    pub fn reason(&self, round: &Round, winner: &Winner) -> &'static str {
        let is_purse = round.purse() == Some(round.reserve());
        match self.rule {
            PaymentRule::Unpaid => "nobody is paid",
            PaymentRule::Asked if winner.payment < winner.ask => "its ask, less what the data it receives is worth",
            PaymentRule::Asked => "winners are paid what they ask",
            PaymentRule::Critical if self.is_bound => "the largest ask with which it would still win",
            PaymentRule::Critical | PaymentRule::Bisected if winner.essential && is_purse => {
                "essential: without it the target is missed, so it is paid the purse"
            }
            PaymentRule::Critical | PaymentRule::Bisected if winner.essential => {
                "essential: without it the target is missed, so it is paid the reserve"
            }
            PaymentRule::Critical if winner.payment == round.reserve() && is_purse => {
                "it would win with any ask up to the purse"
            }
            PaymentRule::Critical if winner.payment == round.reserve() => "it would win with any ask up to the reserve",
            PaymentRule::Critical => "the largest ask with which it would still win",
            PaymentRule::Bisected if winner.payment < winner.ask => "where bisection stopped, below its own ask",
            PaymentRule::Bisected => "where bisection stopped, within gamma",
        }
    }
}

/// For JSON: money is an exact decimal number of units, as in a round document.
impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Outcome", if self.purse.is_some() { 10 } else { 8 })?;
        fields.serialize_field("mechanism", &self.mechanism)?;
        fields.serialize_field("coverage", &self.coverage())?;
        fields.serialize_field("target", &self.target())?;
        fields.serialize_field("social_cost", &raw(self.social_cost()))?;
        fields.serialize_field("payments", &raw(self.payments()))?;
        if let Some(purse) = self.purse {
            fields.serialize_field("purse", &raw(purse))?;
            fields.serialize_field("bound_by_purse", &self.is_bound)?;
        }
        fields.serialize_field("log_dets", &self.evaluations)?;
        fields.serialize_field("winners", &self.winners)?;
        fields.serialize_field("turned_away", &self.turned_away)?;
        fields.end()
    }
}

fn decimal<S: Serializer>(money: &Amount, serializer: S) -> Result<S::Ok, S::Error> {
    raw(money).serialize(serializer)
}
