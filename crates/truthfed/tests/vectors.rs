//! Rounds with known winners and payments, and two counterexamples to the printed algorithm.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use truthfed::Amount;
use truthfed::auction::catalog;
use truthfed::auction::{ClientId, Clock, Greedy, Mechanism, Ratchet, Round, RoundDocument, TruthFedBan, certify};

/// Expected payments by mechanism and client; null where only winning is recorded.
type Expected = BTreeMap<String, BTreeMap<String, Option<f64>>>;

#[derive(Deserialize)]
struct Vector {
    round: Box<RawValue>,
    expected: Expected,
}

#[derive(Deserialize)]
struct Counterexample {
    round: Box<RawValue>,
    client: ClientId,
    epsilon: f64,
    wins: BTreeMap<String, bool>,
    payment_at_lie: Option<f64>,
}

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn check_vector(name: &str) {
    let vector: Vector = serde_json::from_str(&text(name)).unwrap();
    let round = RoundDocument::read_round(vector.round.get()).unwrap();
    assert!(vector.expected.len() >= 6);
    for (mechanism, expected) in vector.expected {
        let outcome = catalog::find(&mechanism).unwrap().mechanism().run(&round).unwrap();
        let winners: Vec<&str> = outcome.winners().iter().map(|winner| winner.client.as_str()).collect();
        assert_eq!(winners, expected.keys().map(String::as_str).collect::<Vec<_>>(), "{name}, {mechanism}");
        for (winner, payment) in outcome.winners().iter().zip(expected.values()) {
            // The vectors hold real numbers; an exact payment is the micro-unit below, one less where it ties.
            let micros = winner.payment.micros() as f64;
            let close = payment.is_none_or(|payment| (micros - payment * 1e6).abs() <= 1.001);
            assert!(close, "{name}, {mechanism}: {} is paid {}, not {payment:?}", winner.client, winner.payment);
        }
    }
}

#[test]
fn all_vectors_give_the_expected_winners_and_payments() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let rounds: Vec<String> = names.filter(|name| name.starts_with("round-")).collect();
    assert!(rounds.len() >= 8);
    rounds.iter().for_each(|name| check_vector(name));
}

/// The exact payments come from integer determinants and logarithms of 320 bits.
#[test]
fn beside_very_much_settled_data_payments_are_off_by_what_the_document_says() {
    let exact = [("c00", 74.358_371), ("c01", 63.495_139), ("c06", 56.079_141)];
    let round = RoundDocument::read_round(include_str!("vectors/mature-collinear.json")).unwrap();
    let outcome = Clock.run(&round).unwrap();
    let names: Vec<&str> = outcome.winners().iter().map(|winner| winner.client.as_str()).collect();
    assert_eq!(names, ["c00", "c05", "c06"]);
    certify(&round, &Clock, &outcome).unwrap();
    for (client, payment) in [exact[0], exact[2]] {
        let paid = outcome.winner(&client.parse().unwrap()).unwrap().payment.to_f64();
        assert!((0.01..0.04).contains(&(1.0 - paid / payment)), "{client} is paid {paid}, not {payment}");
    }
}

fn wins(mechanism: &dyn Mechanism, round: &Round, client: &ClientId, ask: &str) -> bool {
    let outcome = mechanism.run(&round.with_ask(client, ask.parse().unwrap())).unwrap();
    outcome.winner(client).is_some()
}

/// Winning asks, rising, of the truthful mechanisms: all that win come before all that lose.
fn check_monotone(round: &Round, client: &ClientId) {
    for mechanism in [&Clock as &dyn Mechanism, &Greedy, &Ratchet::default()] {
        let asks = (1..400).map(|step| Amount::from_micros(step * 50_000).unwrap());
        let won: Vec<bool> = asks.map(|ask| wins(mechanism, round, client, &ask.to_string())).collect();
        assert!(won.windows(2).all(|pair| pair[0] || !pair[1]), "{} is not monotone", mechanism.name());
    }
}

#[test]
fn on_the_printed_grid_a_client_loses_at_its_cost_wins_when_it_asks_more_and_gains() {
    let Counterexample { round, client, epsilon, wins: expected, payment_at_lie } =
        serde_json::from_str(&text("printed-grid-not-monotone.json")).unwrap();
    let round = RoundDocument::read_round(round.get()).unwrap();
    let printed = TruthFedBan::new(epsilon, Amount::STEP).unwrap();
    for (ask, expected) in expected {
        assert_eq!(wins(&printed, &round, &client, &ask), expected, "{ask}");
    }
    let lie = round.with_ask(&client, "6.4".parse().unwrap());
    let paid = printed.run(&lie).unwrap().winner(&client).unwrap().payment;
    assert!((paid.to_f64() - payment_at_lie.unwrap()).abs() < 1e-5, "{paid}");
    assert!(paid > round.ask(round.seat_of(&client).unwrap()));
    check_monotone(&round, &client);
}

#[test]
fn the_counterexample_to_a_fixed_grid_does_not_refute_the_truthful_mechanisms() {
    let example: Counterexample = serde_json::from_str(&text("fixed-grid-not-monotone.json")).unwrap();
    check_monotone(&RoundDocument::read_round(example.round.get()).unwrap(), &example.client);
}
