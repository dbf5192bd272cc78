//! The operator's page, as a browser's requests see it.

use std::net::SocketAddr;
use std::time::{Duration, UNIX_EPOCH};

use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use truthfed_node::coordinator::operator::LinkReply;
use truthfed_node::identity::{Authority, Identity, Validity};
use truthfed_node::testing::{Identities, id};

use super::support::{Client, World, some_data, whole_round};

/// Somebody at a browser.
struct Browser {
    admin: SocketAddr,
    cookie: String,
    key: String,
}

impl Browser {
    async fn log_in(operator: &Client, admin: SocketAddr) -> Browser {
        let made: LinkReply = operator.post("/v1/operator/page", r#"{"seconds":60}"#).await.ok();
        assert_eq!(made.admin, admin);
        let nobody = Browser { admin, cookie: String::new(), key: String::new() };
        let body = format!(r#"{{"link":"{}"}}"#, made.link);
        let (status, cookie, said) = nobody.ask("POST", "/page/login", &body).await;
        assert_eq!(status, 200, "{said}");
        assert_eq!(nobody.ask("POST", "/page/login", &body).await.0, 401, "a link opens once");
        let cookie = cookie.unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Strict; Path=/"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Browser { admin, cookie, key: said["key"].as_str().unwrap().to_owned() }
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Option<String>, Value) {
        let stream = TcpStream::connect(self.admin).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::builder().method(method).uri(path).header("host", self.admin.to_string());
        let request = request.header("origin", format!("http://{}", self.admin));
        let request = request.header("cookie", format!("a=b; {}", self.cookie)).header("x-truthfed-key", &self.key);
        let request = request.body(Full::<Bytes>::from(body.to_owned())).unwrap();
        let response = sender.send_request(request).await.unwrap();
        let (head, body) = response.into_parts();
        assert!(head.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
        let cookie = head.headers.get("set-cookie").map(|cookie| cookie.to_str().unwrap().to_owned());
        let body = body.collect().await.unwrap().to_bytes();
        (head.status.as_u16(), cookie, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    async fn get(&self, path: &str) -> Value {
        let (status, _, said) = self.ask("GET", path, "").await;
        assert_eq!(status, 200, "{path}: {said}");
        said
    }
}

#[tokio::test]
async fn the_page_shows_what_the_operators_routes_show() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let operator = world.operator(running.addresses());
    whole_round(&[&m1, &m2], &[1_000_000, 2_000_000]).await;
    let browser = Browser::log_in(&operator, running.addresses().admin).await;
    let overview = browser.get("/page/overview").await;
    assert_eq!((&overview["role"], &overview["journal"]["problem"]), (&"active".into(), &Value::Null));
    assert_eq!(overview["journal"]["checked"], world.head().0);
    let [shown] = &overview["rounds"].as_array().unwrap()[..] else { panic!("{overview}") };
    let known: Value = operator.get("/v1/operator/rounds").await.ok();
    let known = &known["rounds"][0];
    assert_eq!((&shown["round"], &shown["winners"]), (&known["round"], &known["winners"]));
    assert!(shown["coverage"].as_f64().unwrap() >= shown["target"].as_f64().unwrap());
    for path in ["/v1/operator/members", "/v1/operator/rounds", "/v1/operator/rounds/1"] {
        assert_eq!(browser.get(path).await, operator.get(path).await.ok::<Value>(), "{path}");
    }
    let auction = browser.get("/page/rounds/1/auction").await;
    let offers = auction["offers"].as_array().unwrap();
    assert!(offers.len() == 2 && offers.iter().all(|offer| offer["gain"].as_f64().unwrap() > 0.0), "{auction}");
    assert_eq!(browser.get("/page/rounds/1/round.json").await["schema"], "truthfed.round/1");
    let members = browser.get("/page/members").await;
    assert!(members["members"].as_array().unwrap().iter().all(|member| member["is_online"] == true), "{members}");
    assert_eq!(browser.ask("GET", "/page/rounds/7", "").await.0, 404);
    assert_eq!(browser.ask("GET", "/page/postings?round=x", "").await.0, 400);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn asks_are_hidden_from_the_page_until_the_seal() {
    let (world, running, [m1, m2]) = World::running(["m1", "m2"]).await;
    let operator = world.operator(running.addresses());
    let browser = Browser::log_in(&operator, running.addresses().admin).await;
    let open = m1.round().await;
    let ask = 7_654_321;
    m1.send_offer(open.round, &m1.offer_of(&open, &some_data(), ask)).await;
    for path in
        ["/page/overview", "/page/members", "/page/rounds", "/page/rounds/1", "/page/postings", "/page/entries?after=0"]
    {
        let said = browser.get(path).await.to_string();
        assert!(!said.contains("7.654321") && !said.contains("7654321"), "{path}: {said}");
    }
    assert_eq!(browser.ask("GET", "/page/rounds/1/auction", "").await.0, 404);
    assert_eq!(browser.get("/page/overview").await["open"]["awaited"], serde_json::json!(["m2"]));
    m2.decline(open.round).await;
    assert!(browser.get("/page/rounds/1").await.to_string().contains("7.654321"));
    running.stop().await.unwrap();
}

#[tokio::test]
async fn whoever_is_not_logged_in_or_stands_by_shows_nothing() {
    let (world, running, [_]) = World::running(["m1"]).await;
    let operator = world.operator(running.addresses());
    let admin = running.addresses().admin;
    let browser = Browser::log_in(&operator, admin).await;
    let second = world.start().await;
    let elsewhere =
        Browser { admin: second.addresses().admin, cookie: browser.cookie.clone(), key: browser.key.clone() };
    let half = Browser { admin, cookie: browser.cookie.clone(), key: "0".repeat(64) };
    let other_half = Browser { admin, cookie: format!("truthfed-{}=", admin.port()), key: browser.key.clone() };
    for path in ["/page/overview", "/page/events", "/page/postings.csv", "/v1/operator/status"] {
        for stranger in [&elsewhere, &half, &other_half] {
            assert_eq!(stranger.ask("GET", path, "").await.0, 401, "{path}");
        }
    }
    let (status, _, said) = elsewhere.ask("POST", "/page/login", r#"{"link":"x"}"#).await;
    assert_eq!((status, &said["error"]["code"]), (503, &"not-leader".into()));
    for (method, path, body) in [
        ("POST", "/v1/operator/page", r#"{"seconds":60}"#),
        ("POST", "/v1/operator/pause", r#"{"reason":"x"}"#),
        ("DELETE", "/v1/operator/pause", ""),
        ("POST", "/v1/operator/rounds/1/abort", r#"{"reason":"x"}"#),
    ] {
        let (status, _, said) = browser.ask(method, path, body).await;
        assert_eq!((status, &said["error"]["code"]), (403, &"not-operator".into()), "no login does {path}");
    }
    assert_eq!(browser.ask("DELETE", "/v1/operator/members/m1", "").await.0, 200);
    assert_eq!(browser.get("/page/members").await["members"][0]["is_revoked"], true);
    assert_eq!(browser.ask("POST", "/page/logout", "").await.0, 200);
    assert_eq!(browser.ask("GET", "/page/overview", "").await.0, 401);
    second.stop().await.unwrap();
    running.stop().await.unwrap();
}

#[tokio::test]
async fn whoever_the_authority_certified_is_taken_in_and_nobody_else() {
    let (world, running, [m1]) = World::running(["m1"]).await;
    let operator = world.operator(running.addresses());
    let browser = Browser::log_in(&operator, running.addresses().admin).await;
    let roster = world.folder.path().join("roster");
    std::fs::create_dir(&roster).unwrap();
    let Identities { authority, operator: own, members, .. } = &world.identities;
    let pem = |identity: &Identity| identity.certificate().pem().to_owned();
    std::fs::write(roster.join("m1.pem"), pem(&members[&id("m1")])).unwrap();
    let body = |pem: &str| serde_json::json!({ "certificate": pem }).to_string();
    let issue = |name: &str| authority.issue_member(&id(name), Validity::leaf()).unwrap();
    let zoe = issue("zoe");

    let past = Validity { from: UNIX_EPOCH, until: UNIX_EPOCH + Duration::from_secs(86_400) };
    let stranger = Authority::create("elsewhere", Validity::authority()).unwrap();
    let foreign = stranger.issue_member(&id("zoe"), Validity::leaf()).unwrap();
    let server = authority.issue_server(&["127.0.0.1".to_owned()], Validity::leaf()).unwrap();
    for (what, pem, code, said) in [
        ("no certificate", "zoe".to_owned(), "bad-certificate", "take the file of the member from `roster`"),
        ("another federation's", pem(&foreign), "bad-certificate", "did not issue the certificate to a member"),
        ("a server's", pem(&server), "bad-certificate", "did not issue the certificate to a member"),
        ("the operator's", pem(own), "bad-certificate", "the certificate is no member's"),
        ("one that is over", pem(&authority.issue_member(&id("zoe"), past).unwrap()), "bad-certificate", "1970-01-02"),
        ("another of a member", pem(&issue("m1")), "member-exists", "m1 has another certificate on the roster"),
    ] {
        for path in ["/page/certificate", "/page/members/certified"] {
            let (_, _, answer) = browser.ask("POST", path, &body(&pem)).await;
            assert_eq!(answer["error"]["code"], code, "{what}: {answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(said), "{what}: {answer}");
        }
    }
    let entries = world.head().0;

    let (status, _, seen) = browser.ask("POST", "/page/certificate", &body(&pem(&zoe))).await;
    assert_eq!((status, &seen["member"], &seen["until"]), (200, &"zoe".into(), &zoe.certificate().last_day().into()));
    assert_eq!((world.head().0, roster.join("zoe.pem").exists()), (entries, false), "looking changes nothing");
    for _ in 0..2 {
        let (status, _, taken) = browser.ask("POST", "/page/members/certified", &body(&pem(&zoe))).await;
        assert_eq!((status, &taken["member"]), (200, &"zoe".into()), "{taken}");
    }
    assert_eq!(std::fs::read_to_string(roster.join("zoe.pem")).unwrap(), pem(&zoe));
    let entry = browser.get(&format!("/page/entries?after={entries}")).await["entries"][0].clone();
    assert_eq!((&entry["kind"], &entry["body"]["enrolled"]["member"]), (&"enrolled".into(), &"zoe".into()), "{entry}");
    assert_eq!(world.client(&zoe, running.addresses()).get("/v1/view").await.status, 200);
    let stranger = Browser { key: "0".repeat(64), ..browser };
    assert_eq!(stranger.ask("POST", "/page/members/certified", &body(&pem(&zoe))).await.0, 401);
    drop(m1);
    running.stop().await.unwrap();
}
