//! Real processes of the binary, and signals.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use truthfed_node::kill::{SIGNAL, VARIABLE};

use super::life::{PATIENCE, PAUSE};

const ANSWER: Duration = Duration::from_secs(10);

/// A process that is killed when it goes out of sight.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

#[derive(Debug, PartialEq)]
pub(crate) enum End {
    Killed,
    /// By itself, with this code.
    Code(Option<i32>),
}

impl Process {
    /// Starts the binary; it kills itself at a point, if there is one. With `STOP ` before the point it only stops itself.
    pub(crate) fn start(args: &[&str], log: &Path, kill_at: Option<&str>) -> Process {
        let stderr = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        let mut command = binary(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        if let Some(point) = kill_at {
            let (signal, point) = point.split_once(' ').unwrap_or(("KILL", point));
            command.env(VARIABLE, point).env(SIGNAL, signal);
        }
        Process { child: command.spawn().unwrap(), log: log.to_owned() }
    }

    pub(crate) fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success(), "{line}");
    }

    pub(crate) fn end(&mut self) -> Option<End> {
        let status = self.child.try_wait().unwrap()?;
        Some(if status.signal() == Some(9) { End::Killed } else { End::Code(status.code()) })
    }

    /// All that it and its predecessors logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn await_end(process: &mut Process) -> End {
    let begin = Instant::now();
    loop {
        if let Some(end) = process.end() {
            return end;
        }
        assert!(begin.elapsed() < PATIENCE, "it does not end\n{}", process.log());
        std::thread::sleep(PAUSE);
    }
}

/// `truthfed` as this crate's binary runs it: built for the tests, and so with the kill points of this process.
fn binary(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_truthfed-proof"));
    command.arg("truthfed").args(args).env_remove(VARIABLE);
    command
}

pub(crate) fn verb(args: &[&str]) -> Output {
    binary(args).output().unwrap()
}

/// What a verb prints that must succeed.
pub(crate) fn done(args: &[&str]) -> String {
    let output = verb(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A plain request as curl would make it; none when nobody answers, or not with 200.
pub(crate) fn http(port: u16, method: &str, path: &str, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(ANSWER)).ok()?;
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200 ").then(|| body.to_owned())
}
