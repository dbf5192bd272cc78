//! Rounds at the edge of what is valid: every mechanism decides them, in time and within its promises.

use super::support::{Listed, Outcome, auction, mechanisms};

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
        let outcome = auction(round, &args).object::<Outcome>();
        check_promises(&mechanism, &outcome);
        property(&outcome);
        if mechanism.is_truthful() {
            let certified = auction(round, &[&args[..], &["--certify"]].concat()).object::<Outcome>();
            assert_eq!(certified.certified, Some(true), "{certified:?}");
        }
    }
}

/// Winners are sorted, sums are right, the target is met, and nobody loses where the mechanism promises it.
pub(super) fn check_promises(mechanism: &Listed, outcome: &Outcome) {
    assert_eq!(mechanism.name, outcome.mechanism);
    assert!(outcome.coverage >= outcome.target * (1.0 - 1e-8), "{outcome:?}");
    assert!(outcome.winners.is_sorted_by(|a, b| a.client < b.client), "{outcome:?}");
    assert_eq!(outcome.social_cost.0, outcome.winners.iter().map(|winner| winner.ask.0).sum());
    assert_eq!(outcome.payments.0, outcome.winners.iter().map(|winner| winner.payment.0).sum());
    if mechanism.individually_rational == "yes" {
        assert!(outcome.winners.iter().all(|winner| winner.payment >= winner.ask), "{outcome:?}");
    }
}

/// Just these win; of `everyone`, all that offer.
fn check_winners(round: &str, expected: &[&str]) {
    let all: Vec<&str> = round.split("\"client\": \"").skip(1).filter_map(|offer| offer.split('"').next()).collect();
    for_every_mechanism(round, &[], |outcome| {
        let expected = if outcome.mechanism == "everyone" { &all } else { expected };
        assert_eq!(outcome.names(), expected, "{}", outcome.mechanism);
    });
}

#[test]
fn an_ask_of_0_wins_and_costs_nothing() {
    let mixed = round("0.3", NOTHING, &[("a", "5", WIDE), ("b", "0", WIDE), ("c", "9", WIDE)]);
    for_every_mechanism(&mixed, &[], |outcome| {
        // Pay-as-ask ranks by data alone.
        assert!(outcome.names().contains(&"b") || outcome.mechanism == "inc-feducb", "{outcome:?}");
    });
    let all = round("0.6", NOTHING, &[("a", "0", WIDE), ("b", "0", EAST), ("c", "0", NORTH)]);
    for_every_mechanism(&all, &[], |outcome| assert_eq!(outcome.social_cost.0, 0));
}

#[test]
fn clients_without_data_are_not_bought() {
    let one = [("a", "5", WIDE), ("b", "1", NOTHING), ("c", "9", WIDE)];
    check_winners(&round("0.9", NOTHING, &one), &["a", "c"]);
    let all = [("a", "5", NOTHING), ("b", "1", NOTHING)];
    check_winners(&round("0.9", NOTHING, &all), &[]);
    check_winners(&round("1", WIDE, &all), &[]);
}

#[test]
fn full_coverage_buys_all_data_and_a_target_that_is_met_nothing() {
    let offers = [("a", "5", WIDE), ("b", "1", EAST), ("c", "9", NORTH), ("d", "2", NOTHING)];
    check_winners(&round("1", WIDE, &offers), &["a", "b", "c"]);
    check_winners(&round("1e-300", WIDE, &offers[..2]), &[]);
    check_winners(&round("0.5", "[[1000,0],[0,1000]]", &offers[..2]), &[]);
}

#[test]
fn equal_asks_are_decided_and_of_equal_clients_the_first_by_name_win() {
    let offers = [("a", "5", WIDE), ("b", "5", EAST), ("c", "5", NORTH), ("d", "5", "[[1,1],[1,1]]")];
    for_every_mechanism(&round("0.5", NOTHING, &offers), &[], |outcome| assert!(!outcome.winners.is_empty()));
    let names = ["a", "b", "c", "d", "e"];
    let round = round("0.3", NOTHING, &names.map(|name| (name, "5", WIDE)));
    for_every_mechanism(&round, &[], |outcome| {
        let winners = outcome.names();
        assert_eq!(winners, names[..winners.len()], "{}", outcome.mechanism);
    });
}

#[test]
fn one_client_and_one_dimension_are_enough() {
    let one = round("0.5", NOTHING, &[("only", "7", WIDE)]);
    for_every_mechanism(&one, &[], |outcome| {
        assert_eq!(outcome.names(), ["only"]);
        assert!(outcome.winners[0].essential);
    });
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
fn a_reserve_below_all_asks_admits_nobody_and_one_of_0_gifts_alone() {
    let dear = round("0.9", NOTHING, &[("b", "101", WIDE), ("a", "1e12", EAST)]);
    for_every_mechanism(&dear, &[], |outcome| {
        assert!(outcome.winners.is_empty());
        assert_eq!(outcome.turned_away, ["a", "b"]);
    });
    let gift = round("0.5", NOTHING, &[("a", "0.000001", WIDE), ("b", "0", WIDE)]);
    for_every_mechanism(&gift, &["--reserve", "0"], |outcome| {
        assert_eq!((outcome.names(), outcome.payments.0), (vec!["b"], 0));
        assert_eq!(outcome.turned_away, ["a"]);
    });
}

#[test]
fn the_largest_amounts_add_up_and_the_smallest_steps_are_told_apart() {
    let large = [("a", "1e12", EAST), ("b", "999999999999.999999", NORTH), ("c", "1000000000000", NOTHING)];
    for_every_mechanism(&round("0.9", NOTHING, &large), &["--reserve", "1e12"], |outcome| {
        assert!(outcome.social_cost.0 >= 1_999_999_999_999_999_999);
    });
    let small = [("a", "0.000002", WIDE), ("b", "0.000001", WIDE), ("c", "0.000003", WIDE)];
    for_every_mechanism(&round("0.3", NOTHING, &small), &["--reserve", "0.000003"], |outcome| {
        assert!(outcome.winners.iter().all(|winner| winner.payment.0 <= 3), "{outcome:?}");
    });
}
