//! What the tests of the mechanisms share.

use super::kernel::Kernel;
use super::ratio::Ratio;
use super::round::add;
use super::{Coverage, Information, Mechanism, Offer, Round, RoundSpec, Seat};
use crate::statistics::Gram;
use crate::{Amount, generate};

/// Small odd rounds with their seeds.
pub(crate) fn random_rounds(count: u64) -> impl Iterator<Item = (u64, Round)> {
    (0..count).map(|seed| (seed, generate::varied(seed)))
}

/// Odd rounds of 13 to 90 clients, in up to 9 dimensions, with their seeds.
pub(crate) fn odd_rounds(count: u64) -> impl Iterator<Item = (u64, Round)> {
    (0..count).map(|seed| (seed, generate::varied_within(seed, (13, 90), (1, 9))))
}

/// Clients (name, ask, information) in one dimension; lambda 0.1, reserve 100, nothing settled.
pub(crate) fn one_dimensional(coverage: f64, offers: &[(&str, &str, f64)]) -> Round {
    let offer = |&(client, ask, information): &(&str, &str, f64)| Offer {
        client: client.parse().unwrap(),
        ask: ask.parse().unwrap(),
        gram: Gram::from_rows(&[[information]]).unwrap(),
    };
    let spec = RoundSpec {
        coverage: Coverage::ratio(coverage).unwrap(),
        reserve: Amount::from_units(100),
        ..RoundSpec::new(Gram::zeros(1).unwrap(), offers.iter().map(offer).collect())
    };
    Round::new(spec).unwrap()
}

pub(crate) fn check_payments(mechanism: &dyn Mechanism, round: &Round, expected: &[(&str, &str)]) {
    let outcome = mechanism.run(round).unwrap();
    let paid: Vec<_> = outcome.winners().iter().map(|winner| (winner.client.as_str(), winner.payment)).collect();
    let expected: Vec<_> = expected.iter().map(|(client, payment)| (*client, payment.parse().unwrap())).collect();
    assert_eq!(paid, expected);
}

/// The greedy within a budget until `required`, evaluating everyone at every step.
pub(crate) fn naive_greedy(round: &Round, required: Information, budget: i128) -> Vec<(Seat, Information)> {
    let mut kernel: Kernel = round.kernel();
    let mut matrix = round.base_matrix().to_vec();
    let (mut level, mut left) = (round.base_level(), budget);
    let mut rest: Vec<Seat> = round.seats().collect();
    let mut bought = Vec::new();
    while level < required {
        rest.retain(|&seat| i128::from(round.ask(seat).micros()) <= left);
        let mut ratio = |&seat: &Seat| {
            let gain = kernel.level_with(&matrix, round.gram(seat)).unwrap() - level;
            Ratio { seat, gain, ask: round.ask(seat) }
        };
        let useful = rest.iter().map(&mut ratio).filter(|ratio| ratio.gain > Information::ZERO);
        let Some(best) = useful.reduce(|best, next| if next.beats(&best) { next } else { best }) else { break };
        add(&mut matrix, round.gram(best.seat));
        level = level + best.gain;
        left -= i128::from(best.ask.micros());
        rest.retain(|&seat| seat != best.seat);
        bought.push((best.seat, best.gain));
    }
    bought
}
