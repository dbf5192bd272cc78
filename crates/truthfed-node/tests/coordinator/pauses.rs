//! Rounds that the operator pauses and resumes.

use truthfed_node::coordinator::operator::{PauseReply, StatusReply};
use truthfed_node::error::Code;

use super::support::{World, some_data, whole_round};

#[tokio::test]
async fn no_round_opens_in_a_pause_members_are_told_why_and_it_outlasts_a_restart() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let operator = world.operator(running.addresses());
    for wrong in [r#"{"reason":""}"#, r#"{"reason":" x"}"#, r#"{"reason":"a\nb"}"#] {
        assert_eq!(operator.post("/v1/operator/pause", wrong).await.code(), Code::WrongType, "{wrong}");
    }
    let reply: PauseReply = operator.post("/v1/operator/pause", r#"{"reason":"a new disk"}"#).await.ok();
    assert!(reply.paused.is_some() && reply.open.is_none(), "{reply:?}");
    let (head, open) = (world.head(), m1.round().await);
    let offer = m1.offer_of(&open, &some_data(), 1_000_000);
    let refused = m1.send_offer(open.round, &offer).await;
    assert_eq!((refused.code(), refused.status), (Code::Paused, 503), "{}", refused.text());
    assert!(refused.text().contains("UTC: a new disk"), "{}", refused.text());
    let again: PauseReply = operator.post("/v1/operator/pause", r#"{"reason":"another"}"#).await.ok();
    assert_eq!((again, world.head()), (reply.clone(), head), "the first reason stands");
    running.stop().await.unwrap();

    let running = world.start().await;
    let operator = world.operator(running.addresses());
    let status: StatusReply = operator.get("/v1/operator/status").await.ok();
    assert_eq!(status.paused, reply.paused);
    let resumed: PauseReply = operator.delete("/v1/operator/pause").await.ok();
    assert_eq!(resumed, PauseReply { paused: None, open: None });
    let [m1, m2] = [("m1", m1), ("m2", m2)].map(|(name, _)| world.party(name, running.addresses()));
    whole_round(&[&m1, &m2], &[1_000_000, 2_000_000]).await;
    running.stop().await.unwrap();
}
