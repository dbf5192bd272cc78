//! Server-sent events: every step of the journal, as it is committed.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use hyper::body::Frame;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;

use super::super::service::Service;
use crate::error::Refusal;

/// A browser that reads nothing for so many events is sent no more until it does.
const AHEAD: usize = 64;
/// How often a comment shows that the connection lives: well below the time after which a server gives a connection up.
const ALIVE: Duration = Duration::from_secs(10);

/// A body that comes in pieces.
struct Pieces(mpsc::Receiver<Bytes>);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

pub(super) async fn stream(State(service): State<Arc<Service>>, headers: HeaderMap) -> Result<Response, Refusal> {
    let engine = service.stage.borrow().engine()?;
    let mut steps = service.page.steps.subscribe();
    drop(service.page.book(&engine).await);
    let (send, receive) = mpsc::channel(AHEAD);
    let mut stop = service.stop.clone();
    tokio::spawn(async move {
        let mut event = Bytes::from_static(b"event: ready\ndata: {}\n\n");
        // Whoever logs out, or is out, hears no more.
        while service.page.gate.admits(&headers) && send.send(event).await.is_ok() {
            event = tokio::select! {
                step = steps.recv() => match step {
                    Ok(step) => {
                        let data = serde_json::to_string(&*step).expect("a step is JSON");
                        format!("event: step\nid: {}\ndata: {data}\n\n", step.entry).into()
                    }
                    // It fell behind: it looks at everything again.
                    Err(RecvError::Lagged(_)) => Bytes::from_static(b"event: ready\ndata: {}\n\n"),
                    Err(RecvError::Closed) => break,
                },
                () = tokio::time::sleep(ALIVE) => Bytes::from_static(b": alive\n\n"),
                () = engine.ended() => break,
                _ = stop.wait_for(|stop| *stop) => break,
            };
        }
    });
    Ok(([(header::CONTENT_TYPE, "text/event-stream")], Body::new(Pieces(receive))).into_response())
}
