//! The coordinator in a process of its own.

use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use truthfed_node::coordinator::logging::{self, Format, Level};
use truthfed_node::coordinator::{self, Config};
use truthfed_node::federation::open;

use crate::load::machine::resident_bytes;

/// The lease, as `truthfed serve` has it unless it is told otherwise.
const LEASE_MS: u64 = 5000;
/// Longest wait for a coordinator to start, to end, or to come to some state.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(2);
/// Its log, in the folder of the federation.
const LOG: &str = "server.log";

/// Where a coordinator listens, as its process tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Listens {
    members: SocketAddr,
    admin: SocketAddr,
}

/// A coordinator that runs.
#[derive(Debug)]
pub struct Server {
    process: Child,
    listens: Listens,
}

impl Server {
    /// Starts `program serve FOLDER`, which calls [`serve`].
    ///
    /// # Errors
    /// When it does not start; its log is in the folder.
    pub async fn start(program: &Path, folder: &Path) -> anyhow::Result<Server> {
        let log = File::options().create(true).append(true).open(folder.join(LOG))?;
        let mut process = Command::new(program)
            .arg("serve")
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| program.display().to_string())?;
        let output = process.stdout.take().context("its output is piped")?;
        let line = timeout(PATIENCE, BufReader::new(output).lines().next_line()).await??;
        let line = line.with_context(|| format!("the coordinator ended: see {}", folder.join(LOG).display()))?;
        Ok(Server { process, listens: serde_json::from_str(&line)? })
    }

    /// Where members call.
    pub fn address(&self) -> SocketAddr {
        self.listens.members
    }

    /// Bytes of memory that it holds.
    ///
    /// # Errors
    /// When it has ended.
    pub fn resident_bytes(&self) -> anyhow::Result<u64> {
        resident_bytes(self.process.id().context("the coordinator has ended")?)
    }

    /// Waits until it says that it is well.
    ///
    /// # Errors
    /// When it does not in time.
    pub async fn until_ready(&self) -> anyhow::Result<()> {
        self.until("/healthz", |answer| answer.starts_with("HTTP/1.1 200")).await
    }

    /// Waits until at least so many requests have come and are not answered.
    ///
    /// # Errors
    /// When they do not in time.
    pub async fn until_waiting(&self, requests: usize) -> anyhow::Result<()> {
        self.until("/metrics", |answer| metric(answer, "truthfed_requests_in_flight") >= Some(requests as f64)).await
    }

    async fn until(&self, path: &str, is_so: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            if is_so(&plain(self.listens.admin, path).await?) {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        bail!("the coordinator's {path} does not come to what is expected")
    }

    /// Ends it at once, as a loss of power ends a process.
    ///
    /// # Errors
    /// When the system does not let us.
    pub async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }

    /// Ends it in order.
    ///
    /// # Errors
    /// When it fails, or does not end in time.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        drop(self.process.stdin.take());
        let ended = timeout(PATIENCE, self.process.wait()).await??;
        ensure!(ended.success(), "the coordinator ended with {ended}");
        Ok(())
    }
}

/// What a plain listener of this machine answers.
async fn plain(address: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await??;
    Ok(answer)
}

/// The value of a metric in the text format of Prometheus.
fn metric(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Runs the coordinator of a folder as `truthfed serve` does, until standard input ends.
///
/// # Errors
/// When it does not start, or fails.
pub fn serve(folder: &Path) -> anyhow::Result<()> {
    let federation = open(folder)?;
    logging::init(Format::Text, Level::INFO);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let running = coordinator::start(Config::of(&federation, LEASE_MS)).await?;
        let coordinator::Addresses { members, admin } = running.addresses();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(&Listens { members, admin })?)?;
        out.flush()?;
        Ok(running.run_until(input_ended()).await?)
    })
}

async fn input_ended() {
    let (tell, told) = tokio::sync::oneshot::channel();
    // Of its own, as it may wait for ever: the runtime would wait for it.
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read(&mut [0]);
        tell.send(())
    });
    let _ = told.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_found_by_its_whole_name() {
        let text = "# HELP truthfed_requests x\ntruthfed_requests_in_flight 12\ntruthfed_requests 3\n";
        assert_eq!(metric(text, "truthfed_requests_in_flight"), Some(12.0));
        assert_eq!(metric(text, "truthfed_requests"), Some(3.0));
        assert_eq!(metric(text, "truthfed_request"), None);
    }
}
