//! Who invents data is found by what others deliver, and not paid; who is honest is not held.

use super::*;
use crate::generate::{HonestDelivery, Stream, honest_delivery};

const SIGMA: f64 = 0.1;
const NAMES: [&str; 4] = ["ann", "bob", "cat", "eve"];

fn held_terms(dimension: usize, rounds: u64) -> RawTerms {
    let mut raw = raw_terms(dimension);
    raw.quality = Quality { rule: QualityRule::Hold, rounds };
    raw.samples = 1_000_000;
    raw
}

fn federation(dimension: usize, rounds: u64) -> Coordinator {
    let terms = Terms::try_from(held_terms(dimension, rounds)).unwrap();
    Coordinator::new(terms, Box::new(Everyone), NAMES.map(id))
}

/// What a member observes whose rewards follow `theta`.
fn observed(stream: &mut Stream, theta: &[f64], samples: usize) -> Statistics {
    let mut statistics = Statistics::new(theta.len()).unwrap();
    for _ in 0..samples {
        let x = stream.context(theta.len());
        let mean: f64 = x.iter().zip(theta).map(|(x, theta)| x * theta).sum();
        statistics.observe(&x, (mean + SIGMA * stream.normal()).clamp(-1.0, 1.0)).unwrap();
    }
    statistics
}

/// The same contexts, with the rewards of a world turned round.
fn turned(data: &Statistics) -> Statistics {
    let moment = data.moment().iter().map(|b| -b).collect();
    Statistics::from_parts(data.gram().clone(), moment, data.samples()).unwrap()
}

/// A parameter of length 0.8: rewards seldom reach their bounds.
fn parameter(stream: &mut Stream, dimension: usize) -> Vec<f64> {
    let x = stream.normals(dimension);
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter().map(|x| 0.8 * x / length).collect()
}

#[derive(Debug, Default, PartialEq)]
struct Ended {
    paid: Vec<String>,
    waiting: Vec<String>,
    judgement: Judgement,
}

/// A round in which each of these offers at 1, wins and delivers, and all others decline.
fn hold(coordinator: &mut Coordinator, deliveries: &[(&str, &Statistics)]) -> Ended {
    let round = RoundId(coordinator.closed().0 + 1);
    let now = 1000 * round.0;
    for (name, data) in deliveries {
        let offer = Offer { client: id(name), ask: Amount::from_units(1), gram: data.gram().clone() };
        send(coordinator, now, name, Request::Offer { round, samples: data.samples(), offer }).unwrap();
    }
    let others = NAMES.iter().filter(|name| !deliveries.iter().any(|(other, _)| other == *name));
    for name in others {
        // Nobody waits for who takes no part.
        match send(coordinator, now, name, Request::Decline(round)) {
            Ok(_) | Err(Rejection::Suspended(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    for (name, data) in deliveries {
        send(coordinator, now, name, Request::Deliver(round, data.moment().to_vec())).unwrap();
    }
    let ending = endings(coordinator).pop().unwrap().ending;
    let Ending::Settled { paid, waiting, judgement, .. } = ending else { panic!("{ending:?}") };
    let names = |pairs: Vec<(ClientId, Amount)>| pairs.into_iter().map(|(member, _)| member.to_string()).collect();
    Ended { paid: names(paid), waiting: names(waiting), judgement: *judgement }
}

/// That a member may not offer to the next round.
fn check_suspended(coordinator: &mut Coordinator, name: &str, data: &Statistics) {
    let round = RoundId(coordinator.closed().0 + 1);
    let offer = Offer { client: id(name), ask: Amount::ZERO, gram: data.gram().clone() };
    let request = Request::Offer { round, samples: data.samples(), offer };
    check_refused(coordinator, 1000 * round.0, name, request, "others deliver first");
}

fn held(coordinator: &Coordinator) -> Vec<&str> {
    let held = coordinator.shares().iter().filter(|(_, share)| share.held.is_some());
    held.map(|(member, _)| member.as_str()).collect()
}

fn in_order<'a>(dimension: usize, parts: impl IntoIterator<Item = &'a Statistics>) -> Statistics {
    let mut sum = Statistics::new(dimension).unwrap();
    parts.into_iter().for_each(|part| sum.merge(part).unwrap());
    sum
}

#[test]
fn who_turns_the_world_round_is_held_at_once_and_never_paid() {
    for seed in 0..50 {
        let mut stream = Stream::new(seed, 0);
        let dimension = stream.between(1, 8);
        let theta = parameter(&mut stream, dimension);
        let mut coordinator = federation(dimension, 3);
        let honest: Vec<Statistics> = (0..2).map(|_| observed(&mut stream, &theta, 2000)).collect();
        let ended = hold(&mut coordinator, &[("ann", &honest[0]), ("bob", &honest[1])]);
        assert_eq!(ended.paid, ["ann", "bob"], "seed {seed}: they confirm each other");
        for round in [2, 6] {
            let before = coordinator.settled().clone();
            let lie = turned(&observed(&mut stream, &theta, 100));
            let ended = hold(&mut coordinator, &[("eve", &lie)]);
            assert_eq!((ended.paid.len(), ended.waiting), (0, vec!["eve".to_owned()]), "seed {seed}");
            assert_eq!((ended.judgement.held, coordinator.settled()), (vec![id("eve")], &before), "seed {seed}");
            // While it is held, it takes no part; after three rounds it is void.
            for later in round + 1..=round + 3 {
                check_suspended(&mut coordinator, "eve", &lie);
                let ended = hold(&mut coordinator, &[("ann", &observed(&mut stream, &theta, 20))]);
                let void: Vec<u64> = ended.judgement.void.iter().map(|payment| payment.round.0).collect();
                assert_eq!(void, if later == round + 3 { vec![round] } else { vec![] }, "seed {seed}, round {later}");
            }
        }
    }
}

#[test]
fn of_a_million_honest_deliveries_at_most_three_are_held() {
    use rayon::prelude::*;
    let is_flagged = |seed: &u64| {
        let HonestDelivery { others, delivered, lambda, sigma } = honest_delivery(*seed);
        let offered = (delivered.gram(), delivered.samples());
        Surprise::of(&others, lambda, sigma, offered, delivered.moment()).unwrap().is_flagged()
    };
    let flagged: Vec<u64> = (0..1_000_000).into_par_iter().filter(is_flagged).collect();
    assert!(flagged.len() <= 3, "{flagged:?}");
}

#[test]
fn beside_a_liar_who_came_first_the_honest_is_held_until_a_third_decides() {
    for seed in 0..50 {
        let mut stream = Stream::new(seed, 1);
        let dimension = stream.between(1, 8);
        let theta = parameter(&mut stream, dimension);
        let mut coordinator = federation(dimension, 5);
        let lie = turned(&observed(&mut stream, &theta, 450));
        assert_eq!(hold(&mut coordinator, &[("eve", &lie)]).waiting, ["eve"], "nobody vouches for it");
        check_suspended(&mut coordinator, "eve", &lie);
        let honest = observed(&mut stream, &theta, 80);
        let ended = hold(&mut coordinator, &[("ann", &honest)]);
        assert_eq!(ended.judgement.held, [id("ann"), id("eve")], "seed {seed}: one of them lies");
        assert_eq!(coordinator.settled().samples(), 0);
        let third = observed(&mut stream, &theta, 80);
        let ended = hold(&mut coordinator, &[("bob", &third)]);
        assert_eq!(ended.judgement.released, [id("ann")], "seed {seed}");
        assert_eq!(held(&coordinator), ["eve"]);
        assert_eq!(*coordinator.settled(), in_order(dimension, [&honest, &third]));
        // So little may fit and confirm nothing: they are paid once there is more.
        let is_paid_before = ended.judgement.confirmed == [id("ann")];
        let more = [0, 1].map(|_| observed(&mut stream, &theta, 2000));
        let ended = hold(&mut coordinator, &[("ann", &more[0]), ("bob", &more[1])]);
        let of_ann = ended.judgement.paid.iter().filter(|payment| payment.member == id("ann")).count();
        assert_eq!((of_ann, ended.paid), (usize::from(!is_paid_before), vec!["ann".to_owned(), "bob".to_owned()]));
    }
}

#[test]
fn payments_wait_until_others_confirm_and_nobody_goes_on_alone() {
    let mut stream = Stream::new(1, 2);
    let theta = parameter(&mut stream, 3);
    let mut coordinator = federation(3, 4);
    let alone = observed(&mut stream, &theta, 400);
    let ended = hold(&mut coordinator, &[("ann", &alone)]);
    assert_eq!((ended.paid.len(), ended.waiting.len()), (0, 1));
    assert_eq!(*coordinator.settled(), alone);
    check_suspended(&mut coordinator, "ann", &alone);
    let ended = hold(&mut coordinator, &[("bob", &observed(&mut stream, &theta, 400))]);
    assert_eq!((ended.paid, ended.judgement.paid.len()), (vec!["bob".to_owned()], 1));
    assert!(coordinator.shares().values().all(|share| !share.is_in_doubt()));
    hold(&mut coordinator, &[("ann", &alone)]);
}

#[test]
fn who_was_held_and_fits_again_goes_on_no_sooner_than_who_was_never_held() {
    let mut released = 0;
    for seed in 0..20 {
        let mut stream = Stream::new(seed, 8);
        let theta = parameter(&mut stream, 2);
        let mut coordinator = federation(2, 9);
        let [of_ann, of_cat] = [40, 20].map(|samples| observed(&mut stream, &theta, samples));
        // Eve is believed at first, so that ann and then cat are held; then eve is forgotten, and cat released.
        hold(&mut coordinator, &[("eve", &turned(&observed(&mut stream, &theta, 450)))]);
        coordinator.rule(Time(1500), &id("eve"), Ruling::Release).unwrap();
        hold(&mut coordinator, &[("ann", &of_ann)]);
        hold(&mut coordinator, &[("cat", &of_cat)]);
        assert_eq!(held(&coordinator), ["ann", "cat"]);
        assert!(coordinator.revoke(Time(4500), &id("eve")));
        coordinator.rule(Time(4500), &id("eve"), Ruling::Forget).unwrap();
        coordinator.rule(Time(4500), &id("cat"), Ruling::Release).unwrap();
        // Bob wins and delivers nothing: nobody has delivered beside ann, or since.
        let round = RoundId(coordinator.closed().0 + 1);
        let offer = Offer { client: id("bob"), ask: Amount::ZERO, gram: of_ann.gram().clone() };
        send(&mut coordinator, 7000, "bob", Request::Offer { round, samples: 40, offer }).unwrap();
        send(&mut coordinator, 7000, "cat", Request::Decline(round)).unwrap();
        coordinator.handle(Time(7900), Input::Tick).unwrap();
        let ending = endings(&mut coordinator).pop().unwrap().ending;
        let Ending::Settled { judgement, defaulted, .. } = ending else { panic!("{ending:?}") };
        assert_eq!(defaulted, [id("bob")]);
        if judgement.released == [id("ann")] && judgement.confirmed.is_empty() {
            check_suspended(&mut coordinator, "ann", &of_ann);
            released += 1;
        }
    }
    assert!(released > 0, "so little fits and confirms nothing");
}

/// Where nobody else is left, nobody is kept out: rounds would never go on.
#[test]
fn the_last_member_goes_on_alone() {
    let mut stream = Stream::new(8, 2);
    let theta = parameter(&mut stream, 2);
    let mut coordinator = federation(2, 4);
    let data = observed(&mut stream, &theta, 30);
    hold(&mut coordinator, &[("ann", &data)]);
    for name in ["bob", "cat", "eve"] {
        assert!(coordinator.revoke(Time(1500), &id(name)));
    }
    let offer = Offer { client: id("ann"), ask: Amount::ZERO, gram: data.gram().clone() };
    send(&mut coordinator, 2000, "ann", Request::Offer { round: RoundId(2), samples: 30, offer }).unwrap();
}

/// With so much noise nothing contradicts anything, and nothing is confirmed.
#[test]
fn payments_that_nothing_tells_of_wait_until_others_have_delivered_in_so_many_rounds() {
    let mut stream = Stream::new(2, 2);
    let theta = parameter(&mut stream, 3);
    let mut raw = held_terms(3, 2);
    raw.bandit.sigma = 100.0;
    let mut coordinator = Coordinator::new(Terms::try_from(raw).unwrap(), Box::new(Everyone), NAMES.map(id));
    let mut paid = Vec::new();
    for name in ["ann", "bob", "ann", "bob", "ann"] {
        let ended = hold(&mut coordinator, &[(name, &observed(&mut stream, &theta, 30))]);
        assert!(ended.paid.is_empty());
        paid.push(ended.judgement.paid.iter().map(|paid| (paid.member.to_string(), paid.round.0)).collect::<Vec<_>>());
    }
    let of = |name: &str, round: u64| vec![(name.to_owned(), round)];
    // Bob delivers in rounds 2 and 4, ann in 3 and 5.
    assert_eq!(paid, [vec![], vec![], vec![], of("ann", 1), of("bob", 2)]);
}

/// Each lie is too small to be found; what was paid for the first of them does not make them true.
#[test]
fn small_lies_are_found_together_even_after_the_first_were_paid() {
    let mut stream = Stream::new(3, 3);
    let theta = parameter(&mut stream, 5);
    let mut raw = held_terms(5, 2);
    raw.bandit.sigma = 1.0;
    let mut coordinator = Coordinator::new(Terms::try_from(raw).unwrap(), Box::new(Everyone), NAMES.map(id));
    let mut truth = Statistics::new(5).unwrap();
    for _ in 0..40 {
        truth.merge(&observed(&mut stream, &theta, 500)).unwrap();
    }
    hold(&mut coordinator, &[("ann", &truth), ("bob", &truth)]);
    let (mut paid, mut honest_data) = (0, Vec::new());
    let found = (0..40).find(|_| {
        let (honest, lie) = (observed(&mut stream, &theta, 30), turned(&observed(&mut stream, &theta, 30)));
        let ended = hold(&mut coordinator, &[("cat", &honest), ("eve", &lie)]);
        let of_eve = |paid: &&Payment| paid.member == id("eve");
        honest_data.push(honest);
        paid += ended.judgement.paid.iter().filter(of_eve).count();
        ended.judgement.held == [id("eve")]
    });
    assert!(found.is_some() && paid > 0, "{found:?}, {paid} payments");
    let of_cat = in_order(5, &honest_data);
    assert_eq!(coordinator.settled(), &in_order(5, [&truth, &truth, &of_cat]));
}

/// Rewards of a world that differs by a tenth: each delivery fits what others delivered, all of them together do not.
#[test]
fn who_was_confirmed_and_paid_is_found_by_all_it_ever_delivered() {
    let mut stream = Stream::new(5, 3);
    let theta = parameter(&mut stream, 2);
    let close: Vec<f64> = theta.iter().map(|entry| 0.9 * entry).collect();
    let mut coordinator = federation(2, 1000);
    let truth = observed(&mut stream, &theta, 100_000);
    hold(&mut coordinator, &[("ann", &truth), ("bob", &truth)]);
    let (mut delivered, mut paid) = (Vec::new(), 0);
    let found = (0..40).find(|_| {
        delivered.push(observed(&mut stream, &close, 100));
        let ended = hold(&mut coordinator, &[("eve", delivered.last().unwrap())]);
        paid += ended.paid.len();
        ended.judgement.held == [id("eve")]
    });
    assert!(found.is_some() && paid > 0, "{found:?}, {paid} payments");
    for data in &delivered {
        let found = Surprise::of(&truth, 0.1, SIGMA, (data.gram(), data.samples()), data.moment()).unwrap();
        assert!(!found.is_flagged() && found.is_decisive(), "{found:?}");
    }
    check_suspended(&mut coordinator, "eve", &delivered[0]);
}

#[test]
fn a_member_always_knows_what_it_delivered_whatever_became_of_it() {
    let mut stream = Stream::new(4, 4);
    let theta = parameter(&mut stream, 2);
    let mut coordinator = federation(2, 2);
    let [one, other] = [0, 1].map(|_| observed(&mut stream, &theta, 100));
    hold(&mut coordinator, &[("ann", &one), ("bob", &other)]);
    let lie = turned(&observed(&mut stream, &theta, 50));
    let truth = coordinator.settled().samples();
    hold(&mut coordinator, &[("eve", &lie)]);
    let Snapshot { settled, statistics, own, .. } = coordinator.snapshot(&id("eve"));
    assert_eq!((settled, statistics.samples()), (Some(RoundId(2)), truth));
    assert_eq!(own.as_ref(), Some(&lie));
    assert_eq!(coordinator.snapshot(&id("ann")).own, None);
    // Void, it is still its own.
    for _ in 0..2 {
        hold(&mut coordinator, &[("ann", &observed(&mut stream, &theta, 10))]);
    }
    assert!(held(&coordinator).is_empty());
    let snapshot = coordinator.snapshot(&id("eve"));
    assert_eq!(snapshot.own, Some(lie));
    let mut eve = Member::new(id("eve"), config(2), Trigger::new(Since::Round, 2.6));
    let shared = snapshot.statistics.samples();
    eve.handle(Notice::Snapshot(snapshot), &mut Fixed(Amount::ZERO)).unwrap();
    assert_eq!(eve.known().samples(), shared + 50);
}

#[test]
fn what_a_forgotten_member_delivered_is_gone_to_the_last_bit() {
    for seed in 0..30 {
        let mut stream = Stream::new(seed, 5);
        let dimension = stream.between(1, 6);
        let mut coordinator = Coordinator::new(terms(dimension), Box::new(Everyone), NAMES.map(id));
        let mut without = Coordinator::new(terms(dimension), Box::new(Everyone), NAMES.map(id));
        let theta = parameter(&mut stream, dimension);
        for _ in 0..stream.between(1, 8) {
            let data = NAMES.map(|name| {
                let samples = stream.between(1, 40);
                (name, observed(&mut stream, &theta, samples))
            });
            let mut deliveries: Vec<(&str, &Statistics)> = data.iter().map(|(name, data)| (*name, data)).collect();
            hold(&mut coordinator, &deliveries);
            deliveries.remove(1);
            hold(&mut without, &deliveries);
        }
        assert_ne!(coordinator.settled(), without.settled());
        let bob = id("bob");
        let rule = |coordinator: &mut Coordinator, ruling| coordinator.rule(Time(100_000), &bob, ruling);
        let before = coordinator.closed();
        assert_eq!(rule(&mut coordinator, Ruling::Forget), Err(RulingError::StillAMember(bob.clone())));
        assert!(coordinator.revoke(Time(100_000), &bob));
        assert_eq!(rule(&mut coordinator, Ruling::Forget), Ok(Judgement::default()));
        assert_eq!(coordinator.settled(), without.settled());
        // Everyone hears of it, as of a round.
        assert_eq!(coordinator.closed().0, before.0 + 1);
        assert_eq!(coordinator.notices(&id("ann"), Some(before)).count(), 1);
        assert_eq!(rule(&mut coordinator, Ruling::Forget), Err(RulingError::NothingDelivered(bob.clone())));
        let resumed = Coordinator::resume(terms(dimension), Box::new(Everyone), coordinator.standing());
        assert_eq!(resumed.settled(), without.settled());
    }
}

#[test]
fn the_operator_releases_or_voids_what_is_in_doubt_between_rounds() {
    let mut stream = Stream::new(6, 6);
    let theta = parameter(&mut stream, 2);
    let (one, other) = (observed(&mut stream, &theta, 60), turned(&observed(&mut stream, &theta, 60)));
    let now = Time(1_000_000);
    let mut coordinator = federation(2, 5);
    let nothing = coordinator.rule(now, &id("ann"), Ruling::Release);
    assert_eq!(nothing, Err(RulingError::NothingDelivered(id("ann"))));
    hold(&mut coordinator, &[("ann", &one), ("eve", &other)]);
    assert_eq!(held(&coordinator), ["ann", "eve"]);
    // Everyone wins, and nobody is paid anything.
    let payment = |name: &str| Payment { member: id(name), round: R1, amount: Amount::ZERO };
    let released = coordinator.rule(now, &id("ann"), Ruling::Release).unwrap();
    assert_eq!((released.paid, released.released), (vec![payment("ann")], vec![id("ann")]));
    let void = coordinator.rule(now, &id("eve"), Ruling::Void).unwrap();
    assert_eq!((void.paid, void.void), (vec![], vec![payment("eve")]));
    assert_eq!(coordinator.settled(), &one);
    let twice = coordinator.rule(now, &id("eve"), Ruling::Void);
    assert_eq!(twice, Err(RulingError::NothingInDoubt(id("eve"))));
    let round = RoundId(coordinator.closed().0 + 1);
    let offer = Offer { client: id("ann"), ask: Amount::ZERO, gram: one.gram().clone() };
    send(&mut coordinator, now.0, "ann", Request::Offer { round, samples: 60, offer }).unwrap();
    let open = coordinator.rule(now, &id("ann"), Ruling::Release);
    assert_eq!(open, Err(RulingError::RoundOpen(round)));
}

/// Held or not, it will have room: else a later release would make honest rounds impossible.
#[test]
fn what_is_held_takes_room_below_the_capacity_and_what_is_void_does_not() {
    let mut stream = Stream::new(7, 7);
    let theta = parameter(&mut stream, 2);
    let (one, other) = (observed(&mut stream, &theta, 60), turned(&observed(&mut stream, &theta, 60)));
    let mut raw = held_terms(2, 5);
    raw.capacity = SamplesSetting::Samples(1000);
    raw.samples = 1000;
    let mut coordinator = Coordinator::new(Terms::try_from(raw).unwrap(), Box::new(Everyone), NAMES.map(id));
    hold(&mut coordinator, &[("ann", &one), ("eve", &other)]);
    assert_eq!(coordinator.room(), 880);
    coordinator.rule(Time(1_000_000), &id("eve"), Ruling::Void).unwrap();
    assert_eq!(coordinator.room(), 940);
}
