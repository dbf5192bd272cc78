//! A whole round of three members.

use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;
use truthfed_node::coordinator::operator::{RoundReply, RoundState, RoundsReply, StatusReply};
use truthfed_node::digest::Digest;
use truthfed_node::ledger::aggregate_digest;
use truthfed_node::wire::{DeclineReply, Envelope, Phase, ReceiptKind, ReceiptReply, StatementReply, SyncReply};

use super::support::{World, some_data, whole_round};

#[tokio::test]
async fn three_members_offer_are_decided_on_deliver_and_are_paid() {
    let (world, running, parties) = World::running(["m1", "m2", "m3"]).await;
    let terms = parties[0].client.get("/v1/terms").await;
    assert_eq!(terms.text(), world.agreement.text(), "the very bytes that are hashed");
    assert_eq!(Digest::of(&terms.body), world.agreement.hash());

    let open = parties[0].round().await;
    let round = open.round;
    assert_eq!((round, parties[1].view().await.open.is_none()), (RoundId(1), true), "the first offer opens it");
    let data = [some_data(), some_data(), some_data()];
    let mut offers = Vec::new();
    for ((party, data), ask) in parties.iter().zip(&data).zip([1_000_000, 2_000_000, 3_000_000]) {
        offers.push(party.offers(&open, data, ask).await);
        if offers.len() < 3 {
            let shown = parties[2].open().await;
            assert_eq!((shown.round, shown.nonce, shown.phase), (round, open.nonce, Phase::Offers));
            assert!(!shown.answered);
        }
    }

    let mut expected = Statistics::new(2).unwrap();
    let (mut winners, mut losers) = (Vec::new(), Vec::new());
    for ((party, data), offer) in parties.iter().zip(&data).zip(&offers) {
        let decided = party.open().await;
        assert_eq!((decided.phase, decided.answered), (Phase::Deliveries, true));
        let decision = party.receipt(&decided.decision.unwrap());
        assert_eq!((decision.offer, decision.context.round), (offer.digest(), round));
        match decision.kind {
            ReceiptKind::Won => {
                let promise = decision.promise.unwrap();
                assert!(promise.least_micros >= party.offer_content(&open, data, 1_000_000).ask_micros);
                assert_eq!(decision.payment_micros, None, "nobody wins only to learn it");
                expected.merge(&data.statistics).unwrap();
                winners.push((party, data, offer, promise));
            }
            ReceiptKind::Lost => losers.push(party),
            other => panic!("{other:?}"),
        }
    }
    assert!(!winners.is_empty() && !losers.is_empty(), "the terms let some win and some lose");
    for (party, data, offer, _) in &winners {
        let delivery = party.delivery_of(&open, data, offer.digest());
        let reply: ReceiptReply = party.send_delivery(round, &delivery).await.ok();
        assert_eq!(party.receipt(&reply.receipt).kind, ReceiptKind::DeliveryTaken);
    }

    for party in &parties {
        let view = party.view().await;
        assert_eq!((view.closed, view.open.is_none()), (round, true));
        let sync: SyncReply = party.client.post("/v1/sync", r#"{"have":0}"#).await.ok();
        let snapshot = sync.snapshot.unwrap();
        assert_eq!((snapshot.closed, &snapshot.statistics), (round, &expected));
        let again: SyncReply = party.client.post("/v1/sync", r#"{"have":1}"#).await.ok();
        assert_eq!((again.snapshot, again.receipts.len()), (None, 0), "nothing is newer");
    }
    for (party, _, offer, promise) in &winners {
        let statement: StatementReply = party.client.get("/v1/statement").await.ok();
        let paid = party.receipt(&statement.settlements[0]);
        assert_eq!((paid.kind, paid.offer), (ReceiptKind::Paid, offer.digest()));
        assert!(promise.is_kept_by(paid.payment_micros.unwrap(), paid.salt.unwrap()));
        assert_eq!((statement.decisions.len(), statement.settlements.len()), (1, 1));
    }
    for party in losers {
        let statement: StatementReply = party.client.get("/v1/statement").await.ok();
        assert_eq!((statement.decisions.len(), statement.settlements.len()), (1, 0));
    }

    let operator = world.operator(running.addresses());
    let shown: RoundReply = operator.get("/v1/operator/rounds/1").await.ok();
    assert_eq!(shown.summary.state, RoundState::Settled);
    assert_eq!(shown.aggregate, Some(aggregate_digest(&expected)));
    assert_eq!(shown.paid, winners.iter().map(|(party, ..)| party.name.clone()).collect::<Vec<_>>());
    assert_eq!(
        shown.offers.iter().map(|line| line.offer).collect::<Vec<_>>(),
        offers.iter().map(Envelope::digest).collect::<Vec<_>>()
    );
    running.stop().await.unwrap();
}

#[tokio::test]
async fn whatever_is_sent_twice_gets_the_same_bytes_and_changes_nothing() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let (open, data) = (m1.round().await, some_data());
    let offer = m1.offer_of(&open, &data, 1_000_000);
    let first = m1.send_offer(open.round, &offer).await;
    let receipt = m1.receipt(&first.ok::<ReceiptReply>().receipt);
    assert_eq!((receipt.kind, receipt.offer), (ReceiptKind::OfferTaken, offer.digest()));
    let head = world.head();
    assert_eq!(m1.send_offer(open.round, &offer).await.body, first.body);
    assert_eq!(world.head(), head);

    let declined = m2.decline(open.round).await;
    assert_eq!(declined.ok::<DeclineReply>().round, open.round);
    assert_eq!(m1.send_offer(open.round, &offer).await.body, first.body, "also in the next phase");
    assert_eq!(m2.decline(open.round).await.body, declined.body);

    let delivery = m1.delivery_of(&open, &data, offer.digest());
    let delivered = m1.send_delivery(open.round, &delivery).await;
    delivered.ok::<ReceiptReply>();
    let head = world.head();
    for _ in 0..2 {
        assert_eq!(m1.send_offer(open.round, &offer).await.body, first.body, "also after the round");
        assert_eq!(m1.send_delivery(open.round, &delivery).await.body, delivered.body);
        assert_eq!(m2.decline(open.round).await.body, declined.body);
    }
    assert_eq!(world.head(), head);
    running.stop().await.unwrap();

    // And after a restart.
    let running = world.start().await;
    let m1 = world.party("m1", running.addresses());
    assert_eq!(m1.send_offer(open.round, &offer).await.body, first.body);
    assert_eq!(m1.send_delivery(open.round, &delivery).await.body, delivered.body);
    assert_eq!(m1.opens().await, RoundId(2));
    running.stop().await.unwrap();
}

#[tokio::test]
async fn the_operator_finds_every_round_in_the_journal() {
    let (world, running, [m1, m2, m3]) = World::running(["m1", "m2", "m3"]).await;
    let operator = world.operator(running.addresses());
    for _ in 1..40 {
        whole_round(&[&m1, &m2, &m3], &[1_000_000, 2_000_000, 3_000_000]).await;
    }
    // Who opened the last of them is revoked, and no offer is left.
    let last = m3.opens().await;
    m1.decline(last).await.ok::<DeclineReply>();
    operator.delete("/v1/operator/members/m3").await;
    m2.decline(last).await.ok::<DeclineReply>();
    m2.opens().await;
    let all: RoundsReply = operator.get("/v1/operator/rounds").await.ok();
    let numbers: Vec<u64> = all.rounds.iter().map(|round| round.round.0).collect();
    assert_eq!((numbers, all.next), ((1..=41).collect(), None));
    for summary in &all.rounds {
        let expected = match summary.round.0 {
            41 => RoundState::Offers,
            40 => RoundState::Aborted,
            _ => RoundState::Settled,
        };
        assert_eq!(summary.state, expected, "{summary:?}");
        let shown: RoundReply = operator.get(&format!("/v1/operator/rounds/{}", summary.round)).await.ok();
        assert_eq!(shown.summary, *summary);
        let is_hidden = expected == RoundState::Offers;
        assert!(shown.offers.iter().all(|offer| offer.ask_micros.is_none() == is_hidden), "asks before the seal");
        assert!(!shown.offers.is_empty() || expected == RoundState::Aborted);
        let later: RoundsReply = operator.get(&format!("/v1/operator/rounds?after={}", summary.round)).await.ok();
        assert_eq!(later.rounds, all.rounds[summary.round.0 as usize..]);
    }
    let status: StatusReply = operator.get("/v1/operator/status").await.ok();
    assert_eq!((status.closed, status.open, status.members), (RoundId(40), Some(RoundId(41)), 2));
    assert_eq!(status.entries, world.head().0);
    for nowhere in ["0", "42", "18446744073709551615"] {
        let answer = operator.get(&format!("/v1/operator/rounds/{nowhere}")).await;
        assert_eq!(answer.code(), truthfed_node::error::Code::NotFound);
    }
    running.stop().await.unwrap();
}
