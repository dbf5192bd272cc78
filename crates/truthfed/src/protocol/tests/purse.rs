//! What rounds may cost, one by one and on a day.

use super::*;

const DAY: u64 = 86_400_000;

/// Everyone who offers is essential, and would be paid the reserve of 100.
fn terms(purse: Option<u32>, daily_purse: Option<u32>) -> Terms {
    let [purse, daily_purse] = [purse, daily_purse].map(|units| units.map(Amount::from_units));
    RawTerms { purse, daily_purse, coverage: CoverageSetting::Ratio(1.0), ..raw_terms(1) }.try_into().unwrap()
}

fn federation(purse: Option<u32>, daily_purse: Option<u32>) -> Coordinator {
    Coordinator::new(terms(purse, daily_purse), Box::new(Clock), [id("ann"), id("bob")])
}

/// A round in which both offer and nobody delivers: what they would have been paid.
fn hold(coordinator: &mut Coordinator, now: u64) -> Result<Vec<(String, i64)>, Rejection> {
    let round = RoundId(coordinator.closed().0 + 1);
    send(coordinator, now, "ann", offer_to(round, "ann", 1.0, 5, 1))?;
    // Midnight may come between: the round belongs to the day on which it opened.
    send(coordinator, now + 50, "bob", offer_to(round, "bob", 1.0, 5, 1))?;
    let outcome = coordinator.open().unwrap().outcome().unwrap();
    let paid = outcome.winners().iter().map(|it| (it.client.to_string(), it.payment.micros() / 1_000_000)).collect();
    coordinator.handle(Time(now + 200), Input::Tick).unwrap();
    Ok(paid)
}

fn each(units: i64) -> Vec<(String, i64)> {
    ["ann", "bob"].map(|name| (name.to_owned(), units)).to_vec()
}

#[test]
fn a_round_costs_no_more_than_its_purse() {
    assert_eq!(hold(&mut federation(None, None), 0).unwrap(), each(100));
    assert_eq!(hold(&mut federation(Some(200), None), 0).unwrap(), each(100));
    assert_eq!(hold(&mut federation(Some(30), None), 0).unwrap(), each(15), "in equal shares");
}

#[test]
fn the_rounds_of_a_day_cost_no_more_than_the_daily_purse_and_the_next_day_has_one_of_its_own() {
    let mut coordinator = federation(Some(150), Some(250));
    assert_eq!(hold(&mut coordinator, DAY + 1000).unwrap(), each(75));
    // What is left of the day is less than the purse of a round; what was awarded counts although nobody delivered.
    assert_eq!(hold(&mut coordinator, DAY + 2000).unwrap(), each(50));
    let refused = Rejection::PurseSpent { daily: Amount::from_units(250), wait_ms: DAY - 3000 };
    assert_eq!(hold(&mut coordinator, DAY + 3000), Err(refused));
    assert_eq!(hold(&mut coordinator, 2 * DAY - 1).unwrap_err().to_string().matches("in 1 ms").count(), 1);
    assert_eq!(hold(&mut coordinator, 2 * DAY).unwrap(), each(75));
}

#[test]
fn a_round_that_is_decided_after_midnight_counts_for_the_day_on_which_it_opened() {
    let mut coordinator = federation(None, Some(120));
    assert_eq!(hold(&mut coordinator, 2 * DAY - 20).unwrap(), each(60));
    assert_eq!(coordinator.standing().spent, Spent { day: 1, amount: Amount::from_units(120) });
    assert_eq!(hold(&mut coordinator, 2 * DAY + 300).unwrap(), each(60));
}

#[test]
fn what_was_spent_survives_a_restart() {
    let mut coordinator = federation(None, Some(200));
    hold(&mut coordinator, 0).unwrap();
    let text = serde_json::to_string(&coordinator.standing()).unwrap();
    let mut again = Coordinator::resume(terms(None, Some(200)), Box::new(Clock), serde_json::from_str(&text).unwrap());
    assert!(matches!(hold(&mut again, 1000), Err(Rejection::PurseSpent { .. })));
}

#[test]
fn a_purse_is_above_zero_and_for_a_mechanism_that_keeps_to_it() {
    let refused = |raw: RawTerms| Terms::try_from(raw).map(drop).map_err(|error| (error.key(), error.to_string()));
    let expected = |key: &str, message: &str| Err((key.to_owned(), message.to_owned()));
    assert_eq!(
        refused(RawTerms { purse: Some(Amount::ZERO), ..raw_terms(1) }),
        expected("purse", "purse is 0: it must be above 0, or `none`")
    );
    let mechanism = crate::auction::MechanismSetting::named("greedy").unwrap().into();
    assert_eq!(
        refused(RawTerms { daily_purse: Some(Amount::STEP), mechanism, ..raw_terms(1) }),
        expected(
            "daily_purse",
            "daily_purse is set, and greedy cannot keep to a purse: it must be `none`, or the mechanism clock"
        )
    );
}

#[test]
fn a_purse_is_written_as_a_decimal_or_none() {
    let written = |purse: Option<Amount>| serde_json::to_value(RawTerms { purse, ..raw_terms(1) }).unwrap();
    assert_eq!(written(None)["purse"], "none");
    assert_eq!(written("12.5".parse().ok())["purse"], "12.5");
    let read = |value: serde_json::Value| serde_json::from_value::<RawTerms>(value).map(|raw| raw.purse);
    assert_eq!(read(written(None)).unwrap(), None);
    assert_eq!(read(written("12.5".parse().ok())).unwrap(), "12.5".parse().ok());
    let mut wrong = written(None);
    wrong["purse"] = "-1".into();
    assert!(read(wrong).unwrap_err().to_string().contains("negative"));
}
