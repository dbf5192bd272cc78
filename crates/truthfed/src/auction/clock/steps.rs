//! The clock step by step, for whoever wants to watch it: who is turned away, and how the prices of the others fall.
//!
//! This is the auction as described: everyone is evaluated at every step, and prices are lowered one by one. The last step has the
//! winners and payments of [`Mechanism::run`](super::Mechanism::run), which gets there with far fewer evaluations.

use super::super::meter::{Metered, within_limit_and_purse};
use super::super::ratio::{Ratio, highest_ask_to_beat};
use super::{Clock, Information, Refusal, Round, Seat};
use crate::Amount;

/// The clock after one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockStep {
    /// Who was just turned away; nobody at the start, where the clock gives up the target, and where it shares out the purse.
    pub rejected: Option<Seat>,
    /// Who is still in, by seat.
    pub active: Vec<Active>,
}

/// A client that is still in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Active {
    pub seat: Seat,
    /// The most it could ask and still be in.
    pub price: Amount,
    /// Whether the target cannot do without it: its price no longer falls.
    pub frozen: bool,
}

impl Clock {
    /// All steps, the first with everyone at the reserve. Takes a log determinant for each client at each step. Fails as
    /// [`Mechanism::run`](super::Mechanism::run).
    pub fn steps(&self, round: &Round) -> Result<Vec<ClockStep>, Refusal> {
        within_limit_and_purse(round, |round| Ok(steps(round)?))
    }
}

fn steps(round: &Round) -> Metered<Vec<ClockStep>> {
    let mut required = round.required(round.coverage());
    let purse = round.purse().map_or(i128::MAX, |purse| i128::from(purse.micros()));
    let mut given_up = false;
    let mut kernel = round.kernel();
    let mut tree = round.tree().clone();
    let mut prices = vec![i128::from(round.reserve().micros()); round.admitted()];
    let mut active: Vec<Seat> = round.seats().collect();
    let mut frozen = vec![false; round.admitted()];
    let mut rejected = None;
    let mut steps = Vec::new();
    loop {
        let level = kernel.level(&tree.root)?;
        let mut clients: Vec<Ratio> = Vec::new();
        if given_up {
            frozen.fill(false);
        }
        for &seat in &active {
            let without = kernel.level_without(&tree.root, round.gram(seat))?;
            frozen[seat.0] |= without < required;
            if !frozen[seat.0] {
                clients.push(Ratio { seat, gain: level - without, ask: round.ask(seat) });
            }
        }
        let step = |rejected: Option<Seat>, prices: &[i128]| {
            let line = |&seat: &Seat| {
                let (price, frozen) = (Amount::saturating(prices[seat.0]), frozen[seat.0]);
                Active { seat, price, frozen }
            };
            ClockStep { rejected, active: active.iter().map(line).collect() }
        };
        steps.push(step(rejected.take(), &prices));
        let worst = clients.iter().reduce(|worst, next| if worst.beats(next) { next } else { worst }).copied();
        let fits = active.iter().map(|seat| prices[seat.0]).sum::<i128>() <= purse;
        let Some(worst) = worst.filter(|_| !(given_up && fits)) else {
            if fits {
                return Ok(steps);
            }
            (given_up, required) = (true, Information::NOTHING);
            continue;
        };
        if given_up {
            let all: i128 = clients.iter().map(|client| i128::from(client.gain.units().max(0))).sum();
            let share = |client: &Ratio| purse * i128::from(client.gain.units()) / all;
            let is_within = |it: &Ratio| it.gain.units() > 0 && i128::from(it.ask.micros()) <= share(it);
            if clients.iter().all(is_within) {
                clients.iter().for_each(|it| prices[it.seat.0] = prices[it.seat.0].min(share(it)));
                steps.push(step(None, &prices));
                return Ok(steps);
            }
        }
        for Ratio { seat, gain, .. } in clients {
            if seat != worst.seat {
                prices[seat.0] = prices[seat.0].min(highest_ask_to_beat(&worst, seat, gain));
            }
        }
        active.retain(|&seat| seat != worst.seat);
        tree.remove(worst.seat, round.grams());
        rejected = Some(worst.seat);
    }
}
