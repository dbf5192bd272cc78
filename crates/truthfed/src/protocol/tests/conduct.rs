//! Members that win and do not deliver are excluded for a while, and rounds keep their distance.

use super::*;

const STRIKES: Strikes = Strikes { defaults: 2, within: 4, rounds: 3 };

/// Everything offered is needed.
fn needy() -> Terms {
    let coverage = CoverageSetting::Ratio(1.0);
    Terms::try_from(RawTerms { strikes: STRIKES, coverage, ..raw_terms(1) }).unwrap()
}

fn federation() -> Coordinator {
    Coordinator::new(needy(), Box::new(Clock), [id("ann"), id("bob"), id("eve")])
}

/// A round that ann opens. Eve offers far more at an ask of 0 and wins, unless she is refused; she delivers or not.
fn hold(coordinator: &mut Coordinator, eve_delivers: bool) -> Result<Accepted, Rejection> {
    let round = RoundId(coordinator.closed().0 + 1);
    let now = 1000 * round.0;
    send(coordinator, now, "ann", offer_to(round, "ann", 1.0, 5, 2)).unwrap();
    let offered = send(coordinator, now, "eve", offer_to(round, "eve", 500.0, 900, 0));
    send(coordinator, now, "bob", Request::Decline(round)).unwrap();
    assert!(is_awarded(coordinator), "nobody waits for who is excluded");
    if eve_delivers {
        send(coordinator, now, "eve", Request::Deliver(round, vec![0.0])).unwrap();
    }
    let _ = send(coordinator, now, "ann", Request::Deliver(round, vec![0.0]));
    coordinator.handle(Time(now + 100), Input::Tick).unwrap();
    offered
}

#[test]
fn who_wins_and_never_delivers_is_excluded_and_the_honest_win_again() {
    let mut coordinator = federation();
    hold(&mut coordinator, false).unwrap();
    assert_eq!(coordinator.conduct(&id("eve")).unwrap().defaults, [R1]);
    hold(&mut coordinator, false).unwrap();
    assert_eq!(coordinator.conduct(&id("eve")).unwrap().excluded, Some(RoundId(5)));
    for round in 3..=5 {
        let refused = Rejection::Excluded { client: id("eve"), last: RoundId(5) };
        assert_eq!(
            send(&mut coordinator, 1000 * round, "eve", offer_to(RoundId(round), "eve", 1.0, 5, 2)),
            Err(refused.clone())
        );
        endings(&mut coordinator);
        assert_eq!(hold(&mut coordinator, false), Err(refused), "round {round}");
        let Ending::Settled { paid, .. } = &endings(&mut coordinator)[0].ending else { panic!("settled") };
        assert_eq!(paid[0].0, id("ann"), "an honest member earns what the liar took before");
    }
    hold(&mut coordinator, true).unwrap();
    assert_eq!(coordinator.conduct(&id("eve")).unwrap().settled, Some(RoundId(6)));
}

#[test]
fn defaults_that_are_long_past_are_forgotten() {
    let mut coordinator = federation();
    hold(&mut coordinator, false).unwrap();
    for _ in 0..STRIKES.within {
        hold(&mut coordinator, true).unwrap();
    }
    hold(&mut coordinator, false).unwrap();
    assert_eq!(coordinator.conduct(&id("eve")).unwrap().excluded, None);
}

#[test]
fn strikes_survive_a_restart_and_a_revocation() {
    let mut coordinator = federation();
    hold(&mut coordinator, false).unwrap();
    coordinator.revoke(Time(0), &id("eve"));
    let text = serde_json::to_string(&coordinator.standing()).unwrap();
    let mut again = Coordinator::resume(needy(), Box::new(Clock), serde_json::from_str(&text).unwrap());
    again.enrol(id("eve"));
    hold(&mut again, false).unwrap();
    assert!(again.conduct(&id("eve")).unwrap().excluded.is_some());
}

/// Otherwise no round would ever open again.
#[test]
fn if_all_are_excluded_nobody_is() {
    let mut coordinator = Coordinator::new(needy(), Box::new(Clock), [id("eve")]);
    for round in 1..=4 {
        send(&mut coordinator, 1000 * round, "eve", offer_to(RoundId(round), "eve", 500.0, 900, 0)).unwrap();
        coordinator.handle(Time(1000 * round + 100), Input::Tick).unwrap();
    }
    assert!(coordinator.conduct(&id("eve")).unwrap().excluded.is_some());
    assert_eq!(coordinator.closed(), RoundId(4));
}

#[test]
fn rounds_keep_their_distance() {
    let terms = Terms::try_from(RawTerms { gap_ms: 50, ..raw_terms(1) }).unwrap();
    let mut coordinator = Coordinator::new(terms, Box::new(Clock), [id("ann")]);
    send(&mut coordinator, 10, "ann", offer("ann", 1.0, 1, 5)).unwrap();
    send(&mut coordinator, 20, "ann", Request::Deliver(R1, vec![0.0])).unwrap();
    let next = offer_to(RoundId(2), "ann", 1.0, 1, 5);
    let refused = send(&mut coordinator, 69, "ann", next.clone());
    assert_eq!(refused, Err(Rejection::TooSoon { gap_ms: 50, wait_ms: 1 }));
    assert_eq!(send(&mut coordinator, 70, "ann", next), Ok(Accepted::New));
}

#[test]
fn strikes_gaps_and_work_out_of_bounds_are_refused_by_name() {
    let refused = |change: &dyn Fn(&mut RawTerms)| {
        let mut raw = raw_terms(1);
        change(&mut raw);
        let error = Terms::try_from(raw).unwrap_err();
        (error.key(), error.to_string())
    };
    let expected = |key: &str, message: &str| (key.to_owned(), message.to_owned());
    assert_eq!(
        refused(&|raw| raw.strikes.defaults = 0),
        expected("strikes.defaults", "strikes.defaults is 0: it must lie in 1..=1000")
    );
    assert_eq!(
        refused(&|raw| raw.strikes.within = 0),
        expected("strikes.within", "strikes.within is 0: it must lie in 1..=1000000")
    );
    assert_eq!(
        refused(&|raw| raw.strikes.rounds = 1_000_001),
        expected("strikes.rounds", "strikes.rounds is 1000001: it must lie in 0..=1000000")
    );
    assert_eq!(
        refused(&|raw| raw.gap_ms = 86_400_001),
        expected("gap_ms", "gap_ms is 86400001: it must lie in 0..=86400000")
    );
    for work in [0, Terms::MAX_WORK + 1] {
        let message = format!("work is {work}: it must lie in 1..=1000000000000000");
        assert_eq!(refused(&|raw| raw.work = work), expected("work", &message));
    }
}
