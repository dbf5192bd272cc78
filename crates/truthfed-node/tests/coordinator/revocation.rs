//! A member that is revoked is out at once: on connections that are open, in a wait, and at the door.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use truthfed_node::coordinator::operator::{EnrolRequest, MemberLine, MembersReply};
use truthfed_node::error::Code;
use truthfed_node::identity::Validity;
use truthfed_node::wire::View;

use super::support::{World, some_data, until_in_flight};

#[tokio::test]
async fn a_revoked_member_is_refused_on_its_open_connection_and_then_at_the_door() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let open = m1.round().await;
    m1.offers(&open, &some_data(), 1_000_000).await;
    let operator = world.operator(running.addresses());
    let line: MemberLine = operator.delete("/v1/operator/members/m1").await.ok();
    assert!(line.is_revoked);
    let answer = m1.client.get("/v1/view").await;
    assert_eq!((answer.code(), answer.headers["connection"].as_str()), (Code::MemberRevoked, "close"));
    // Until it is turned away in the handshake, whatever it asks is refused.
    let refused = async {
        while let Ok(answer) = m1.client.try_send(axum::http::Method::GET, "/v1/nowhere", "").await {
            assert_eq!(answer.code(), Code::MemberRevoked);
        }
    };
    tokio::time::timeout(super::support::PATIENCE, refused).await.expect("handshakes are refused in the end");
    // What it had offered does not count any more, and the others go on.
    m2.decline(open.round).await;
    assert_eq!(m2.view().await.closed, open.round);
    let head = world.head();
    let again: MemberLine = operator.delete("/v1/operator/members/m1").await.ok();
    assert_eq!((again, world.head()), (line, head), "the same again changes nothing");
    running.stop().await.unwrap();

    let running = world.start().await;
    let m1 = world.party("m1", running.addresses());
    assert!(m1.client.try_send(axum::http::Method::GET, "/v1/view", "").await.is_err(), "also after a restart");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_member_that_waits_is_told_at_once_that_it_is_revoked() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let version = m1.view().await.version;
    let path = format!("/v1/view?after={version}&wait_ms=30000");
    let operator = world.operator(running.addresses());
    let started = std::time::Instant::now();
    let (waited, other, _) = tokio::join!(m1.client.get(&path), m2.client.get(&path), async {
        until_in_flight(running.addresses(), 2).await;
        operator.delete("/v1/operator/members/m1").await.ok::<MemberLine>()
    });
    assert_eq!(waited.code(), Code::MemberRevoked);
    assert!(other.ok::<View>().version > version);
    assert!(started.elapsed() < super::support::PATIENCE / 2, "nobody waited for the end of the wait");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_request_that_began_before_its_sender_was_revoked_is_refused_on_every_route() {
    let (world, running, [m1]) = World::running(["m1"]).await;
    let mut begun = Vec::new();
    for path in ["/v1/statement", "/v1/terms", "/v1/view", "/openapi.json"] {
        let mut stream = m1.client.stream().await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        begun.push((path, stream));
    }
    until_in_flight(running.addresses(), begun.len()).await;
    world.operator(running.addresses()).delete("/v1/operator/members/m1").await.ok::<MemberLine>();
    for (path, stream) in &mut begun {
        // The connection may have ended: then there is nothing to read.
        let _ = stream.write_all(b"{}").await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.contains("member-revoked"), "{path}: {answer}");
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_key_is_one_members_only_even_when_that_member_was_revoked() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let operator = world.operator(running.addresses());
    operator.delete("/v1/operator/members/m2").await.ok::<MemberLine>();
    let head = world.head();
    for party in [m1, m2] {
        let key = party.identity.certificate().key();
        let request = EnrolRequest { member: "m3".to_owned(), key, certificate: super::support::other() };
        let answer = operator.post("/v1/operator/members", serde_json::to_string(&request).unwrap()).await;
        assert_eq!(answer.code(), Code::MemberExists);
        assert!(answer.text().contains(&format!("the key is or was {}'s", party.name)), "{}", answer.text());
    }
    assert_eq!(world.head(), head);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn members_come_and_go_while_the_coordinator_runs() {
    let mut world = World::new(&["m1"], |_| {});
    let running = world.start().await;
    let m1 = world.party("m1", running.addresses());
    let newcomer = world.identities.authority.issue_member(&"m2".parse().unwrap(), Validity::leaf()).unwrap();
    let certificate = newcomer.certificate().clone();
    world.identities.members.insert("m2".parse().unwrap(), newcomer);
    let m2 = world.party("m2", running.addresses());
    assert_eq!(m2.client.get("/v1/view").await.code(), Code::NotAMember, "genuine, but not enrolled");
    let operator = world.operator(running.addresses());
    let request = EnrolRequest { member: "m2".to_owned(), key: certificate.key(), certificate: certificate.digest() };
    let enrol = |request: &EnrolRequest| serde_json::to_string(request).unwrap();
    let line: MemberLine = operator.post("/v1/operator/members", enrol(&request)).await.ok();
    let head = world.head();
    assert_eq!(operator.post("/v1/operator/members", enrol(&request)).await.ok::<MemberLine>(), line);
    for (name, certificate, expected) in [
        ("a/b", super::support::other(), Code::BadName),
        ("", super::support::other(), Code::BadName),
        ("m2", super::support::other(), Code::MemberExists),
        ("m3", certificate.digest(), Code::MemberExists),
        ("m3", world.identities.operator.certificate().digest(), Code::MemberExists),
    ] {
        let request = EnrolRequest { member: name.to_owned(), certificate, ..request.clone() };
        assert_eq!(operator.post("/v1/operator/members", enrol(&request)).await.code(), expected, "{name}");
    }
    assert_eq!(operator.delete("/v1/operator/members/m3").await.code(), Code::UnknownMember);
    assert_eq!(world.head(), head);
    let members: MembersReply = operator.get("/v1/operator/members").await.ok();
    let names: Vec<&str> = members.members.iter().map(|line| line.member.as_str()).collect();
    assert_eq!(names, ["m1", "m2"]);
    super::support::whole_round(&[&m1, &m2], &[1_000_000, 2_000_000]).await;
    operator.delete("/v1/operator/members/m2").await.ok::<MemberLine>();
    let head = world.head();
    let again = operator.post("/v1/operator/members", enrol(&request)).await;
    assert_eq!((again.code(), world.head()), (Code::MemberExists, head), "a name is used once");
    running.stop().await.unwrap();
}
