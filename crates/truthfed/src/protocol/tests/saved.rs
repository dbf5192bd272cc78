//! What is saved and read again goes on with the same bits, and what is not whole is not read.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::bandit::LinUcb;
use crate::generate::Stream;

const DIMENSION: usize = 3;

fn again<T: serde::Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// A random event in the life of a member; what it chose, and what it wants to say.
fn live(member: &mut Member, stream: &mut Stream) -> String {
    let round = RoundId(stream.between(1, 12) as u64);
    let mut asking = Fixed(Amount::from_units(stream.between(0, 100) as u32));
    match stream.between(0, 9) {
        0 if stream.chance(0.5) => member.sync(),
        0 => member.open_round(None, &mut asking),
        1 => {
            let most = stream.pick(&[None, Some(5), Some(20)]);
            member.handle(Notice::Opened(round, most), &mut asking).unwrap();
        }
        2 => member.handle(Notice::Awarded(round), &mut asking).unwrap(),
        3 => {
            let mut statistics = Statistics::new(DIMENSION).unwrap();
            for _ in 0..stream.between(0, 20) {
                statistics.observe(&stream.context(DIMENSION), stream.normal()).unwrap();
            }
            let settled = stream.pick(&[None, Some(round)]);
            let snapshot = Snapshot { closed: round, settled, statistics, own: None };
            member.handle(Notice::Snapshot(snapshot), &mut asking).unwrap();
        }
        _ => {
            let arms: Vec<Vec<f64>> = (0..6).map(|_| stream.context(DIMENSION)).collect();
            let chosen = member.choose(&arms).unwrap();
            member.learn(&arms[chosen], stream.normal()).unwrap();
            return format!("{chosen}");
        }
    }
    // Sometimes a message stays behind, to be saved with the member.
    if stream.chance(0.7) { format!("{:?}", member.poll()) } else { String::new() }
}

#[test]
fn a_member_saved_and_read_after_every_event_goes_on_as_one_that_was_not() {
    for seed in 0..200 {
        let since = if seed % 2 == 0 { Since::Round } else { Since::Delivery };
        let trigger = Trigger { since, threshold: 2.0, checked: seed % 3 == 0 };
        let whole = Member::new(id("m"), config(DIMENSION), trigger);
        let mut whole = if seed % 4 < 2 { whole.in_parts(seed % 5) } else { whole };
        let mut saved = whole.clone();
        let (mut stream, mut same) = (Stream::new(seed, 0), Stream::new(seed, 0));
        for event in 0..150 {
            let expected = live(&mut whole, &mut stream);
            assert_eq!(live(&mut saved, &mut same), expected, "seed {seed}, event {event}");
            saved = again(&saved);
            assert_eq!(format!("{saved:?}"), format!("{whole:?}"), "seed {seed}, event {event}");
        }
    }
}

/// A member with something in every place: settled, in flight, unshared and unsent.
fn member() -> Member {
    let mut member = Member::new(id("m"), config(2), Trigger::new(Since::Round, 0.0));
    member.learn(&[0.5, 0.1], 1.0).unwrap();
    member.handle(Notice::Opened(R1, None), &mut Fixed(Amount::from_units(3))).unwrap();
    member.learn(&[0.1, -0.5], 0.5).unwrap();
    member
}

/// Reads a value again after a change, and expects that to be refused.
fn check_not_read<T: serde::Serialize + DeserializeOwned>(value: &T, change: impl FnOnce(&mut Value), expected: &str) {
    let mut json = serde_json::to_value(value).unwrap();
    assert!(serde_json::from_value::<T>(json.clone()).is_ok());
    change(&mut json);
    let text = json.to_string();
    match serde_json::from_str::<T>(&text) {
        Ok(_) => panic!("{text} must be refused: {expected}"),
        Err(error) => assert!(error.to_string().contains(expected), "{error}, not {expected}: {text}"),
    }
}

fn insert(field: &'static str) -> impl Fn(&mut Value) {
    move |json| drop(json.as_object_mut().unwrap().insert(field.to_owned(), json!(1)))
}

#[test]
fn numbers_and_names_are_read_within_their_bounds_only() {
    let amount = Amount::from_units(1);
    check_not_read(&amount, |json| *json = json!(-1), "negative");
    check_not_read(&amount, |json| *json = json!(1.5), "invalid type");
    check_not_read(&amount, |json| *json = json!("1"), "invalid type");
    check_not_read(&amount, |json| *json = json!(1_000_000_000_000_000_001_i64), "above the largest amount");
    check_not_read(&amount, |json| *json = json!(u64::MAX), "i64");
    check_not_read(&id("a"), |json| *json = json!(""), "empty");
    check_not_read(&id("a"), |json| *json = json!("x".repeat(129)), "129 bytes");
    check_not_read(&id("a"), |json| *json = json!("a\nb"), "control character");
    check_not_read(&R1, |json| *json = json!(-1), "invalid value");
    check_not_read(&R1, |json| *json = json!(1.0), "invalid type");
}

#[test]
fn statistics_are_read_only_when_they_are_whole() {
    let gram = Gram::from_rows(&[[2.0, 1.0], [1.0, 3.0]]).unwrap();
    check_not_read(&gram, |json| *json = json!([1.0, 2.0]), "2 entries, expected 1");
    check_not_read(&gram, |json| *json = json!([]), "0 entries, expected 1");
    check_not_read(&gram, |json| *json = json!([1.0, null, 1.0]), "invalid type: null");
    check_not_read(&gram, |json| *json = json!([1.0, "NaN", 1.0]), "invalid type: string");
    check_not_read(&gram, |json| *json = json!([1.1e15]), "at most 1e15");
    let statistics = Statistics::from_parts(gram, vec![1.0, 2.0], 3).unwrap();
    check_not_read(&statistics, |json| json["moment"] = json!([1.0]), "moment has dimension 1, expected 2");
    check_not_read(&statistics, |json| json["moment"] = json!([1.0, null]), "invalid type: null");
    check_not_read(&statistics, |json| json["gram"] = json!([1.0, 2.0]), "2 entries, expected 1");
    check_not_read(&statistics, |json| json["samples"] = json!(-1), "invalid value");
    check_not_read(&statistics, |json| json["samples"] = json!(1.5), "invalid type");
    check_not_read(&statistics, insert("more"), "unknown field `more`");
    for literal in ["NaN", "Infinity", "1e999"] {
        let text = format!(r#"{{"gram":[1.0],"moment":[{literal}],"samples":1}}"#);
        assert!(serde_json::from_str::<Statistics>(&text).is_err(), "{literal}");
    }
    let snapshot = Snapshot { closed: R1, settled: Some(R1), statistics, own: None };
    check_not_read(&snapshot, insert("more"), "unknown field `more`");
    check_not_read(&snapshot, |json| json["statistics"]["moment"] = json!([]), "moment has dimension 0, expected 2");
    check_not_read(&snapshot, |json| json["closed"] = json!("1"), "invalid type");
}

#[test]
fn sums_beyond_the_range_of_one_offer_are_read_again() {
    let gram = Gram::from_rows(&[[9e14]]).unwrap();
    let mut sum = Statistics::from_parts(gram, vec![9e14], 1_000_000).unwrap();
    for _ in 0..10 {
        sum.merge(&sum.clone()).unwrap();
    }
    assert_eq!(again(&sum), sum);
}

#[test]
fn requests_are_read_only_when_they_are_whole() {
    let offer = offer("a", 1.0, 1, 5);
    assert_eq!(again(&offer), offer);
    check_not_read(&offer, |json| insert("more")(&mut json["Offer"]), "unknown field `more`");
    check_not_read(&offer, |json| insert("more")(&mut json["Offer"]["offer"]), "unknown field `more`");
    check_not_read(&offer, |json| json["Offer"]["offer"]["gram"] = json!([1.0, 2.0]), "2 entries, expected 1");
    check_not_read(&offer, |json| json["Offer"]["offer"]["ask"] = json!(-1), "negative");
    check_not_read(&offer, |json| json["Offer"] = json!([1]), "invalid length");
    check_not_read(&Request::Sync, |json| *json = json!("Demand"), "unknown variant `Demand`");
    let delivery = Request::Deliver(R1, vec![-0.0, 1e-300, 0.1]);
    assert_eq!(format!("{:?}", again(&delivery)), format!("{delivery:?}"));
    check_not_read(&delivery, |json| json["Deliver"][1] = json!([null]), "invalid type: null");
}

#[test]
fn bandits_and_members_are_read_only_when_their_parts_belong_together() {
    let bandit: LinUcb = member().bandit().clone();
    check_not_read(&bandit, |json| json["theta"] = json!([1.0]), "parts of other sizes");
    check_not_read(&bandit, |json| json["inverse"] = json!([1.0, 0.0, 1.0]), "parts of other sizes");
    check_not_read(&bandit, |json| json["config"]["dimension"] = json!(3), "parts of other sizes");
    check_not_read(&bandit, |json| json["log_det_ratio"] = json!(null), "invalid type: null");
    check_not_read(&bandit, insert("more"), "unknown field `more`");
    let small = || serde_json::to_value(Statistics::new(1).unwrap()).unwrap();
    let wrong = "parts that do not belong together";
    check_not_read(&member(), insert("more"), "unknown field `more`");
    check_not_read(&member(), |json| json["unshared"] = small(), wrong);
    check_not_read(&member(), |json| json["snapshot"]["statistics"] = small(), wrong);
    check_not_read(&member(), |json| json["in_flight"]["statistics"] = small(), wrong);
    check_not_read(&member(), |json| json["bandit"] = serde_json::to_value(LinUcb::new(config(1))).unwrap(), wrong);
    check_not_read(&member(), |json| json["in_flight"]["progress"]["steps"] = json!(9), wrong);
    check_not_read(&member(), |json| insert("more")(&mut json["in_flight"]), "unknown field `more`");
    check_not_read(&member(), |json| insert("more")(&mut json["since_round"]), "unknown field `more`");
    check_not_read(&member(), |json| json["snapshot_ratio"] = json!(null), "invalid type: null");
    check_not_read(&member(), |json| json["id"] = json!(""), "empty");
}

#[test]
fn a_standing_is_read_only_when_it_is_whole() {
    let mut coordinator = awarded();
    send(&mut coordinator, 1, "a", Request::Deliver(R1, vec![0.1])).unwrap();
    send(&mut coordinator, 1, "b", Request::Deliver(R1, vec![0.2])).unwrap();
    coordinator.revoke(Time(1), &id("b"));
    let standing = coordinator.standing();
    let conduct = json!({"settled": 1, "defaults": [], "excluded": null});
    let expected = json!({
        "members": {"a": conduct}, "former": {"b": conduct}, "closed": 1,
        "shares": {"a": {"confirmed": {"gram": [1.0], "moment": [0.1], "samples": 1}},
                   "b": {"confirmed": {"gram": [1.0], "moment": [0.2], "samples": 1}}},
        "spent": {"day": 0, "amount": 0},
    });
    assert_eq!(serde_json::to_value(&standing).unwrap(), expected);
    assert_eq!(again(&standing), standing);
    check_not_read(&standing, insert("more"), "unknown field `more`");
    check_not_read(&standing, |json| drop(json.as_object_mut().unwrap().remove("former")), "missing field `former`");
    check_not_read(&standing, |json| json["members"] = json!({"": {}}), "empty");
    check_not_read(
        &standing,
        |json| json["shares"]["a"]["confirmed"]["moment"] = json!([]),
        "moment has dimension 0, expected 1",
    );
}

#[test]
fn a_snapshot_of_another_dimension_is_refused_and_changes_nothing() {
    let mut member = member();
    let before = format!("{member:?}");
    let snapshot = Snapshot { closed: R1, settled: None, statistics: Statistics::new(3).unwrap(), own: None };
    let refused = member.handle(Notice::Snapshot(snapshot), &mut Fixed(Amount::ZERO)).unwrap_err();
    assert_eq!(refused.to_string(), "snapshot has dimension 3, expected 2");
    assert_eq!(format!("{member:?}"), before);
}
