//! A quota: how many samples an offer may have, and what a member offers then.

use std::collections::BTreeMap;

use super::*;
use crate::generate::Stream;

/// 40 samples in a second for everyone but b, who has 8.
fn quota() -> Quota {
    Quota { samples: 40, per_ms: 1000, members: [(id("b"), 8)].into() }
}

fn quota_terms(dimension: usize) -> Terms {
    Terms::try_from(RawTerms { quota: quota(), samples: 100_000, ..raw_terms(dimension) }).unwrap()
}

fn coordinator() -> Coordinator {
    Coordinator::new(quota_terms(1), Box::new(Everyone), [id("a"), id("b")])
}

/// A round of both that opens then: each offers so many samples of the context 1, or declines.
fn play(coordinator: &mut Coordinator, now: u64, offered: [Option<u64>; 2]) {
    let round = RoundId(coordinator.closed().0 + 1);
    let both = ["a", "b"].into_iter().zip(offered);
    // Only an offer opens a round.
    let (offers, declines): (Vec<_>, Vec<_>) = both.partition(|(_, samples)| samples.is_some());
    for (name, samples) in offers.into_iter().chain(declines) {
        let request = match samples {
            Some(samples) => offer_to(round, name, samples as f64, samples, 5),
            None => Request::Decline(round),
        };
        send(coordinator, now, name, request).unwrap();
    }
    for (name, samples) in ["a", "b"].into_iter().zip(offered) {
        if samples.is_some() {
            send(coordinator, now, name, Request::Deliver(round, vec![0.0])).unwrap();
        }
    }
    assert_eq!(coordinator.closed(), round);
}

fn most(coordinator: &Coordinator, name: &str, now: u64) -> u64 {
    let most = coordinator.most_samples(&id(name), Time(now)).unwrap();
    if coordinator.open().is_none() {
        assert_eq!(coordinator.bounds().unwrap().most(&id(name), Time(now)), most);
    }
    most
}

#[test]
fn an_offer_has_at_most_what_falls_due_between_the_openings_of_awarded_rounds() {
    let mut coordinator = coordinator();
    assert_eq!(most(&coordinator, "a", 500), 100_000, "nothing was awarded yet");
    play(&mut coordinator, 1000, [Some(50), Some(7)]);
    assert_eq!([most(&coordinator, "a", 1500), most(&coordinator, "b", 1500)], [20, 4]);
    check_refused(&mut coordinator, 1500, "a", offer_to(RoundId(2), "a", 21.0, 21, 5), "21 samples, at most 20");
    // The bound is that of the opening, however late an offer comes.
    send(&mut coordinator, 1500, "a", offer_to(RoundId(2), "a", 20.0, 20, 5)).unwrap();
    assert_eq!(most(&coordinator, "b", 1590), 4);
    let told = coordinator.notices(&id("b"), Some(RoundId(1)));
    assert_eq!(told.collect::<Vec<_>>(), [Notice::Opened(RoundId(2), Some(4))]);
    check_refused(&mut coordinator, 1590, "b", offer_to(RoundId(2), "b", 5.0, 5, 5), "5 samples, at most 4");
}

#[test]
fn who_stays_away_declines_or_offers_less_has_no_more_the_next_time() {
    let mut coordinator = coordinator();
    play(&mut coordinator, 1000, [Some(40), Some(8)]);
    for (now, offered) in [(2000, [Some(40), None]), (3000, [Some(40), Some(1)]), (4000, [Some(40), Some(8)])] {
        play(&mut coordinator, now, offered);
        assert_eq!([most(&coordinator, "a", now + 1000), most(&coordinator, "b", now + 1000)], [40, 8]);
    }
}

#[test]
fn an_aborted_round_leaves_the_quota_as_it_is() {
    let mut coordinator = coordinator();
    play(&mut coordinator, 1000, [Some(40), Some(8)]);
    send(&mut coordinator, 2000, "a", offer_to(RoundId(2), "a", 10.0, 10, 5)).unwrap();
    coordinator.revoke(Time(2000), &id("a"));
    coordinator.handle(Time(2100), Input::Tick).unwrap();
    assert!(matches!(endings(&mut coordinator).pop().unwrap().ending, Ending::NoOffers));
    assert_eq!(most(&coordinator, "b", 3000), 16);
}

#[test]
fn rounds_that_follow_each_other_closely_lose_nothing_to_rounding() {
    let quota = Quota { samples: 7, per_ms: 1000, members: BTreeMap::new() };
    let mut stream = Stream::new(1, 0);
    let mut times = vec![Time(0)];
    while times.last().unwrap().0 < 1_000_000 {
        times.push(Time(times.last().unwrap().0 + stream.between(0, 300) as u64));
    }
    let in_all: u64 = times.windows(2).map(|pair| quota.since(pair[0], &id("a"), pair[1])).sum();
    assert_eq!(in_all, 7 * times.last().unwrap().0 / 1000);
}

fn member() -> Member {
    let terms = quota_terms(1);
    Member::under(&terms, id("m"))
}

fn learn(member: &mut Member, samples: usize) {
    for _ in 0..samples {
        member.learn(&[1.0], 0.5).unwrap();
    }
}

/// Unshared samples, and those in flight, of a member that had 9, was asked for at most 6 in round 1, then learned 3 more and
/// got a snapshot.
fn check_fate(ask: Option<u32>, closed: u64, settled: Option<u64>, expected: (u64, u64)) {
    struct Perhaps(Option<u32>);
    impl Asking for Perhaps {
        fn ask(&mut self, offered: &Statistics) -> Option<Amount> {
            assert_eq!(offered.samples(), 6, "a price is that of what is offered");
            self.0.map(Amount::from_units)
        }
    }
    let mut member = member();
    learn(&mut member, 9);
    member.handle(Notice::Opened(R1, Some(6)), &mut Perhaps(ask)).unwrap();
    learn(&mut member, 3);
    assert_eq!(member.undelivered().samples(), 12);
    let (closed, settled, statistics) = (RoundId(closed), settled.map(RoundId), Statistics::new(1).unwrap());
    member.handle(Notice::Snapshot(Snapshot { closed, settled, statistics, own: None }), &mut Perhaps(None)).unwrap();
    let in_flight = member.in_flight().map_or(0, |in_flight| in_flight.statistics().samples());
    assert_eq!((member.unshared().samples(), in_flight), expected);
}

#[test]
fn what_is_above_the_quota_waits_and_what_is_not_sold_returns() {
    check_fate(Some(5), 1, Some(1), (6, 0));
    check_fate(Some(5), 1, None, (12, 0));
    check_fate(Some(5), 7, None, (12, 0));
    check_fate(Some(5), 0, None, (6, 6));
    check_fate(None, 1, None, (12, 0));
}

#[test]
fn however_much_is_collected_an_offer_is_filled_to_within_one_small_block() {
    let mut member = member();
    for samples in 1..=3000_u64 {
        learn(&mut member, 1);
        for most in [samples / 3, samples / 2, samples * 9 / 10, samples] {
            let offered = member.to_offer(Some(most)).samples();
            assert!(offered <= most && most - offered < 2, "{offered} of {most}");
        }
    }
    let written = serde_json::to_value(&member).unwrap();
    let blocks = written["blocks"]["unshared"].as_array().unwrap().len();
    assert!(blocks < 60, "{blocks} blocks");
}

#[test]
fn quotas_out_of_bounds_are_refused_by_name() {
    let refused = |quota: Quota| {
        let error = Terms::try_from(RawTerms { quota, ..raw_terms(3) }).unwrap_err();
        (error.key(), error.to_string())
    };
    let expected = |key: &str, message: &str| (format!("quota.{key}"), format!("quota.{key} is {message}"));
    let samples = Quota { samples: 0, ..quota() };
    assert_eq!(refused(samples), expected("samples", "0: it must lie in 1..=1000000000"));
    let per_ms = Quota { per_ms: 1_000_000_000_001, ..quota() };
    assert_eq!(refused(per_ms), expected("per_ms", "1000000000001: it must lie in 1..=1000000000000"));
    let of_one = Quota { members: [(id("b"), 2_000_000_000)].into(), ..quota() };
    assert_eq!(refused(of_one), expected("members.b", "2000000000: it must lie in 1..=1000000000"));
}

#[test]
fn terms_without_a_quota_are_read_back_as_they_were_whatever_its_time() {
    for per_ms in [1, 3_600_000, 3_600_001] {
        let terms = RawTerms { quota: Quota { per_ms, ..Quota::default() }, ..RawTerms::default() };
        let text = serde_json::to_string(&terms).unwrap();
        assert_eq!(serde_json::from_str::<RawTerms>(&text).unwrap(), terms, "{text}");
    }
}
