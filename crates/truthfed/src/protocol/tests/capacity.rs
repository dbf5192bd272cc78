//! Whatever is accepted, a later round of honest members can be held, up to the capacity of the terms.

use super::*;
use crate::generate::Stream;

fn members() -> [ClientId; 3] {
    ["ann", "bob", "eve"].map(id)
}

fn coordinator(raw: RawTerms) -> (Coordinator, Terms) {
    // Eve's offers win and are not always delivered.
    let strikes = Strikes { rounds: 0, ..Strikes::default() };
    let terms = Terms::try_from(RawTerms { strikes, ..raw }).unwrap();
    (Coordinator::new(terms.clone(), Box::new(Clock), members()), terms)
}

fn diagonal(entries: &[f64]) -> Gram {
    let row = |i: usize| (0..entries.len()).map(|j| if i == j { entries[i] } else { 0.0 }).collect();
    Gram::from_rows(&(0..entries.len()).map(row).collect::<Vec<Vec<f64>>>()).unwrap()
}

/// What an honest member observed, in all directions.
fn honest(stream: &mut Stream, dimension: usize) -> Statistics {
    let mut statistics = Statistics::new(dimension).unwrap();
    for _ in 0..2 * dimension + 3 {
        let mut x = stream.normals(dimension);
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x /= length * (1.0 + 1e-12));
        statistics.observe(&x, 0.5).unwrap();
    }
    statistics
}

/// A round in which each of these offers at an ask of 1 and delivers; how it ended, unless it could not open. Others
/// decline.
fn hold(coordinator: &mut Coordinator, offers: &[(&str, &Statistics)]) -> Option<Ending> {
    let round = RoundId(coordinator.closed().0 + 1);
    let now = 1000 * round.0;
    let offer = |(name, data): &(&str, &Statistics)| {
        let offer = Offer { client: id(name), ask: Amount::from_units(1), gram: data.gram().clone() };
        (id(name), Request::Offer { round, samples: data.samples(), offer })
    };
    for (member, request) in offers.iter().map(offer) {
        let _ = coordinator.handle(Time(now), Input::Request(member, request));
    }
    for member in members().into_iter().filter(|_| coordinator.open().is_some()).collect::<Vec<_>>() {
        // Who has offered is refused.
        let _ = coordinator.handle(Time(now), Input::Request(member, Request::Decline(round)));
    }
    for (name, data) in offers {
        // Who did not win, or offered what no data gives, is refused.
        let _ = send(coordinator, now, name, Request::Deliver(round, data.moment().to_vec()));
    }
    coordinator.handle(Time(now + 100), Input::Tick).unwrap();
    endings(coordinator).pop().map(|record| record.ending)
}

fn check_honest_round(coordinator: &mut Coordinator, stream: &mut Stream, story: &str) {
    let dimension = coordinator.settled().dimension();
    let (ann, bob) = (honest(stream, dimension), honest(stream, dimension));
    let ending = hold(coordinator, &[("ann", &ann), ("bob", &bob)]);
    assert!(matches!(ending, Some(Ending::Settled { .. })), "{story}: {ending:?}");
}

/// Both were accepted, won, and were paid; the sum of their negative eigenvalues then outweighed half of lambda for ever.
#[test]
fn two_offers_with_slightly_negative_eigenvalues_do_not_end_a_federation() {
    let mut stream = Stream::new(1, 0);
    let (mut coordinator, _) = coordinator(RawTerms { samples: 10_000_000, ..raw_terms(5) });
    for below in [-0.0303, -0.0141] {
        let gram = diagonal(&[2.5e6, 2.5e6, 2.5e6, 2.5e6, below]);
        let bent = Statistics::from_parts(gram, vec![0.0; 5], 10_000_000).unwrap();
        let ending = hold(&mut coordinator, &[("eve", &bent)]);
        assert!(ending.is_none(), "no data gives it, so it opens no round: {ending:?}");
        check_honest_round(&mut coordinator, &mut stream, "after a bent offer");
    }
}

/// It aborted every round from 34 dimensions on, and nobody was named.
#[test]
fn one_huge_offer_in_one_direction_aborts_no_round() {
    for dimension in [34, 100, 512] {
        let mut stream = Stream::new(dimension as u64, 0);
        let (mut coordinator, _) = coordinator(RawTerms { samples: 10_000_000, ..raw_terms(dimension) });
        let samples = coordinator.room().min(10_000_000) - 10_000;
        let mut entries = vec![0.0; dimension];
        entries[0] = samples as f64;
        let huge = Statistics::from_parts(diagonal(&entries), vec![0.0; dimension], samples).unwrap();
        let (ann, bob) = (honest(&mut stream, dimension), honest(&mut stream, dimension));
        let ending = hold(&mut coordinator, &[("ann", &ann), ("bob", &bob), ("eve", &huge)]);
        let Some(Ending::Settled { aside, .. }) = ending else { panic!("{ending:?}") };
        assert!(aside.is_empty(), "there is room for all");
        check_honest_round(&mut coordinator, &mut stream, "after it was settled");
    }
}

/// A matrix of that trace as bad as intake takes it: of a rank of its own, turned, and bent below zero.
fn hostile(stream: &mut Stream, terms: &Terms, samples: u64) -> Gram {
    let dimension = terms.dimension();
    let trace = samples as f64 * libm::pow(10.0, -stream.pick(&[0.0, 0.0, 3.0, 9.0, 200.0]));
    let rank = stream.between(1, dimension).min(samples as usize);
    let shares: Vec<f64> = (0..rank).map(|_| libm::pow(10.0, -12.0 * stream.uniform())).collect();
    let total: f64 = shares.iter().sum();
    let mut entries: Vec<f64> = shares.iter().map(|share| share / total * trace).collect();
    let bent = -terms.tolerance() * trace * stream.pick(&[0.0, 0.5, 0.9, 0.99]);
    entries.resize(dimension, bent);
    if stream.chance(0.5) {
        return diagonal(&entries);
    }
    // Turned by a reflection I - 2 v v'.
    let v = stream.normals(dimension);
    let square: f64 = v.iter().map(|v| v * v).sum();
    let at = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j] / square;
    let entry = |i: usize, j: usize| (0..dimension).map(|k| at(i, k) * entries[k] * at(j, k)).sum();
    let lower = (0..dimension).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).collect();
    Gram::from_lower(dimension, lower).unwrap()
}

#[test]
fn after_any_accepted_offers_and_deliveries_an_honest_round_can_be_held() {
    let (mut taken, mut tried) = (0, 0);
    for seed in 0..120 {
        let mut stream = Stream::new(seed, 7);
        let dimension = stream.pick(&[1, 2, 3, 5, 8, 13, 34]);
        let lambda = stream.pick(&[1e-3, 0.1, 1.0, 30.0]);
        let bandit = RawConfig { dimension, lambda, ..RawConfig::default() };
        let (mut coordinator, terms) = coordinator(RawTerms { bandit, samples: 1_000_000, ..raw_terms(dimension) });
        for _ in 0..12 {
            let room = coordinator.room().saturating_sub(2 * (2 * dimension as u64 + 3));
            let most = room.min(1_000_000);
            let samples = stream.pick(&[1, dimension as u64, most / 3, most]).clamp(1, most.max(1));
            let gram = hostile(&mut stream, &terms, samples);
            let offer = Offer { client: id("eve"), ask: Amount::ZERO, gram: gram.clone() };
            taken += u32::from(terms.check_offer(&offer, samples).is_ok());
            tried += 1;
            let bent = Statistics::from_parts(gram, vec![0.0; dimension], samples).unwrap();
            let (ann, bob) = (honest(&mut stream, dimension), honest(&mut stream, dimension));
            hold(&mut coordinator, &[("eve", &bent), ("ann", &ann), ("bob", &bob)]);
            if coordinator.room() < 4 * (2 * dimension as u64 + 3) {
                break;
            }
            check_honest_round(&mut coordinator, &mut stream, &format!("seed {seed}"));
        }
    }
    assert!(3 * taken > tried, "many hostile offers are taken: {taken} of {tried}");
}

#[test]
fn offers_beyond_the_capacity_are_set_aside_largest_first() {
    let mut stream = Stream::new(3, 0);
    let capacity = SamplesSetting::Samples(40);
    let (mut coordinator, _) = coordinator(RawTerms { capacity, samples: 1000, ..raw_terms(2) });
    let (ann, bob) = (honest(&mut stream, 2), honest(&mut stream, 2));
    let many = Statistics::from_parts(diagonal(&[20.0, 10.0]), vec![0.0; 2], 30).unwrap();
    let ending = hold(&mut coordinator, &[("ann", &ann), ("bob", &bob), ("eve", &many)]);
    let Some(Ending::Settled { aside, .. }) = ending else { panic!("{ending:?}") };
    assert_eq!(aside, [SetAside { client: id("eve"), samples: 30, room: 26 }]);
}

#[test]
fn a_federation_at_its_capacity_holds_no_more_rounds_and_says_so() {
    let mut stream = Stream::new(4, 0);
    let capacity = SamplesSetting::Samples(7);
    let (mut coordinator, _) = coordinator(RawTerms { capacity, samples: 1000, ..raw_terms(2) });
    assert!(matches!(hold(&mut coordinator, &[("ann", &honest(&mut stream, 2))]), Some(Ending::Settled { .. })));
    let refused = send(&mut coordinator, 9000, "bob", offer_to(RoundId(2), "bob", 1.0, 1, 5)).unwrap_err();
    assert_eq!(refused, Rejection::CapacityReached(7));
    assert!(refused.to_string().contains("no more rounds are held"));
}

/// However little may be settled, and however large the ridge: what lies below 0 by more than rounding is refused.
#[test]
fn a_small_capacity_does_not_make_room_for_offers_below_zero() {
    let mut raw = RawTerms { capacity: SamplesSetting::Samples(10), ..raw_terms(2) };
    raw.bandit.lambda = 1000.0;
    let terms = Terms::try_from(raw).unwrap();
    let check = |below: f64| {
        let offer = Offer { client: id("eve"), ask: Amount::ZERO, gram: diagonal(&[1.0, -below]) };
        terms.check_offer(&offer, 4)
    };
    check(0.9e-6).unwrap();
    let refused = check(1.1e-6).unwrap_err();
    assert!(matches!(refused, OfferError::NotPositive { row: 1, .. }), "{refused}");
}

#[test]
fn the_capacity_is_what_the_ridge_is_enough_for() {
    let terms = |raw: RawTerms| Terms::try_from(raw);
    let auto = terms(raw_terms(5)).unwrap().capacity();
    assert_eq!(auto, 7_502_999, "the square root of lambda / (8 epsilon)");
    let stated = |capacity| RawTerms { capacity: SamplesSetting::Samples(capacity), ..raw_terms(5) };
    assert_eq!(terms(stated(auto)).unwrap().capacity(), auto);
    for capacity in [0, auto + 1] {
        let refused = terms(stated(capacity)).unwrap_err();
        assert_eq!(refused, TermsError::Capacity { capacity, most: auto });
        assert_eq!(refused.key(), "capacity");
    }
    let rule = RawTerms { capacity: SamplesSetting::Rule("endless".to_owned()), ..raw_terms(5) };
    assert_eq!(
        terms(rule).unwrap_err().to_string(),
        "capacity is `endless`: it must be a number of samples, or `auto`"
    );
}
