//! How much work each mechanism does, in log determinants: what makes it more, or counts it wrongly, shows here.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod support;

use truthfed::auction::catalog::{self, Entry};
use truthfed::auction::{Clock, Mechanism, Round, Seat};
use truthfed::generate::{federation, varied};

use self::support::met_exactly;

/// Name, evaluations to choose the winners and evaluations to price them, over some rounds.
fn check_work(rounds: &[Round], expected: &[(&str, u64, u64)]) {
    let mut found = Vec::new();
    let has_row = |entry: &&Entry| expected.iter().any(|(name, ..)| *name == entry.name);
    for entry in catalog::entries().iter().filter(has_row) {
        let work = rounds.iter().map(|round| entry.mechanism().run(round).unwrap().evaluations());
        let (select, price) = work.fold((0, 0), |(select, price), work| (select + work.select, price + work.price));
        found.push((entry.name, select, price));
    }
    assert_eq!(found, expected);
}

#[test]
fn the_work_on_many_small_rounds() {
    let rounds: Vec<Round> = (0..200).map(varied).collect();
    let expected = &[
        ("everyone", 200, 1001),
        ("inc-feducb", 1756, 573),
        ("truth-fedban", 2312, 13_019),
        ("greedy", 2092, 2262),
        ("greedy-v2", 2203, 2543),
        ("ratchet", 3252, 9677),
        ("clock", 2232, 873),
        ("vcg", 12_435, 111_053),
    ];
    check_work(&rounds, expected);
}

#[test]
fn the_work_on_a_federation() {
    let expected = &[
        ("everyone", 1, 25),
        ("inc-feducb", 43, 15),
        ("truth-fedban", 80, 7354),
        ("greedy", 75, 596),
        ("greedy-v2", 78, 728),
        ("ratchet", 103, 1725),
        ("clock", 65, 77),
        ("vcg", 18_315, 1_897_737),
    ];
    check_work(&[federation(25, 5, 1)], expected);
}

/// A set that meets the target to the last unit is summed once more.
#[test]
fn the_work_on_rounds_whose_target_is_met_exactly() {
    let expected = &[
        ("everyone", 166, 972),
        ("inc-feducb", 1737, 432),
        ("truth-fedban", 2306, 24_657),
        ("greedy", 1857, 2693),
        ("greedy-v2", 2127, 3904),
        ("ratchet", 3150, 7176),
        ("clock", 2590, 1084),
        ("vcg", 30_239, 270_631),
    ];
    let rounds = (0..200).map(varied).filter_map(|round| {
        let seats: Vec<Seat> = round.seats().filter(|seat| seat.0 % 2 == 0).collect();
        met_exactly(&round, &seats)
    });
    check_work(&rounds.collect::<Vec<_>>(), expected);
}

/// Prices are searched for in the order of their bounds, which few clients hardly need.
#[test]
fn the_work_of_the_clock_on_a_large_federation() {
    let work = Clock.run(&federation(1000, 5, 1)).unwrap().evaluations();
    assert_eq!((work.select, work.price), (3153, 5530));
}
