//! I11: the mechanism, run again on the journal's offers, decides the same. I3, I4: payments lie between ask and
//! reserve. I12: no sampled lie gains, and payments are critical, where the catalog says so.

use std::collections::BTreeMap;

use truthfed::Amount;
use truthfed::auction::catalog::Claim;
use truthfed::auction::{ClientId, Coverage, Mechanism, Offer, Outcome, Round, RoundSpec, certify};
use truthfed::generate::Stream;
use truthfed::protocol::{CoverageRule, RoundId};
use truthfed_node::journal::Award;

use super::Observer;
use crate::chaos::{Sums, Verdict, breach, check};

/// Lies that are tried in each round.
const LIES: usize = 3;

impl Observer {
    /// The round as the journal has it.
    fn spec(&self) -> RoundSpec {
        let terms = &self.agreement;
        let settled = self.samples.settled_now();
        let offers = self.that_fit();
        let samples: u64 = offers.values().map(|taken| taken.content.samples).sum();
        let coverage = match terms.coverage() {
            CoverageRule::Fixed(coverage) => coverage,
            CoverageRule::MonopolyFree => {
                let all = settled.samples as u64 + samples;
                let lambda = terms.bandit().lambda();
                Coverage::monopoly_free(all, terms.raw().norm, lambda, terms.dimension()).expect("checked terms")
            }
        };
        let offer = |(client, taken): (&ClientId, &super::rounds::Taken)| Offer {
            client: client.clone(),
            ask: taken.content.ask_micros,
            gram: taken.content.gram.clone(),
        };
        RoundSpec {
            lambda: terms.bandit().lambda(),
            coverage,
            reserve: terms.raw().reserve,
            purse: self.purse(),
            work: Some(terms.raw().work),
            ..RoundSpec::new(settled.gram(), offers.into_iter().map(offer).collect())
        }
    }

    /// The offers that fit into the capacity, the smallest first, by member.
    fn that_fit(&self) -> BTreeMap<&ClientId, &super::rounds::Taken> {
        let mut room = self.room();
        let mut offers: Vec<_> = self.open.as_ref().map(|open| &open.offers).into_iter().flatten().collect();
        offers.sort_by_key(|(_, taken)| taken.content.samples);
        offers.retain(|(_, taken)| {
            let fits = taken.content.samples <= room;
            room -= if fits { taken.content.samples } else { 0 };
            fits
        });
        offers.into_iter().collect()
    }

    pub(super) fn check_award(&self, round: RoundId, awards: &[Award], dice: &mut Stream) -> Verdict {
        let mechanism = self.agreement.mechanism();
        let again = Round::new(self.spec()).ok().and_then(|auction| Some((mechanism.run(&auction).ok()?, auction)));
        let Some((outcome, auction)) = again else {
            return breach("I11", format!("round {round} is awarded, and cannot be decided again"));
        };
        let is_same = |(award, winner): (&Award, &truthfed::auction::Winner)| {
            (&award.member, award.ask_micros, award.payment_micros, award.essential)
                == (&winner.client, winner.ask, winner.payment, winner.essential)
        };
        let is_identical = awards.len() == outcome.winners().len() && awards.iter().zip(outcome.winners()).all(is_same);
        check(is_identical, "I11", || format!("round {round} was awarded {awards:?}, again it is {outcome:?}"))?;
        let claims = self.agreement.claims();
        if claims.individually_rational == Claim::Yes {
            self.check_bounds(round, awards)?;
        }
        if claims.truthful == Claim::Yes {
            for _ in 0..LIES {
                check_lie(round, &auction, mechanism.as_ref(), &outcome, dice)?;
            }
            if dice.chance(0.3) {
                let certified = certify(&auction, mechanism.as_ref(), &outcome);
                check(certified.is_ok(), "I12", || format!("round {round}: {certified:?}"))?;
            }
        }
        Ok(())
    }

    fn check_bounds(&self, round: RoundId, awards: &[Award]) -> Verdict {
        let reserve = self.agreement.raw().reserve;
        for Award { member, ask_micros: ask, payment_micros: payment, .. } in awards {
            check(payment >= ask, "I3", || format!("{member} is paid {payment} for {ask} in round {round}"))?;
            check(*payment <= reserve, "I4", || format!("{member} is paid {payment} of {reserve} in round {round}"))?;
        }
        Ok(())
    }

    /// A round is aborted only when there is nothing to decide, or the mechanism gives up.
    pub(super) fn check_aborted(&mut self, round: RoundId) -> Verdict {
        let spec = self.spec();
        let nothing = Sums::zero(self.agreement.dimension()).gram();
        let afresh = RoundSpec { base: nothing, ..spec.clone() };
        self.is_hindered = !spec.offers.is_empty() && self.is_decided(afresh);
        check(spec.offers.is_empty() || !self.is_decided(spec), "I11", || {
            format!("round {round} was aborted, and can be decided")
        })
    }

    fn is_decided(&self, spec: RoundSpec) -> bool {
        Round::new(spec).is_ok_and(|auction| self.agreement.mechanism().run(&auction).is_ok())
    }

    /// I16: on top of what is settled now, a round of an honest member can still be made.
    pub(super) fn check_possible(&self, round: RoundId) -> Verdict {
        let mut honest = Sums::zero(self.agreement.dimension());
        (0..self.agreement.dimension()).for_each(|i| {
            let arm: Vec<f64> = (0..self.agreement.dimension()).map(|j| if i == j { 1.0 } else { 0.0 }).collect();
            honest.add(&Sums::of_sample(&arm, 1.0), 1);
        });
        let client: ClientId = "honest".parse().expect("a name");
        let offer = Offer { client, ask: Amount::from_units(1), gram: honest.gram() };
        let spec = RoundSpec {
            lambda: self.agreement.bandit().lambda(),
            reserve: self.agreement.raw().reserve,
            ..RoundSpec::new(self.samples.settled_now().gram(), vec![offer])
        };
        let problem = Round::new(spec).err();
        let is_possible = problem.is_none() || self.room() < honest.samples as u64;
        check(is_possible, "I16", || format!("after round {round} no honest round can be held: {problem:?}"))
    }
}

/// One client asks something else than its cost, which is what it asked.
fn check_lie(
    round: RoundId,
    auction: &Round,
    mechanism: &dyn Mechanism,
    outcome: &Outcome,
    dice: &mut Stream,
) -> Verdict {
    let offers = auction.spec().offers;
    let Some(Offer { client, ask: cost, .. }) = offers.get(dice.between(0, offers.len().max(1) - 1)) else {
        return Ok(());
    };
    let reserve = auction.reserve().micros();
    let paid = outcome.winner(client).map_or(cost.micros(), |winner| winner.payment.micros());
    let cost_micros = cost.micros();
    let random = dice.between(0, 2 * reserve.min(100_000_000) as usize) as i64;
    let (less, more) = (dice.between(0, cost_micros as usize) as i64, cost_micros + dice.between(0, 20_000_000) as i64);
    let lie =
        dice.pick(&[random, less, more, less, more, paid, paid + 1, cost_micros - 1, cost_micros + 1, reserve, 0]);
    let lie = Amount::from_micros(lie.max(0)).expect("at most a little above the reserve");
    let Ok(other) = mechanism.run(&auction.with_ask(client, lie)) else { return Ok(()) };
    let (honest, lying) = (utility(outcome, client, *cost), utility(&other, client, *cost));
    check(lying <= honest, "I12", || {
        format!("in round {round} {client}, whose cost is {cost}, gains {} by asking {lie}", lying - honest)
    })
}

fn utility(outcome: &Outcome, client: &ClientId, cost: Amount) -> i64 {
    outcome.winner(client).map_or(0, |winner| winner.payment.micros() - cost.micros())
}
