//! Rounds and what every mechanism of the catalog makes of them.
//!
//! A round that is accepted is decided without a panic; payments lie between ask and reserve and are certified where that
//! is claimed, targets are met, and neither the order of the offers nor a way through a document changes anything.

use truthfed::Amount;
use truthfed::auction::catalog::{self, Claim, Entry};
use truthfed::auction::{ClientId, Coverage, Offer, Outcome, Round, RoundDocument, RoundSpec, Seat, certify};
use truthfed::audit::Counterexample;
use truthfed::statistics::Gram;

use crate::bytes::Bytes;
use crate::text::{same, text};

/// Largest rounds that are decided, in clients and dimensions: larger ones only take longer.
const SMALL: (usize, usize) = (8, 4);

/// A round made of the input.
pub fn auction(bytes: &[u8]) -> bool {
    let Some(spec) = spec(&mut Bytes(bytes)) else { return false };
    let Ok(round) = Round::new(spec.clone()) else { return false };
    check_document(&round);
    check_decided(&round);
    check_reversed(spec, &round);
    true
}

/// A document of a round.
pub fn round(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Ok(round) = RoundDocument::read_round(text) else { return false };
    check_document(&round);
    if is_small(&round) {
        check_decided(&round);
    }
    true
}

/// A document of a counterexample.
pub fn counterexample(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let Ok(counterexample) = Counterexample::read(text) else { return false };
    let written = counterexample.to_string();
    same(&written, &written, |text| Counterexample::read(text).map(|again| again.to_string()));
    let Ok(setting) = counterexample.setting() else { return false };
    if is_small(&counterexample.round) {
        let replay = counterexample.replay(setting.mechanism().as_ref());
        let is_claimed = counterexample.property.claim_of(&setting.claims()) == Claim::Yes;
        let is_refuted = is_claimed && replay.as_ref().is_ok_and(|replay| replay.reproduces);
        assert!(!is_refuted, "a claim is refuted: {written}");
    }
    true
}

fn is_small(round: &Round) -> bool {
    let clients = round.admitted() + round.turned_away().len();
    clients <= SMALL.0 && round.dimension() <= SMALL.1
}

/// A few clients in a few dimensions; every number may be odd, and most are not.
fn spec(bytes: &mut Bytes<'_>) -> Option<RoundSpec> {
    let (clients, dimension) = (1 + bytes.below(6), 1 + bytes.below(3));
    let reserve = amount(bytes, Amount::MAX);
    let coverage = match bytes.below(4) {
        0 => Coverage::from_log(-bytes.float().abs()),
        _ => Coverage::ratio(bytes.pick(&[1.0, 0.5, 0.9, 0.99, 0.1, 1e-3, 1e-300])),
    };
    let lambda = if bytes.chance() { bytes.float() } else { bytes.pick(&[0.1, 1.0, 1e-6, 1e3]) };
    let base = gram(bytes, dimension)?;
    let offer = |number: usize| -> Option<Offer> {
        let client: ClientId = format!("c{number}").parse().expect("a short name");
        Some(Offer { client, ask: amount(bytes, reserve), gram: gram(bytes, dimension)? })
    };
    let offers = (0..clients).map(offer).collect::<Option<_>>()?;
    Some(RoundSpec { lambda, coverage: coverage.ok()?, reserve, ..RoundSpec::new(base, offers) })
}

/// Whole units, micro-units, or close to a bound.
fn amount(bytes: &mut Bytes<'_>, bound: Amount) -> Amount {
    let micros = match bytes.below(6) {
        0 => i64::from(bytes.byte()),
        1 => bound.micros() - i64::from(bytes.below(3) as u8),
        2 => bound.micros() / 2 + bytes.below(3) as i64,
        3 => bytes.word() as i64 >> 2,
        _ => i64::from(bytes.byte()) * 1_000_000,
    };
    Amount::from_micros(micros).unwrap_or(bound)
}

/// A sum of outer products, or any numbers.
fn gram(bytes: &mut Bytes<'_>, dimension: usize) -> Option<Gram> {
    let mut lower = vec![0.0; dimension * (dimension + 1) / 2];
    if bytes.below(8) == 0 {
        lower.fill_with(|| bytes.float());
        return Gram::from_lower(dimension, lower).ok();
    }
    for _ in 0..bytes.below(4) {
        let context: Vec<f64> = (0..dimension).map(|_| bytes.small()).collect();
        let pairs = (0..dimension).flat_map(|row| (0..=row).map(move |column| (row, column)));
        lower.iter_mut().zip(pairs).for_each(|(entry, (row, column))| *entry += context[row] * context[column]);
    }
    Gram::from_lower(dimension, lower).ok()
}

/// What is written is read back as the same round.
fn check_document(round: &Round) {
    let document = RoundDocument::of(&round.spec());
    for written in [document.to_string(), format!("{document:#}")] {
        same(&round.spec(), &written, |text| RoundDocument::read_round(text).map(|again| again.spec()));
    }
}

fn check_decided(round: &Round) {
    let decided: Vec<(&'static Entry, Option<Outcome>)> =
        catalog::entries().iter().map(|entry| (entry, entry.mechanism().run(round).ok())).collect();
    let mut cheapest = None;
    for (entry, outcome) in &decided {
        let Some(outcome) = outcome else { continue };
        check_outcome(round, entry, outcome);
        if entry.claims().optimal == Claim::Yes {
            cheapest = Some(cost(outcome));
        }
    }
    let covering = decided.iter().filter(|(entry, _)| entry.claims().truthful == Claim::Yes);
    for outcome in covering.flat_map(|(_, outcome)| outcome) {
        assert!(cheapest.is_none_or(|cheapest| cheapest <= cost(outcome)), "cheaper than the optimum: {outcome:?}");
    }
}

fn cost(outcome: &Outcome) -> i128 {
    outcome.winners().iter().map(|winner| i128::from(winner.ask.micros())).sum()
}

fn check_outcome(round: &Round, entry: &'static Entry, outcome: &Outcome) {
    let (name, mechanism, claims) = (entry.name, entry.mechanism(), entry.claims());
    let seats: Vec<Seat> = outcome.winners().iter().map(|winner| winner.seat).collect();
    assert_eq!(mechanism.select(round).as_ref(), Ok(&seats), "{name} selects others than it pays");
    for winner in outcome.winners() {
        assert!(winner.payment <= round.reserve(), "{name} pays above the reserve: {winner:?}");
        let is_rational = claims.individually_rational != Claim::Yes || winner.ask <= winner.payment;
        assert!(is_rational, "{name} pays below the ask: {winner:?}");
    }
    if claims.truthful == Claim::Yes {
        assert_eq!(certify(round, mechanism.as_ref(), outcome), Ok(()), "{name}");
        assert!(round.level(&seats) >= round.required(round.coverage()), "{name} misses the target: {outcome:?}");
    }
}

/// The order of the offers changes nothing.
fn check_reversed(mut spec: RoundSpec, round: &Round) {
    spec.offers.reverse();
    let reversed = Round::new(spec);
    let Ok(reversed) = reversed else { panic!("refused in another order: {reversed:?}") };
    for entry in catalog::entries() {
        let mechanism = entry.mechanism();
        assert_eq!(mechanism.run(&reversed), mechanism.run(round), "{}", entry.name);
    }
}
