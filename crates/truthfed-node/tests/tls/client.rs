//! The client: its kept connection, and what it waits for.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use truthfed_node::net::{Client, ClientLimits, Connect, Limits, NetError};

use crate::world::{SHORT, World, ask, soon};

#[tokio::test]
async fn a_client_keeps_its_connection() {
    let world = World::start(Limits::default()).await;
    let client = world.client(&world.member());
    let first = soon(client.send(ask("/port"), None)).await.unwrap().body;
    assert_eq!(soon(client.send(ask("/port"), None)).await.unwrap().body, first);
    let fresh =
        world.client(&world.member()).with_limits(ClientLimits { idle: Duration::ZERO, ..ClientLimits::default() });
    let first = soon(fresh.send(ask("/port"), None)).await.unwrap().body;
    assert_ne!(soon(fresh.send(ask("/port"), None)).await.unwrap().body, first, "not one that was idle for too long");
}

/// A connection whose response was read is not ready for the next request at once: another connection was opened then.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_client_keeps_its_connection_however_soon_it_sends_again() {
    let world = World::start(Limits::default()).await;
    let network = Watched { hesitates: Duration::from_millis(5), ..Watched::default() };
    let client = Client::over(network, &world.address.to_string(), "localhost", world.config(&world.member())).unwrap();
    let asked = async {
        let first = client.send(ask("/port"), None).await.unwrap().body;
        for _ in 0..20 {
            assert_eq!(client.send(ask("/port"), None).await.unwrap().body, first);
        }
    };
    soon(asked).await;
}

#[tokio::test]
async fn a_client_connects_again_when_the_server_was_restarted() {
    let world = World::start(Limits::default()).await;
    let network = Watched::default();
    let ended = network.ended.clone();
    let address = world.address.to_string();
    let client = Client::over(network, &address, "localhost", world.config(&world.member())).unwrap();
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    world.stop.send(true).unwrap();
    soon(world.server).await.unwrap();
    soon(ended.notified()).await;
    assert!(matches!(soon(client.send(ask("/who"), None)).await, Err(NetError::Unreachable { .. })));
    let world = World::at(&address, world.authority, Limits::default()).await;
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());
    drop(world);
}

/// Tells when a connection is given up, and hesitates whenever there is nothing to read.
#[derive(Clone, Default)]
struct Watched {
    ended: Arc<Notify>,
    hesitates: Duration,
}

struct WatchedStream(TcpStream, Watched);

impl Connect for Watched {
    type Stream = WatchedStream;

    async fn connect(&self, address: &str) -> io::Result<WatchedStream> {
        Ok(WatchedStream(TcpStream::connect(address).await?, self.clone()))
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.0).poll_read(cx, buf);
        if read.is_pending() {
            std::thread::sleep(self.1.hesitates);
        }
        read
    }
}

impl Drop for WatchedStream {
    fn drop(&mut self) {
        self.1.ended.notify_one();
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

#[tokio::test]
async fn a_client_gives_up_in_time_and_goes_on_with_the_next_request() {
    let world = World::start(Limits::default()).await;
    let client = world.client(&world.member());
    assert!(matches!(soon(client.send(ask("/wait"), Some(SHORT))).await, Err(NetError::Timeout(SHORT))));
    assert!(soon(client.send(ask("/who"), None)).await.unwrap().status.is_success());
}

#[tokio::test]
async fn a_client_bounds_what_it_reads_and_how_long_it_connects() {
    let world = World::start(Limits::default()).await;
    let limits = ClientLimits { response_bytes: 1000, connect: SHORT, ..ClientLimits::default() };
    let client = world.client(&world.member()).with_limits(limits);
    assert!(matches!(soon(client.send(ask("/large"), None)).await, Err(NetError::TooLarge(1000))));
    assert!(soon(client.send(ask("/who"), None)).await.is_ok());

    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = mute.local_addr().unwrap().to_string();
    let client = Client::new(&address, "localhost", world.config(&world.member())).unwrap().with_limits(limits);
    assert!(matches!(soon(client.send(ask("/who"), None)).await, Err(NetError::Timeout(SHORT))));
}
