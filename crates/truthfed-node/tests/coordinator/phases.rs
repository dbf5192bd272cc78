//! Every message in every phase of a round.

use truthfed::protocol::RoundId;
use truthfed_node::digest::Nonce;
use truthfed_node::error::Code;
use truthfed_node::terms::CoverageSetting;
use truthfed_node::wire::{NextRound, ReceiptReply};

use super::support::{Party, World, other, some_data};

/// What a member can send about a round: an offer, a decline and a delivery, each refused with its code.
async fn check(world: &World, party: &Party, open: &NextRound, phase: &str, expected: [Code; 3]) {
    let (head, data) = (world.head(), some_data());
    let answers = [
        party.send_offer(open.round, &party.offer_of(open, &data, 5_000_000)).await,
        party.decline(open.round).await,
        party.send_delivery(open.round, &party.delivery_of(open, &data, other())).await,
    ];
    for (answer, expected) in answers.iter().zip(expected) {
        assert_eq!(answer.code(), expected, "{} {phase}: {}", answer.what, answer.text());
    }
    assert_eq!(world.head(), head, "{phase}");
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

    let open = winner.round().await;
    let (bad, strange) = (Code::BadNonce, NextRound { nonce: Nonce::random(), ..open });
    check(&world, &winner, &strange, "with another nonce", [bad, stale, bad]).await;
    check(&world, &winner, &NextRound { round: RoundId(2), ..open }, "before the round", [stale; 3]).await;
    let (head, data) = (world.head(), some_data());
    let early = winner.send_delivery(open.round, &winner.delivery_of(&open, &data, other())).await;
    assert_eq!((early.code(), world.head()), (stale, head), "before it is open");
    let offer = winner.offers(&open, &data, 1_000_000).await;
    let head = world.head();
    let early = winner.send_delivery(open.round, &winner.delivery_of(&open, &data, other())).await;
    assert_eq!((early.code(), world.head()), (Code::WrongPhase, head), "before the award");
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
