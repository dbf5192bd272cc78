//! Peers that say nothing, half of something, or do not listen: they are cut off in time, and nobody waits for them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use truthfed_node::net::{Limits, client_tls};
use truthfed_node::terms::RawTerms;
use turmoil::net::TcpStream;

use crate::federation::{COORDINATOR, PORT, people, terms};
use crate::world::{TICK, World};

/// When the connections of a peer ended, and what it had heard by then.
type Ends = Vec<(Duration, String)>;
/// More than the way there and back takes.
const SOON: Duration = Duration::from_millis(100);

/// Nobody can be waited for without being noticed.
fn patient_terms() -> RawTerms {
    RawTerms { offers_ms: 600_000, deliveries_ms: 600_000, ..terms() }
}

async fn connect() -> TcpStream {
    TcpStream::connect((COORDINATOR, PORT)).await.unwrap()
}

/// A connection with the operator's certificate: nobody's part in rounds hangs on it.
async fn greet() -> TlsStream<TcpStream> {
    let tls = client_tls(&people().operator, people().authority.identity().certificate()).unwrap();
    let name = ServerName::try_from(COORDINATOR).unwrap();
    TlsConnector::from(tls).connect(name, connect().await).await.unwrap()
}

/// Waits until the other side closes.
async fn end(mut stream: impl AsyncRead + Unpin, since: Instant) -> (Duration, String) {
    let mut heard = Vec::new();
    // A connection that is cut off may end in the middle of something.
    let _ = stream.read_to_end(&mut heard).await;
    (since.elapsed(), String::from_utf8_lossy(&heard).into_owned())
}

/// More connections than one address may have, without a word.
async fn say_nothing() -> Ends {
    let (since, mut streams) = (Instant::now(), JoinSet::new());
    for _ in 0..Limits::default().connections_per_address + 8 {
        streams.spawn(async move { end(connect().await, since).await });
    }
    streams.join_all().await
}

/// The beginning of a handshake.
async fn stammer() -> Ends {
    let (since, mut stream) = (Instant::now(), connect().await);
    stream.write_all(&[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]).await.unwrap();
    vec![end(stream, since).await]
}

async fn say(words: &str) -> Ends {
    let (mut stream, since) = (greet().await, Instant::now());
    stream.write_all(words.as_bytes()).await.unwrap();
    vec![end(stream, since).await]
}

/// Requests whose answers nobody takes, until the connection is reset.
async fn ask_without_listening() -> Ends {
    let (mut stream, since) = (greet().await, Instant::now());
    let ask = async {
        loop {
            stream.write_all(b"GET /v1/operator/members HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
            stream.flush().await.unwrap();
        }
    };
    let until_reset = async {
        while turmoil::established_tcp_stream_count() > 0 {
            tokio::time::sleep(TICK).await;
        }
    };
    tokio::select! {
        () = ask => {}
        () = until_reset => {}
    }
    vec![(since.elapsed(), String::new())]
}

/// Rounds beside such peers; how each of them ended.
fn ends() -> BTreeMap<&'static str, Ends> {
    let mut world = World::new(patient_terms(), Limits::default(), 3);
    let ends: Arc<Mutex<BTreeMap<&'static str, Ends>>> = Arc::default();
    let mut invite = |name: &'static str, peer: std::pin::Pin<Box<dyn Future<Output = Ends>>>| {
        let ends = ends.clone();
        world.sim.client(name, async move {
            let end = peer.await;
            ends.lock().unwrap().insert(name, end);
            Ok(())
        });
    };
    invite("silent", Box::pin(say_nothing()));
    invite("stammerer", Box::pin(stammer()));
    invite("half-head", Box::pin(say("GET /v1/operator/members HTTP/1.1\r\nhost: x\r\n")));
    invite("half-body", Box::pin(say("POST /v1/operator/members HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n{")));
    invite("deaf", Box::pin(ask_without_listening()));
    world.run_rounds(20, Duration::from_secs(30));
    world.run_for(Duration::from_secs(40));
    world.finish();
    std::mem::take(&mut ends.lock().unwrap())
}

#[test]
fn peers_that_are_slow_or_silent_are_cut_off_in_time_and_hold_up_no_round() {
    let (ends, limits) = (ends(), Limits::default());
    let is_at = |end: &(Duration, String), at: Duration| end.0 >= at && end.0 < at + SOON;
    let silent = &ends["silent"];
    let waited = silent.iter().filter(|end| is_at(end, limits.handshake)).count();
    let turned_away = silent.iter().filter(|end| end.0 < SOON).count();
    assert_eq!((waited, turned_away), (limits.connections_per_address, 8), "{silent:?}");
    assert!(is_at(&ends["stammerer"][0], limits.handshake), "{:?}", ends["stammerer"]);
    assert!(is_at(&ends["half-head"][0], limits.header), "{:?}", ends["half-head"]);
    let half_body = &ends["half-body"][0];
    assert!(half_body.1.contains("too-slow"), "{half_body:?}");
    assert!(half_body.0 >= limits.body, "{half_body:?}");
    assert!(is_at(&ends["deaf"][0], limits.stall), "{:?}", ends["deaf"]);
}
