//! Rounds at the edge of what is valid: every mechanism decides them, in time and within its promises.

use crate::support::{Listed, Outcome, auction, mechanisms};

/// Nothing is settled; data in both directions, in one, and none.
const NOTHING: &str = "[[0,0],[0,0]]";
const WIDE: &str = "[[2,0],[0,2]]";
const EAST: &str = "[[3,0],[0,0]]";
const NORTH: &str = "[[0,0],[0,3]]";

/// A round of offers (client, ask, gram), reserve 100.
fn round(coverage: &str, base: &str, offers: &[(&str, &str, &str)]) -> String {
    let offer = |(client, ask, gram): &(&str, &str, &str)| {
        format!("{{\"client\": \"{client}\", \"ask\": {ask}, \"gram\": {gram}}}")
    };
    let offers: Vec<String> = offers.iter().map(offer).collect();
    format!(
        "{{\"schema\": \"truthfed.round/1\", \"lambda\": 0.1, \"coverage\": {coverage}, \"reserve\": 100, \
         \"base\": {base}, \"offers\": [{}]}}",
        offers.join(", ")
    )
}

/// Runs every mechanism, checks what it promises, and hands on its outcome.
fn for_every_mechanism(round: &str, args: &[&str], property: impl Fn(&Outcome)) {
    for mechanism in mechanisms() {
        let args = [args, &["--json", "-m", &mechanism.name]].concat();
        let outcome = auction(round, &args).outcome();
        check_promises(&mechanism, &outcome);
        property(&outcome);
        if mechanism.is_truthful() {
            let certified = auction(round, &[&args[..], &["--certify"]].concat()).outcome();
            assert_eq!(certified.certified, Some(true), "{certified:?}");
        }
    }
}

fn check_promises(mechanism: &Listed, outcome: &Outcome) {
    assert_eq!(mechanism.name, outcome.mechanism);
    assert!(outcome.coverage >= outcome.target * (1.0 - 1e-8), "{outcome:?}");
    assert!(outcome.winners.is_sorted_by(|a, b| a.client < b.client), "{outcome:?}");
    assert_eq!(outcome.social_cost.0, outcome.winners.iter().map(|winner| winner.ask.0).sum());
    assert_eq!(outcome.payments.0, outcome.winners.iter().map(|winner| winner.payment.0).sum());
    if mechanism.individually_rational == "yes" {
        assert!(outcome.winners.iter().all(|winner| winner.payment >= winner.ask), "{outcome:?}");
    }
}

/// Just these win; of `everyone`, all that are admitted.
fn check_winners(round: &str, args: &[&str], expected: &[&str], admitted: &[&str]) {
    for_every_mechanism(round, args, |outcome| {
        let expected = if outcome.mechanism == "everyone" { admitted } else { expected };
        assert_eq!(outcome.names(), expected, "{}", outcome.mechanism);
    });
}

#[test]
fn an_ask_of_0_wins() {
    let round = round("0.3", NOTHING, &[("a", "5", WIDE), ("b", "0", WIDE), ("c", "9", WIDE)]);
    for_every_mechanism(&round, &[], |outcome| {
        // Pay-as-ask ranks by data alone.
        assert!(outcome.names().contains(&"b") || outcome.mechanism == "inc-feducb", "{outcome:?}");
    });
}

#[test]
fn asks_that_are_all_0_cost_nothing() {
    let round = round("0.6", NOTHING, &[("a", "0", WIDE), ("b", "0", EAST), ("c", "0", NORTH)]);
    for_every_mechanism(&round, &[], |outcome| assert_eq!(outcome.social_cost.0, 0));
}

#[test]
fn a_client_without_data_is_not_bought() {
    let offers = [("a", "5", WIDE), ("b", "1", NOTHING), ("c", "9", WIDE)];
    check_winners(&round("0.9", NOTHING, &offers), &[], &["a", "c"], &["a", "b", "c"]);
}

#[test]
fn when_nobody_has_data_nobody_is_bought() {
    let offers = [("a", "5", NOTHING), ("b", "1", NOTHING)];
    check_winners(&round("0.9", NOTHING, &offers), &[], &[], &["a", "b"]);
    check_winners(&round("1", WIDE, &offers), &[], &[], &["a", "b"]);
}

#[test]
fn a_single_client_is_essential() {
    let round = round("0.5", NOTHING, &[("only", "7", WIDE)]);
    for_every_mechanism(&round, &[], |outcome| {
        assert_eq!(outcome.names(), ["only"]);
        assert!(outcome.winners[0].essential);
    });
}

#[test]
fn full_coverage_buys_all_data() {
    let offers = [("a", "5", WIDE), ("b", "1", EAST), ("c", "9", NORTH), ("d", "2", NOTHING)];
    check_winners(&round("1", WIDE, &offers), &[], &["a", "b", "c"], &["a", "b", "c", "d"]);
}

#[test]
fn a_tiny_coverage_buys_next_to_nothing() {
    let offers = [("a", "5", WIDE), ("b", "1", EAST)];
    check_winners(&round("1e-300", WIDE, &offers), &[], &[], &["a", "b"]);
}

#[test]
fn a_target_that_is_met_already_buys_nobody() {
    let offers = [("a", "5", WIDE), ("b", "1", EAST)];
    check_winners(&round("0.5", "[[1000,0],[0,1000]]", &offers), &[], &[], &["a", "b"]);
}

#[test]
fn equal_asks_are_decided() {
    let offers = [("a", "5", WIDE), ("b", "5", EAST), ("c", "5", NORTH), ("d", "5", "[[1,1],[1,1]]")];
    for_every_mechanism(&round("0.5", NOTHING, &offers), &[], |outcome| assert!(!outcome.winners.is_empty()));
}

#[test]
fn of_equal_clients_the_first_by_name_win() {
    let names = ["a", "b", "c", "d", "e"];
    let round = round("0.3", NOTHING, &names.map(|name| (name, "5", WIDE)));
    for_every_mechanism(&round, &[], |outcome| {
        let winners = outcome.names();
        assert_eq!(winners, names[..winners.len()], "{}", outcome.mechanism);
    });
}

#[test]
fn one_dimension_is_enough() {
    let offers = [("a", "3", "[[1]]"), ("b", "5", "[[1]]"), ("c", "9", "[[1]]")];
    for_every_mechanism(&round("0.5", "[[0]]", &offers), &[], |outcome| {
        assert!((2..=3).contains(&outcome.winners.len()), "{outcome:?}");
    });
}

#[test]
fn an_ask_at_the_reserve_is_admitted_and_one_step_above_is_not() {
    let round = round("0.9", NOTHING, &[("a", "100", WIDE), ("b", "100.000001", WIDE), ("c", "3", WIDE)]);
    for_every_mechanism(&round, &[], |outcome| {
        assert_eq!(outcome.names(), ["a", "c"]);
        assert_eq!(outcome.turned_away, ["b"]);
    });
}

#[test]
fn when_all_ask_more_than_the_reserve_nobody_wins() {
    let round = round("0.9", NOTHING, &[("b", "101", WIDE), ("a", "1e12", EAST)]);
    for_every_mechanism(&round, &[], |outcome| {
        assert!(outcome.winners.is_empty());
        assert_eq!(outcome.turned_away, ["a", "b"]);
    });
}

#[test]
fn a_reserve_of_0_admits_gifts_alone() {
    let round = round("0.5", NOTHING, &[("a", "0.000001", WIDE), ("b", "0", WIDE)]);
    for_every_mechanism(&round, &["--reserve", "0"], |outcome| {
        assert_eq!(outcome.names(), ["b"]);
        assert_eq!((outcome.payments.0, outcome.turned_away.as_slice()), (0, ["a".to_owned()].as_slice()));
    });
}

#[test]
fn the_largest_amounts_add_up() {
    let offers = [("a", "1e12", EAST), ("b", "999999999999.999999", NORTH), ("c", "1000000000000", NOTHING)];
    for_every_mechanism(&round("0.9", NOTHING, &offers), &["--reserve", "1e12"], |outcome| {
        assert!(outcome.social_cost.0 >= 1_999_999_999_999_999_999);
    });
}

#[test]
fn the_smallest_steps_are_told_apart() {
    let offers = [("a", "0.000002", WIDE), ("b", "0.000001", WIDE), ("c", "0.000003", WIDE)];
    for_every_mechanism(&round("0.3", NOTHING, &offers), &["--reserve", "0.000003"], |outcome| {
        assert!(outcome.winners.iter().all(|winner| winner.payment.0 <= 3), "{outcome:?}");
    });
}
