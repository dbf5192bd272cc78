//! Every route for every role.

use std::collections::BTreeSet;

use axum::http::Method;
use serde_json::Value;
use truthfed_node::error::Code;
use truthfed_node::identity::{Authority, Validity};

use super::support::{Client, World, docs};

/// Every operation of the document, with its tag.
fn operations(document: &Value) -> Vec<(Method, &String, &str)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, operation)| {
            (method.to_uppercase().parse().unwrap(), path, operation["tags"][0].as_str().unwrap())
        })
    });
    operations.collect()
}

/// The routes that a page names, without their queries.
fn named(page: &str) -> BTreeSet<String> {
    let is_route = |text: &&str| ["GET /", "POST /", "DELETE /"].iter().any(|start| text.starts_with(start));
    page.split('`').filter(is_route).map(|route| route.split('?').next().unwrap().to_owned()).collect()
}

/// Why a role may not call, if it may not: what else is wrong with the request is of no matter here.
async fn turned_away(client: &Client, method: &Method, path: &str) -> Option<Code> {
    let answer = client.send(method.clone(), path, "").await;
    let code = (answer.status != 200).then(|| answer.code());
    code.filter(|code| [Code::NotAMember, Code::NotOperator].contains(code))
}

#[tokio::test]
async fn every_route_is_for_its_role_and_no_other() {
    let world = World::new(&["m1"], |_| {});
    let running = world.start().await;
    let member = world.party("m1", running.addresses()).client;
    let operator = world.operator(running.addresses());
    let genuine = world.identities.authority.issue_member(&"m2".parse().unwrap(), Validity::leaf()).unwrap();
    let stranger = world.client(&genuine, running.addresses());
    let document: Value = operator.get("/openapi.json").await.ok();
    assert_eq!(member.get("/openapi.json").await.ok::<Value>(), document);
    let operations = operations(&document);
    let served: BTreeSet<String> = operations.iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    assert_eq!(served, named(&docs("protocol.md")));
    for (method, path, tag) in operations {
        // Nothing that exists: no call changes anything.
        let path = path.replace("{round}", "7").replace("{member}", "nobody");
        let (for_member, for_operator) = match tag {
            "members" => (None, Some(Code::NotAMember)),
            "operator" => (Some(Code::NotOperator), None),
            _ => (None, None),
        };
        assert_eq!(turned_away(&member, &method, &path).await, for_member, "{method} {path} by a member");
        assert_eq!(turned_away(&operator, &method, &path).await, for_operator, "{method} {path} by the operator");
        let for_stranger = Some(Code::NotAMember);
        assert_eq!(turned_away(&stranger, &method, &path).await, for_stranger, "{method} {path} by a stranger");
    }
    assert_eq!(stranger.get("/nowhere").await.code(), Code::NotAMember, "a stranger learns nothing about paths");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn without_a_certificate_of_the_federation_there_is_no_connection() {
    let world = World::new(&["m1"], |_| {});
    let running = world.start().await;
    let foreign = Authority::create("other", Validity::authority()).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let expired = Validity { from: long_ago, until: long_ago + std::time::Duration::from_secs(3600) };
    let name = "m1".parse().unwrap();
    for (what, identity) in [
        ("of another authority", foreign.issue_member(&name, Validity::leaf()).unwrap()),
        ("of another operator", foreign.issue_operator(Validity::leaf())),
        ("expired", world.identities.authority.issue_member(&name, expired).unwrap()),
        ("a server's", world.identities.server.clone()),
    ] {
        let client = world.client(&identity, running.addresses());
        assert!(client.try_send(Method::GET, "/v1/view", "").await.is_err(), "{what}");
    }
    running.stop().await.unwrap();
}
