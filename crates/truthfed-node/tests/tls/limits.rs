//! What bounds a connection: time, sizes and numbers, and the end of the server.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::post;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use truthfed_node::error::Code;
use truthfed_node::net::{Client, Limits, NetError, read_body, serve_plain};

use crate::world::{PATIENCE, SHORT, World, ask, check_ends, client_hello_of_tls_1_2, soon, tell};

#[tokio::test]
async fn a_handshake_that_does_not_go_on_ends() {
    let world = World::start(Limits { handshake: SHORT, ..Limits::default() }).await;
    let silent = TcpStream::connect(world.address).await.unwrap();
    check_ends(silent, b"", SHORT).await;
    let slow = TcpStream::connect(world.address).await.unwrap();
    check_ends(slow, &client_hello_of_tls_1_2()[..20], SHORT).await;
}

#[tokio::test]
async fn headers_that_do_not_come_end_the_connection_first_and_later() {
    let world = World::start(Limits { header: SHORT, ..Limits::default() }).await;
    let member = world.member();
    check_ends(world.raw(&member).await, b"", SHORT).await;
    let answer = check_ends(world.raw(&member).await, b"GET /who HTTP/1.1\r\nHost: ", SHORT).await;
    assert!(!answer.contains("200 OK"), "{answer}");
    let answer = check_ends(world.raw(&member).await, b"GET /who HTTP/1.1\r\nHost: x\r\n\r\n", SHORT).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn headers_that_are_too_large_are_refused() {
    let world = World::start(Limits::default()).await;
    let request = format!("GET /who HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(64 * 1024));
    let answer = check_ends(world.raw(&world.member()).await, request.as_bytes(), Duration::ZERO).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn a_body_that_does_not_come_is_too_slow() {
    let world = World::start(Limits { body: SHORT, ..Limits::default() }).await;
    let request = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\nhalf";
    let answer = check_ends(world.raw(&world.member()).await, request, SHORT).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains(r#""code":"too-slow""#), "{answer}");
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_announced_or_not() {
    let world = World::start(Limits { body_bytes: 1000, ..Limits::default() }).await;
    let member = world.member();
    let client = world.client(&member);
    assert_eq!(soon(client.send(tell("/echo", "x".repeat(1000)), None)).await.unwrap().body.len(), 1000);
    let announced = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1001\r\n\r\n";
    let answer = check_ends(world.raw(&member).await, announced, Duration::ZERO).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains(r#""code":"too-large""#), "{answer}");
    let chunk = format!("3e9\r\n{}\r\n", "x".repeat(1001));
    let hidden =
        format!("POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}");
    let answer = check_ends(world.raw(&member).await, hidden.as_bytes(), Duration::ZERO).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn a_member_has_so_many_connections() {
    let world = World::start(Limits { connections_per_member: 2, ..Limits::default() }).await;
    let (member, other) = (world.member(), world.member());
    let clients = [world.client(&member), world.client(&member)];
    for client in &clients {
        assert!(soon(client.send(ask("/who"), None)).await.unwrap().status.is_success());
    }
    let reply = soon(world.client(&member).send(ask("/who"), None)).await.unwrap();
    assert_eq!(reply.refusal().map(|refusal| refusal.code), Some(Code::TooManyConnections));
    assert!(soon(world.client(&other).send(ask("/who"), None)).await.unwrap().status.is_success());
    drop(clients);
    // The seats come back when the server has seen the ends.
    let seated = async { while !world.client(&member).send(ask("/who"), None).await.unwrap().status.is_success() {} };
    soon(seated).await;
}

#[tokio::test]
async fn limits_that_change_count_at_once_also_on_connections_that_are_open() {
    let world = World::start(Limits { connections_per_member: 1, ..Limits::default() }).await;
    let member = world.member();
    let (first, second) = (world.client(&member), world.client(&member));
    let refusal = async |client: &Client| {
        let reply = soon(client.send(ask("/who"), None)).await.unwrap();
        reply.refusal().map(|refusal| refusal.code)
    };
    assert_eq!(refusal(&first).await, None);
    assert_eq!(refusal(&second).await, Some(Code::TooManyConnections));
    world.limits.send_modify(|limits| limits.connections_per_member = 2);
    assert_eq!(refusal(&second).await, None);
    world.limits.send_modify(|limits| (limits.requests_per_second, limits.burst) = (1, 1));
    let mut refused = 0;
    soon(async {
        // A token comes every second: of two requests in a row one is refused soon.
        while refused == 0 {
            refused += usize::from(refusal(&first).await == Some(Code::RateLimited));
        }
    })
    .await;
}

#[tokio::test]
async fn strangers_of_one_address_do_not_wait_in_numbers_and_members_are_not_counted() {
    let world = World::start(Limits { connections_per_address: 2, ..Limits::default() }).await;
    let member = world.member();
    let clients = [world.client(&member), world.client(&member), world.client(&member)];
    for client in &clients {
        assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    }
    let silent = [TcpStream::connect(world.address).await.unwrap(), TcpStream::connect(world.address).await.unwrap()];
    check_ends(TcpStream::connect(world.address).await.unwrap(), b"", Duration::ZERO).await;
    assert!(soon(clients[0].send(ask("/who"), None)).await.is_ok(), "who is in stays in");
    drop(silent);
    soon(async { while world.client(&member).send(ask("/who"), None).await.is_err() {} }).await;
}

#[tokio::test]
async fn connections_in_all_are_bounded() {
    let world = World::start(Limits { connections: 1, ..Limits::default() }).await;
    let client = world.client(&world.member());
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    check_ends(TcpStream::connect(world.address).await.unwrap(), b"", Duration::ZERO).await;
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    drop(client);
    soon(async { while world.client(&world.member()).send(ask("/who"), None).await.is_err() {} }).await;
}

#[tokio::test]
async fn strangers_that_fill_the_door_make_way_for_whoever_comes_and_take_no_seat_of_a_member() {
    let for_ever = Duration::from_secs(86_400);
    let limits = Limits { connections: 4, connections_per_address: 1000, handshake: for_ever, ..Limits::default() };
    let world = World::start(limits).await;
    let (early, late) = (world.client(&world.member()), world.client(&world.member()));
    assert!(soon(early.send(ask("/who"), None)).await.is_ok());
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(world.address).await.unwrap());
    }
    let first = silent.remove(0);
    check_ends(first, b"", Duration::ZERO).await;
    assert!(soon(late.send(ask("/who"), None)).await.is_ok(), "new ones get in");
    assert!(soon(early.send(ask("/who"), None)).await.is_ok(), "who is in stays in");
}

#[tokio::test]
async fn a_member_cannot_fill_the_seats_of_the_others_with_connections_it_has_no_seat_for() {
    let limits = Limits { connections: 4, connections_per_member: 1, ..Limits::default() };
    let world = World::start(limits).await;
    let (greedy, other) = (world.member(), world.member());
    let mut idle = Vec::new();
    for _ in 0..20 {
        idle.push(world.raw(&greedy).await);
    }
    assert!(soon(world.client(&other).send(ask("/who"), None)).await.unwrap().status.is_success());
}

#[tokio::test]
async fn a_member_that_asks_too_often_is_told_to_wait_and_others_are_not() {
    let world = World::start(Limits { requests_per_second: 1, burst: 2, ..Limits::default() }).await;
    let client = world.client(&world.member());
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(soon(client.send(ask("/who"), None)).await.unwrap().refusal().map(|refusal| refusal.code));
    }
    assert_eq!(codes, [None, None, Some(Code::RateLimited)]);
    assert_eq!(soon(world.client(&world.member()).send(ask("/who"), None)).await.unwrap().refusal(), None);
}

#[tokio::test]
async fn a_server_that_stops_finishes_what_is_under_way_and_takes_nothing_new() {
    let world = World::start(Limits::default()).await;
    let (client, idle) = (world.client(&world.member()), world.client(&world.member()));
    assert!(soon(idle.send(ask("/who"), None)).await.is_ok());
    let waiting = tokio::spawn(async move { client.send(ask("/wait"), Some(PATIENCE)).await });
    soon(world.begun.notified()).await;
    world.stop.send(true).unwrap();
    soon(async { while TcpStream::connect(world.address).await.is_ok() {} }).await;
    world.released.notify_one();
    assert_eq!(soon(waiting).await.unwrap().unwrap().body, "released");
    soon(world.server).await.unwrap();
}

#[tokio::test]
async fn a_request_that_outlasts_the_grace_period_is_cut_off() {
    let world = World::start(Limits { grace: SHORT, ..Limits::default() }).await;
    let client = world.client(&world.member());
    let waiting = tokio::spawn(async move { client.send(ask("/wait"), Some(PATIENCE)).await });
    soon(world.begun.notified()).await;
    drop(world.stop);
    soon(world.server).await.unwrap();
    assert!(matches!(soon(waiting).await.unwrap(), Err(NetError::Closed(_))));
}

#[tokio::test]
async fn plain_text_is_served_on_this_machine_within_the_same_limits() {
    let echo = |body: Body| async move { read_body(body, 10, PATIENCE).await };
    let router = Router::new().route("/echo", post(echo));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = watch::channel(false);
    let limits = Limits { header: SHORT, ..Limits::default() };
    let server = tokio::spawn(serve_plain(listener, router, limits.fixed(), stopped));
    let connect = || async { TcpStream::connect(address).await.unwrap() };
    check_ends(connect().await, b"POST /echo", SHORT).await;
    let request = b"POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 11\r\n\r\n";
    assert!(check_ends(connect().await, request, Duration::ZERO).await.starts_with("HTTP/1.1 413"));
    stop.send(true).unwrap();
    soon(server).await.unwrap();
}
