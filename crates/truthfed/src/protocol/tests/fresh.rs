//! Fresh offers: what is retired, what returns, and how many samples an offer may have.

use super::*;

fn fresh_terms(dimension: usize) -> Terms {
    Terms::try_from(RawTerms { offers: Offers::Fresh, samples: 100_000, ..raw_terms(dimension) }).unwrap()
}

fn coordinator(terms: &Terms) -> Coordinator {
    Coordinator::new(terms.clone(), Box::new(Everyone), [id("a"), id("b")])
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
    coordinator.most_fresh(&id(name), Time(now)).unwrap()
}

#[test]
fn an_offer_has_at_most_the_burst_and_a_quarter_more_than_the_own_rate_gives() {
    let mut coordinator = coordinator(&fresh_terms(1));
    assert_eq!(most(&coordinator, "a", 500), 100_000, "nobody has a rate yet");
    play(&mut coordinator, 1000, [Some(50), Some(7)]);
    assert_eq!(most(&coordinator, "a", 1500), 100_000, "how long the first data took to collect is not known");
    play(&mut coordinator, 2000, [Some(40), Some(8)]);
    // 40 and 8 samples in a second; half a second later a quarter more of that, and a burst of 2.
    assert_eq!([most(&coordinator, "a", 2500), most(&coordinator, "b", 2500)], [27, 7]);
    check_refused(&mut coordinator, 2500, "a", offer_to(RoundId(3), "a", 28.0, 28, 5), "28 samples, at most 27");
    // The bound is that of the opening, however late an offer comes.
    send(&mut coordinator, 2500, "a", offer_to(RoundId(3), "a", 27.0, 27, 5)).unwrap();
    assert_eq!(most(&coordinator, "b", 2590), 7);
    let told = coordinator.notices(&id("b"), Some(RoundId(2)));
    assert_eq!(told.collect::<Vec<_>>(), [Notice::Opened(RoundId(3), Some(7))]);
    check_refused(&mut coordinator, 2590, "b", offer_to(RoundId(3), "b", 8.0, 8, 5), "8 samples, at most 7");
}

#[test]
fn who_stays_away_or_declines_earns_no_time_and_its_rate_falls() {
    let mut coordinator = coordinator(&fresh_terms(1));
    for second in 1..=4 {
        play(&mut coordinator, second * 1000, [Some(40), Some(40)]);
    }
    assert_eq!(most(&coordinator, "b", 5000), 52);
    play(&mut coordinator, 5000, [Some(40), None]);
    // 120 samples in four seconds, and not two seconds to collect the next.
    assert_eq!(most(&coordinator, "b", 6000), 39);
    for second in 6..=12 {
        play(&mut coordinator, second * 1000, [Some(40), None]);
    }
    assert_eq!(most(&coordinator, "b", 13_000), 2, "it begins anew");
    assert_eq!(most(&coordinator, "a", 13_000), 52);
}

#[test]
fn an_aborted_round_leaves_the_time_since_the_last_award_as_it_is() {
    let mut coordinator = coordinator(&fresh_terms(1));
    play(&mut coordinator, 1000, [Some(40), Some(40)]);
    play(&mut coordinator, 2000, [Some(40), Some(40)]);
    send(&mut coordinator, 2500, "a", offer_to(RoundId(3), "a", 10.0, 10, 5)).unwrap();
    coordinator.revoke(Time(2500), &id("a"));
    coordinator.handle(Time(2600), Input::Tick).unwrap();
    assert!(matches!(endings(&mut coordinator).pop().unwrap().ending, Ending::NoOffers));
    assert_eq!(most(&coordinator, "b", 3000), 52);
}

/// If each round raised the rate by the factor, 40 rounds would raise it 7,500 times.
#[test]
fn the_rate_does_not_ratchet_up() {
    let terms = fresh_terms(1);
    let mut coordinator = coordinator(&terms);
    for second in 1..=9 {
        play(&mut coordinator, second * 1000, [Some(400), Some(400)]);
    }
    let mut offered = Vec::new();
    for second in 10..=49 {
        let most = most(&coordinator, "a", second * 1000);
        offered.push(most);
        play(&mut coordinator, second * 1000, [Some(most), Some(400)]);
    }
    let window = terms.raw().fresh.as_ref().unwrap().window as usize;
    for (then, now) in offered.iter().zip(&offered[window..]) {
        let growth = *now as f64 / *then as f64;
        assert!(growth < 1.65, "{growth} within a window: {offered:?}");
    }
    // Who then offers what it collects is soon back.
    for second in 50..=57 {
        play(&mut coordinator, second * 1000, [Some(400), Some(400)]);
    }
    assert_eq!(most(&coordinator, "a", 58_000), 502);
}

fn member(terms: &Terms) -> Member {
    Member::new(id("m"), terms.bandit(), terms.trigger()).offering(terms.fresh())
}

fn learn(member: &mut Member, samples: usize) {
    for _ in 0..samples {
        member.learn(&[1.0], 0.5).unwrap();
    }
}

fn snapshot(closed: u64, settled: Option<u64>, awarded: Option<u64>) -> Notice {
    let statistics = Statistics::new(1).unwrap();
    let [settled, awarded] = [settled, awarded].map(|round| round.map(RoundId));
    Notice::Snapshot(Snapshot { closed: RoundId(closed), settled, awarded, statistics })
}

/// Unshared, in flight, and retired samples of a member that had 9, was asked for at most 6 in round 1, then learned 3 more
/// and got a snapshot.
fn check_fate(ask: Option<u32>, news: Notice, expected: (u64, u64, u64)) {
    struct Perhaps(Option<u32>);
    impl Asking for Perhaps {
        fn ask(&mut self, offered: &Statistics) -> Option<Amount> {
            assert_eq!(offered.samples(), 6, "a price is that of what is offered");
            self.0.map(Amount::from_units)
        }
    }
    let mut member = member(&fresh_terms(1));
    learn(&mut member, 9);
    member.handle(Notice::Opened(R1, Some(6)), &mut Perhaps(ask)).unwrap();
    learn(&mut member, 3);
    assert_eq!((member.unshared().samples(), member.undelivered().samples()), (3, 12));
    member.handle(news, &mut Perhaps(None)).unwrap();
    let in_flight = member.in_flight().map_or(0, |in_flight| in_flight.statistics().samples());
    let found = (member.unshared().samples(), in_flight, member.retired().unwrap().samples());
    assert_eq!(found, expected);
}

#[test]
fn what_an_awarded_round_did_not_buy_is_retired_and_what_an_aborted_one_was_shown_returns() {
    let (won, lost, aborted) = (snapshot(1, Some(1), Some(1)), snapshot(1, None, Some(1)), snapshot(1, None, None));
    check_fate(Some(5), won, (3, 0, 3));
    check_fate(Some(5), lost.clone(), (3, 0, 9));
    check_fate(Some(5), aborted.clone(), (12, 0, 0));
    check_fate(None, lost, (3, 0, 9));
    check_fate(None, aborted, (12, 0, 0));
    // Several rounds later it is still known; a later award in which it had no part changes nothing.
    check_fate(Some(5), snapshot(7, None, Some(1)), (3, 0, 9));
    check_fate(Some(5), snapshot(7, None, None), (12, 0, 0));
    check_fate(Some(5), snapshot(0, None, None), (3, 6, 0));
}

#[test]
fn however_much_is_collected_an_offer_is_filled_to_within_one_small_block() {
    let terms = fresh_terms(1);
    let mut member = member(&terms);
    for samples in 1..=3000_u64 {
        learn(&mut member, 1);
        for most in [samples / 3, samples / 2, samples * 9 / 10, samples] {
            let offered = member.to_offer(Some(most)).samples();
            assert!(offered <= most && most - offered < 2 * terms.fresh().unwrap().block(), "{offered} of {most}");
        }
    }
    let written = serde_json::to_value(&member).unwrap();
    let blocks = written["blocks"]["unshared"].as_array().unwrap().len();
    assert!(blocks < 60, "{blocks} blocks");
}

#[test]
fn settings_of_fresh_offers_out_of_bounds_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut FreshSetting)| {
        let mut fresh = FreshSetting::default();
        change(&mut fresh);
        let raw = RawTerms { offers: Offers::Fresh, fresh: Some(fresh), ..raw_terms(3) };
        let error = Terms::try_from(raw).unwrap_err();
        (error.key(), error.to_string())
    };
    let expected = |key: &str, message: &str| (format!("fresh.{key}"), format!("fresh.{key} is {message}"));
    assert_eq!(refused(&|fresh| fresh.factor = 0.9), expected("factor", "0.9: it must lie between 1 and 10"));
    assert_eq!(refused(&|fresh| fresh.window = 1), expected("window", "1: it must lie in 2..=1000"));
    let burst = |burst| move |fresh: &mut FreshSetting| fresh.burst = CapacitySetting::Samples(burst);
    let message = "5: it must lie in 6..=1000000000, twice the dimension and more";
    assert_eq!(refused(&burst(5)), expected("burst", message));
    let rule = |fresh: &mut FreshSetting| fresh.burst = CapacitySetting::Rule("x".to_owned());
    assert_eq!(refused(&rule), expected("burst", "`x`: it must be a number of samples, or `auto`"));
}
