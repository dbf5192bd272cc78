//! A listener that counts the connections it gave which are still open.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use prometheus_client::metrics::gauge::Gauge;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::net::Listen;

/// Counts the connections of a listener.
pub(super) struct Counted<L> {
    listener: L,
    open: Gauge,
}

impl<L> Counted<L> {
    pub(super) fn new(listener: L, open: Gauge) -> Counted<L> {
        Counted { listener, open }
    }
}

impl<L: Listen> Listen for Counted<L> {
    type Stream = CountedStream<L::Stream>;

    async fn accept(&mut self) -> io::Result<(Self::Stream, SocketAddr)> {
        let (stream, address) = self.listener.accept().await?;
        self.open.inc();
        Ok((CountedStream { stream, open: self.open.clone() }, address))
    }
}

/// A connection that is counted until it is dropped.
pub(super) struct CountedStream<S> {
    stream: S,
    open: Gauge,
}

impl<S> Drop for CountedStream<S> {
    fn drop(&mut self) {
        self.open.dec();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
