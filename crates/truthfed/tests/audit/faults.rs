//! Truthful mechanisms with a fault planted in each.

use truthfed::Amount;
use truthfed::auction::{Evaluations, Mechanism, Outcome, Ratchet, Refusal, Round, Seat};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    /// Payments are a micro-unit off.
    High,
    Low,
    /// Winners are paid what they ask.
    FirstPrice,
    /// Of two clients with the same data, asks are compared in whole units, and of equals the dearer wins.
    TiesByAsk,
    /// Budgets double from the smallest ask until those who ask less can meet the target; only they take part.
    OwnGrid,
    /// Payments are halfway between the ask and the right payment.
    Peeking,
}

pub(crate) struct Faulty<'m> {
    pub(crate) inner: &'m dyn Mechanism,
    pub(crate) fault: Fault,
}

impl Mechanism for Faulty<'_> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        match self.fault {
            Fault::High => self.paying(round, |_, payment| payment.saturating_add(1)),
            Fault::Low => self.paying(round, |_, payment| (payment - 1).max(0)),
            Fault::FirstPrice => self.paying(round, |ask, _| ask),
            Fault::Peeking => self.paying(round, i64::midpoint),
            Fault::TiesByAsk => self.with_ties_by_ask(round),
            Fault::OwnGrid => self.on_own_grid(round),
        }
    }

    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        match self.fault {
            Fault::TiesByAsk | Fault::OwnGrid => {
                Ok(self.run(round)?.winners().iter().map(|winner| winner.seat).collect())
            }
            _ => self.inner.select(round),
        }
    }
}

impl Faulty<'_> {
    fn paying(&self, round: &Round, pay: fn(i64, i64) -> i64) -> Result<Outcome, Refusal> {
        let outcome = self.inner.run(round)?;
        let paid = outcome.winners().iter().map(|winner| {
            let payment = pay(winner.ask.micros(), winner.payment.micros());
            (winner.seat, Amount::from_micros(payment).unwrap())
        });
        Ok(self.outcome(round, &outcome, paid.collect()))
    }

    fn with_ties_by_ask(&self, round: &Round) -> Result<Outcome, Refusal> {
        let outcome = self.inner.run(round)?;
        let mut paid: Vec<(Seat, Amount)> =
            outcome.winners().iter().map(|winner| (winner.seat, winner.payment)).collect();
        for loser in round.seats().filter(|&seat| outcome.winner(round.client(seat)).is_none()) {
            let units = |seat: Seat| round.ask(seat).micros() / 1_000_000;
            let is_tie = |winner: Seat| round.gram(winner) == round.gram(loser) && units(winner) == units(loser);
            let beaten = paid.iter_mut().find(|(seat, _)| is_tie(*seat) && round.ask(*seat) < round.ask(loser));
            if let Some(place) = beaten {
                *place = (loser, place.1.max(round.ask(loser)));
            }
        }
        Ok(self.outcome(round, &outcome, paid))
    }

    fn on_own_grid(&self, round: &Round) -> Result<Outcome, Refusal> {
        let asks = || round.seats().map(|seat| round.ask(seat));
        let Some(smallest) = asks().filter(|&ask| ask > Amount::ZERO).min() else { return self.inner.run(round) };
        if self.name() == "ratchet" {
            return Ratchet::new(smallest, 1.0).unwrap().run(round);
        }
        let within =
            |budget: i64| -> Vec<Seat> { round.seats().filter(|&seat| round.ask(seat).micros() <= budget).collect() };
        let required = round.required(round.coverage());
        let mut budget = smallest.micros();
        while round.level(&within(budget)) < required {
            budget *= 2;
        }
        let away = Amount::from_micros(round.reserve().micros() + 1).unwrap();
        let dear = round.seats().filter(|seat| round.ask(*seat).micros() > budget);
        let cheap = dear.fold(round.clone(), |cheap, seat| cheap.with_ask(round.client(seat), away));
        let outcome = self.inner.run(&cheap)?;
        let paid = outcome.winners().iter().map(|winner| (round.seat_of(&winner.client).unwrap(), winner.payment));
        Ok(self.outcome(round, &outcome, paid.collect()))
    }

    fn outcome(&self, round: &Round, outcome: &Outcome, paid: Vec<(Seat, Amount)>) -> Outcome {
        Outcome::new(round, self.name(), outcome.rule(), round.coverage(), paid, Evaluations::default())
    }
}
