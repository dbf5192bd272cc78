//! `inc-feducb`: the pay-as-ask protocol of Wei et al. 2023, reconstructed from its outline.
//!
//! A client whose ask is outweighed by the data it would receive takes part for nothing; the largest set
//! in which this holds for everyone is found by dropping clients until it does. If that set misses the
//! target, the rest is ranked by the determinant each would add, and either the cheapest single client that
//! completes the target or the shortest prefix of the ranking is added, whichever is paid less.
//! A client is paid what it asks, less what the data is worth to it.
//!
//! Not truthful: a winner that asks more is paid more.

use std::collections::BTreeMap;

use super::catalog::{Claim, Claims, Entry};
use super::kernel::Kernel;
use super::meter::{Metered, within_limit};
use super::parameter::{Kind, Parameter, Value};
use super::{Evaluations, Information, Mechanism, Outcome, PaymentRule, Refusal, Round, Seat};
use crate::Amount;

/// Pay-as-ask (reconstructed).
#[derive(Debug, Clone, Copy, Default)]
pub struct IncFedUcb {
    /// Whether received data counts as part of the payment: det(V_i + received) / det(V_i) - 1 units. Off by
    /// default: plain pay-as-ask, which is what the paper compares with.
    pub data_incentive: bool,
}

const DATA_INCENTIVE: Parameter = Parameter {
    name: "data_incentive",
    kind: Kind::Switch,
    help: "count the data a client receives as part of its payment",
};

pub(super) const ENTRY: Entry = Entry {
    name: "inc-feducb",
    summary: "Wei et al. 2023 (reconstructed): winners are paid what they ask",
    target: "c",
    parameters: &[DATA_INCENTIVE],
    claims: |setting| Claims {
        individually_rational: match setting.is_on(&DATA_INCENTIVE) {
            true => Claim::Partly("counting data"),
            false => Claim::Yes,
        },
        ..Claims::NONE
    },
    build: |setting| Box::new(IncFedUcb { data_incentive: setting.is_on(&DATA_INCENTIVE) }),
};

impl Mechanism for IncFedUcb {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        [DATA_INCENTIVE.with(self.data_incentive)].into()
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        within_limit(round, |round| {
            let mut search = Search { round, data_incentive: self.data_incentive, kernel: round.kernel() };
            let winners = search.winners()?;
            let select = search.kernel.evaluations;
            let paid = search.payments(&winners)?;
            let evaluations = Evaluations { select, price: search.kernel.evaluations - select };
            Ok(Outcome::new(round, self.name(), PaymentRule::Asked, round.coverage(), paid, evaluations))
        })
    }
}

struct Search<'r> {
    round: &'r Round,
    data_incentive: bool,
    kernel: Kernel,
}

impl Search<'_> {
    fn winners(&mut self) -> Metered<Vec<Seat>> {
        let required = self.round.required(self.round.coverage());
        let willing = self.willing()?;
        if self.level(&willing)? >= required {
            return Ok(willing);
        }
        let ranked = self.ranked(&willing)?;
        let singles: Vec<Vec<Seat>> =
            ranked.iter().filter(|(level, _)| *level >= required).map(|&(_, seat)| with(&willing, seat)).collect();
        let mut prefix = willing;
        for (_, seat) in ranked {
            if self.level(&prefix)? >= required {
                break;
            }
            prefix = with(&prefix, seat);
        }
        let mut best = (self.cost(&prefix)?, prefix);
        for single in singles {
            let cost = self.cost(&single)?;
            if cost < best.0 {
                best = (cost, single);
            }
        }
        Ok(best.1)
    }

    /// The largest set in which everyone is paid enough by the data of the others.
    fn willing(&mut self) -> Metered<Vec<Seat>> {
        let mut set: Vec<Seat> = self.round.seats().collect();
        loop {
            let mut stay = Vec::with_capacity(set.len());
            for &seat in &set {
                if self.worth(seat, &set)? >= self.round.ask(seat) {
                    stay.push(seat);
                }
            }
            if stay.len() == set.len() {
                return Ok(set);
            }
            set = stay;
        }
    }

    /// Those not in `set`, by falling level of the set with them; ties to the smaller seat.
    fn ranked(&mut self, set: &[Seat]) -> Metered<Vec<(Information, Seat)>> {
        let rest: Vec<Seat> = self.round.seats().filter(|seat| set.binary_search(seat).is_err()).collect();
        let ranked = rest.into_iter().map(|seat| Ok((self.level(&with(set, seat))?, seat)));
        let mut ranked = ranked.collect::<Metered<Vec<_>>>()?;
        ranked.sort_by_key(|&(level, seat)| (std::cmp::Reverse(level), seat));
        Ok(ranked)
    }

    fn payments(&mut self, winners: &[Seat]) -> Metered<Vec<(Seat, Amount)>> {
        let pay = |&seat: &Seat| {
            let due = self.round.ask(seat).micros() - self.worth(seat, winners)?.micros();
            Ok((seat, Amount::saturating(i128::from(due))))
        };
        winners.iter().map(pay).collect()
    }

    fn cost(&mut self, set: &[Seat]) -> Metered<i128> {
        Ok(self.payments(set)?.iter().map(|(_, payment)| i128::from(payment.micros())).sum())
    }

    /// What a client's share of the others' data is worth to it, in a set that has it.
    fn worth(&mut self, seat: Seat, set: &[Seat]) -> Metered<Amount> {
        if !self.data_incentive {
            return Ok(Amount::ZERO);
        }
        let ratio = (self.level(set)? - self.level(&[seat])?).to_ratio() - 1.0;
        // In micro-units, rounded down; 1e30 fits into 128 bits and is above every amount.
        Ok(Amount::saturating((ratio.max(0.0) * 1e6).min(1e30) as i128))
    }

    fn level(&mut self, set: &[Seat]) -> Metered<Information> {
        self.kernel.level(&self.round.sum(set))
    }
}

/// A sorted set with one more member.
fn with(set: &[Seat], seat: Seat) -> Vec<Seat> {
    let mut larger = set.to_vec();
    larger.insert(larger.partition_point(|other| *other < seat), seat);
    larger
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::testing::{check_payments, one_dimensional};

    const PAY_AS_ASK: IncFedUcb = IncFedUcb { data_incentive: false };
    const WITH_DATA: IncFedUcb = IncFedUcb { data_incentive: true };

    #[test]
    fn the_cheapest_single_client_that_completes_the_target_is_paid_its_ask() {
        let round = one_dimensional(0.5, &[("a", "3", 4.0), ("b", "5", 6.0), ("c", "2", 1.0)]);
        check_payments(&PAY_AS_ASK, &round, &[("b", "5")]);
        let both = one_dimensional(0.35, &[("a", "3", 4.0), ("b", "5", 6.0), ("c", "2", 1.0)]);
        check_payments(&PAY_AS_ASK, &both, &[("a", "3")]);
        let equal = one_dimensional(0.35, &[("a", "5", 4.0), ("b", "5", 6.0), ("c", "2", 1.0)]);
        check_payments(&PAY_AS_ASK, &equal, &[("b", "5")]);
    }

    #[test]
    fn without_such_a_client_the_most_informative_are_added_in_turn() {
        let round = one_dimensional(0.6, &[("a", "3", 4.0), ("b", "5", 4.0), ("c", "2", 4.0)]);
        check_payments(&PAY_AS_ASK, &round, &[("a", "3"), ("b", "5")]);
        // Chosen last to first, and told by seat.
        let round = one_dimensional(0.8, &[("a", "3", 1.0), ("b", "5", 2.0), ("c", "2", 3.0)]);
        assert_eq!(PAY_AS_ASK.select(&round).unwrap(), [Seat(1), Seat(2)]);
    }

    #[test]
    fn asking_more_pays_more() {
        let round = one_dimensional(0.5, &[("a", "3", 4.0), ("b", "5", 6.0), ("c", "2", 1.0)]);
        let more = round.with_ask(&"b".parse().unwrap(), "50".parse().unwrap());
        check_payments(&PAY_AS_ASK, &more, &[("b", "50")]);
    }

    #[test]
    fn data_worth_more_than_the_ask_makes_a_client_take_part_for_nothing() {
        // Alone 1.1, together 2.1: the data of the other is worth 1/1.1 = 0.909090 to each.
        let round = one_dimensional(0.9, &[("a", "0.9", 1.0), ("b", "0.9", 1.0)]);
        check_payments(&WITH_DATA, &round, &[("a", "0"), ("b", "0")]);
        let dearer = one_dimensional(0.9, &[("a", "0.9", 1.0), ("b", "1", 1.0)]);
        check_payments(&WITH_DATA, &dearer, &[("a", "0"), ("b", "0.09091")]);
    }
}
