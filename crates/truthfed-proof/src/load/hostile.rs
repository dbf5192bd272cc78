//! Connections that take and do not give: silent, half open, or a byte a second.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use truthfed_node::federation::Bundle;
use truthfed_node::net::client_tls;

use crate::load::agent::From;

/// Bytes of a slow body that come one by one.
const LAST: usize = 4000;
/// Between two bytes of a slow connection.
const PACE: Duration = Duration::from_secs(1);
/// Before a connection that was closed is opened again.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest wait for all connections to be open.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Connects and says nothing.
    Silent,
    /// Begins a handshake and leaves the answer unread.
    HalfHandshake,
    /// Authenticated: the headers of a request, a byte a second.
    SlowHead,
    /// Authenticated: the body of an offer, of which so many bytes are announced, the last of them a byte a second.
    SlowBody(usize),
    /// Authenticated: one whole request after the other, each a byte a second.
    SlowRequests,
}

impl Kind {
    /// The kind of the connection of that number, of so many: a fifth of them are authenticated.
    pub fn of(number: usize) -> Kind {
        match number % 15 {
            0..=5 => Kind::Silent,
            6..=11 => Kind::HalfHandshake,
            12 => Kind::SlowHead,
            13 => Kind::SlowBody(LAST),
            _ => Kind::SlowRequests,
        }
    }

    pub fn is_authenticated(self) -> bool {
        matches!(self, Kind::SlowHead | Kind::SlowBody(_) | Kind::SlowRequests)
    }
}

/// One attacker: opens a connection again whenever it is closed.
#[derive(Debug, Clone)]
pub struct Attacker {
    kind: Kind,
    to: SocketAddr,
    from: Ipv4Addr,
    tls: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Attacker {
    /// With the certificate of a member, which only some kinds show.
    pub fn new(kind: Kind, to: SocketAddr, from: Ipv4Addr, bundle: &Bundle) -> anyhow::Result<Attacker> {
        let tls = client_tls(&bundle.identity, &bundle.authority)?;
        Ok(Attacker { kind, to, from, tls, name: ServerName::try_from(bundle.server_name.clone())? })
    }

    async fn attack_for_ever(self, open: Arc<AtomicUsize>) {
        loop {
            if let Ok(stream) = From(self.from).reach(self.to).await {
                open.fetch_add(1, Ordering::Relaxed);
                // Whatever ends it: it comes again.
                let _ = self.attack(stream).await;
                open.fetch_sub(1, Ordering::Relaxed);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn attack(&self, mut stream: TcpStream) -> anyhow::Result<()> {
        let authenticated = |stream| TlsConnector::from(self.tls.clone()).connect(self.name.clone(), stream);
        match self.kind {
            Kind::Silent => hear_out(&mut stream).await,
            Kind::HalfHandshake => {
                let mut hello = Vec::new();
                rustls::ClientConnection::new(self.tls.clone(), self.name.clone())?.write_tls(&mut hello)?;
                stream.write_all(&hello).await?;
                hear_out(&mut stream).await
            }
            Kind::SlowHead => {
                let head = "GET /v1/view HTTP/1.1\r\nhost: coordinator\r\nx-endless: ";
                trickle(authenticated(stream).await?, head, b'x').await
            }
            Kind::SlowBody(bytes) => {
                let mut stream = authenticated(stream).await?;
                let head = "POST /v1/rounds/1/offer HTTP/1.1\r\nhost: coordinator\r\ncontent-length: ";
                stream.write_all(format!("{head}{bytes}\r\n\r\n").as_bytes()).await?;
                stream.write_all(&vec![b' '; bytes.saturating_sub(LAST)]).await?;
                trickle(stream, "", b' ').await
            }
            Kind::SlowRequests => {
                let requests = "GET /v1/view HTTP/1.1\r\nhost: c\r\n\r\n".repeat(100);
                trickle(authenticated(stream).await?, &requests, b'x').await
            }
        }
    }
}

/// Reads, slowly enough to be no load, until the other side closes.
async fn hear_out(stream: &mut (impl AsyncRead + Unpin)) -> anyhow::Result<()> {
    let mut some = [0; 1024];
    while stream.read(&mut some).await? > 0 {}
    Ok(())
}

/// Writes a text and then one byte without end, a byte at a time, until the other side closes.
async fn trickle(stream: impl AsyncRead + AsyncWrite + Unpin, text: &str, then: u8) -> anyhow::Result<()> {
    let (mut reading, mut writing) = tokio::io::split(stream);
    let write = async {
        for byte in text.bytes().chain(std::iter::repeat(then)) {
            writing.write_all(&[byte]).await?;
            writing.flush().await?;
            tokio::time::sleep(PACE).await;
        }
        bail!("the text has no end")
    };
    tokio::select! {
        ended = hear_out(&mut reading) => ended,
        ended = write => ended,
    }
}

/// Attackers at work, until this is dropped.
#[derive(Debug)]
pub struct Attack {
    open: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Attack {
    /// Begins, and waits until nearly all connections are open. (Those that are thrown out come again.)
    pub async fn begin(attackers: Vec<Attacker>) -> anyhow::Result<Attack> {
        let (open, all, mut tasks) = (Arc::new(AtomicUsize::new(0)), attackers.len(), JoinSet::new());
        for attacker in attackers {
            tasks.spawn(attacker.attack_for_ever(open.clone()));
        }
        let attack = Attack { open, _tasks: tasks };
        let started = Instant::now();
        while attack.open() < all - all / 10 {
            ensure!(started.elapsed() < PATIENCE, "only {} of {all} hostile connections are open", attack.open());
            tokio::time::sleep(PAUSE).await;
        }
        Ok(attack)
    }

    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_thousand_connections_a_fifth_is_authenticated_and_no_kind_is_left_out() {
        let count = |is_it: fn(Kind) -> bool| (0..2000).map(Kind::of).filter(|&kind| is_it(kind)).count();
        assert_eq!(count(|kind| kind == Kind::Silent) + count(|kind| kind == Kind::HalfHandshake), 1601);
        assert_eq!(count(Kind::is_authenticated), 399);
        for kind in [Kind::SlowHead, Kind::SlowBody(LAST), Kind::SlowRequests] {
            assert_eq!((0..2000).map(Kind::of).filter(|&other| other == kind).count(), 133);
        }
    }
}
