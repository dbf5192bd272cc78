//! A mechanism of your own: `cheapest-first`, in the public API alone.
//!
//! It admits clients from the cheapest upwards until the target is met, however little data each brings.
//! Lowering an ask only moves a client forward in that queue, so a winner that lowers its ask still wins. A mechanism
//! with this property is truthful if every winner is paid its critical value, the largest ask with which it would
//! still win. Truthful, but expensive: it ignores how much data a client gives for its ask.
//!
//! It has a parameter of its own, refuses rounds that are too large for it, and is audited like the built-in mechanisms.
//! A counterexample is written as a document, read back and replayed.
//!
//! Run it with `cargo run -p truthfed --example own_mechanism`.

#![allow(clippy::print_stdout)] // an example has something to show

use std::collections::BTreeMap;

use truthfed::Amount;
use truthfed::auction::{Clock, Evaluations, Mechanism, Outcome, PaymentRule, Refusal, Round, Seat, Value, certify};
use truthfed::audit::{Audit, Counterexample, Property};
use truthfed::generate;

pub(crate) struct CheapestFirst {
    /// It sorts the queue again for each probe of a price, so large rounds would take long.
    pub(crate) most_clients: u64,
}

impl Default for CheapestFirst {
    fn default() -> CheapestFirst {
        CheapestFirst { most_clients: 1000 }
    }
}

impl Mechanism for CheapestFirst {
    fn name(&self) -> &str {
        "cheapest-first"
    }

    /// Counterexamples record them. Optional, as you may have none.
    fn parameters(&self) -> BTreeMap<String, Value> {
        BTreeMap::from([("most_clients".to_owned(), self.most_clients.into())])
    }

    /// Winners and payments: each winner's critical value.
    fn run(&self, round: &Round) -> Result<Outcome, Refusal> {
        let winners = self.select(round)?;
        let paid = winners.into_iter().map(|seat| Ok((seat, self.critical_ask(round, seat)?)));
        let paid = paid.collect::<Result<Vec<_>, Refusal>>()?;
        // We do not count the log determinants we evaluate; a mechanism that is to be measured would.
        let evaluations = Evaluations::default();
        Ok(Outcome::new(round, self.name(), PaymentRule::Critical, round.coverage(), paid, evaluations))
    }

    /// Only the winners. Optional, but pricing and certifying ask for it again and again.
    fn select(&self, round: &Round) -> Result<Vec<Seat>, Refusal> {
        let (clients, most) = (round.admitted(), self.most_clients);
        if clients as u64 > most {
            return Err(Refusal::Other(format!("{clients} clients are too many: cheapest-first takes {most}")));
        }
        let required = round.required(round.coverage());
        // Seats are in the order of client names, so equal asks go to the smaller name.
        let mut queue: Vec<Seat> = round.seats().collect();
        queue.sort_by_key(|&seat| (round.ask(seat), seat));
        let mut winners = Vec::new();
        for seat in queue {
            if round.level(&winners) >= required {
                break;
            }
            winners.push(seat);
            winners.sort(); // a set of clients is given by ascending seats
        }
        Ok(winners)
    }
}

impl CheapestFirst {
    /// The largest ask with which a winner still wins. Money is whole micro-units, so halving the range
    /// between its ask and the reserve ends at the exact value, not near it.
    fn critical_ask(&self, round: &Round, winner: Seat) -> Result<Amount, Refusal> {
        let (mut wins, mut most) = (round.ask(winner).micros(), round.reserve().micros());
        while wins < most {
            let middle = wins + (most - wins + 1) / 2;
            if self.wins_at(round, winner, middle)? {
                wins = middle;
            } else {
                most = middle - 1;
            }
        }
        Ok(amount(wins))
    }

    /// Whether the client wins the round in which it asks that and all others ask the same as before.
    fn wins_at(&self, round: &Round, seat: Seat, micros: i64) -> Result<bool, Refusal> {
        let tried = round.with_ask(round.client(seat), amount(micros));
        Ok(self.select(&tried)?.contains(&seat))
    }
}

fn amount(micros: i64) -> Amount {
    Amount::from_micros(micros).expect("it lies between an ask and the reserve")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let own = CheapestFirst::default();
    let round = generate::federation(25, 5, 1);
    println!("{:<15} {:>7} {:>12} {:>12}  certified", "mechanism", "winners", "social cost", "payments");
    for mechanism in [&Clock as &dyn Mechanism, &own] {
        let outcome = mechanism.run(&round)?;
        assert!(outcome.is_covered(&round));
        let winners = outcome.winners().len();
        let (cost, payments) = (outcome.social_cost(), outcome.payments());
        // At its payment every winner must win, and one micro-unit above it must lose.
        let certified = certify(&round, mechanism, &outcome)
            .map_or_else(|error| format!("no: {error}"), |()| "yes, every payment is the critical value".to_owned());
        println!("{:<15} {winners:>7} {cost:>12} {payments:>12}  {certified}", outcome.mechanism());
    }
    if let Err(refusal) = own.run(&generate::federation(2000, 2, 1)) {
        println!("refused: {refusal}");
    }
    // The audit tries what clients and groups could do on small, odd rounds, and shrinks what it finds.
    let rounds: Vec<Round> = (0..200).map(generate::varied).collect();
    let findings = Audit::new(Property::ALL).rounds(&[&own], &rounds, || {});
    for verdict in &findings.verdicts {
        let text = match verdict.counterexample(&own) {
            None => format!("holds in {} cases", verdict.cases),
            Some(found) => {
                // A document of JSON to keep; whoever has your mechanism can replay it.
                let read = Counterexample::read(&found.to_string())?;
                assert_eq!(read.mechanism.name, own.name());
                format!("does not hold: {}", read.replay(&own)?)
            }
        };
        println!("{:<15} {text}", verdict.property);
    }
    Ok(())
}
