//! The member's page, as a browser's requests see it.

use std::net::SocketAddr;

use serde_json::Value;
use truthfed_node::agent::local::LocalApi;
use truthfed_node::agent::{Agent, Handle, Token};
use truthfed_node::client::Application;
use truthfed_node::testing::Numbers;

use crate::api::{Serving, exchange};
use crate::support::{Federation, play, settle, terms};

const DATA: [&str; 4] = ["/page/overview", "/page/rounds", "/page/rounds/1", "/page/receipts.json"];

/// An agent that serves, and the application that may make links.
async fn serve(agent: Handle) -> (Serving, Application) {
    let folder = truthfed_node::testing::folder();
    let token = Token::at(&folder.path().join("agent.token")).unwrap();
    let api = LocalApi::bind("127.0.0.1:0".parse().unwrap(), agent, Some(token.clone())).await.unwrap();
    let serving = Serving::of(api);
    let application = Application::connect(serving.address, Some(&token)).await.unwrap();
    (serving, application)
}

async fn ask(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let head = format!("{method} {path} HTTP/1.1\r\n{headers}Connection: close\r\n");
    exchange(address, &format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())).await
}

/// The status of a login with a link, its reply, and the header with its cookie.
async fn open(address: SocketAddr, link: &str) -> (u16, String, String) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let body = format!(r#"{{"link":"{link}"}}"#);
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!("POST /page/login HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap_or_default();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned(), cookie.to_owned())
}

/// The headers of somebody who is logged in: host, cookie and key.
async fn log_in(address: SocketAddr, application: &Application) -> [String; 3] {
    let link = application.page(60).await.unwrap();
    let (place, secret) = link.split_once("/#login=").unwrap();
    assert_eq!(place, format!("http://{address}"));
    let (status, body, cookie) = open(address, secret).await;
    assert_eq!(status, 200, "{body}");
    assert!(cookie.contains("HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
    assert_eq!(open(address, secret).await.0, 401, "a link opens once");
    let key: Value = serde_json::from_str(&body).unwrap();
    let cookie = cookie.split(';').next().unwrap();
    [
        format!("Host: {address}\r\n"),
        format!("Cookie: {cookie}\r\n"),
        format!("X-Truthfed-Key: {}\r\n", key["key"].as_str().unwrap()),
    ]
}

#[tokio::test]
async fn a_member_sees_its_own_rounds_and_receipts_and_no_others() {
    let federation = Federation::new(2, terms());
    let wires = [federation.wire(0), federation.wire(1)];
    let runners = [federation.runner(0, &wires[0]), federation.runner(1, &wires[1])];
    let mut numbers = Numbers(71);
    while !runners[0].agent().with(|agent| Agent::wants_round(agent)).await {
        play(runners[0].agent(), &mut numbers).await;
        play(runners[1].agent(), &mut numbers).await;
    }
    settle(&runners).await;
    let (serving, application) = serve(runners[0].agent().clone()).await;
    let headers = log_in(serving.address, &application).await.concat();
    let mut shown = Vec::new();
    for path in DATA {
        let (status, body) = ask(serving.address, "GET", path, &headers, "").await;
        assert_eq!(status, 200, "{path}: {body}");
        assert!(!body.contains("m2"), "{path}: {body}");
        shown.push(serde_json::from_str::<Value>(&body).unwrap());
    }
    let [overview, rounds, round, receipts] = &shown[..] else { unreachable!() };
    let status = runners[0].agent().status().await.unwrap();
    assert_eq!(overview["status"], serde_json::to_value(&status).unwrap());
    assert_eq!(overview["open"], Value::Null);
    let [month] = &overview["months"].as_array().unwrap()[..] else { panic!("{overview}") };
    assert_eq!((&month["earned"], &month["offers"]), (&status.earned.clone().into(), &1.into()));
    assert_eq!(overview["sums"]["wrong"], serde_json::json!([]));
    assert_eq!(overview["rounds"], rounds["rounds"]);
    assert_eq!(round["line"], rounds["rounds"][0]);
    assert_eq!((&round["line"]["last"], &round["line"]["payment"]), (&"paid".into(), &status.earned.into()));
    let kept = runners[0].agent().receipts().await.unwrap();
    assert_eq!(receipts["receipts"], serde_json::to_value(&kept).unwrap());
    assert_eq!(round["receipts"].as_array().unwrap().len(), kept.len());
    assert_eq!(ask(serving.address, "GET", "/page/rounds/2", &headers, "").await.0, 404);
    serving.stop().await;
}

#[tokio::test]
async fn strangers_used_links_foreign_origins_and_rebinding_hosts_get_nothing() {
    let federation = Federation::new(1, terms());
    let (serving, application) = serve(federation.agent(0)).await;
    let address = serving.address;
    let [host, cookie, key] = &log_in(address, &application).await;
    let good = [host.as_str(), cookie, key].concat();
    for path in DATA {
        for (who, headers, expected) in [
            ("a stranger", host.clone(), 401),
            ("the cookie alone", format!("{host}{cookie}"), 401),
            ("the key alone", format!("{host}{key}"), 401),
            ("a foreign origin", format!("{good}Origin: http://attacker.example\r\n"), 400),
            ("another port", format!("{good}Origin: http://127.0.0.1:1\r\n"), 400),
            ("a foreign site", format!("{good}Sec-Fetch-Site: cross-site\r\n"), 400),
            ("a rebinding host", format!("Host: attacker.example\r\n{cookie}{key}"), 400),
        ] {
            let (status, body) = ask(address, "GET", path, &headers, "").await;
            assert_eq!(status, expected, "{who}: {path} {body}");
            assert!(!body.contains("m1"), "{who}: {body}");
        }
    }
    // A login is no token: it makes no links, and does nothing of the application's.
    for (method, path) in [("POST", "/page/link"), ("POST", "/choose"), ("GET", "/receipts")] {
        let (status, body) = ask(address, method, path, &good, r#"{"seconds":60}"#).await;
        assert!(status == 401 && body.contains("no-token"), "{path}: {body}");
    }
    assert!(application.page(0).await.is_err() && application.page(3601).await.is_err());
    assert_eq!(ask(address, "POST", "/page/logout", &good, "").await.0, 200);
    assert_eq!(ask(address, "GET", "/page/overview", &good, "").await.0, 401);
    serving.stop().await;
}
