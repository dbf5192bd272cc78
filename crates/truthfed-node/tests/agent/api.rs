//! The API for the member's application, by hand as with curl and through the client.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use truthfed_node::agent::local::{BindError, LocalApi};
use truthfed_node::agent::{Handle, Token};
use truthfed_node::client::{Application, ApplicationError};
use truthfed_node::error::Code;
use truthfed_node::testing::Numbers;

use crate::support::{Federation, terms};

pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Serving {
    async fn start(agent: Handle, address: &str) -> Serving {
        Serving::of(LocalApi::bind(address.parse().unwrap(), agent, None).await.unwrap())
    }

    pub(crate) fn of(api: LocalApi) -> Serving {
        let address = api.address();
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(api.serve(stopped));
        Serving { address, stop, task }
    }

    pub(crate) async fn stop(self) {
        self.stop.send(true).unwrap();
        self.task.await.unwrap();
    }
}

/// Sends bytes and reads until the agent closes: status and body.
pub(crate) async fn exchange(address: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// As `curl -d` would send it.
async fn curl(address: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let head = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n");
    let rest = "Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n";
    exchange(address, &format!("{head}{rest}Content-Length: {}\r\n\r\n{body}", body.len())).await
}

#[tokio::test]
async fn curl_can_choose_learn_and_ask_for_the_status() {
    let federation = Federation::new(1, terms());
    let serving = Serving::start(federation.agent(0), "127.0.0.1:0").await;
    let address = serving.address;
    let (status, body) = curl(address, "/choose", r#"{"arms": [[1, 0, 0], [0, 1, 0]]}"#).await;
    assert_eq!(status, 200, "{body}");
    let choice: serde_json::Value = serde_json::from_str(&body).unwrap();
    let decision = choice["decision"].as_str().unwrap();
    assert_eq!(choice["index"], 0);
    let (status, body) = curl(address, "/learn", &format!(r#"{{"decision": "{decision}", "reward": 1.5}}"#)).await;
    assert_eq!((status, body.as_str()), (200, r#"{"learned":true}"#));
    let get = format!("GET /status HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n", address.port());
    let (status, body) = exchange(address, &get).await;
    let expected = r#"{"member":"m1","known":1,"unshared":1,"in_flight":0,"own":0,"last_round":0,"coordinator_reachable":false,"earned":"0","payments_waiting":0}"#;
    assert_eq!((status, body.as_str()), (200, expected));
    serving.stop().await;
}

#[tokio::test]
async fn bodies_of_the_application_that_do_not_come_are_bounded_in_all() {
    let federation = Federation::new(1, terms());
    let serving = Serving::start(federation.agent(0), "127.0.0.1:0").await;
    let head = format!("POST /choose HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", 16 << 20);
    let mut answers = JoinSet::new();
    for _ in 0..5 {
        let mut stream = TcpStream::connect(serving.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        answers.spawn(async move {
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            String::from_utf8_lossy(&answer).into_owned()
        });
    }
    // One of them is told at once; the others are waited for.
    assert_eq!(answers.join_next().await.unwrap().unwrap(), "HTTP/1.1 503");
    answers.shutdown().await;
    serving.stop().await;
}

#[tokio::test]
async fn every_wrong_request_is_refused_with_its_code_and_changes_nothing() {
    let federation = Federation::new(1, terms());
    let agent = federation.agent(0);
    let serving = Serving::start(agent.clone(), "127.0.0.1:0").await;
    let address = serving.address;
    let (decision, _) = agent.choose(Numbers(1).arms(3)).await.unwrap();
    let (open, _) = agent.choose(Numbers(2).arms(3)).await.unwrap();
    agent.learn(decision, 0.5).await.unwrap();
    let before = agent.status().await.unwrap();
    let learn = |decision: &str, reward: &str| format!(r#"{{"decision": "{decision}", "reward": {reward}}}"#);
    let (learned, open) = (decision.to_string(), open.to_string());
    let rows = [
        ("/choose", "".to_owned(), Code::Truncated),
        ("/choose", "arms".to_owned(), Code::Malformed),
        ("/choose", r#"{"arms": [[1, 0, 0]]"#.to_owned(), Code::Truncated),
        ("/choose", r#"{"arms": [[1, 0, 0]]} x"#.to_owned(), Code::TrailingBytes),
        ("/choose", r#"{}"#.to_owned(), Code::MissingField),
        ("/choose", r#"{"arms": [[1, 0, 0]], "seed": 1}"#.to_owned(), Code::UnknownField),
        ("/choose", r#"{"arms": [1, 0, 0]}"#.to_owned(), Code::WrongType),
        ("/choose", r#"{"arms": [["1", 0, 0]]}"#.to_owned(), Code::WrongType),
        ("/choose", r#"{"arms": []}"#.to_owned(), Code::WrongType),
        ("/choose", r#"{"arms": [[1, 0]]}"#.to_owned(), Code::WrongDimension),
        ("/choose", r#"{"arms": [[1, 0, 0], []]}"#.to_owned(), Code::WrongDimension),
        ("/choose", r#"{"arms": [[1, 0, 3]]}"#.to_owned(), Code::OutOfRange),
        ("/choose", r#"{"arms": [[1, 0, 1e200]]}"#.to_owned(), Code::OutOfRange),
        ("/choose", r#"{"arms": [[1, 0, 1e999]]}"#.to_owned(), Code::NotFinite),
        ("/learn", learn("x", "1"), Code::WrongType),
        ("/learn", learn("7-00000000", "1"), Code::NotFound),
        ("/learn", learn("18446744073709551615-00000000", "1"), Code::NotFound),
        ("/learn", learn(&learned, "0.75"), Code::ConflictingRetry),
        ("/learn", learn(&open, "11"), Code::OutOfRange),
        ("/learn", learn(&open, "null"), Code::WrongType),
        ("/learn", learn(&open, "1e999"), Code::NotFinite),
        ("/learn", format!(r#"{{"decision": "{open}"}}"#), Code::MissingField),
        ("/status", "{}".to_owned(), Code::MethodNotAllowed),
        ("/", "{}".to_owned(), Code::MethodNotAllowed),
        ("/nothing", "{}".to_owned(), Code::NotFound),
        ("/choose/", "{}".to_owned(), Code::NotFound),
    ];
    for (path, body, code) in rows {
        let (status, reply) = curl(address, path, &body).await;
        let expected = format!(r#"{{"error":{{"code":"{code}","#);
        assert!(reply.starts_with(&expected) && status == code.status(), "{path} {body}: {status} {reply}");
    }
    let heads = [
        ("POST /choose HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999", Code::TooLarge),
        (
            "POST /choose HTTP/1.1\r\nHost: localhost\r\nOrigin: http://example.org\r\nContent-Length: 0",
            Code::WrongType,
        ),
        ("GET /status HTTP/1.1\r\nHost: example.org", Code::WrongType),
    ];
    for (head, code) in heads {
        let (status, reply) = exchange(address, &format!("{head}\r\nConnection: close\r\n\r\n")).await;
        assert!(reply.contains(code.name()) && status == code.status(), "{head}: {status} {reply}");
    }
    assert_eq!(agent.status().await.unwrap(), before);
    serving.stop().await;
}

#[tokio::test]
async fn the_api_is_not_offered_to_other_machines() {
    let federation = Federation::new(1, terms());
    for address in ["0.0.0.0:0", "192.0.2.1:0", "[::]:0"] {
        let error = LocalApi::bind(address.parse().unwrap(), federation.agent(0), None).await.err().unwrap();
        assert!(matches!(error, BindError::NotLoopback(_)), "{error}");
    }
    let serving = Serving::start(federation.agent(0), "127.0.0.1:0").await;
    let other = Federation::new(1, terms());
    let taken = LocalApi::bind(serving.address, other.agent(0), None);
    assert!(matches!(taken.await.err().unwrap(), BindError::Listen { .. }));
    serving.stop().await;
}

#[tokio::test]
async fn the_client_goes_on_when_the_agent_was_restarted() {
    let federation = Federation::new(1, terms());
    let serving = Serving::start(federation.agent(0), "127.0.0.1:0").await;
    let address = serving.address;
    let application = Application::connect(address, None).await.unwrap();
    let choice = application.choose(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).await.unwrap();
    serving.stop().await;
    assert!(matches!(application.status().await, Err(ApplicationError::Unreachable { .. })));
    let serving = Serving::start(federation.agent(0), &address.to_string()).await;
    application.learn(choice.decision, 0.5).await.unwrap();
    application.learn(choice.decision, 0.5).await.unwrap();
    let Err(ApplicationError::Refused(refusal)) = application.learn(choice.decision, 0.6).await else {
        panic!("another reward is refused")
    };
    assert_eq!(refusal.code, Code::ConflictingRetry);
    assert_eq!(application.status().await.unwrap().known, 1);
    serving.stop().await;
}

#[tokio::test]
async fn who_does_not_show_the_token_learns_nothing_but_that_the_agent_lives() {
    let federation = Federation::new(1, terms());
    let folder = truthfed_node::testing::folder();
    let path = folder.path().join("agent.token");
    let token = Token::at(&path).unwrap();
    let address = "127.0.0.1:0".parse().unwrap();
    let serving = Serving::of(LocalApi::bind(address, federation.agent(0), Some(token.clone())).await.unwrap());
    let text = std::fs::read_to_string(&path).unwrap();
    let shown = format!("Authorization: Bearer {}\r\n", text.trim_end());
    let others = format!("Authorization: Bearer {}\r\n", "0".repeat(64));
    let basic = shown.replace("Bearer", "Basic");
    let get =
        |path: &str, shown: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{shown}Connection: close\r\n\r\n");
    for path in ["/status", "/receipts", "/metrics", "/choose", "/nothing"] {
        for shown in ["", &others, &basic] {
            let (status, reply) = exchange(serving.address, &get(path, shown)).await;
            assert!(status == 401 && reply.contains("no-token"), "{path}: {status} {reply}");
        }
    }
    let (status, reply) = exchange(serving.address, &get("/healthz", "")).await;
    assert_eq!((status, reply.as_str()), (200, r#"{"coordinator_reachable":false}"#));
    assert_eq!(exchange(serving.address, &get("/status", &shown)).await.0, 200);
    let (status, metrics) = exchange(serving.address, &get("/metrics", &shown)).await;
    assert_eq!(status, 200);
    assert!(metrics.contains("truthfed_agent_takes_part 1\n") && metrics.ends_with("# EOF\n"), "{metrics}");
    let (status, reply) = exchange(serving.address, &get("/receipts", &shown)).await;
    assert_eq!((status, reply.as_str()), (200, r#"{"receipts":[]}"#));
    let Err(ApplicationError::Refused(refusal)) =
        Application::connect(serving.address, None).await.unwrap().status().await
    else {
        panic!("it has no token")
    };
    assert_eq!(refusal.code, Code::NoToken);
    let application = Application::connect(serving.address, Some(&token)).await.unwrap();
    assert_eq!(application.status().await.unwrap().known, 0);
    serving.stop().await;
}

#[tokio::test]
async fn many_are_chosen_and_learned_at_once_as_one_after_the_other() {
    let [at_once, in_turn] = [(); 2].map(|()| Federation::new(1, terms()).agent(0));
    let serving = Serving::start(at_once.clone(), "127.0.0.1:0").await;
    let application = Application::connect(serving.address, None).await.unwrap();
    let each: Vec<Vec<Vec<f64>>> = (1..=20).map(|seed| Numbers(seed).arms(3)).collect();
    let choices = application.choose_each(each.clone()).await.unwrap();
    let mut expected = Vec::new();
    for arms in each {
        expected.push(in_turn.choose(arms).await.unwrap());
    }
    let rewards: Vec<f64> = (0..20).map(|number| f64::from(number) / 20.0).collect();
    for ((choice, (decision, index)), reward) in choices.iter().zip(&expected).zip(&rewards) {
        assert_eq!(choice.index, *index);
        in_turn.learn(*decision, *reward).await.unwrap();
    }
    let rewards: Vec<_> = choices.iter().zip(rewards).map(|(choice, reward)| (choice.decision, reward)).collect();
    for _ in 0..2 {
        application.learn_each(&rewards).await.unwrap();
        let known = |agent: &Handle| {
            let agent = agent.clone();
            async move { agent.with(|agent| format!("{:?}", agent.known())).await }
        };
        assert_eq!(known(&at_once).await, known(&in_turn).await, "bit for bit, and the second time nothing is new");
    }
    serving.stop().await;
}

#[tokio::test]
async fn of_a_batch_with_one_mistake_nothing_is_done_and_the_mistake_is_named() {
    let federation = Federation::new(1, terms());
    let agent = federation.agent(0);
    let serving = Serving::start(agent.clone(), "127.0.0.1:0").await;
    let (first, second) =
        (agent.choose(Numbers(1).arms(3)).await.unwrap().0, agent.choose(Numbers(2).arms(3)).await.unwrap().0);
    let before = agent.status().await.unwrap();
    let learn = |rows: &[(&str, &str)]| {
        let rows: Vec<String> = rows
            .iter()
            .map(|(decision, reward)| format!(r#"{{"decision": "{decision}", "reward": {reward}}}"#))
            .collect();
        format!(r#"{{"each": [{}]}}"#, rows.join(", "))
    };
    let (first, second) = (first.to_string(), second.to_string());
    let rows = [
        ("/choose-each", r#"{"each": [[[1, 0, 0]], []]}"#.to_owned(), Code::WrongType, "each[1]"),
        ("/choose-each", r#"{"each": [[[1, 0, 0]], [[1, 0]]]}"#.to_owned(), Code::WrongDimension, "each[1]"),
        ("/choose-each", r#"{"each": [[[1, 0, 9]]]}"#.to_owned(), Code::OutOfRange, "each[0]"),
        ("/choose-each", r#"{"arms": [[1, 0, 0]]}"#.to_owned(), Code::UnknownField, "arms"),
        ("/learn-each", learn(&[(&first, "0.5"), ("9-00000000", "1")]), Code::NotFound, "each[1]"),
        ("/learn-each", learn(&[(&first, "0.5"), (&second, "99")]), Code::OutOfRange, "each[1]"),
        ("/learn-each", learn(&[(&first, "0.5"), (&first, "0.6")]), Code::ConflictingRetry, "each[1]"),
    ];
    for (path, body, code, place) in rows {
        let (status, reply) = curl(serving.address, path, &body).await;
        assert!(status == code.status() && reply.contains(code.name()) && reply.contains(place), "{body}: {reply}");
        assert_eq!(agent.status().await.unwrap(), before, "{body}");
    }
    // Nothing at all is no mistake, and the same twice is once.
    assert_eq!(curl(serving.address, "/choose-each", r#"{"each": []}"#).await.1, r#"{"choices":[]}"#);
    let (status, _) = curl(serving.address, "/learn-each", &learn(&[(&first, "0.5"), (&first, "0.5")])).await;
    assert_eq!((status, agent.status().await.unwrap().known), (200, before.known + 1));
    serving.stop().await;
}
