//! How much work each mechanism does, in log determinants: what makes it more, or counts it wrongly, shows here.

#![allow(clippy::unwrap_used)] // helpers outside of #[test] functions too

mod support;

use truthfed::auction::{Clock, Mechanism, Round, Seat, catalog};
use truthfed::generate::{federation, varied};

use self::support::met_exactly;

/// Evaluations to choose the winners and to price them: on many small rounds, on a federation, and on rounds whose target
/// some set meets exactly; a set that meets it to the last unit is summed once more.
const EXPECTED: [(&str, [(u64, u64); 3]); 8] = [
    ("everyone", [(200, 1001), (1, 25), (166, 972)]),
    ("inc-feducb", [(1756, 573), (43, 15), (1737, 432)]),
    ("truth-fedban", [(2312, 13_019), (80, 7354), (2306, 24_657)]),
    ("greedy", [(2092, 1888), (75, 619), (1857, 2654)]),
    ("greedy-v2", [(2203, 2115), (78, 699), (2127, 3740)]),
    ("ratchet", [(3252, 9677), (103, 1725), (3150, 7176)]),
    ("clock", [(2235, 309), (65, 61), (2599, 643)]),
    ("vcg", [(12_451, 111_466), (18_315, 1_897_742), (30_398, 271_705)]),
];

#[test]
fn the_work_on_small_rounds_on_a_federation_and_where_the_target_is_met_exactly() {
    let small: Vec<Round> = (0..200).map(varied).collect();
    let exact = small.iter().filter_map(|round| {
        let seats: Vec<Seat> = round.seats().filter(|seat| seat.0 % 2 == 0).collect();
        met_exactly(round, &seats)
    });
    let exact = exact.collect();
    let kinds: [Vec<Round>; 3] = [small, vec![federation(25, 5, 1)], exact];
    for (name, expected) in EXPECTED {
        let mechanism = catalog::find(name).unwrap().mechanism();
        let found = kinds.each_ref().map(|rounds| {
            let work = rounds.iter().map(|round| mechanism.run(round).unwrap().evaluations());
            work.fold((0, 0), |(select, price), work| (select + work.select, price + work.price))
        });
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(EXPECTED.map(|(name, _)| name).as_slice(), catalog::names());
}

/// Prices are searched for in the order of their bounds, which few clients hardly need.
#[test]
fn the_work_of_the_clock_on_a_large_federation() {
    let work = Clock.run(&federation(1000, 5, 1)).unwrap().evaluations();
    assert_eq!((work.select, work.price), (3113, 5064));
}
