//! What no data gives is refused, each by its own error.

use super::*;
use crate::statistics::Factor;

/// An offer of `a`, and its number of samples.
fn rows(rows: &[&[f64]], samples: u64) -> (Offer, u64) {
    (free(Gram::from_rows(rows).unwrap()), samples)
}

fn free(gram: Gram) -> Offer {
    Offer { client: id("a"), ask: Amount::ZERO, gram }
}

/// Three dimensions, contexts of norm 2, rewards up to 3, at most 100 samples.
fn bounds() -> Terms {
    Terms::try_from(raw_bounds()).unwrap()
}

fn raw_bounds() -> RawTerms {
    RawTerms { norm: 2.0, reward: 3.0, samples: 100, ..raw_terms(3) }
}

fn diagonal(a: f64, b: f64, c: f64, samples: u64) -> (Offer, u64) {
    rows(&[&[a, 0.0, 0.0], &[0.0, b, 0.0], &[0.0, 0.0, c]], samples)
}

#[test]
fn offers_that_no_data_gives_are_refused_with_the_bound() {
    for ((offer, samples), expected) in [
        (rows(&[&[1.0, 0.0], &[0.0, 1.0]], 3), "gram of a has dimension 2, the federation has 3"),
        (diagonal(1.0, 1.0, 1.0, 101), "offer of a has 101 samples, at most 100 are taken at a time"),
        (diagonal(0.0, 0.0, 1e-300, 0), "offer of a has 0 samples: its gram must be zero"),
        (
            rows(&[&[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0], &[0.0, 0.0, 0.0]], 0),
            "offer of a has 0 samples: its gram must be zero",
        ),
        (
            diagonal(4.0, 4.0, 4.000_976_562_5, 3),
            "gram of a has trace 12.0009765625, 3 samples of norm 2 give at most 12",
        ),
        (diagonal(12.1, 0.0, 0.0, 3), "gram of a has trace 12.1, 3 samples of norm 2 give at most 12"),
        (diagonal(1.0, 1.0, 1.0, 2), "gram of a has a rank above 2: that many samples give at most that rank"),
        (diagonal(1.0, 1e-6, 0.0, 1), "gram of a has a rank above 1: that many samples give at most that rank"),
    ] {
        assert_eq!(bounds().check_offer(&offer, samples).unwrap_err().to_string(), expected);
    }
}

#[test]
fn an_offer_that_is_not_positive_semi_definite_is_refused_with_row_and_pivot() {
    for ((offer, samples), expected) in [
        (diagonal(-1.0, 1.0, 1.0, 3), 0),
        (diagonal(1.0, -1e-6, 1.0, 3), 1),
        (diagonal(1.0, 1.0, -1e-6, 3), 2),
        (diagonal(-1e-300, 0.0, 0.0, 3), 0),
        (rows(&[&[1.0, 2.0, 0.0], &[2.0, 1.0, 0.0], &[0.0, 0.0, 1.0]], 3), 1),
        (rows(&[&[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0], &[0.0, 0.0, 0.0]], 3), 1),
        (rows(&[&[0.0, 0.0, 1e15], &[0.0, 0.0, 1e15], &[1e15, 1e15, 0.0]], 3), 2),
    ] {
        let refused = bounds().check_offer(&offer, samples).unwrap_err();
        let OfferError::NotPositive { row, pivot, .. } = refused else { panic!("{refused}") };
        assert_eq!((row, pivot > 0.0), (expected, false), "{offer:?}: {pivot}");
    }
    let (offer, samples) = diagonal(1.0, -0.5, 1.0, 3);
    let refused = bounds().check_offer(&offer, samples).unwrap_err().to_string();
    assert!(refused.starts_with("gram of a is not positive semi-definite: pivot -0.4"), "{refused}");
    assert!(refused.ends_with(" at row 1 must not be below 0"), "{refused}");
}

#[test]
fn offers_on_the_bounds_are_taken() {
    for (offer, samples) in [
        diagonal(0.0, 0.0, 0.0, 0),
        diagonal(0.0, 0.0, 0.0, 100),
        diagonal(4.0, 4.0, 4.0, 3),
        diagonal(400.0, 0.0, 0.0, 100),
        diagonal(1.0, 1.0, 0.0, 2),
        rows(&[&[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0]], 1),
    ] {
        assert_eq!(bounds().check_offer(&offer, samples), Ok(()), "{offer:?}");
    }
}

#[test]
fn moments_that_no_data_gives_are_refused_with_the_bound() {
    // Two contexts (2, 0, 0) and one (0, 1, 0): rewards of 3 give an energy of at most 27.
    let (offer, samples) = diagonal(8.0, 1.0, 0.0, 3);
    let refused = |moment: &[f64]| bounds().check_delivery(&offer, samples, moment).unwrap_err();
    assert_eq!(refused(&[1.0, 2.0]).to_string(), "moment of a has 2 entries, the federation has dimension 3");
    assert_eq!(refused(&[0.0; 4]).to_string(), "moment of a has 4 entries, the federation has dimension 3");
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.1e15, -1.1e15] {
        let error = refused(&[0.0, value, 0.0]).to_string();
        let expected = format!("entry 1 of the moment of a is {value}: it must be finite and at most 1e15 in size");
        assert_eq!(error, expected);
    }
    for moment in [[0.0, 0.0, 0.01], [12.0, 3.0, -0.01], [0.0, 0.0, 1e15]] {
        let error = refused(&moment);
        assert!(matches!(error, DeliveryError::OutsideGram { .. }), "{moment:?}: {error}");
    }
    for moment in [[15.0, 0.0, 0.0], [0.0, 5.3, 0.0], [-12.0, 3.1, 0.0], [1e15, 0.0, 0.0]] {
        let error = refused(&moment);
        assert!(matches!(error, DeliveryError::EnergyTooLarge { samples: 3, .. }), "{moment:?}: {error}");
    }
    let error = refused(&[20.0, 0.0, 0.0]).to_string();
    assert!(error.starts_with("moment of a has energy 49.99"), "{error}");
    assert!(error.contains("3 rewards of size 3 give at most 27"), "{error}");
    assert_eq!(bounds().check_delivery(&offer, samples, &[12.0, 3.0, 0.0]), Ok(()));
    assert_eq!(bounds().check_delivery(&offer, samples, &[0.0; 3]), Ok(()));
}

#[test]
fn a_moment_along_a_direction_without_contexts_is_refused_whatever_the_axes() {
    let mut gram = Gram::zeros(3).unwrap();
    gram.add_outer(&[1.0, 1.0, 0.0]);
    gram.add_outer(&[0.0, 1.0, 1.0]);
    let (offer, samples) = (free(gram), 2);
    assert_eq!(bounds().check_delivery(&offer, samples, &[3.0, 6.0, 3.0]), Ok(()));
    let error = bounds().check_delivery(&offer, samples, &[3.01, 5.99, 3.01]).unwrap_err();
    assert!(matches!(error, DeliveryError::OutsideGram { .. }), "{error}");
}

#[test]
fn a_moment_is_held_against_its_gram_at_any_scale() {
    for norm in [1e-4, 1.0, 1e4] {
        let terms = Terms::try_from(RawTerms { norm, reward: 3.0, samples: 100, ..raw_terms(2) }).unwrap();
        let (offer, samples) = rows(&[&[10.0 * norm * norm, 0.0], &[0.0, 0.0]], 10);
        terms.check_delivery(&offer, samples, &[30.0 * norm, 0.0]).unwrap();
        let refused = terms.check_delivery(&offer, samples, &[0.0, norm]).unwrap_err();
        assert!(matches!(refused, DeliveryError::OutsideGram { .. }), "{norm}: {refused}");
    }
}

#[test]
fn very_many_samples_along_one_direction_are_taken() {
    let samples = 100_000_000;
    let terms = Terms::try_from(RawTerms { norm: 1.0, reward: 3.0, samples, ..raw_terms(2) }).unwrap();
    let (offer, _) = rows(&[&[samples as f64, 0.0], &[0.0, 0.0]], samples);
    terms.check_offer(&offer, samples).unwrap();
    terms.check_delivery(&offer, samples, &[3.0 * samples as f64, 0.0]).unwrap();
}

#[test]
fn no_samples_have_no_moment() {
    let (nothing, samples) = diagonal(0.0, 0.0, 0.0, 0);
    assert_eq!(bounds().check_delivery(&nothing, samples, &[0.0; 3]), Ok(()));
    assert!(bounds().check_delivery(&nothing, samples, &[1e-9, 0.0, 0.0]).is_err());
}

#[test]
fn the_coordinator_checks_offers_and_deliveries_and_goes_on() {
    let mut coordinator = opened(Everyone);
    check_refused(&mut coordinator, 1, "a", offer("a", 4.0, 3, 5), "gram of a has trace 4");
    send(&mut coordinator, 1, "a", offer("a", 2.0, 3, 5)).unwrap();
    send(&mut coordinator, 1, "b", Request::Decline(R1)).unwrap();
    check_refused(&mut coordinator, 2, "a", Request::Deliver(R1, vec![2.5]), "moment of a has energy");
    assert_eq!(send(&mut coordinator, 2, "a", Request::Deliver(R1, vec![2.4])), Ok(Accepted::New));
    assert_eq!(coordinator.settled().moment(), [2.4]);
}

#[test]
fn nobody_offers_for_another() {
    let mut coordinator = opened(Everyone);
    check_refused(
        &mut coordinator,
        1,
        "a",
        offer("b", 2.0, 3, 5),
        "offer of b was sent by a: each member sends its own",
    );
    assert_eq!(send(&mut coordinator, 1, "b", offer("b", 2.0, 3, 5)), Ok(Accepted::New));
}

#[test]
fn a_taken_offer_makes_a_round_however_small_it_is() {
    let mut gram = Gram::zeros(3).unwrap();
    gram.add_outer(&[3e-162, 4e-162, 5e-162]);
    assert!(Factor::new(&gram).is_err(), "rounded away from positive semi-definite");
    let tiny = Request::Offer { round: R1, samples: 1, offer: free(gram) };
    let mut coordinator = Coordinator::new(terms(3), Box::new(Everyone), [id("a")]);
    send(&mut coordinator, 0, "a", tiny).unwrap();
    send(&mut coordinator, 0, "a", Request::Deliver(R1, vec![3e-162, 4e-162, 5e-162])).unwrap();
    assert_eq!(coordinator.settled().samples(), 1);
}

#[test]
fn terms_outside_their_bounds_are_refused_by_name() {
    let check = |change: fn(&mut RawTerms), expected: &str| {
        let mut terms = raw_bounds();
        change(&mut terms);
        let error = Terms::try_from(terms).unwrap_err();
        assert!(error.to_string().starts_with(&format!("{} is ", error.key())), "{error}");
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    check(|terms| terms.bandit.dimension = 0, "bandit.dimension is 0: it must lie in 1..=512");
    check(|terms| terms.bandit.lambda = 0.0, "bandit.lambda is 0: it must lie between 1e-9 and 1e9");
    check(|terms| terms.bandit.sigma = -1.0, "bandit.sigma is -1: it must lie between 0 and 1e9");
    check(|terms| terms.bandit.delta = 1.0, "bandit.delta is 1: it must lie above 0 and below 1");
    check(|terms| terms.coverage = CoverageSetting::Ratio(2.0), "coverage is 2: it must be above 0 and at most 1");
    let rule = "coverage is `most`: it must be a number above 0 and at most 1, or `monopoly-free`";
    check(|terms| terms.coverage = CoverageSetting::Rule("most".to_owned()), rule);
    let threshold = "trigger.threshold is inf: it must be finite and at least 0";
    check(|terms| terms.trigger.threshold = f64::INFINITY, threshold);
    check(|terms| terms.offers_ms = 0, "offers_ms is 0: it must lie in 1..=86400000");
    check(|terms| terms.deliveries_ms = 86_400_001, "deliveries_ms is 86400001: it must lie in 1..=86400000");
    check(|terms| terms.mechanism.name = "none".to_owned(), "mechanism.name is `none`: it must be");
    check(|terms| terms.norm = f64::NAN, "norm is NaN: it must lie between 1e-9 and 1e9");
    check(|terms| terms.reward = -1.0, "reward is -1: it must lie between 1e-9 and 1e9");
    check(|terms| terms.samples = 0, "samples is 0: it must lie in 1..=1000000000");
    check(|terms| terms.samples = 1_000_000_001, "samples is 1000000001: it must lie in 1..=1000000000");
    // 9e14 at most, and no more.
    let most = RawTerms { samples: 9_000_000, norm: 1.0, reward: 1e8, ..raw_bounds() };
    assert!(Terms::try_from(most).is_ok());
    let many = RawTerms { samples: 10_000_000, ..raw_bounds() };
    for terms in [RawTerms { norm: 1e7, ..many.clone() }, RawTerms { reward: 1e9, ..many }] {
        let error = Terms::try_from(terms).unwrap_err().to_string();
        assert!(error.starts_with("an offer of 10000000 samples can have entries of"), "{error}");
    }
}

#[test]
fn the_target_without_monopolies_counts_what_is_settled_and_what_is_offered() {
    let coverage = CoverageSetting::Rule("monopoly-free".to_owned());
    let terms = Terms::try_from(RawTerms { coverage, ..raw_terms(2) }).unwrap();
    let mut settled = Statistics::new(2).unwrap();
    (0..3).for_each(|_| settled.observe(&[1.0, 0.0], 0.5).unwrap());
    let expected = Coverage::monopoly_free(7, 1.0, 0.1, 2).unwrap();
    assert_eq!(terms.target(&settled, 4).unwrap(), expected);
}

#[test]
fn terms_are_written_and_read_back_with_all_parameters_and_money_as_a_decimal() {
    let mut raw = RawTerms { reserve: "12.5".parse().unwrap(), ..RawTerms::default() };
    raw.mechanism = serde_json::from_str(r#"{"name":"ratchet","epsilon":0.5}"#).unwrap();
    let terms = Terms::try_from(raw).unwrap();
    let written = serde_json::to_string(terms.raw()).unwrap();
    assert!(written.contains(r#""reserve":"12.5""#) && written.contains("first_budget"), "{written}");
    let read = |text: &str| serde_json::from_str::<RawTerms>(text);
    assert_eq!(Terms::try_from(read(&written).unwrap()), Ok(terms));
    let refused = |from: &str, to: &str| read(&written.replace(from, to)).unwrap_err().to_string();
    assert!(refused("\"12.5\"", "\"-1\"").contains("`-1` is negative"));
    assert!(refused("\"12.5\"", "12.5").contains("invalid type"));
    assert!(refused("\"norm\":1.0,", "").contains("missing field `norm`"));
    assert!(refused("\"norm\":1.0,", "\"norm\":1.0,\"price\":3,").contains("unknown field `price`"));
}
