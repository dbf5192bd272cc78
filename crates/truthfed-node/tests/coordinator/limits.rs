//! Nobody gets more than the limits say, and whoever asks for more is told when to come back.

use truthfed_node::error::Code;
use truthfed_node::wire::View;

use super::support::{World, until_in_flight};

#[tokio::test]
async fn a_member_that_asks_too_often_is_slowed_down_and_others_are_not() {
    let mut world = World::new(&["m1", "m2"], |_| {});
    (world.limits.requests_per_second, world.limits.burst) = (1, 5);
    let running = world.start().await;
    let [m1, m2] = ["m1", "m2"].map(|name| world.party(name, running.addresses()));
    let mut answers = Vec::new();
    while answers.last().is_none_or(|last: &super::support::Answer| last.status == 200) {
        answers.push(m1.client.get("/v1/view").await);
    }
    let last = answers.last().unwrap();
    assert_eq!((last.code(), last.headers["retry-after"].as_str()), (Code::RateLimited, "1"));
    assert!((6..20).contains(&answers.len()), "{} were answered", answers.len());
    m2.client.get("/v1/view").await.ok::<View>();
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_member_has_so_many_requests_under_way_and_no_more() {
    let mut world = World::new(&["m1"], |_| {});
    world.limits.connections_per_member = 2;
    let running = world.start().await;
    let clients = [0; 3].map(|_| world.party("m1", running.addresses()));
    let version = clients[0].view().await.version;
    let path = format!("/v1/view?after={version}&wait_ms=30000");
    let (first, second, refused) = tokio::join!(clients[0].client.get(&path), clients[1].client.get(&path), async {
        until_in_flight(running.addresses(), 2).await;
        let refused = clients[2].client.get("/v1/view").await;
        world.operator(running.addresses()).delete("/v1/operator/members/m1").await;
        refused
    });
    assert_eq!(refused.code(), Code::TooManyConnections);
    assert_eq!((first.code(), second.code()), (Code::MemberRevoked, Code::MemberRevoked));
    running.stop().await.unwrap();
}
