//! A round in which a mechanism breaks a property, told so that anyone can check it.

use std::fmt;

use super::document::CounterexampleError;
use super::economics::Optimum;
use super::finding::Lie;
use super::outcome;
use super::{Gain, Property};
use crate::Amount;
use crate::auction::{
    CertificateError, ClientId, Mechanism, MechanismSetting, Outcome, RawMechanism, Refusal, Round, Winner, certify,
};

/// A mechanism, a round and lies. Replaying it computes everything else anew.
#[derive(Debug, Clone)]
pub struct Counterexample {
    /// The mechanism, built in or not, and the parameters it ran with.
    pub mechanism: RawMechanism,
    pub property: Property,
    /// As in [`super::Violation`].
    pub lies: Vec<Lie>,
    /// The asks in it are the true costs of the clients.
    pub round: Round,
}

/// What a counterexample comes to when it is run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Replay {
    pub property: Property,
    /// Everyone who lies; for `monotone` the one client at both asks.
    pub accounts: Vec<Account>,
    /// What is wrong with the outcome itself, one sentence each (`ir`, `certified`, `coverage`, `optimum`).
    pub faults: Vec<String>,
    /// By how much the property is broken; none where that is no amount.
    pub gain: Option<Gain>,
    pub reproduces: bool,
}

/// One client, once and once more.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Account {
    pub client: ClientId,
    pub cost: Amount,
    /// Asking its cost; for `monotone` the lower ask.
    pub first: Part,
    /// Lying; for `monotone` the higher ask.
    pub second: Part,
}

/// How a round ends for one client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub ask: Amount,
    /// What it is paid; none when it loses.
    pub payment: Option<Amount>,
}

impl Part {
    fn of(outcome: &Outcome, client: &ClientId, ask: Amount) -> Part {
        Part { ask, payment: outcome.winner(client).map(|winner| winner.payment) }
    }

    /// What is left for a client with that cost: 0 when it loses.
    pub fn utility(&self, cost: Amount) -> Gain {
        self.payment.map_or(Gain::ZERO, |payment| Gain::between(payment, cost))
    }
}

impl Account {
    pub fn gain(&self) -> Gain {
        self.second.utility(self.cost) - self.first.utility(self.cost)
    }
}

impl Counterexample {
    /// The mechanism, if it is built in.
    pub fn setting(&self) -> Result<MechanismSetting, CounterexampleError> {
        MechanismSetting::try_from(self.mechanism.clone()).map_err(CounterexampleError::Mechanism)
    }

    /// Runs it with this mechanism: that of [`Counterexample::setting`], or your own.
    pub fn replay(&self, mechanism: &dyn Mechanism) -> Result<Replay, Refusal> {
        match self.property {
            Property::Monotone => self.two_asks(mechanism),
            Property::Truthful | Property::Collusion | Property::CollusionInTotal => self.lies(mechanism),
            _ => self.faults(mechanism),
        }
    }

    fn two_asks(&self, mechanism: &dyn Mechanism) -> Result<Replay, Refusal> {
        let part = |lie: &Lie| -> Result<Part, Refusal> {
            Ok(Part::of(&mechanism.run(&self.round.with_ask(&lie.client, lie.ask))?, &lie.client, lie.ask))
        };
        let [first, second] = self.lies.as_slice() else { return Ok(self.result(Vec::new(), Vec::new(), None, false)) };
        let (low, high) = (part(first)?, part(second)?);
        let is_broken =
            first.client == second.client && low.ask < high.ask && low.payment.is_none() && high.payment.is_some();
        let (client, cost) = (first.client.clone(), self.cost(&first.client));
        let gain = Gain::between(high.ask.max(low.ask), low.ask);
        let account = Account { client, cost, first: low, second: high };
        Ok(self.result(vec![account], Vec::new(), Some(gain), is_broken))
    }

    fn lies(&self, mechanism: &dyn Mechanism) -> Result<Replay, Refusal> {
        let honest = mechanism.run(&self.round)?;
        let lied = self.lies.iter().fold(self.round.clone(), |round, lie| round.with_ask(&lie.client, lie.ask));
        let lied = mechanism.run(&lied)?;
        let account = |Lie { client, ask }: &Lie| {
            let cost = self.cost(client);
            let (first, second) = (Part::of(&honest, client, cost), Part::of(&lied, client, *ask));
            Account { client: client.clone(), cost, first, second }
        };
        let accounts: Vec<Account> = self.lies.iter().map(account).collect();
        let gains = accounts.iter().map(Account::gain);
        let gain = match self.property {
            Property::CollusionInTotal => gains.sum(),
            _ => gains.min().unwrap_or_default(),
        };
        Ok(self.result(accounts, Vec::new(), Some(gain), gain > Gain::ZERO))
    }

    fn faults(&self, mechanism: &dyn Mechanism) -> Result<Replay, Refusal> {
        let outcome = mechanism.run(&self.round)?;
        let (faults, gain) = match self.property {
            Property::IndividuallyRational => below_ask(&self.round, &outcome),
            Property::Certified => (not_certified(&self.round, mechanism, &outcome)?, None),
            Property::Coverage => (uncovered(&self.round, &outcome), None),
            _ => above_optimum(&self.round, &outcome)?,
        };
        let is_broken = !faults.is_empty();
        Ok(self.result(Vec::new(), faults, gain, is_broken))
    }

    fn result(&self, accounts: Vec<Account>, faults: Vec<String>, gain: Option<Gain>, reproduces: bool) -> Replay {
        Replay { property: self.property, accounts, faults, gain: gain.filter(|_| reproduces), reproduces }
    }

    fn cost(&self, client: &ClientId) -> Amount {
        ask_of(&self.round, client).unwrap_or_default()
    }
}

/// What a client asks in a round, whether it is admitted or turned away.
pub(super) fn ask_of(round: &Round, client: &ClientId) -> Option<Amount> {
    let turned_away = || round.turned_away().iter().find(|offer| offer.client == *client).map(|offer| offer.ask);
    round.seat_of(client).map(|seat| round.ask(seat)).or_else(turned_away)
}

type Faults = (Vec<String>, Option<Gain>);

fn below_ask(round: &Round, outcome: &Outcome) -> Faults {
    let asked = |client: &ClientId| ask_of(round, client).unwrap_or_default();
    let short = || outcome.winners().iter().filter(|winner| winner.payment < asked(&winner.client));
    let fault =
        |Winner { client, payment, .. }: &Winner| format!("{client} asks {} and is paid {payment}", asked(client));
    let gain = short().map(|winner| Gain::between(asked(&winner.client), winner.payment)).max();
    (short().map(fault).collect(), gain)
}

fn not_certified(round: &Round, mechanism: &dyn Mechanism, outcome: &Outcome) -> Result<Vec<String>, Refusal> {
    let mut faults = match certify(round, mechanism, outcome) {
        Ok(()) => Vec::new(),
        Err(CertificateError::NotCritical(violations)) => violations.iter().map(ToString::to_string).collect(),
        Err(CertificateError::Refused(refusal)) => return Err(refusal),
    };
    let selected = mechanism.select(round)?;
    let paid = outcome::winners(round, outcome);
    let differs = round.seats().filter(|seat| selected.contains(seat) != paid.contains(seat));
    let doubt = |seat| match paid.contains(&seat) {
        true => format!("{} is paid, but not chosen", round.client(seat)),
        false => format!("{} is chosen, but not paid", round.client(seat)),
    };
    faults.extend(differs.map(doubt));
    Ok(faults)
}

fn uncovered(round: &Round, outcome: &Outcome) -> Vec<String> {
    let reached = (round.level(&outcome::winners(round, outcome)) - round.total_level()).to_ratio();
    let missed = !outcome::is_covered(round, outcome);
    let required = round.coverage().to_ratio();
    missed.then(|| format!("the winners cover {reached}, and {required} is required")).into_iter().collect()
}

fn above_optimum(round: &Round, outcome: &Outcome) -> Result<Faults, Refusal> {
    let (cost, optimum) = (outcome::cost(round, outcome), Optimum::of(round)?.cost);
    let fault =
        (cost != optimum).then(|| format!("the winners ask {cost} in all, the cheapest set that covers {optimum}"));
    let gain = Gain::from_micros(cost.micros() - optimum.micros());
    Ok((fault.into_iter().collect(), Some(gain)))
}

/// The essence, in one line.
impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(fault) = self.faults.first() {
            return f.write_str(fault);
        }
        for (place, account) in self.accounts.iter().enumerate() {
            let separator = if place == 0 { "" } else { "; " };
            let Account { client, cost, first: Part { ask: low, .. }, second: Part { ask, .. } } = account;
            match self.property {
                Property::Monotone => {
                    write!(f, "{separator}{client} loses when it asks {low}, and wins when it asks {ask}")?;
                }
                _ => write!(f, "{separator}{client}, at cost {cost}, asks {ask} and gains {}", account.gain())?,
            }
        }
        Ok(())
    }
}
