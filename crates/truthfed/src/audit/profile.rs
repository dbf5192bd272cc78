//! One client, all others' asks fixed: where it wins, and what it is paid.
//!
//! Choosing is cheap and paying is dear, so all asks are tried with [`Mechanism::select`], any change between two of
//! them is narrowed down to the micro-unit, and [`Mechanism::run`] follows where it tells most: at both ends of every
//! stretch of winning asks, then inside.

use std::collections::BTreeMap;

use super::asks::worth_trying;
use crate::Amount;
use crate::auction::{ClientId, Mechanism, Outcome, Refusal, Round, Seat};
use crate::generate::Stream;

/// Most changes that are narrowed down, with up to 60 selections each. A client of a sound mechanism has one; one more
/// refutes it.
const MOST_EDGES: usize = 12;

/// A client whose lies are tried, and its place in the round in which it is admitted.
#[derive(Debug)]
pub(super) struct Suspect {
    pub(super) client: ClientId,
    pub(super) cost: Amount,
    round: Round,
    seat: Seat,
    asks: Vec<Amount>,
}

impl Suspect {
    /// Every client of a round: its ask there is its cost. At most about `asks` are tried for each.
    pub(super) fn all(round: &Round, asks: usize, stream: &mut Stream) -> Vec<Suspect> {
        let turned_away = round.turned_away().iter().map(|offer| (offer.client.clone(), offer.ask));
        let admitted = round.seats().map(|seat| (round.client(seat).clone(), round.ask(seat)));
        let suspect = |(client, cost): (ClientId, Amount)| {
            let round = if cost <= round.reserve() { round.clone() } else { round.with_ask(&client, Amount::ZERO) };
            let seat = round.seat_of(&client).expect("an ask within the reserve is admitted");
            let asks = worth_trying(&round, seat, asks, stream);
            Suspect { client, cost, round, seat, asks }
        };
        admitted.chain(turned_away).map(suspect).collect()
    }

    pub(super) fn round_at(&self, ask: Amount) -> Round {
        self.round.with_ask(&self.client, ask)
    }
}

/// What happens to a client at the asks that were tried.
#[derive(Debug, Default)]
pub(super) struct Profile {
    points: BTreeMap<Amount, Point>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Point {
    selected: Option<bool>,
    /// How a whole run ended for it: with a payment, or as a loser.
    ran: Option<Option<Amount>>,
}

impl Point {
    fn wins(&self) -> bool {
        self.selected.unwrap_or_else(|| self.paid().is_some())
    }

    fn paid(&self) -> Option<Amount> {
        self.ran.flatten()
    }

    /// Whether choosing alone and choosing with paying gave different answers.
    fn disagrees(&self) -> bool {
        self.selected.zip(self.ran).is_some_and(|(selected, paid)| selected != paid.is_some())
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Most asks to try out of those that are worth it, besides the payment and the changes found.
    pub(super) asks: usize,
    /// Most asks to pay at, besides the cost.
    pub(super) runs: usize,
}

impl Profile {
    /// Tries the asks of a client; `honest` is the outcome at its cost.
    pub(super) fn new(
        mechanism: &dyn Mechanism,
        suspect: &Suspect,
        honest: &Outcome,
        limits: Limits,
    ) -> Result<Profile, Refusal> {
        let mut trial = Trial { mechanism, suspect, points: BTreeMap::new(), runs: limits.runs };
        trial.note_run(suspect.cost, honest);
        if honest.winner(&suspect.client).is_none() {
            trial.run(Amount::ZERO)?;
        }
        trial.select(suspect.cost)?;
        trial.select_at_payments()?;
        for ask in spread(&suspect.asks, limits.asks) {
            trial.select(ask)?;
        }
        trial.select(suspect.round.reserve().step_above())?;
        trial.find_edges()?;
        trial.pay()?;
        trial.select_at_payments()?;
        Ok(Profile { points: trial.points })
    }

    /// A losing ask below a winning one, as far apart as any.
    pub(super) fn loss_below_win(&self) -> Option<(Amount, Amount)> {
        let (&high, _) = self.points.iter().rfind(|(_, point)| point.wins())?;
        let (&low, _) = self.points.iter().find(|(_, point)| !point.wins())?;
        (low < high).then_some((low, high))
    }

    /// Asks at which it wins, with the payment, where that is known.
    pub(super) fn payments(&self) -> impl Iterator<Item = (Amount, Amount)> {
        self.points.iter().filter_map(|(&ask, point)| Some((ask, point.paid()?)))
    }

    pub(super) fn highest_loss(&self) -> Option<Amount> {
        self.points.iter().rfind(|(_, point)| !point.wins()).map(|(&ask, _)| ask)
    }

    pub(super) fn highest_win(&self) -> Option<Amount> {
        self.points.iter().rfind(|(_, point)| point.wins()).map(|(&ask, _)| ask)
    }

    pub(super) fn wins_at(&self, ask: Amount) -> Option<bool> {
        self.points.get(&ask).map(Point::wins)
    }

    /// An ask at which choosing alone and choosing with paying gave different answers.
    pub(super) fn disagreement(&self) -> Option<Amount> {
        self.points.iter().find(|(_, point)| point.disagrees()).map(|(&ask, _)| ask)
    }
}

struct Trial<'a> {
    mechanism: &'a dyn Mechanism,
    suspect: &'a Suspect,
    points: BTreeMap<Amount, Point>,
    runs: usize,
}

impl Trial<'_> {
    /// Whether it wins there; above the reserve nobody does.
    fn select(&mut self, ask: Amount) -> Result<bool, Refusal> {
        let point = self.points.entry(ask).or_default();
        if let Some(selected) = point.selected {
            return Ok(selected);
        }
        let Suspect { round, seat, .. } = self.suspect;
        let wins = ask <= round.reserve() && self.mechanism.select(&self.suspect.round_at(ask))?.contains(seat);
        point.selected = Some(wins);
        Ok(wins)
    }

    fn select_at_payments(&mut self) -> Result<(), Refusal> {
        let mut paid: Vec<Amount> = self.points.values().filter_map(Point::paid).collect();
        paid.dedup();
        for payment in paid {
            for step in -1..=1 {
                self.select(Amount::saturating(i128::from(payment.micros()) + step))?;
            }
        }
        Ok(())
    }

    /// What it is paid there, as long as runs are left.
    fn run(&mut self, ask: Amount) -> Result<(), Refusal> {
        if self.runs > 0 && self.points.get(&ask).is_none_or(|point| point.ran.is_none()) {
            self.runs -= 1;
            let outcome = self.mechanism.run(&self.suspect.round_at(ask))?;
            self.note_run(ask, &outcome);
        }
        Ok(())
    }

    fn note_run(&mut self, ask: Amount, outcome: &Outcome) {
        let paid = outcome.winner(&self.suspect.client).map(|winner| winner.payment);
        self.points.entry(ask).or_default().ran = Some(paid);
    }

    /// Narrows every change between two neighbours down to a micro-unit.
    fn find_edges(&mut self) -> Result<(), Refusal> {
        let points: Vec<(Amount, bool)> = self.points.iter().map(|(&ask, point)| (ask, point.wins())).collect();
        let changes = points.windows(2).filter(|pair| pair[0].1 != pair[1].1);
        for pair in changes.take(MOST_EDGES) {
            let (mut low, mut high) = (pair[0].0.micros(), pair[1].0.micros());
            while low + 1 < high {
                let middle = i64::midpoint(low, high);
                let wins = self.select(Amount::saturating(i128::from(middle)))?;
                if wins == pair[0].1 { low = middle } else { high = middle }
            }
        }
        Ok(())
    }

    /// Runs at the ends of the stretches of winning asks, the highest first, then between.
    fn pay(&mut self) -> Result<(), Refusal> {
        let wins: Vec<(Amount, bool)> = self.points.iter().map(|(&ask, point)| (ask, point.wins())).collect();
        let stretches: Vec<Vec<Amount>> = wins
            .chunk_by(|left, right| left.1 == right.1)
            .filter(|stretch| stretch[0].1)
            .map(|stretch| stretch.iter().map(|(ask, _)| *ask).collect())
            .collect();
        let tops = stretches.iter().rev().map(|stretch| stretch[stretch.len() - 1]);
        let bottoms = stretches.iter().map(|stretch| stretch[0]);
        let insides = stretches.iter().flat_map(|stretch| spread(stretch, self.runs));
        let asks: Vec<Amount> = tops.chain(bottoms).chain(insides).collect();
        asks.into_iter().try_for_each(|ask| self.run(ask))
    }
}

/// At most that many, evenly spread, the first among them.
fn spread(asks: &[Amount], most: usize) -> impl Iterator<Item = Amount> + use<'_> {
    let step = asks.len().div_ceil(most.max(1)).max(1);
    asks.iter().copied().step_by(step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auction::catalog;
    use crate::auction::{Ratchet, RoundSpec};
    use crate::generate;

    /// A round whose asks and reserve are so low that every ask can be tried.
    fn tiny(seed: u64, reserve: i64) -> Round {
        let spec = generate::varied_within(seed, (2, 5), (1, 3)).spec();
        let low = |ask: Amount| Amount::saturating(i128::from(ask.micros() % (reserve + reserve / 10)));
        let offers = spec.offers.into_iter().map(|offer| crate::auction::Offer { ask: low(offer.ask), ..offer });
        let offers = offers.collect();
        Round::new(RoundSpec { reserve: Amount::saturating(i128::from(reserve)), offers, ..spec }).unwrap()
    }

    /// The profile says the same as trying every ask; in how few asks, as a share.
    fn check_against_every_ask(mechanism: &dyn Mechanism, seed: u64, reserve: i64) -> f64 {
        let round = tiny(seed, reserve);
        let honest = mechanism.run(&round).unwrap();
        let suspects = Suspect::all(&round, usize::MAX, &mut Stream::new(seed, 0));
        let mut tried = 0;
        for suspect in &suspects {
            let limits = Limits { asks: usize::MAX, runs: 4 };
            let profile = Profile::new(mechanism, suspect, &honest, limits).unwrap();
            tried += profile.points.len();
            for ask in (0..=reserve).map(|micros| Amount::saturating(i128::from(micros))) {
                let (_, nearest) = profile.points.range(..=ask).next_back().unwrap();
                let wins = mechanism.select(&suspect.round_at(ask)).unwrap().contains(&suspect.seat);
                let (name, client) = (mechanism.name(), &suspect.client);
                assert_eq!(nearest.wins(), wins, "{name}, seed {seed}: {client} asks {ask}");
            }
        }
        tried as f64 / (suspects.len() as f64 * reserve as f64)
    }

    #[test]
    fn the_profile_equals_trying_every_ask() {
        let ratchet = Ratchet::default();
        for entry in catalog::entries() {
            let mechanism = entry.mechanism();
            let shares: Vec<f64> =
                (0..20).map(|seed| check_against_every_ask(mechanism.as_ref(), seed, 2000)).collect();
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            assert!(mean < 0.3, "{}: {mean} of all asks were tried", entry.name);
        }
        // Budgets of the ratchet that matter begin at 10,000 micro-units.
        for seed in 0..4 {
            check_against_every_ask(&ratchet, seed, 30_000);
        }
    }
}
