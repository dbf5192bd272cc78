//! Nobody sees what another member asks, is paid or delivers: not in any reply, not in logs, not in metrics.

use axum::http::Method;
use truthfed_node::digest::Hex;
use truthfed_node::wire::{ReceiptReply, StatementReply};

use truthfed_node::testing::Data;

use super::support::{Party, World, log, plain};

/// Asks that no other number looks like.
const ASKS: [i64; 3] = [11_313_717, 17_939_153, 23_571_131];

#[tokio::test]
async fn no_ask_reaches_another_member_a_log_or_a_metric() {
    let (world, running, parties) = World::running(["m1", "m2", "m3"]).await;
    // Data of different worth, so that no payment is somebody else's ask; each with a moment of its own.
    let mut data = [
        Data::of(&[([0.6, 0.8], 0.811), ([0.1, 0.2], 0.7)]),
        Data::of(&[([0.9, 0.1], 0.317), ([0.3, 0.3], 0.4), ([0.2, 0.9], 0.1)]),
        Data::of(&[([0.5, 0.5], 0.929), ([0.7, 0.1], 0.3)]),
    ];
    // And a salt of its own, which its proofs show to itself.
    for (data, byte) in data.iter_mut().zip(0xa1..) {
        data.salt = Hex([byte; 16]);
    }
    let open = parties[0].round().await;
    let mut offers = Vec::new();
    for ((party, data), ask) in parties.iter().zip(&data).zip(ASKS) {
        offers.push(party.offers(&open, data, ask).await);
        // Whatever can be asked is asked in every phase.
        for party in &parties {
            ask_everything(party).await;
        }
    }
    let mut has_won = Vec::new();
    for party in &parties {
        let decision = party.receipt(&party.open().await.decision.unwrap());
        has_won.push(decision.promise.is_some());
    }
    for (((party, data), offer), has_won) in parties.iter().zip(&data).zip(&offers).zip(has_won) {
        if has_won {
            let delivery = party.delivery_of(&open, data, offer.digest());
            party.send_delivery(open.round, &delivery).await.ok::<ReceiptReply>();
        }
        for party in &parties {
            ask_everything(party).await;
        }
    }
    assert_eq!(parties[0].view().await.closed, open.round);
    let mut payments: Vec<Option<i64>> = Vec::new();
    for party in &parties {
        let statement: StatementReply = party.client.get("/v1/statement").await.ok();
        let paid = statement.settlements.first().map(|paid| party.receipt(paid));
        payments.push(paid.and_then(|paid| paid.payment_micros).map(truthfed::Amount::micros));
    }
    assert!(payments.iter().any(Option::is_some), "somebody is paid");
    // Refusals, too, name nothing of others.
    for party in &parties {
        for (offer, path) in offers.iter().flat_map(|offer| ["offer", "delivery"].map(|path| (offer, path))) {
            party.client.post(&format!("/v1/rounds/1/{path}"), super::support::text(offer)).await;
        }
    }

    let received = |party: &Party| String::from_utf8_lossy(&party.client.received.lock().unwrap()).into_owned();
    let (_, metrics) = plain(running.addresses().admin, "/metrics").await;
    running.stop().await.unwrap();
    let logged = String::from_utf8_lossy(&log().lock().unwrap()).into_owned();
    assert!(logged.contains("round settled") && metrics.contains("truthfed_rounds_settled_total 1"));
    for (owner, ask) in ASKS.iter().enumerate() {
        let payment = payments[owner].filter(|payment| *payment != 100_000_000);
        let salt = data[owner].salt.to_string();
        let offer = offers[owner].digest().to_string();
        let mut canaries = vec![ask.to_string(), salt];
        canaries.extend(payment.map(|payment| payment.to_string()));
        for canary in &canaries {
            assert!(!logged.contains(canary), "{canary} of m{} is in the log", owner + 1);
            assert!(!metrics.contains(canary), "{canary} of m{} is in the metrics", owner + 1);
        }
        canaries.push(offer);
        for (other, party) in parties.iter().enumerate().filter(|(other, _)| *other != owner) {
            let received = received(party);
            for canary in &canaries {
                assert!(!received.contains(canary.as_str()), "m{} got {canary} of m{}", other + 1, owner + 1);
            }
        }
    }
    for identity in world.identities.members.values().chain([&world.identities.server, &world.identities.operator]) {
        let key = identity.signer().to_pem();
        let secret = key.lines().nth(1).unwrap();
        assert!(!logged.contains(secret), "a key is in the log");
    }
}

/// Calls whatever a member can call without changing its part in the round.
async fn ask_everything(party: &Party) {
    for path in [
        "/v1/terms",
        "/v1/view",
        "/v1/statement",
        "/v1/head?from=1",
        "/v1/rounds/1/proof",
        "/v1/operator/proof?entry=5",
        "/openapi.json",
        "/v1/operator/members",
        "/v1/operator/rounds",
        "/v1/operator/rounds/1",
        "/v1/operator/status",
        "/v1/nowhere",
        "/v1/rounds/1/offer",
    ] {
        party.client.get(path).await;
    }
    for (path, body) in [("/v1/sync", r#"{"have":0}"#), ("/v1/operator/members", "{}"), ("/v1/sync", "x")] {
        party.client.post(path, body).await;
    }
    party.client.send(Method::DELETE, "/v1/operator/members/m1", "").await;
}
