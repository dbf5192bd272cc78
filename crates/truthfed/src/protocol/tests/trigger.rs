//! Rounds open for a reason, and member and coordinator agree on what is one.

use super::*;
use crate::generate::Stream;

fn checked(dimension: usize, trigger: Trigger) -> Terms {
    Terms::try_from(RawTerms { trigger, ..raw_terms(dimension) }).unwrap()
}

/// Any member could open rounds at will: 77 in ten seconds, without data.
#[test]
fn a_round_opens_only_with_an_offer_that_is_worth_one() {
    let trigger = Trigger::new(Since::Round, 2.6);
    let mut coordinator = Coordinator::new(checked(1, trigger), Box::new(Everyone), [id("a"), id("b")]);
    for request in [offer("a", 0.0, 0, 5), offer("a", 0.0, 900, 5), offer("a", 1.0, 1, 5)] {
        // One sample is worth log(1.1 / 0.1) = 2.398.
        let refused = send(&mut coordinator, 1, "a", request);
        assert_eq!(refused, Err(Rejection::TriggerNotMet { client: id("a"), threshold: 2.6 }));
        assert!(coordinator.open().is_none() && coordinator.poll().is_none(), "nothing happened");
    }
    check_refused(&mut coordinator, 1, "a", Request::Decline(R1), "round 1 is over, the last one opened is 0");
    assert_eq!(send(&mut coordinator, 1, "a", offer("a", 2.0, 2, 5)), Ok(Accepted::New));
    // Once it is open, every offer is welcome.
    assert_eq!(send(&mut coordinator, 1, "b", offer("b", 1.0, 1, 5)), Ok(Accepted::New));
    for name in ["a", "b"] {
        send(&mut coordinator, 2, name, Request::Deliver(R1, vec![0.0])).unwrap();
    }
    // On top of three samples, two are worth 2 log(5.1 / 3.1) = 0.996.
    let refused = send(&mut coordinator, 3, "a", offer_to(RoundId(2), "a", 2.0, 2, 5));
    assert_eq!(refused, Err(Rejection::TriggerNotMet { client: id("a"), threshold: 2.6 }));
}

#[test]
fn an_offer_found_worth_a_round_before_another_was_settled_is_weighed_again() {
    let terms = checked(1, Trigger::new(Since::Round, 2.6));
    let mut coordinator = Coordinator::new(terms.clone(), Box::new(Everyone), [id("a")]);
    let gram = Gram::from_rows(&[[2.0]]).unwrap();
    let offer = Offer { client: id("a"), ask: Amount::ZERO, gram };
    let nothing = coordinator.settled().gram().clone();
    let early = terms.checked(offer, 2).unwrap().opening(RoundId(0), &nothing).unwrap();
    coordinator.handle(Time(0), Input::Offer(R1, Box::new(early.clone()))).unwrap();
    send(&mut coordinator, 0, "a", Request::Deliver(R1, vec![0.0])).unwrap();
    let refused = coordinator.handle(Time(1), Input::Offer(RoundId(2), Box::new(early)));
    assert_eq!(refused, Err(Rejection::TriggerNotMet { client: id("a"), threshold: 2.6 }));
}

#[test]
fn a_member_with_the_latest_snapshot_is_never_told_that_its_offer_is_not_worth_a_round() {
    let (mut opened, mut held_back) = (0, 0);
    for seed in 0..100 {
        let mut stream = Stream::new(seed, 0);
        let dimension = stream.pick(&[1, 2, 5]);
        let since = stream.pick(&[Since::Round, Since::Delivery]);
        let trigger = Trigger::new(since, stream.pick(&[0.0, 0.5, 3.0]));
        let names = ["a", "b", "c"].map(id);
        let mut coordinator = Coordinator::new(checked(dimension, trigger), Box::new(Clock), names.clone());
        let mut members = names.map(|name| Member::new(name, config(dimension), trigger));
        for now in 0..60 {
            let member = stream.between(0, 2);
            members[member].learn(&stream.context(dimension), stream.uniform()).unwrap();
            held_back += usize::from(!members[member].wants_round());
            members[member].open_round(None, &mut Fixed(Amount::from_units(stream.between(0, 9) as u32)));
            let was_closed = coordinator.closed();
            settle(&mut coordinator, &mut members, Time(1000 * now));
            opened += usize::from(coordinator.closed() > was_closed);
        }
    }
    assert!(opened > 500 && held_back > 500, "{opened} opened, {held_back} times there was not enough");
}

/// Carries messages until nobody has anything to say. None is refused.
fn settle(coordinator: &mut Coordinator, members: &mut [Member], now: Time) {
    loop {
        let mut is_quiet = true;
        for member in members.iter_mut() {
            while let Some(request) = member.poll() {
                is_quiet = false;
                coordinator.handle(now, Input::Request(member.id().clone(), request)).unwrap();
            }
        }
        while coordinator.poll().is_some() {}
        for member in members.iter_mut() {
            for notice in coordinator.notices(member.id(), Some(member.closed())) {
                is_quiet = false;
                member.handle(notice, &mut Fixed(Amount::from_units(5))).unwrap();
            }
        }
        if is_quiet {
            return;
        }
    }
}
