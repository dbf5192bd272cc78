//! Every message in every phase of a round.

use truthfed::protocol::RoundId;
use truthfed_node::error::Code;
use truthfed_node::terms::CoverageSetting;
use truthfed_node::wire::{OpenRound, ReceiptReply};

use super::support::{Answer, Party, World, other, some_data};

/// What a member can send about a round.
#[derive(Debug, Clone, Copy)]
enum Message {
    Offer,
    Decline,
    Deliver,
}

const MESSAGES: [Message; 3] = [Message::Offer, Message::Decline, Message::Deliver];

async fn send(party: &Party, open: &OpenRound, message: Message) -> Answer {
    let data = some_data();
    match message {
        Message::Offer => party.send_offer(open.round, &party.offer_of(open, &data, 5_000_000)).await,
        Message::Decline => party.decline(open.round).await,
        Message::Deliver => party.send_delivery(open.round, &party.delivery_of(open, &data, other())).await,
    }
}

async fn check(world: &World, party: &Party, open: &OpenRound, phase: &str, expected: [Code; 3]) {
    let head = world.head();
    for (message, expected) in MESSAGES.into_iter().zip(expected) {
        let answer = send(party, open, message).await;
        assert_eq!(answer.code(), expected, "{message:?} {phase}: {}", answer.text());
        assert_eq!(world.head(), head, "{message:?} {phase}");
    }
}

#[tokio::test]
async fn messages_out_of_their_phase_are_refused_and_change_nothing() {
    let world = World::new(&["late", "loser", "winner"], |terms| {
        terms.offers_ms = 1500;
        terms.coverage = CoverageSetting::Ratio(0.05);
    });
    let running = world.start().await;
    let [late, loser, winner] = ["late", "loser", "winner"].map(|name| world.party(name, running.addresses()));
    let stale = Code::StaleRound;

    winner.ask().await;
    let first = winner.open().await;
    for party in [&late, &loser, &winner] {
        party.decline(first.round).await;
    }
    check(&world, &winner, &OpenRound { round: RoundId(2), ..first.clone() }, "before the round", [stale; 3]).await;

    winner.ask().await;
    let open = winner.open().await;
    let head = world.head();
    assert_eq!(send(&winner, &open, Message::Deliver).await.code(), Code::WrongPhase, "before the award");
    assert_eq!(world.head(), head);
    let data = some_data();
    let offer = winner.offers(&open, &data, 1_000_000).await;
    loser.offers(&open, &data, 90_000_000).await;
    // One member does not answer: the phase ends by its deadline.
    let mut view = winner.view().await;
    while view.open.as_ref().is_none_or(|open| open.decision.is_none()) {
        view = winner.client.get(&format!("/v1/view?after={}&wait_ms=20000", view.version)).await.ok();
    }
    assert_eq!(loser.receipt(&loser.open().await.decision.unwrap()).payment_micros, None);

    let wrong = Code::WrongPhase;
    check(&world, &late, &open, "while deliveries are taken, by one who did not offer", [wrong; 3]).await;
    let conflict = Code::ConflictingRetry;
    check(&world, &loser, &open, "while deliveries are taken, by a loser", [conflict, conflict, Code::OtherOffer])
        .await;
    let answer = loser
        .send_delivery(open.round, &loser.delivery_of(&open, &data, loser.offer_of(&open, &data, 90_000_000).digest()))
        .await;
    assert_eq!(answer.code(), wrong, "a loser has nothing to deliver");

    let delivery = winner.delivery_of(&open, &data, offer.digest());
    winner.send_delivery(open.round, &delivery).await.ok::<ReceiptReply>();
    check(&world, &late, &open, "after the round, by one who did not offer", [stale; 3]).await;
    check(&world, &loser, &open, "after the round, by a loser", [conflict, conflict, stale]).await;
    check(&world, &winner, &open, "after the round, by the winner", [conflict; 3]).await;
    running.stop().await.unwrap();
}
