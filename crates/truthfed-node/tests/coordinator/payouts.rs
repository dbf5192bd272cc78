//! What the operator records of money that it transferred.

use serde_json::Value;
use truthfed_node::coordinator::operator::{PayoutReply, RoundsReply};
use truthfed_node::error::Code;

use super::support::{World, whole_round};

#[tokio::test]
async fn a_payout_is_recorded_once_and_what_is_wrong_with_one_is_said() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let winner = whole_round(&[&m1, &m2], &[1_000_000, 2_000_000]).await.remove(0);
    let operator = world.operator(running.addresses());
    let rounds: RoundsReply = operator.get("/v1/operator/rounds").await.ok();
    let summary = &rounds.rounds[0];
    assert!(summary.paid_micros > 0 && summary.ended_ms >= Some(summary.opened_ms), "{summary:?}");
    assert!(summary.opened_ms.0 > 1_600_000_000_000, "a real clock: {summary:?}");

    let path = format!("/v1/operator/members/{winner}/payouts");
    let first: PayoutReply = operator.post(&path, r#"{"amount_micros":5,"reference":"bank 1"}"#).await.ok();
    let head = world.head();
    assert!(first.owed_micros > 0 && first.entry == head.0 - 1, "{first:?} at {head:?}");
    let again: PayoutReply = operator.post(&path, r#"{"amount_micros":5,"reference":"bank 1"}"#).await.ok();
    assert_eq!(again, first);
    for (path, body, expected) in [
        (path.as_str(), r#"{"amount_micros":6,"reference":"bank 1"}"#, Code::PayoutExists),
        (path.as_str(), r#"{"amount_micros":0,"reference":"bank 2"}"#, Code::NotOwed),
        (path.as_str(), r#"{"amount_micros":1000000000000000000,"reference":"bank 2"}"#, Code::NotOwed),
        (path.as_str(), r#"{"amount_micros":1000000000000000001,"reference":"bank 2"}"#, Code::WrongType),
        (path.as_str(), r#"{"amount_micros":-1,"reference":"bank 2"}"#, Code::WrongType),
        (path.as_str(), r#"{"amount_micros":1,"reference":" bank"}"#, Code::WrongType),
        (path.as_str(), r#"{"amount_micros":1,"reference":""}"#, Code::WrongType),
        (path.as_str(), r#"{"amount_micros":1}"#, Code::MissingField),
        ("/v1/operator/members/nobody/payouts", r#"{"amount_micros":1,"reference":"x"}"#, Code::UnknownMember),
    ] {
        let answer = operator.post(path, body).await;
        assert_eq!(answer.code(), expected, "{path} {body}: {}", answer.text());
    }
    assert_eq!(world.head(), head, "nothing of it is stored");
    let _: Value = m1.client.get("/v1/view").await.ok();
    running.stop().await.unwrap();
}
