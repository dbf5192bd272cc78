//! An agent against a coordinator that the tests play, with restarts wherever one can happen.

use truthfed::Amount;
use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;

use super::testing::{Coordinator, DIMENSION, idle, nonce, open, play, reply, snapshot};
use super::{Agent, ChooseError, FileError, LearnError, Membership, Speaker, Step, StepError};
use crate::signature::Signer;
use crate::terms::{MechanismSetting, RawTerms};
use crate::testing::Numbers;
use crate::wire::{Call, Envelope, Phase, ReceiptKind, SyncReply, View};

const ASK: Amount = Amount::from_units(7);
const PAYMENT: Amount = Amount::from_units(9);

fn nothing() -> Statistics {
    Statistics::new(DIMENSION).unwrap()
}

/// The coordinator has taken the offer, or its delivery, and says so.
fn acknowledge(agent: &mut Agent, coordinator: &Coordinator, offer: &Envelope, kind: ReceiptKind) {
    agent.receive(RoundId(1), kind, coordinator.receipt(offer, kind, None)).unwrap();
}

fn next_offer(agent: &mut Agent, round: u64, answered: bool) -> Option<Envelope> {
    match agent.next_step(&open(round, Phase::Offers, answered, None)).unwrap() {
        Step::Send(Call::Offer(_, offer)) => Some(offer),
        _ => None,
    }
}

/// Opens a round and answers it.
fn offered(agent: &mut Agent, round: u64, ask: Option<Amount>) -> Option<Envelope> {
    agent.opened(RoundId(round), nonce(round), ask).unwrap();
    next_offer(agent, round, false)
}

#[test]
fn a_crash_after_any_event_of_a_random_schedule_leaves_the_same_bits() {
    for seed in 0..3 {
        let coordinator = Coordinator::new();
        let mut numbers = Numbers(seed);
        let mut agent = coordinator.agent();
        let mut settled = nothing();
        let (mut round, mut flight) = (0, None);
        for number in 0..400 {
            match numbers.below(8) {
                0 if flight.is_none() => {
                    round += 1;
                    let ask = (numbers.unit() < 0.8).then_some(ASK);
                    let unshared = agent.state.to_offer(None).unwrap_or_else(nothing);
                    flight = Some((offered(&mut agent, round, ask), unshared));
                }
                1 => {
                    let Some((offer, unshared)) = flight.take() else { continue };
                    let is_settled = offer.is_some() && numbers.unit() < 0.5;
                    let receipts = match &offer {
                        Some(offer) if is_settled => {
                            settled.merge(&unshared).unwrap();
                            vec![coordinator.receipt(offer, ReceiptKind::Paid, Some(PAYMENT))]
                        }
                        _ => Vec::new(),
                    };
                    let snapshot = snapshot(round, is_settled.then_some(round), &settled);
                    agent.synced(reply(snapshot, receipts), RoundId(round)).unwrap();
                }
                _ => play(&mut agent, &mut numbers),
            }
            assert_eq!(coordinator.restarted().bits(), agent.bits(), "seed {seed}, event {number}");
        }
        assert!(agent.known().samples() > 200, "the checkpoint has been passed");
    }
}

#[test]
fn an_offer_is_repeated_with_the_very_same_bytes_until_it_is_acknowledged() {
    let coordinator = Coordinator::new();
    let mut numbers = Numbers(1);
    let mut agent = coordinator.taught(&mut numbers, 5);
    let first = offered(&mut agent, 1, Some(ASK)).unwrap();
    play(&mut agent, &mut numbers);
    let mut agent = coordinator.restarted();
    // The offer is sent again, whether the coordinator had it or not: with it, only the receipt is missing.
    for answered in [false, true] {
        let again = next_offer(&mut agent, 1, answered).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&first).unwrap());
    }
    let status = agent.status(true).unwrap();
    assert_eq!((status.unshared, status.in_flight, status.known), (1, 5, 6));
    acknowledge(&mut agent, &coordinator, &first, ReceiptKind::OfferTaken);
    assert!(next_offer(&mut agent, 1, true).is_none());
}

#[test]
fn a_delivery_is_the_same_before_and_after_a_restart_and_ends_with_its_receipt() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.taught(&mut Numbers(2), 5);
    let offer = offered(&mut agent, 1, Some(ASK)).unwrap();
    acknowledge(&mut agent, &coordinator, &offer, ReceiptKind::OfferTaken);
    let won = coordinator.receipt(&offer, ReceiptKind::Won, Some(PAYMENT));
    let view = open(1, Phase::Deliveries, true, Some(won));
    let Step::Send(Call::Deliver(_, first)) = agent.next_step(&view).unwrap() else { panic!("a winner delivers") };
    let mut agent = coordinator.restarted();
    let Step::Send(Call::Deliver(_, again)) = agent.next_step(&view).unwrap() else { panic!("a winner delivers") };
    assert_eq!(serde_json::to_string(&again).unwrap(), serde_json::to_string(&first).unwrap());
    acknowledge(&mut agent, &coordinator, &offer, ReceiptKind::DeliveryTaken);
    assert!(matches!(agent.next_step(&view).unwrap(), Step::Nothing));
    assert_eq!(agent.status(true).unwrap().earned, "0");
    assert_eq!(agent.receipts().unwrap().len(), 3);
}

#[test]
fn what_was_in_flight_is_settled_once_or_comes_back_once() {
    for is_settled in [true, false] {
        let coordinator = Coordinator::new();
        let mut numbers = Numbers(3);
        let mut agent = coordinator.taught(&mut numbers, 5);
        let unshared = agent.state.to_offer(None).unwrap();
        let offer = offered(&mut agent, 1, Some(ASK)).unwrap();
        play(&mut agent, &mut numbers);
        let before = agent.known().clone();
        let kind = if is_settled { ReceiptKind::Paid } else { ReceiptKind::Voided };
        let receipts = || vec![coordinator.receipt(&offer, kind, Some(PAYMENT))];
        let settled = if is_settled { unshared } else { nothing() };
        let snapshot = snapshot(1, is_settled.then_some(1), &settled);
        agent.synced(reply(snapshot.clone(), receipts()), RoundId(1)).unwrap();
        // The same again changes nothing, whether it is late or repeated.
        agent.synced(reply(snapshot, receipts()), RoundId(1)).unwrap();
        let status = agent.status(true).unwrap();
        let (unshared, earned) = if is_settled { (1, "9") } else { (6, "0") };
        assert_eq!((status.known, status.unshared, status.in_flight), (6, unshared, 0));
        assert_eq!((status.last_round, status.earned.as_str()), (RoundId(1), earned));
        assert_eq!(agent.known().samples(), before.samples());
    }
}

#[test]
fn rewards_may_be_late_out_of_order_and_repeated_but_not_changed() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.agent();
    let mut numbers = Numbers(4);
    let decisions: Vec<_> = (0..4).map(|_| agent.choose(&numbers.arms(DIMENSION)).unwrap().0).collect();
    agent.learn(decisions[2], 0.5).unwrap();
    agent.learn(decisions[0], -0.25).unwrap();
    let check = |agent: &mut Agent| {
        let before = agent.bits();
        agent.learn(decisions[2], 0.5).unwrap();
        let other = agent.learn(decisions[2], 0.75).unwrap_err();
        assert!(matches!(other, LearnError::OtherReward { learned: 0.5, .. }), "{other}");
        assert_eq!(agent.bits(), before);
    };
    check(&mut agent);
    let unknown = format!("{}-00000000", agent.status(true).unwrap().known).parse().unwrap();
    assert!(matches!(agent.learn(unknown, 0.5), Err(LearnError::UnknownDecision(_))));
    drop(agent);
    let mut agent = coordinator.agent();
    check(&mut agent);
    agent.learn(decisions[1], 1.0).unwrap();
    agent.learn(decisions[3], 1.0).unwrap();
    assert_eq!(agent.status(true).unwrap().known, 4);
    for wrong in [f64::NAN, f64::INFINITY, 10.5, -1e9] {
        let decision = agent.choose(&numbers.arms(DIMENSION)).unwrap().0;
        assert!(matches!(agent.learn(decision, wrong), Err(LearnError::OutOfRange { .. })), "{wrong}");
    }
}

#[test]
fn arms_that_the_terms_do_not_admit_are_not_chosen_from() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.agent();
    let before = agent.bits();
    let mut check = |arms: &[Vec<f64>], expected: &str| {
        let error = agent.choose(arms).unwrap_err();
        assert!(!matches!(error, ChooseError::File(_)));
        assert_eq!(error.to_string(), expected);
    };
    check(&[], "arms is empty: there is nothing to choose from");
    check(&[vec![1.0, 0.0]], "arm 0 has dimension 2, expected 3");
    check(&[vec![0.0; 3], vec![3.0, 0.0, 4.0]], "arm 1 has length 5: the terms admit at most 2");
    let not_finite = "arm 0 gives no finite score: its coordinates must be finite and below 1e100 in size";
    check(&[vec![f64::NAN, 0.0, 0.0]], not_finite);
    assert_eq!(agent.bits(), before);
    agent.choose(&[[2.0, 0.0, 0.0]]).unwrap();
}

fn check_refused(agent: &mut Agent, view: &crate::wire::View, expected: &str) {
    let before = agent.bits();
    let error = agent.next_step(view).unwrap_err();
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(agent.bits(), before);
}

#[test]
fn a_promise_that_is_not_right_is_not_delivered_for() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.taught(&mut Numbers(5), 5);
    let offer = offered(&mut agent, 1, Some(ASK)).unwrap();
    let taken = coordinator.receipt(&offer, ReceiptKind::OfferTaken, None);
    agent.receive(RoundId(1), ReceiptKind::OfferTaken, taken.clone()).unwrap();
    let receipt = |kind, payment| coordinator.receipt(&offer, kind, payment);
    let decision = |decision| open(1, Phase::Deliveries, true, Some(decision));
    check_refused(&mut agent, &decision(taken), "it says OfferTaken");
    check_refused(&mut agent, &decision(receipt(ReceiptKind::Won, None)), "it says Won with a promise of None");
    let less = receipt(ReceiptKind::Won, Some(Amount::from_units(6)));
    check_refused(&mut agent, &decision(less), "the payment is 6, less than the ask of 7");
    let mut stranger = Coordinator::new();
    stranger.federation.coordinator = Signer::random();
    let forged = stranger.receipt(&offer, ReceiptKind::Won, Some(PAYMENT));
    check_refused(&mut agent, &decision(forged), "not signed by the coordinator's key");
    let other = coordinator.membership.signer.seal("x", &"x");
    let other = Envelope { content: other.content, ..receipt(ReceiptKind::Won, Some(PAYMENT)) };
    check_refused(&mut agent, &decision(other), "not signed by the coordinator's key");
    let mut other_nonce = decision(receipt(ReceiptKind::Won, Some(PAYMENT)));
    other_nonce.open.as_mut().unwrap().nonce = nonce(2);
    check_refused(&mut agent, &other_nonce, "round 1 has another nonce than before");
    // Of another round of the same agent.
    let old = offer;
    agent.synced(reply(snapshot(1, None, &nothing()), vec![]), RoundId(1)).unwrap();
    let offer = offered(&mut agent, 2, Some(ASK)).unwrap();
    agent
        .receive(RoundId(2), ReceiptKind::OfferTaken, coordinator.receipt(&offer, ReceiptKind::OfferTaken, None))
        .unwrap();
    let replayed = coordinator.receipt(&old, ReceiptKind::Won, Some(PAYMENT));
    check_refused(&mut agent, &open(2, Phase::Deliveries, true, Some(replayed)), "about another offer");
    assert_eq!(agent.receipts().unwrap().len(), 2, "no wrong receipt is kept");
}

#[test]
fn under_terms_that_do_not_promise_the_ask_a_smaller_payment_is_delivered_for() {
    let mut coordinator = Coordinator::new();
    let mechanism = MechanismSetting::named("everyone").unwrap().into();
    let document = RawTerms { mechanism, ..coordinator.membership.agreement.raw().clone() };
    coordinator.membership.agreement = document.try_into().unwrap();
    let mut agent = coordinator.agent();
    play(&mut agent, &mut Numbers(1));
    let offer = offered(&mut agent, 1, Some(ASK)).unwrap();
    acknowledge(&mut agent, &coordinator, &offer, ReceiptKind::OfferTaken);
    let won = coordinator.receipt(&offer, ReceiptKind::Won, Some(Amount::ZERO));
    let step = agent.next_step(&open(1, Phase::Deliveries, true, Some(won))).unwrap();
    assert!(matches!(step, Step::Send(Call::Deliver(RoundId(1), _))), "{step:?}");
}

#[test]
fn a_snapshot_that_is_not_right_is_not_taken_over() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.taught(&mut Numbers(6), 5);
    let unshared = agent.state.to_offer(None).unwrap();
    let offer = offered(&mut agent, 1, Some(ASK)).unwrap();
    let before = agent.bits();
    let mut check = |reply: SyncReply, expected: &str| {
        let error = agent.synced(reply, RoundId(1)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(agent.bits(), before);
    };
    let settled = || snapshot(1, Some(1), &unshared);
    check(reply(settled(), vec![]), "round 1 is settled without a receipt of payment");
    let voided = coordinator.receipt(&offer, ReceiptKind::Voided, Some(PAYMENT));
    check(reply(settled(), vec![voided]), "round 1 is settled without a receipt of payment");
    let cheap = coordinator.receipt(&offer, ReceiptKind::Paid, Some(Amount::ZERO));
    check(reply(settled(), vec![cheap]), "less than the ask of 7");
    check(SyncReply { snapshot: None, receipts: vec![] }, "round 1 has ended");
    check(reply(snapshot(0, None, &nothing()), vec![]), "round 1 has ended");
    let flat = Statistics::new(DIMENSION + 1).unwrap();
    check(reply(snapshot(1, None, &flat), vec![]), "snapshot has dimension 4, expected 3");
}

#[test]
fn an_old_copy_of_the_file_does_not_sell_its_data_twice() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.agent();
    let mut numbers = Numbers(7);
    agent.synced(reply(snapshot(1, None, &nothing()), vec![]), RoundId(1)).unwrap();
    (0..5).for_each(|_| play(&mut agent, &mut numbers));
    let backup = coordinator.crashed();
    let unshared = agent.state.to_offer(None).unwrap();
    let offer = offered(&mut agent, 2, Some(ASK)).unwrap();
    let paid = coordinator.receipt(&offer, ReceiptKind::Paid, Some(PAYMENT));
    let settled = || reply(snapshot(2, Some(2), &unshared), vec![paid.clone()]);
    agent.synced(settled(), RoundId(2)).unwrap();
    let error = coordinator.open(&backup).unwrap().synced(settled(), RoundId(2)).unwrap_err();
    assert!(matches!(error, StepError::OldFile(RoundId(2))), "{error}");
    // A new file in its place knows that everything in it is new.
    let mut anew = coordinator.open(&coordinator.folder.path().join("anew.db")).unwrap();
    play(&mut anew, &mut numbers);
    anew.synced(settled(), RoundId(2)).unwrap();
    let status = anew.status(true).unwrap();
    assert_eq!((status.known, status.unshared, status.earned.as_str()), (6, 1, "9"));
}

#[test]
fn a_round_is_wished_for_until_it_is_opened_or_taken_part_in() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.agent();
    let mut numbers = Numbers(8);
    assert!(matches!(agent.next_step(&idle(0)).unwrap(), Step::Nothing));
    while !agent.wants_round() {
        play(&mut agent, &mut numbers);
    }
    let Step::Price(round, nonce, Some(_)) = agent.next_step(&idle(0)).unwrap() else { panic!("it wants a round") };
    assert!(matches!(agent.next_step(&open(1, Phase::Offers, false, None)).unwrap(), Step::Price(..)));
    agent.opened(round, nonce, Some(ASK)).unwrap();
    assert!(!agent.wants_round());
    // The same bytes until a view says that the round is open, and by whomever.
    let opening = |agent: &mut Agent| match agent.next_step(&idle(0)).unwrap() {
        Step::Send(Call::Offer(_, offer)) => offer.digest(),
        step => panic!("{step:?}"),
    };
    let first = opening(&mut agent);
    play(&mut agent, &mut numbers);
    let mut agent = coordinator.restarted();
    assert_eq!(opening(&mut agent), first);
    assert_eq!(next_offer(&mut agent, 1, false).unwrap().digest(), first);
}

/// Up to sixteen times: the view that it had still showed no open round.
#[test]
fn an_offer_that_opened_a_round_was_sent_again_and_again_until_the_next_view() {
    let coordinator = Coordinator::new();
    let (mut agent, mut numbers) = (coordinator.agent(), Numbers(8));
    while !agent.wants_round() {
        play(&mut agent, &mut numbers);
    }
    let Step::Price(round, nonce, Some(_)) = agent.next_step(&idle(0)).unwrap() else { panic!("it wants a round") };
    agent.opened(round, nonce, Some(ASK)).unwrap();
    let Step::Send(Call::Offer(_, offer)) = agent.next_step(&idle(0)).unwrap() else { panic!("it opens the round") };
    acknowledge(&mut agent, &coordinator, &offer, ReceiptKind::OfferTaken);
    assert!(matches!(agent.next_step(&idle(0)).unwrap(), Step::Nothing));
}

#[test]
fn a_round_that_opens_with_another_nonce_than_it_was_announced_with_is_not_believed() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.taught(&mut Numbers(8), 5);
    agent.opened(RoundId(1), nonce(9), Some(ASK)).unwrap();
    for view in [idle(0), open(1, Phase::Offers, false, None)] {
        assert!(matches!(agent.next_step(&view), Err(StepError::OtherNonce(RoundId(1)))));
    }
}

#[test]
fn a_coordinator_that_went_back_was_waited_for_in_silence() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.taught(&mut Numbers(12), 5);
    let unshared = agent.state.to_offer(None).unwrap();
    let offer = offered(&mut agent, 1, Some(ASK)).unwrap();
    let check = |agent: &mut Agent, view: View, lacks: Option<(u64, &str)>| match (agent.heard(&view), lacks) {
        (Ok(()), None) => {}
        (Err(error @ StepError::RolledBack { .. }), Some((seen, receipt))) => {
            let words = format!("went back to the end of round {}, but this agent has seen round {seen}", view.closed);
            assert!(error.to_string().contains(&words) && error.to_string().contains(receipt), "{error}");
        }
        (heard, lacks) => panic!("{view:?}: {heard:?}, expected {lacks:?}"),
    };
    // As long as there is no receipt the offer may not have arrived.
    check(&mut agent, idle(0), None);
    acknowledge(&mut agent, &coordinator, &offer, ReceiptKind::OfferTaken);
    let taken = Some((1, "receipt `offer-taken` of round 1"));
    let mut again = open(1, Phase::Offers, true, None);
    check(&mut agent, again.clone(), None);
    check(&mut agent, idle(0), taken);
    check(&mut agent, open(1, Phase::Offers, false, None), taken);
    again.open.as_mut().unwrap().nonce = nonce(2);
    check(&mut agent, again, taken);
    let won = coordinator.receipt(&offer, ReceiptKind::Won, Some(PAYMENT));
    agent.next_step(&open(1, Phase::Deliveries, true, Some(won))).unwrap();
    check(&mut agent, open(1, Phase::Deliveries, true, None), None);
    check(&mut agent, open(1, Phase::Offers, true, None), Some((1, "receipt `won` of round 1")));
    let paid = coordinator.receipt(&offer, ReceiptKind::Paid, Some(PAYMENT));
    agent.synced(reply(snapshot(1, Some(1), &unshared), vec![paid]), RoundId(1)).unwrap();
    check(&mut agent, idle(1), None);
    let mut agent = coordinator.restarted();
    check(&mut agent, open(1, Phase::Deliveries, true, None), Some((1, "receipt `paid` of round 1")));
    // Rounds in which it had no part leave no receipt.
    agent.synced(reply(snapshot(3, Some(1), &unshared), vec![]), RoundId(3)).unwrap();
    check(&mut agent, idle(2), Some((3, "no receipt")));
    check(&mut agent, idle(3), None);
    check(&mut agent, idle(4), None);
    assert_eq!(agent.receipts().unwrap().len(), 3, "the proof is kept");
}

#[test]
fn without_data_or_price_a_round_is_declined_and_what_was_said_stands() {
    let coordinator = Coordinator::new();
    let mut agent = coordinator.agent();
    let view = |answered| open(1, Phase::Offers, answered, None);
    let Step::Price(round, nonce, None) = agent.next_step(&view(false)).unwrap() else { panic!("nothing to price") };
    agent.opened(round, nonce, None).unwrap();
    play(&mut agent, &mut Numbers(9));
    // There is something to offer now, but the round was told otherwise, perhaps.
    assert!(matches!(agent.next_step(&view(false)).unwrap(), Step::Send(Call::Decline(RoundId(1)))));
    assert!(matches!(agent.next_step(&view(true)).unwrap(), Step::Nothing));
    agent.finish(RoundId(1));
    assert!(matches!(agent.next_step(&view(false)).unwrap(), Step::Nothing));
    let late = open(1, Phase::Deliveries, true, None);
    assert!(matches!(agent.next_step(&late).unwrap(), Step::Nothing));
}

#[test]
fn a_file_of_somebody_else_is_not_opened() {
    let coordinator = Coordinator::new();
    let (path, agent) = (coordinator.path(), coordinator.agent());
    assert!(matches!(coordinator.open(&path), Err(FileError::Held)), "one agent at a time");
    drop(agent);
    let other = Membership { member: "m2".parse().unwrap(), ..coordinator.membership.clone() };
    let Err(error) = Agent::open(other, &path) else { panic!("the file is m1's") };
    assert!(matches!(error, FileError::Foreign { .. }), "{error}");
    coordinator.agent();
}
