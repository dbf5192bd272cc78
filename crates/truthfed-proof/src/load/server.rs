//! `truthfed serve` in a process of its own.

use std::fs::{File, read_to_string};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use truthfed_node::coordinator::LEASE_MS;

use crate::load::machine::resident_bytes;

/// Longest wait for a coordinator to start, to end, or to reach some state.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(2);
const LOG: &str = "server.log";

/// Where a coordinator listens: the line `listening` of its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
struct Listens {
    members: SocketAddr,
    admin: SocketAddr,
}

#[derive(Debug)]
pub struct Server {
    process: Child,
    listens: Listens,
}

impl Server {
    pub async fn start(program: &Path, folder: &Path) -> anyhow::Result<Server> {
        Server::leasing(program, folder, Duration::from_millis(LEASE_MS)).await
    }

    /// Starts `program truthfed serve FOLDER`, and waits until it listens.
    pub async fn leasing(program: &Path, folder: &Path, lease: Duration) -> anyhow::Result<Server> {
        let path = folder.join(LOG);
        let log = File::options().create(true).append(true).open(&path)?;
        let earlier = log.metadata()?.len() as usize;
        let mut command = Command::new(program);
        command.args(["truthfed", "serve"]).arg(folder).args(["--log", "json"]);
        command.arg("--lease-ms").arg(lease.as_millis().to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
        let mut process = command.spawn().with_context(|| program.display().to_string())?;
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let log = read_to_string(&path)?;
            if let Some(listens) = log[earlier..].lines().find_map(|line| serde_json::from_str(line).ok()) {
                return Ok(Server { process, listens });
            }
            if let Some(ended) = process.try_wait()? {
                bail!("the coordinator ended with {ended}: see {}", path.display());
            }
            tokio::time::sleep(LOOK).await;
        }
        bail!("the coordinator does not listen: see {}", path.display())
    }

    /// Where members connect.
    pub fn address(&self) -> SocketAddr {
        self.listens.members
    }

    pub fn resident_bytes(&self) -> anyhow::Result<u64> {
        resident_bytes(self.process.id().context("the coordinator has ended")?)
    }

    pub fn admin(&self) -> Admin {
        Admin(self.listens.admin)
    }

    pub async fn kill(mut self) -> anyhow::Result<()> {
        Ok(self.process.kill().await?)
    }

    pub async fn stop(mut self) -> anyhow::Result<()> {
        let id = self.process.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        kill_process(id.context("the coordinator has ended")?, Signal::TERM)?;
        let ended = timeout(PATIENCE, self.process.wait()).await??;
        ensure!(ended.success(), "the coordinator ended with {ended}");
        Ok(())
    }
}

/// The plain port of a coordinator, for those who watch it.
#[derive(Debug, Clone, Copy)]
pub struct Admin(SocketAddr);

impl Admin {
    /// The role that `/healthz` names: whoever is `active` answers with 200, everyone else does not.
    pub async fn role(self) -> anyhow::Result<String> {
        #[derive(Deserialize)]
        struct Health {
            role: String,
        }
        let answer = plain(self.0, "/healthz").await?;
        let (head, body) = answer.split_once("\r\n\r\n").context("an answer has a body")?;
        let Health { role } = serde_json::from_str(body)?;
        ensure!(head.starts_with("HTTP/1.1 200") == (role == "active"), "{role}, but {head}");
        Ok(role)
    }

    pub async fn until_role(self, role: &str) -> anyhow::Result<()> {
        until(async || Ok(self.role().await? == role), role).await
    }

    pub async fn until_idle(self) -> anyhow::Result<()> {
        let is_idle = |metrics: &str| metric(metrics, "truthfed_requests_in_flight") == Some(0.0);
        until(async || Ok(is_idle(&plain(self.0, "/metrics").await?)), "idle").await
    }
}

async fn until(is_so: impl AsyncFn() -> anyhow::Result<bool>, what: &str) -> anyhow::Result<()> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if is_so().await? {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    bail!("the coordinator does not become {what}")
}

async fn plain(address: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await??;
    Ok(answer)
}

/// The value of a metric in the text format of Prometheus.
fn metric(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
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
