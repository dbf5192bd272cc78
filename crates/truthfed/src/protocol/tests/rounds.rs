//! Rounds by hand: phases, refusals, enrolment and revocation.

use super::*;

#[test]
fn a_round_ends_as_soon_as_everyone_has_answered_and_delivered() {
    let mut coordinator = opened(Everyone);
    send(&mut coordinator, 1, "a", offer("a", 2.0, 3, 5)).unwrap();
    send(&mut coordinator, 2, "b", Request::Decline(R1)).unwrap();
    send(&mut coordinator, 3, "a", Request::Deliver(R1, vec![1.5])).unwrap();
    let records = endings(&mut coordinator);
    assert_eq!((records.len(), records[0].closed), (1, Time(3)));
    assert_eq!(coordinator.settled().moment(), [1.5]);
    assert_eq!(coordinator.settled().samples(), 3);
}

#[test]
fn a_winner_that_does_not_deliver_is_not_paid_and_its_data_not_used() {
    let mut coordinator = opened(Everyone);
    send(&mut coordinator, 1, "a", offer("a", 2.0, 3, 5)).unwrap();
    send(&mut coordinator, 1, "b", offer("b", 1.0, 1, 5)).unwrap();
    send(&mut coordinator, 2, "b", Request::Deliver(R1, vec![0.5])).unwrap();
    coordinator.handle(Time(200), Input::Tick).unwrap();
    let records = endings(&mut coordinator);
    let Ending::Settled { paid, defaulted, .. } = &records[0].ending else { panic!("settled") };
    assert_eq!((paid.len(), defaulted), (1, &vec![id("a")]));
    assert_eq!(coordinator.settled().samples(), 1);
}

#[test]
fn a_round_without_offers_ends_at_its_deadline_with_nothing_settled() {
    let mut coordinator = opened(Clock);
    coordinator.handle(Time(99), Input::Tick).unwrap();
    assert!(endings(&mut coordinator).is_empty());
    coordinator.handle(Time(100), Input::Tick).unwrap();
    assert!(matches!(endings(&mut coordinator)[0].ending, Ending::NoOffers));
}

#[test]
fn a_round_that_the_operator_ends_gives_everyone_its_data_back_and_one_that_is_awarded_goes_on() {
    let mut coordinator = opened(Everyone);
    let mut member = Member::new(id("a"), config(1), Trigger::new(Since::Round, 1e9));
    member.learn(&[0.5], 1.0).unwrap();
    member.handle(Notice::Opened(R1, None), &mut Fixed(Amount::from_units(5))).unwrap();
    send(&mut coordinator, 1, "a", member.poll().unwrap()).unwrap();
    let (r2, reason) = (RoundId(2), || "a mistake".to_owned());
    assert_eq!(coordinator.abort(Time(2), r2, reason()), Err(AbortError::NotOpen(r2)));
    coordinator.abort(Time(2), R1, reason()).unwrap();
    let ending = &endings(&mut coordinator)[0].ending;
    assert!(matches!(ending, Ending::Aborted(why) if why == "a mistake"), "{ending:?}");
    assert_eq!(coordinator.abort(Time(2), R1, reason()), Err(AbortError::NotOpen(R1)));
    for notice in coordinator.notices(&id("a"), None) {
        member.handle(notice, &mut Fixed(Amount::ZERO)).unwrap();
    }
    assert_eq!((member.unshared().samples(), member.in_flight().is_none()), (1, true), "it has its data back");
    send(&mut coordinator, 3, "b", offer_to(r2, "b", 1.0, 1, 5)).unwrap();
    send(&mut coordinator, 3, "a", offer_to(r2, "a", 1.0, 1, 5)).unwrap();
    assert!(coordinator.open().is_some_and(OpenRound::is_awarded));
    assert_eq!(coordinator.abort(Time(4), r2, reason()), Err(AbortError::Awarded(r2)));
    assert!(coordinator.open().is_some());
}

/// It kept the coordinator busy for as long as it took: an hour at d = 512, with 400 members that were alike.
#[test]
fn a_round_that_takes_more_work_than_the_terms_allow_is_aborted_and_the_next_one_is_held() {
    // In one dimension a log determinant counts for 13^3. This is enough for two members that all win, and not for three.
    let terms = Terms::try_from(RawTerms { work: 3 * 13 * 13 * 13, ..raw_terms(1) }).unwrap();
    let mut coordinator = Coordinator::new(terms, Box::new(Everyone), ["a", "b", "c"].map(id));
    let mut member = Member::new(id("a"), config(1), Trigger::new(Since::Round, 1e9));
    member.learn(&[0.5], 1.0).unwrap();
    member.handle(Notice::Opened(R1, None), &mut Fixed(Amount::from_units(5))).unwrap();
    send(&mut coordinator, 1, "a", member.poll().unwrap()).unwrap();
    send(&mut coordinator, 1, "b", offer("b", 1.0, 1, 5)).unwrap();
    send(&mut coordinator, 1, "c", offer("c", 1.0, 1, 5)).unwrap();
    let ending = &endings(&mut coordinator)[0].ending;
    assert!(matches!(ending, Ending::Refused(Refusal::TooMuchWork { limit: 6591 })), "{ending:?}");
    for notice in coordinator.notices(&id("a"), None) {
        member.handle(notice, &mut Fixed(Amount::ZERO)).unwrap();
    }
    assert_eq!((member.unshared().samples(), member.in_flight().is_none()), (1, true), "it has its data back");
    let r2 = RoundId(2);
    send(&mut coordinator, 2, "b", offer_to(r2, "b", 1.0, 1, 5)).unwrap();
    send(&mut coordinator, 2, "a", Request::Decline(r2)).unwrap();
    send(&mut coordinator, 2, "c", offer_to(r2, "c", 1.0, 1, 5)).unwrap();
    send(&mut coordinator, 3, "b", Request::Deliver(r2, vec![1.0])).unwrap();
    send(&mut coordinator, 3, "c", Request::Deliver(r2, vec![1.0])).unwrap();
    assert!(matches!(endings(&mut coordinator)[0].ending, Ending::Settled { .. }));
}

#[test]
fn repeated_messages_change_nothing_and_changed_ones_are_refused() {
    let mut coordinator = opened(Everyone);
    let first = offer("a", 2.0, 3, 5);
    assert_eq!(send(&mut coordinator, 1, "a", first.clone()), Ok(Accepted::New));
    assert_eq!(send(&mut coordinator, 1, "a", first.clone()), Ok(Accepted::Repeated));
    check_refused(&mut coordinator, 1, "a", offer("a", 2.0, 3, 6), "a already sent another offer in round 1");
    check_refused(&mut coordinator, 1, "a", Request::Decline(R1), "a already sent another decline in round 1");
    send(&mut coordinator, 1, "b", offer("b", 1.0, 1, 5)).unwrap();
    assert_eq!(send(&mut coordinator, 2, "a", first), Ok(Accepted::Repeated));
    assert_eq!(send(&mut coordinator, 2, "a", Request::Deliver(R1, vec![1.0])), Ok(Accepted::New));
    assert_eq!(send(&mut coordinator, 2, "a", Request::Deliver(R1, vec![1.0])), Ok(Accepted::Repeated));
    check_refused(&mut coordinator, 2, "a", Request::Deliver(R1, vec![2.0]), "already sent another delivery");
}

#[test]
fn messages_out_of_turn_are_refused_by_name() {
    let mut coordinator = opened(Clock);
    let deliver = |moment: &[f64]| Request::Deliver(R1, moment.to_vec());
    check_refused(&mut coordinator, 1, "z", offer("z", 1.0, 1, 5), "z is not a member");
    check_refused(
        &mut coordinator,
        1,
        "a",
        deliver(&[1.0]),
        "delivery is not expected from a in this phase of round 1",
    );
    check_refused(&mut coordinator, 1, "a", Request::Decline(RoundId(2)), "round 2 is over, the last one opened is 1");
    send(&mut coordinator, 1, "a", offer("a", 2.0, 3, 5)).unwrap();
    check_refused(&mut coordinator, 100, "b", offer("b", 1.0, 1, 5), "offer is not expected from b in this phase");
    check_refused(&mut coordinator, 101, "a", deliver(&[1.0, 2.0]), "2 entries, the federation has dimension 1");
    check_refused(&mut coordinator, 300, "a", deliver(&[1.0]), "round 1 is over, the last one opened is 1");
}

#[test]
fn a_member_that_was_away_is_whole_after_one_snapshot() {
    let mut coordinator = Coordinator::new(terms(1), Box::new(Everyone), [id("a"), id("b")]);
    let trigger = Trigger::new(Since::Round, 1e9);
    let mut away = Member::new(id("b"), config(1), trigger);
    away.learn(&[0.5], 1.0).unwrap();
    for round in 1..=10 {
        send(&mut coordinator, round, "a", offer_to(RoundId(round), "a", 1.0, 1, 5)).unwrap();
        send(&mut coordinator, round, "b", Request::Decline(RoundId(round))).unwrap();
        send(&mut coordinator, round, "a", Request::Deliver(RoundId(round), vec![1.0])).unwrap();
    }
    while coordinator.poll().is_some() {}
    send(&mut coordinator, 11, "b", Request::Sync).unwrap();
    assert!(matches!(coordinator.poll(), Some(Output::News(to)) if to == id("b")));
    for notice in coordinator.notices(&id("b"), Some(away.closed())) {
        away.handle(notice, &mut Fixed(Amount::ZERO)).unwrap();
    }
    assert_eq!(away.closed(), RoundId(10));
    assert_eq!(coordinator.notices(&id("b"), Some(away.closed())).count(), 0, "it has heard everything");
    assert_eq!((away.known().samples(), away.known().moment()), (11, &[10.5][..]));
}

#[test]
fn since_delivery_a_loser_asks_again_at_every_step_and_since_round_it_waits() {
    for (since, expected) in [(Since::Delivery, 3), (Since::Round, 0)] {
        let trigger = Trigger { since, threshold: 3.0, checked: false };
        let mut member = Member::new(id("a"), config(1), trigger);
        while !member.wants_round() {
            member.learn(&[0.9], 1.0).unwrap();
        }
        member.handle(Notice::Opened(R1, None), &mut Fixed(Amount::ZERO)).unwrap();
        let nothing = Statistics::new(1).unwrap();
        let lost = Snapshot { closed: R1, settled: None, statistics: nothing, own: None };
        member.handle(Notice::Snapshot(lost), &mut Fixed(Amount::ZERO)).unwrap();
        while member.poll().is_some() {}
        let wanted = (0..3).filter(|_| {
            member.learn(&[0.9], 1.0).unwrap();
            member.wants_round()
        });
        assert_eq!(wanted.count(), expected, "{since:?}");
    }
}

/// What a member hears that knows nothing, by kind and round, if there is news for it.
fn told(coordinator: &mut Coordinator, member: &str) -> Vec<String> {
    let news: Vec<Output> = std::iter::from_fn(|| coordinator.poll()).collect();
    assert!(news.iter().any(|output| output.concerns(&id(member))), "{news:?}");
    let notices = coordinator.notices(&id(member), None).map(|notice| match notice {
        Notice::Opened(round, _) => format!("opened {round}"),
        Notice::Awarded(round) => format!("awarded {round}"),
        Notice::Snapshot(Snapshot { closed, settled, .. }) => format!("snapshot {closed} {:?}", settled.map(|it| it.0)),
    });
    notices.collect()
}

#[test]
fn the_decision_is_announced_before_its_winners_are_told() {
    let mut coordinator = awarded();
    let decided = std::iter::from_fn(|| coordinator.poll()).skip_while(|output| !matches!(output, Output::Awarded(..)));
    let decided: Vec<Output> = decided.collect();
    let Output::Awarded(R1, outcome, _) = &decided[0] else { panic!("decided in round 1") };
    let winners: Vec<&str> = outcome.winners().iter().map(|winner| winner.client.as_str()).collect();
    assert_eq!(winners, ["a", "b"]);
    assert_eq!(decided.len(), 1);
    for name in ["a", "b"] {
        assert!(decided[0].concerns(&id(name)));
        let told: Vec<Notice> = coordinator.notices(&id(name), Some(RoundId(0))).collect();
        assert!(matches!(told[..], [Notice::Awarded(R1)]), "{told:?}");
    }
}

#[test]
fn a_member_hears_what_the_round_waits_for_and_nothing_once_it_has_answered() {
    let mut coordinator = opened(Everyone);
    let told = |coordinator: &Coordinator, name: &str| -> Vec<Notice> {
        coordinator.notices(&id(name), Some(RoundId(0))).collect()
    };
    assert_eq!(told(&coordinator, "a"), [Notice::Opened(R1, None)]);
    assert_eq!(told(&coordinator, "z"), [], "nobody's name");
    send(&mut coordinator, 1, "a", offer("a", 1.0, 1, 5)).unwrap();
    assert_eq!(told(&coordinator, "a"), []);
    assert_eq!(told(&coordinator, "b"), [Notice::Opened(R1, None)]);
    send(&mut coordinator, 1, "b", Request::Decline(R1)).unwrap();
    assert_eq!(told(&coordinator, "b"), [], "it lost nothing");
    assert!(matches!(told(&coordinator, "a")[..], [Notice::Awarded(R1)]));
    send(&mut coordinator, 2, "a", Request::Deliver(R1, vec![0.5])).unwrap();
    for name in ["a", "b"] {
        assert!(matches!(&told(&coordinator, name)[..], [Notice::Snapshot(snapshot)] if snapshot.closed == R1));
    }
}

#[test]
fn a_round_waits_for_a_member_that_is_enrolled_while_it_takes_offers() {
    let mut coordinator = opened(Everyone);
    send(&mut coordinator, 1, "a", offer("a", 1.0, 1, 5)).unwrap();
    while coordinator.poll().is_some() {}
    assert!(coordinator.enrol(id("c")));
    assert_eq!(told(&mut coordinator, "c"), ["snapshot 0 None", "opened 1"]);
    assert!(!coordinator.enrol(id("c")), "it is one already");
    send(&mut coordinator, 1, "b", Request::Decline(R1)).unwrap();
    assert!(!is_awarded(&coordinator));
    send(&mut coordinator, 1, "c", Request::Decline(R1)).unwrap();
    assert!(is_awarded(&coordinator));
}

#[test]
fn the_offer_of_a_member_that_is_revoked_is_taken_back() {
    let mut coordinator = opened(Everyone);
    send(&mut coordinator, 1, "a", offer("a", 1.0, 1, 5)).unwrap();
    assert!(!coordinator.revoke(Time(1), &id("z")), "it is none");
    assert!(coordinator.revoke(Time(1), &id("a")));
    assert!(!coordinator.revoke(Time(1), &id("a")), "it is none any more");
    check_refused(&mut coordinator, 1, "a", offer("a", 1.0, 1, 5), "a is not a member");
    send(&mut coordinator, 2, "b", offer("b", 1.0, 1, 5)).unwrap();
    send(&mut coordinator, 2, "b", Request::Deliver(R1, vec![0.5])).unwrap();
    let records = endings(&mut coordinator);
    let Ending::Settled { spec, paid, .. } = &records[0].ending else { panic!("settled") };
    assert_eq!((spec.offers.len(), paid.len(), coordinator.settled().samples()), (1, 1, 1));
}

#[test]
fn a_round_goes_on_when_the_one_it_waits_for_is_revoked() {
    let mut coordinator = opened(Everyone);
    send(&mut coordinator, 1, "a", offer("a", 1.0, 1, 5)).unwrap();
    coordinator.revoke(Time(2), &id("b"));
    assert!(is_awarded(&coordinator));
    let mut coordinator = opened(Everyone);
    send(&mut coordinator, 1, "a", Request::Decline(R1)).unwrap();
    coordinator.revoke(Time(2), &id("a"));
    coordinator.revoke(Time(2), &id("b"));
    assert!(matches!(endings(&mut coordinator)[0].ending, Ending::NoOffers), "nobody is left");
}

#[test]
fn the_answer_of_a_revoked_member_does_not_stand_for_another() {
    let mut coordinator = opened(Everyone);
    coordinator.enrol(id("c"));
    send(&mut coordinator, 1, "a", Request::Decline(R1)).unwrap();
    coordinator.revoke(Time(1), &id("a"));
    send(&mut coordinator, 2, "b", Request::Decline(R1)).unwrap();
    let open = coordinator.open().expect("c has not answered");
    assert_eq!((open.round(), open.answered().collect::<Vec<_>>()), (R1, vec![&id("b")]));
}

#[test]
fn a_revoked_winner_cannot_deliver_and_is_not_paid_even_if_it_comes_back() {
    let mut coordinator = awarded();
    while coordinator.poll().is_some() {}
    assert!(coordinator.revoke(Time(2), &id("a")));
    check_refused(&mut coordinator, 3, "a", Request::Deliver(R1, vec![0.5]), "a is not a member");
    assert!(coordinator.enrol(id("a")));
    assert_eq!(told(&mut coordinator, "a"), ["snapshot 0 None"], "no award");
    check_refused(&mut coordinator, 3, "a", Request::Deliver(R1, vec![0.5]), "delivery is not expected from a");
    send(&mut coordinator, 4, "b", Request::Deliver(R1, vec![0.5])).unwrap();
    let records = endings(&mut coordinator);
    assert_eq!(records[0].closed, Time(4), "nobody waits for a revoked winner");
    let Ending::Settled { paid, defaulted, .. } = &records[0].ending else { panic!("settled") };
    assert_eq!((paid.len(), &paid[0].0, defaulted), (1, &id("b"), &vec![id("a")]));
    assert_eq!(coordinator.settled().samples(), 1);
}

#[test]
fn a_round_is_settled_when_the_last_winner_it_waits_for_is_revoked() {
    let mut coordinator = awarded();
    send(&mut coordinator, 2, "b", Request::Deliver(R1, vec![0.5])).unwrap();
    coordinator.revoke(Time(3), &id("a"));
    let records = endings(&mut coordinator);
    assert_eq!((records.len(), records[0].closed), (1, Time(3)));
}

#[test]
fn what_a_member_delivered_before_it_was_revoked_is_paid_and_it_learns_so_when_it_comes_back() {
    let mut coordinator = awarded();
    send(&mut coordinator, 2, "a", Request::Deliver(R1, vec![0.5])).unwrap();
    coordinator.revoke(Time(2), &id("a"));
    send(&mut coordinator, 3, "b", Request::Deliver(R1, vec![0.5])).unwrap();
    let Ending::Settled { paid, .. } = &endings(&mut coordinator)[0].ending else { panic!("settled") };
    assert_eq!(paid.len(), 2);
    coordinator.enrol(id("a"));
    assert_eq!(told(&mut coordinator, "a"), ["snapshot 1 Some(1)"], "or it would offer the same data again");
    coordinator.revoke(Time(4), &id("b"));
    coordinator.enrol(id("b"));
    assert_eq!(told(&mut coordinator, "b"), ["snapshot 1 Some(1)"]);
}
