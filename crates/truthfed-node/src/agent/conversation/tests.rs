//! Conversations with a speaker that follows a script.

use std::collections::VecDeque;

use super::*;
use crate::wire::{DeclineReply, Envelope, NextRound, OpenRound, Phase, ReceiptReply, SyncRequest};

const ROUND: RoundId = RoundId(3);

/// Says what the script has, and notes what it hears.
#[derive(Default)]
struct Script {
    steps: VecDeque<Step>,
    heard: Vec<String>,
    /// How many views it was shown that are as new as anything it knows.
    views: usize,
}

impl Script {
    fn of(steps: impl IntoIterator<Item = Step>) -> Script {
        Script { steps: steps.into_iter().collect(), ..Script::default() }
    }
}

impl Speaker for Script {
    fn heard(&mut self, _: &View) -> Result<(), StepError> {
        self.views += 1;
        Ok(())
    }

    fn next_step(&mut self, _: &View) -> Result<Step, StepError> {
        Ok(self.steps.pop_front().unwrap_or(Step::Nothing))
    }

    fn opened(&mut self, round: RoundId, _: Nonce, ask: Option<Amount>) -> Result<(), StepError> {
        self.heard.push(format!("{round} at {ask:?}"));
        Ok(())
    }

    fn taken(&mut self, call: &Call, _: Reply, _: RoundId) -> Result<(), StepError> {
        match call {
            Call::Sync(_) => Err(StepError::NoSnapshot { ended: ROUND, got: RoundId(0) }),
            call => {
                self.heard.push(call.message().path);
                Ok(())
            }
        }
    }

    fn hold_back(&mut self, round: RoundId) {
        self.heard.push(format!("held back {round}"));
    }

    fn finish(&mut self, round: RoundId) {
        self.heard.push(format!("finished {round}"));
    }
}

fn begin() -> Conversation {
    Conversation::new(&"m1".parse().unwrap())
}

/// How long it pauses after a failure.
fn pause(conversation: &mut Conversation, speaker: &mut Script) -> Duration {
    conversation.next(speaker).unwrap_err();
    assert!(conversation.view().is_none());
    let Output::Wait(pause) = output(conversation, speaker) else { panic!("it pauses") };
    pause
}

/// Goes on to the next output.
fn output(conversation: &mut Conversation, speaker: &mut Script) -> Output {
    std::iter::repeat_with(|| conversation.next(speaker).unwrap()).flatten().next().unwrap()
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, LinkError> {
    Ok(serde_json::to_vec(value).unwrap())
}

/// The round is open.
fn view(version: u64) -> Result<Vec<u8>, LinkError> {
    let (nonce, phase, remaining_ms) = (Nonce::random(), Phase::Offers, 1000);
    let open = OpenRound { round: ROUND, nonce, phase, remaining_ms, answered: false, decision: None };
    json(&View { version, closed: RoundId(2), open: Some(open), next: None, most_samples: None })
}

/// The round is next.
fn idle(version: u64) -> Result<Vec<u8>, LinkError> {
    let next = NextRound { round: ROUND, nonce: Nonce::random() };
    json(&View { version, closed: RoundId(2), open: None, next: Some(next), most_samples: None })
}

/// A conversation that has seen a view, and its next output.
fn seen(speaker: &mut Script) -> (Conversation, Output) {
    seen_as(speaker, view(7))
}

fn seen_as(speaker: &mut Script, view: Result<Vec<u8>, LinkError>) -> (Conversation, Output) {
    let mut conversation = begin();
    assert!(matches!(output(&mut conversation, speaker), Output::Poll(Call::View(Seen { after: None, wait_ms: 0 }))));
    conversation.reply(view);
    let next = output(&mut conversation, speaker);
    (conversation, next)
}

fn is_poll(output: &Output) -> bool {
    matches!(output, Output::Poll(Call::View(Seen { after: Some(7), wait_ms: WAIT_MS })))
}

fn envelope() -> Envelope {
    serde_json::from_value(serde_json::json!({ "content": {}, "signature": "0".repeat(128) })).unwrap()
}

fn refused(code: Code) -> Result<Vec<u8>, LinkError> {
    Err(LinkError::Refused(code.into()))
}

fn data(samples: u64) -> Statistics {
    let mut data = Statistics::new(1).unwrap();
    (0..samples).for_each(|_| data.observe(&[1.0], 0.5).unwrap());
    data
}

fn price(samples: u64) -> Step {
    Step::Price(ROUND, Nonce::random(), Some(data(samples)))
}

#[test]
fn everything_that_a_view_gives_rise_to_is_said_and_then_the_next_view_is_asked_for() {
    let mut speaker = Script::of([Step::Send(Call::Decline(ROUND)), Step::Price(ROUND, Nonce::random(), None)]);
    let (mut conversation, first) = seen(&mut speaker);
    assert!(matches!(first, Output::Send(Call::Decline(ROUND))));
    assert!(matches!(output(&mut conversation, &mut speaker), Output::Send(_)), "until the reply is here");
    conversation.reply(json(&DeclineReply { round: ROUND }));
    assert!(is_poll(&output(&mut conversation, &mut speaker)));
    assert_eq!((speaker.heard.join(", ").as_str(), conversation.steps()), ("/v1/rounds/3/decline, 3 at None", 2));
}

#[test]
fn an_offer_that_only_the_member_could_fix_is_given_up_and_declined_whatever_comes_of_that() {
    for after in [json(&DeclineReply { round: ROUND }), refused(Code::WrongPhase), Err(LinkError::Away(String::new()))]
    {
        let mut speaker = Script::of([Step::Send(Call::Offer(ROUND, envelope()))]);
        let (mut conversation, _) = seen(&mut speaker);
        conversation.reply(refused(Code::NotPositive));
        assert!(matches!(output(&mut conversation, &mut speaker), Output::Send(Call::Decline(ROUND))));
        conversation.reply(after);
        assert!(is_poll(&output(&mut conversation, &mut speaker)));
        assert_eq!(speaker.heard, ["finished 3"]);
    }
}

#[test]
fn after_a_failure_it_pauses_ever_longer_and_looks_again() {
    let failures = [Err(LinkError::Away(String::new())), Ok(b"x".to_vec()), refused(Code::Busy)];
    let mut conversation = begin();
    let mut waited = Vec::new();
    for reply in failures.into_iter().cycle().take(20) {
        let mut speaker = Script::of([Step::Send(Call::Decline(ROUND))]);
        conversation.next(&mut speaker).unwrap();
        conversation.reply(view(7));
        assert!(matches!(output(&mut conversation, &mut speaker), Output::Send(_)));
        conversation.reply(reply);
        waited.push(pause(&mut conversation, &mut speaker));
    }
    assert!(waited[0] < Duration::from_millis(101) && waited[19] >= Duration::from_secs(5), "{waited:?}");
    // A view that is worked off ends that.
    let mut speaker = Script::default();
    conversation.next(&mut speaker).unwrap();
    conversation.reply(view(7));
    assert!(is_poll(&output(&mut conversation, &mut speaker)));
    conversation.reply(refused(Code::ShuttingDown));
    let first = pause(&mut conversation, &mut speaker);
    assert!(first < Duration::from_millis(101), "{first:?}");
}

#[test]
fn what_the_speaker_does_not_believe_ends_the_exchange() {
    let mut speaker = Script::of([Step::Send(Call::Sync(SyncRequest { have: RoundId(2), waiting: None }))]);
    let (mut conversation, _) = seen(&mut speaker);
    conversation.reply(json(&serde_json::json!({ "snapshot": null, "receipts": [] })));
    let error = conversation.next(&mut speaker).unwrap_err();
    assert!(matches!(error, ExchangeError::Step(StepError::NoSnapshot { .. })), "{error}");
    assert!(matches!(output(&mut conversation, &mut speaker), Output::Wait(_)));
}

#[test]
fn a_price_is_asked_for_again_when_more_was_learned_and_at_last_alone() {
    let mut speaker = Script::of([price(1), price(2), price(3), price(3)]);
    let (mut conversation, mut next) = seen(&mut speaker);
    for (samples, last) in [(1, false), (2, false), (3, true)] {
        let Output::Price { round: ROUND, data, alone } = next else { panic!("{next:?}") };
        assert_eq!((data.samples(), alone), (samples, last));
        conversation.priced(Some(Amount::from_units(samples as u32)));
        next = output(&mut conversation, &mut speaker);
    }
    assert!(is_poll(&next));
    assert_eq!(speaker.heard, [format!("3 at {:?}", Some(Amount::from_units(3)))]);
}

#[test]
fn a_wish_is_told_during_a_poll_and_changes_nothing_at_any_other_time() {
    let mut speaker = Script::default();
    let (mut conversation, next) = seen(&mut speaker);
    assert!(is_poll(&next));
    speaker.steps.push_back(Step::Send(Call::Decline(ROUND)));
    conversation.wish();
    assert!(matches!(output(&mut conversation, &mut speaker), Output::Send(_)));
    conversation.wish();
    assert!(matches!(output(&mut conversation, &mut speaker), Output::Send(_)));
    conversation.reply(json(&DeclineReply { round: ROUND }));
    assert!(is_poll(&output(&mut conversation, &mut speaker)), "the same poll as before");
    let mut fresh = begin();
    fresh.wish();
    assert!(matches!(output(&mut fresh, &mut speaker), Output::Poll(Call::View(Seen { after: None, .. }))));
}

/// An agent whose price command failed went on asking for rounds that it then declined.
#[test]
fn without_a_price_no_round_is_opened_and_none_is_asked_for_before_the_next_view() {
    let mut speaker = Script::of([price(1), price(1)]);
    let (mut conversation, next) = seen_as(&mut speaker, idle(7));
    assert!(matches!(next, Output::Price { .. }));
    conversation.priced(None);
    assert!(is_poll(&output(&mut conversation, &mut speaker)));
    assert!(speaker.heard.is_empty(), "nothing is decided, so nothing is kept");
    speaker.steps.push_back(price(2));
    conversation.wish();
    assert!(is_poll(&output(&mut conversation, &mut speaker)), "more data is no price");
    conversation.reply(idle(8));
    assert!(matches!(output(&mut conversation, &mut speaker), Output::Price { .. }));
}

#[test]
fn an_offer_that_may_not_open_a_round_is_held_back_until_another_opens_it() {
    for code in [Code::TriggerNotMet, Code::NotPositive] {
        let mut speaker = Script::of([Step::Send(Call::Offer(ROUND, envelope()))]);
        let (mut conversation, _) = seen_as(&mut speaker, idle(7));
        conversation.reply(refused(code));
        assert!(is_poll(&output(&mut conversation, &mut speaker)), "there is nothing to decline");
        assert_eq!(speaker.heard, ["held back 3"]);
    }
}

#[test]
fn one_view_gives_rise_to_a_bounded_number_of_steps() {
    let mut speaker = Script::of((0..100).map(|_| Step::Price(ROUND, Nonce::random(), None)));
    let (conversation, next) = seen(&mut speaker);
    assert!(is_poll(&next));
    assert_eq!((conversation.steps(), speaker.heard.len()), (MAX_STEPS, MAX_STEPS));
}

#[test]
fn a_refusal_ends_a_round_only_if_the_member_could_fix_it() {
    let offer = Call::Offer(ROUND, envelope());
    for (call, code, expected) in [
        (&offer, Code::Busy, "try again"),
        (&offer, Code::WrongPhase, "finished 3"),
        (&offer, Code::NotPositive, "finished 3, decline 3"),
        (&Call::Deliver(ROUND, envelope()), Code::NotPositive, "finished 3"),
        (&Call::Decline(ROUND), Code::ConflictingRetry, "finished 3"),
        (&offer, Code::TriggerNotMet, "finished 3"),
        (&offer, Code::TooSoon, "try again"),
        (&offer, Code::Excluded, "try again"),
        (&offer, Code::Suspended, "try again"),
        (&Call::Sync(SyncRequest { have: ROUND, waiting: None }), Code::WrongPhase, "try again"),
    ] {
        let mut speaker = Script::default();
        let shown: View = serde_json::from_slice(&view(7).unwrap()).unwrap();
        let next = super::refused(&mut speaker, (call, Some(&shown)), code.into());
        speaker.heard.extend(match next {
            Ok(State::Parting(round)) => Some(format!("decline {round}")),
            Ok(_) => None,
            Err(_) => Some("try again".to_owned()),
        });
        assert_eq!(speaker.heard.join(", "), expected, "{call:?} {code}");
    }
}

/// An offer that opens a round was refused by a coordinator whose clock had gone back, and never sent again: with nobody else who
/// wished for a round its data stayed in flight for ever.
#[test]
fn what_exceeds_a_quota_is_offered_again_later_and_what_exceeds_the_terms_is_held_back() {
    for (most_samples, is_tried_again) in [(Some(4), true), (None, false)] {
        let mut shown: View = serde_json::from_slice(&idle(7).unwrap()).unwrap();
        shown.most_samples = most_samples;
        let mut speaker = Script::default();
        let call = Call::Offer(ROUND, envelope());
        let next = super::refused(&mut speaker, (&call, Some(&shown)), Code::TooManySamples.into());
        assert_eq!(next.is_err(), is_tried_again);
        assert_eq!(speaker.heard.is_empty(), is_tried_again, "{:?}", speaker.heard);
    }
}

/// How much may be offered has grown since the last view: a wish looks again before it is told.
#[test]
fn where_there_is_a_quota_a_wish_asks_for_a_new_view_first() {
    let mut shown: View = serde_json::from_slice(&idle(7).unwrap()).unwrap();
    shown.most_samples = Some(4);
    let mut speaker = Script::default();
    let (mut conversation, next) = seen_as(&mut speaker, json(&shown));
    assert!(is_poll(&next));
    conversation.wish();
    let looks = output(&mut conversation, &mut speaker);
    assert!(matches!(looks, Output::Send(Call::View(Seen { after: None, wait_ms: 0 }))), "{looks:?}");
    speaker.steps.push_back(Step::Send(Call::Decline(ROUND)));
    conversation.reply(json(&shown));
    assert!(matches!(output(&mut conversation, &mut speaker), Output::Send(_)));
}

#[test]
fn a_view_that_a_wish_overtook_is_not_held_against_what_was_said_since() {
    let offer = Step::Send(Call::Offer(ROUND, envelope()));
    let mut speaker = Script::default();
    let (mut conversation, next) = seen_as(&mut speaker, idle(7));
    assert!(is_poll(&next));
    // While it polls it offers, and the poll was answered before the offer.
    speaker.steps.push_back(offer);
    conversation.wish();
    assert!(matches!(output(&mut conversation, &mut speaker), Output::Send(_)));
    conversation.reply(json(&ReceiptReply { receipt: envelope() }));
    assert!(is_poll(&output(&mut conversation, &mut speaker)));
    conversation.reply(idle(7));
    assert!(is_poll(&output(&mut conversation, &mut speaker)));
    assert_eq!(speaker.views, 1);
    // The next one was asked for after that.
    conversation.reply(view(7));
    assert!(is_poll(&output(&mut conversation, &mut speaker)));
    assert_eq!(speaker.views, 2);
}
