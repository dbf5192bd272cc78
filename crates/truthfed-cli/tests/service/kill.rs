//! Real processes, killed with -9 in the middle of rounds: they end as if undisturbed.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

/// A process that is killed, with -9, when it is dropped.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    fn start(args: &[&str], log: &Path) -> Process {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_truthfed"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        Process(child.unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

pub(crate) struct Federation {
    pub(crate) place: tempfile::TempDir,
    /// Of the agents' local interfaces.
    pub(crate) ports: Vec<u16>,
    pub(crate) admin: u16,
}

impl Federation {
    pub(crate) fn new(members: usize) -> Federation {
        let place = tempfile::tempdir().unwrap();
        let ports: Vec<u16> = free_ports(members + 2);
        let folder = place.path().join("fed");
        let listen = format!("127.0.0.1:{}", ports[0]);
        let sets = [
            format!("listen={listen}"),
            format!("address={listen}"),
            format!("admin=127.0.0.1:{}", ports[1]),
            "terms.bandit.dimension=2".to_owned(),
            "terms.trigger.threshold=0".to_owned(),
            "terms.offers_ms=60000".to_owned(),
            "terms.deliveries_ms=60000".to_owned(),
            "terms.gap_ms=0".to_owned(),
            "terms.least_samples=0".to_owned(),
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_truthfed"));
        command.arg("init").arg(&folder).arg("--members").arg(members.to_string());
        command.args(sets.iter().flat_map(|set| ["--set", set]));
        assert!(command.output().unwrap().status.success());
        Federation { place, ports: ports[2..].to_vec(), admin: ports[1] }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("fed")
    }

    pub(crate) fn serve(&self) -> Process {
        let folder = self.folder().display().to_string();
        let process = Process::start(&["serve", &folder, "--lease-ms", "500"], &self.place.path().join("serve.log"));
        until("the coordinator is well", || {
            http(self.admin, "GET", "/healthz", "").is_some_and(|(code, _)| code == 200)
        });
        process
    }

    pub(crate) fn agent(&self, number: usize) -> Process {
        let bundle = self.folder().join(format!("members/m{}", number + 1)).display().to_string();
        let policy = self.place.path().join(format!("policy{number}.toml"));
        std::fs::write(&policy, format!("kind = \"constant\"\nask = \"{}\"", 10 * (number + 1))).unwrap();
        let listen = format!("127.0.0.1:{}", self.ports[number]);
        let args = ["agent", &bundle, "--ask", &policy.display().to_string(), "--listen", &listen];
        let process = Process::start(&args, &self.place.path().join(format!("agent{number}.log")));
        until("the agent answers", || http(self.ports[number], "GET", "/healthz", "").is_some());
        process
    }

    /// As the member's application asks its agent: with the token that the agent has made.
    pub(crate) fn call(&self, number: usize, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let token = self.folder().join(format!("members/m{}/agent.token", number + 1));
        let token = std::fs::read_to_string(token).unwrap();
        http_with(self.ports[number], method, path, body, &format!("Authorization: Bearer {}\r\n", token.trim_end()))
    }

    /// The member's application: one step.
    fn act(&self, number: usize, step: usize) {
        let arms = if step.is_multiple_of(2) { "[[1, 0], [0.6, 0.8]]" } else { "[[0, 1], [0.8, 0.6]]" };
        let (_, choice) = self.call(number, "POST", "/choose", &format!("{{\"arms\": {arms}}}")).unwrap();
        let choice: Value = serde_json::from_str(&choice).unwrap();
        let learn = format!("{{\"decision\": {}, \"reward\": 0.5}}", choice["decision"]);
        let (code, body) = self.call(number, "POST", "/learn", &learn).unwrap();
        assert_eq!(code, 200, "{body}");
    }

    fn status(&self, number: usize) -> Value {
        serde_json::from_str(&self.call(number, "GET", "/status", "").unwrap().1).unwrap()
    }

    fn verb(&self, args: &[&str]) -> (Option<i32>, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_truthfed")).args(args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        (output.status.code(), text)
    }
}

fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A plain request as curl would make it; none when nobody answers.
pub(crate) fn http(port: u16, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
    http_with(port, method, path, body, "")
}

/// The same with another header.
fn http_with(port: u16, method: &str, path: &str, body: &str, header: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{header}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let code = answer.split(' ').nth(1)?.parse().ok()?;
    Some((code, answer.split_once("\r\n\r\n")?.1.to_owned()))
}

/// What is told of a round that does not hang on keys: samples offered, winners, payments, who was paid and whose payment waits.
fn essence(round: &Value) -> Value {
    let of = |list: &str, keys: &[&str]| -> Vec<Value> {
        let lines = round[list].as_array().unwrap().iter();
        let mut lines: Vec<Value> = lines.map(|line| keys.iter().map(|key| line[*key].clone()).collect()).collect();
        // An offer that a killed agent had not sent yet comes later.
        lines.sort_by_key(ToString::to_string);
        lines
    };
    serde_json::json!({
        "offers": of("offers", &["member", "samples", "ask_micros"]),
        "awards": of("awards", &["member", "ask_micros", "payment_micros", "essential"]),
        "paid": round["paid"],
        "waiting": round["waiting"],
        "defaulted": round["defaulted"],
    })
}

/// One member offers, the other is not there yet; then coordinator and agent are killed, if they are to be disturbed.
fn play(disturbed: bool) -> Value {
    let federation = Federation::new(2);
    // It goes on deciding while there is no coordinator.
    let absent = federation.agent(0);
    (0..5).for_each(|step| federation.act(0, step));
    drop(absent);
    let mut coordinator = federation.serve();
    let mut second = federation.agent(1);
    federation.act(1, 0);
    until("the second agent has offered", || federation.status(1)["in_flight"] == 1);
    if disturbed {
        drop((coordinator, second));
        second = federation.agent(1);
        coordinator = federation.serve();
    }
    let first = federation.agent(0);
    until("the round is settled for both", || (0..2).all(|number| federation.status(number)["last_round"] != 0));
    let folder = federation.folder().display().to_string();
    let (code, text) = federation.verb(&["ledger", "verify", &folder]);
    assert!(code == Some(0) && text.ends_with(" 0 problems\n"), "{text}");
    let (code, text) = federation.verb(&["round", "show", &folder, "1", "--json"]);
    assert_eq!(code, Some(0), "{text}");
    // With the agent gone, its own receipts say what it was paid.
    drop((coordinator, first, second));
    let (code, receipts) = federation.verb(&["ledger", "statement", &format!("{folder}/members/m1")]);
    assert!(code == Some(0) && receipts.contains("all signed by the coordinator"), "{receipts}");
    essence(&serde_json::from_str(&text).unwrap())
}

#[test]
fn coordinator_and_agent_killed_in_the_middle_of_a_round_end_it_as_if_undisturbed() {
    let undisturbed = play(false);
    // Nobody else's data confirms what it delivered: its payment waits.
    assert_eq!((&undisturbed["paid"], &undisturbed["waiting"]), (&serde_json::json!([]), &serde_json::json!(["m1"])));
    assert_eq!(play(true), undisturbed);
}
