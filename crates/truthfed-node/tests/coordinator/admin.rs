//! The plain listener.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use truthfed_node::coordinator::{self, ServerError};
use truthfed_node::identity::Validity;
use truthfed_node::testing::{Identities, id};

use super::support::{World, logged, plain, plain_at, whole_round};

#[tokio::test]
async fn health_metrics_and_the_document_are_shown_on_this_machine() {
    let world = World::new(&["m1", "m2"], |_| {});
    let running = world.start().await;
    let admin = running.addresses().admin;
    assert_eq!(plain(admin, "/healthz").await, (200, r#"{"role":"active"}"#.to_owned()));
    let [m1, m2] = ["m1", "m2"].map(|name| world.party(name, running.addresses()));
    let winners = whole_round(&[&m1, &m2], &[1_000_000, 2_000_000]).await.len();
    m1.client.get("/v1/nowhere/m1-secret").await;
    let (status, metrics) = plain(admin, "/metrics").await;
    assert_eq!(status, 200);
    for line in [
        "truthfed_healthy 1".to_owned(),
        r#"truthfed_role{role="active"} 1"#.to_owned(),
        r#"truthfed_role{role="standby"} 0"#.to_owned(),
        "truthfed_rounds_settled_total 1".to_owned(),
        "truthfed_rounds_aborted_total 0".to_owned(),
        "truthfed_offers_total 2".to_owned(),
        format!("truthfed_deliveries_total {winners}"),
        format!("truthfed_payments_total {winners}"),
        "truthfed_defaults_total 0".to_owned(),
        "truthfed_members 2".to_owned(),
        "truthfed_open_round 0".to_owned(),
        "truthfed_closed_round 1".to_owned(),
        "truthfed_lease_epoch 1".to_owned(),
        "truthfed_connections 2".to_owned(),
        format!("truthfed_journal_entries {}", world.head().0),
        r#"truthfed_requests_total{route="POST /v1/rounds/{round}/offer",code="ok"} 2"#.to_owned(),
        r#"truthfed_requests_total{route="unmatched",code="not-found"} 1"#.to_owned(),
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} is not in\n{metrics}");
    }
    for secret in ["m1", "m2", "secret"] {
        assert!(!metrics.contains(secret), "{secret}");
    }
    let document: serde_json::Value = m1.client.get("/openapi.json").await.ok();
    let (status, same) = plain(admin, "/openapi.json").await;
    assert_eq!((status, serde_json::from_str::<serde_json::Value>(&same).unwrap()), (200, document));
    for (nothing, status) in
        [("/v1/view", 404), ("/nothing", 404), ("/v1/operator/members", 401), ("/page/members", 401)]
    {
        assert_eq!(plain(admin, nothing).await.0, status, "{nothing}");
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn handshakes_that_are_refused_are_counted_and_told_with_whose_certificate_it_was() {
    let world = World::new(&["m1", "m2"], |_| {});
    let running = world.start().await;
    let (now, day) = (SystemTime::now(), Duration::from_secs(86_400));
    let past = Validity { from: now - 3 * day, until: now - day };
    let expired = world.identities.authority.issue_member(&id("late-riser"), past).unwrap();
    let stranger = Identities::new("127.0.0.1", &["m9"]).members[&id("m9")].clone();
    for refused in [&expired, &expired, &stranger] {
        let client = world.client(refused, running.addresses());
        assert!(client.try_send(axum::http::Method::GET, "/v1/view", "").await.is_err());
    }
    let (_, metrics) = plain(running.addresses().admin, "/metrics").await;
    let expires = world.identities.server.certificate().expires().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    for line in [
        r#"truthfed_handshakes_refused_total{why="expired"} 2"#.to_owned(),
        r#"truthfed_handshakes_refused_total{why="foreign"} 1"#.to_owned(),
        format!("truthfed_certificate_expires_seconds {}", expires.as_secs()),
        format!(r#"truthfed_build_info{{version="{}"}} 1"#, env!("CARGO_PKG_VERSION")),
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} is not in\n{metrics}");
    }
    let told = |line: &Value| line["name"] == "late-riser" && line["last_day"] == expired.certificate().last_day();
    assert_eq!(logged().iter().filter(|line| told(line)).count(), 1, "once a minute");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn the_plain_listener_is_for_this_machine_only() {
    let world = World::new(&["m1"], |_| {});
    for wide in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"] {
        let mut config = world.config();
        config.admin = wide.parse().unwrap();
        let refused = coordinator::start(config).await.unwrap_err();
        assert!(matches!(refused, ServerError::NotLoopback(_)), "{refused}");
    }
}

#[tokio::test]
async fn one_line_is_logged_for_every_request() {
    let (_world, running, [party]) = World::running(["m-logged"]).await;
    party.client.get("/v1/terms").await;
    party.client.get("/v1/operator/status").await;
    running.stop().await.unwrap();
    let mut lines = logged();
    lines.retain(|line| line["member"] == "m-logged" && line["message"] == "request");
    let told: Vec<_> =
        lines.iter().map(|line| (line["route"].as_str(), line["status"].as_u64(), line["code"].as_str())).collect();
    assert_eq!(
        told,
        [
            (Some("GET /v1/terms"), Some(200), Some("ok")),
            (Some("GET /v1/operator/status"), Some(403), Some("not-operator")),
        ]
    );
    assert!(lines.iter().all(|line| line["ms"].is_number()));
}

#[tokio::test]
async fn a_page_in_a_browser_could_read_the_plain_listener_under_a_name_of_its_own() {
    let (_world, running, []) = World::running([]).await;
    let admin = running.addresses().admin;
    for host in ["attacker.example", "attacker.example:80", "127.0.0.1.attacker.example", "10.0.0.1"] {
        for path in ["/healthz", "/metrics", "/openapi.json", "/nothing"] {
            let (status, body) = plain_at(admin, host, path).await;
            assert!(status == 400 && body.contains("header Host"), "{host}{path}: {status} {body}");
        }
    }
    for host in ["localhost", "127.0.0.1", "[::1]", &admin.to_string(), &format!("localhost:{}", admin.port())] {
        assert_eq!(plain_at(admin, host, "/healthz").await.0, 200, "{host}");
    }
    running.stop().await.unwrap();
}

#[tokio::test]
async fn the_json_log_wrote_the_numbers_of_rounds_as_text() {
    let (_world, running, [m1, m2]) = World::running(["m1-numbers", "m2-numbers"]).await;
    whole_round(&[&m1, &m2], &[1_000_000, 2_000_000]).await;
    running.stop().await.unwrap();
    let lines = logged();
    assert!(lines.iter().any(|line| line["message"] == "round opened" && line["asked_by"] == "m1-numbers"));
    for line in lines {
        let fields = line.as_object().unwrap().iter().filter(|(name, _)| *name != "timestamp");
        let mut texts = fields.filter_map(|(name, value)| Some((name, value.as_str()?)));
        let number = texts.find(|(_, text)| text.parse::<f64>().is_ok());
        assert_eq!(number, None, "{line}");
    }
}
