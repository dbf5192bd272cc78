//! What the protocol promises, by what is tested.

mod capacity;
mod checks;
mod conduct;
mod honest;
mod privacy;
mod purse;
mod quality;
mod quota;
mod resume;
mod rounds;
mod saved;
mod schedule;
mod trigger;

use super::*;
use crate::Amount;
use crate::auction::{ClientId, Clock, Coverage, Everyone, Mechanism, Offer, Refusal};
use crate::bandit::{Config, RawConfig};
use crate::statistics::{Gram, Statistics};

fn id(name: &str) -> ClientId {
    name.parse().unwrap()
}

fn terms(dimension: usize) -> Terms {
    Terms::try_from(raw_terms(dimension)).unwrap()
}

fn raw_terms(dimension: usize) -> RawTerms {
    let bandit = RawConfig { dimension, ..RawConfig::default() };
    let reserve = Amount::from_units(100);
    // Any offer opens a round, so that tests can be about something else.
    let trigger = Trigger { checked: false, ..RawTerms::default().trigger };
    let (samples, gap_ms) = (1000, 0);
    RawTerms { bandit, reserve, trigger, samples, offers_ms: 100, deliveries_ms: 100, gap_ms, ..RawTerms::default() }
}

fn config(dimension: usize) -> Config {
    Config::try_from(RawConfig { dimension, ..RawConfig::default() }).unwrap()
}

struct Fixed(Amount);

impl Asking for Fixed {
    fn ask(&mut self, _: &Statistics) -> Option<Amount> {
        Some(self.0)
    }
}

fn offer(client: &str, information: f64, samples: u64, ask: u32) -> Request {
    offer_to(R1, client, information, samples, ask)
}

fn offer_to(round: RoundId, client: &str, information: f64, samples: u64, ask: u32) -> Request {
    let gram = Gram::from_rows(&[[information]]).unwrap();
    Request::Offer { round, samples, offer: Offer { client: id(client), ask: Amount::from_units(ask), gram } }
}

/// A federation of two in one dimension with an open round, without an offer: a third opened it and was revoked.
fn opened(mechanism: impl Mechanism + 'static) -> Coordinator {
    let mut coordinator = Coordinator::new(terms(1), Box::new(mechanism), [id("a"), id("b"), id("o")]);
    send(&mut coordinator, 0, "o", offer("o", 1.0, 1, 5)).unwrap();
    assert!(coordinator.revoke(Time(0), &id("o")));
    coordinator
}

/// Both have offered one sample of the context 1 and won.
fn awarded() -> Coordinator {
    let mut coordinator = opened(Everyone);
    send(&mut coordinator, 1, "a", offer("a", 1.0, 1, 5)).unwrap();
    send(&mut coordinator, 1, "b", offer("b", 1.0, 1, 5)).unwrap();
    coordinator
}

fn send(coordinator: &mut Coordinator, now: u64, from: &str, request: Request) -> Result<Accepted, Rejection> {
    coordinator.handle(Time(now), Input::Request(id(from), request))
}

fn check_refused(coordinator: &mut Coordinator, now: u64, from: &str, request: Request, expected: &str) {
    let refused = send(coordinator, now, from, request).unwrap_err().to_string();
    assert!(refused.contains(expected), "{refused}");
}

fn is_awarded(coordinator: &Coordinator) -> bool {
    coordinator.open().is_some_and(OpenRound::is_awarded)
}

fn endings(coordinator: &mut Coordinator) -> Vec<RoundRecord> {
    std::iter::from_fn(|| coordinator.poll())
        .filter_map(|output| match output {
            Output::Ended(record) => Some(*record),
            _ => None,
        })
        .collect()
}

const R1: RoundId = RoundId(1);
