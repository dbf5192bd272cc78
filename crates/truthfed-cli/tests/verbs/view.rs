//! `truthfed view` from outside: a page about a folder, for whoever has the link.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::folders::{records, truthfed};

const SMALL: [&str; 8] =
    ["--set", "world.clients=5", "--set", "world.steps=300", "--set", "world.arm_count=50", "--seeds", "3"];

/// A page that is served, to somebody who is logged in.
pub(crate) struct Page {
    process: Child,
    host: String,
    secrets: String,
}

impl Page {
    /// Runs `truthfed view` in a folder, and opens the link that it prints.
    pub(crate) fn open(folder: &Path, args: &[&str]) -> Page {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("truthfed"));
        command.arg("view").args(args).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let told = line.strip_prefix("Open http://").unwrap_or_else(|| panic!("{line}"));
        let (host, link) = told.trim_end().split_once("/#login=").unwrap();
        let mut page = Page { process, host: host.to_owned(), secrets: String::new() };
        let body = json!({ "link": link }).to_string();
        let (head, answer) = page.ask("POST", "/page/login", &body);
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        let cookie = cookie.split(';').next().unwrap();
        let key: Value = serde_json::from_str(&answer).unwrap();
        let (refused, _) = page.ask("POST", "/page/login", &body);
        assert!(refused.starts_with("HTTP/1.1 401 "), "a link works once: {refused}");
        page.secrets = format!("Cookie: {cookie}\r\nX-Truthfed-Key: {}\r\n", key["key"].as_str().unwrap());
        page
    }

    /// The head and the body of an answer.
    fn ask(&self, method: &str, path: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let (host, secrets, length) = (&self.host, &self.secrets, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{secrets}Content-Length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    #[track_caller]
    pub(crate) fn view(&self, question: &str) -> Value {
        let (head, body) = self.ask("GET", &format!("/page/view/{question}"), "");
        assert!(head.starts_with("HTTP/1.1 200 "), "{question}: {head} {body}");
        serde_json::from_str(&body).unwrap()
    }

    #[track_caller]
    fn refused(&self, question: &str, expected: &str) {
        let (head, body) = self.ask("GET", &format!("/page/view/{question}"), "");
        assert!(head.starts_with("HTTP/1.1 404 ") && body.contains(expected), "{question}: {head} {body}");
    }

    /// Ends it as an operating system would.
    pub(crate) fn end(mut self) {
        let killed = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status().unwrap();
        assert!(killed.success());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // After a test that failed; one that ended has no process.
        let _ = self.process.kill();
    }
}

/// The commands in the help that name this folder first, without `truthfed view`.
pub(crate) fn examples(first: &str) -> Vec<String> {
    let help = truthfed(Path::new("."), &["view", "--help"], "").done();
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    let lines = examples.lines().map_while(|line| line.strip_prefix("  truthfed view "));
    let commands = lines.map(|line| line.split_once("  ").unwrap().0.to_owned());
    let found: Vec<String> = commands.filter(|command| command.starts_with(first)).collect();
    assert!(!found.is_empty(), "{help}");
    found
}

/// Runs `clock` and `greedy`, and a sweep in `grid`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for mechanism in ["clock", "greedy"] {
        let set = format!("rounds.mechanism={mechanism}");
        let args = ["simulate", "--no-rounds", "--out", mechanism, "--set", &set];
        truthfed(folder.path(), &[&args[..], &SMALL].concat(), "").done();
    }
    std::fs::write(folder.path().join("sweep.toml"), crate::sweep::SMALL).unwrap();
    truthfed(folder.path(), &["sweep", "sweep.toml", "--out", "grid"], "").done();
    folder
}

#[test]
fn a_figure_of_columns_is_that_of_plot() {
    let folder = folder();
    for (first, question, columns) in [
        ("clock", "file=curves.csv&x=step&y=regret", ["step", "regret"]),
        ("grid", "x=world.clients&y=incentive&by=rounds.mechanism", ["world.clients", "incentive"]),
    ] {
        for example in examples(first) {
            let page = Page::open(folder.path(), &example.split(' ').collect::<Vec<_>>());
            let folders: Vec<&str> = example.split(' ').take_while(|word| !word.starts_with("--")).collect();
            let [x, y] = columns;
            truthfed(folder.path(), &[&["plot"], &folders[..], &["-x", x, "-y", y]].concat(), "").done();
            let plotted = records(&std::fs::read(folder.path().join("plot.csv")).unwrap());
            let shown = page.view(&format!("figure?{question}"));
            let series = shown["figure"]["charts"][0]["data"]["lines"]["series"].as_array().unwrap();
            let points = series.iter().flat_map(|series| {
                let name = series["name"].as_str().unwrap();
                let points = series["points"].as_array().unwrap().iter();
                points
                    .map(move |point| (name.to_owned(), ["x", "mean", "error"].map(|key| point[key].as_f64().unwrap())))
            });
            let expected = plotted
                .iter()
                .map(|point| (point["series"].clone(), ["x", "mean", "sd"].map(|key| point[key].parse().unwrap())));
            assert!(points.eq(expected), "{example}");
            let looks = shown["looks"].as_array().unwrap();
            let names =
                |values: &[Value]| values.iter().map(|it| it["name"].clone()).filter(|it| it != "").collect::<Vec<_>>();
            assert_eq!(names(looks), names(series), "{example}");
            let contents = page.view("contents");
            assert_eq!(contents["name"], folders.join(", "));
            assert_eq!(contents["config"].as_array().unwrap().len(), folders.len());
            page.end();
        }
    }
}

#[test]
fn questions_that_have_no_answer_are_told_what_there_is() {
    let folder = folder();
    let page = Page::open(folder.path(), &["clock"]);
    let tables = page.view("contents")["tables"].clone();
    let columns = |file: &str| {
        let table = tables.as_array().unwrap().iter().find(|table| table["file"] == file).unwrap();
        let numbers = table["columns"].as_array().unwrap().iter().filter(|column| column["is_number"] == true);
        numbers.map(|column| column["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let rounds = columns("rounds.csv");
    assert!(rounds.contains(&"winners".to_owned()) && !rounds.contains(&"ending".to_owned()), "{rounds:?}");
    page.refused("figure?x=step&y=lies", "clock has no column `lies`: curves.csv has seed, step, regret");
    page.refused("figure?file=clients.csv&x=step&y=regret", "clock has no column `step`: clients.csv has seed, client");
    page.refused("figure?x=step&y=ending", "column `ending` holds `settled`, which is no number");
    page.refused("figure?y=regret", "name a column for the horizontal axis");
    page.refused("figure?x=step", "name 1 to 4 columns for vertical axes, not 0");
    page.refused("figure?id=figure-1a", "there is no figure `figure-1a`");
    page.refused("figure?file=curves.csv&x=seed&y=regret&by=step", "that can be told apart: choose another column");
    page.refused("secrets", "there is no `secrets` to see");
    page.end();
}

#[test]
fn nobody_without_the_link_sees_anything() {
    let folder = folder();
    let mut page = Page::open(folder.path(), &["clock"]);
    let secrets = std::mem::take(&mut page.secrets);
    let (cookie, key) = secrets.split_once("\r\n").unwrap();
    for (who, headers, status) in [
        ("a stranger", String::new(), 401),
        ("the cookie alone", format!("{cookie}\r\n"), 401),
        ("the key alone", key.to_owned(), 401),
        ("a foreign origin", format!("{secrets}Origin: http://attacker.example\r\n"), 400),
        ("a foreign site", format!("{secrets}Sec-Fetch-Site: cross-site\r\n"), 400),
    ] {
        page.secrets = headers;
        for question in ["contents", "figure?x=step&y=regret"] {
            let (head, body) = page.ask("GET", &format!("/page/view/{question}"), "");
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{who}: {head}");
            assert!(head.contains("content-security-policy: default-src 'none'") && !body.contains("regret"), "{who}");
        }
    }
    page.end();
}
