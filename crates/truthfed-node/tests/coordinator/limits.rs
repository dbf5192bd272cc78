//! Nobody gets more than the limits say, and whoever asks for more is told when to come back.

use tokio::io::AsyncWriteExt;
use truthfed_node::coordinator::Addresses;
use truthfed_node::error::Code;
use truthfed_node::net::body_bytes;
use truthfed_node::wire::View;

use super::support::{World, plain, until_in_flight};

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

/// Waits until so many requests are under way or were told `busy`.
async fn until_heard(addresses: Addresses, requests: u64) {
    let is_counted = |line: &&str| line.starts_with("truthfed_requests_in_flight") || line.contains(r#"code="busy""#);
    let count = |line: &str| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap();
    while plain(addresses.admin, "/metrics").await.1.lines().filter(is_counted).map(count).sum::<u64>() < requests {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn two_members_that_stall_as_many_bodies_as_they_can_take_no_room_from_a_third() {
    let world = World::new(&["m1", "m2", "m3"], |terms| terms.bandit.dimension = 512);
    let running = world.start().await;
    let most = body_bytes(512);
    let head = format!("POST /v1/rounds/1/offer HTTP/1.1\r\nhost: x\r\ncontent-length: {most}\r\n\r\n");
    let mut stalled = Vec::new();
    for name in ["m1", "m2"] {
        for _ in 0..world.limits.connections_per_member {
            let mut stream = world.party(name, running.addresses()).client.stream().await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            stalled.push(stream);
        }
    }
    until_heard(running.addresses(), stalled.len() as u64).await;
    let m3 = world.party("m3", running.addresses());
    let answer = m3.client.post("/v1/rounds/1/offer", " ".repeat(most)).await;
    assert_eq!(answer.code(), Code::Truncated, "it was read to its end");
    drop(stalled);
    running.stop().await.unwrap();
}
