//! Reading the body of a request within a size, a time and a share of its sender.
//!
//! Each sender has a share of bytes of its own: what it announces counts from the first byte until the request is answered.
//! There is no budget for all senders together. Such a budget is used up by whoever stalls: with 64 MiB, fifteen bodies
//! of dimension 512, which two members may open, kept out all others. A share that is nobody else's cannot be used up
//! by anybody else, however many conspire. The price is memory: if all members stall or offer at the same moment, the
//! coordinator holds a share for each. A share is one offer and one small request: the bodies of 1,000 members have at
//! most 4.3 GB at dimension 512, and 0.2 GB at dimension 100. What is announced and not sent takes no memory.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::admission::{Part, Shares};
use crate::error::{Code, Refusal};

/// Reads a whole body. A body that announces too many bytes is refused before anything is read, any other at the limit.
pub async fn read_body(body: Body, most: usize, within: Duration) -> Result<Bytes, Refusal> {
    let too_large = || Refusal::new(Code::TooLarge, format!("the body has more than {most} bytes"));
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(within, Limited::new(body, most).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Refusal::new(Code::Truncated, "the connection ended before the body did")),
        Err(_) => Err(Refusal::new(Code::TooSlow, format!("the body took longer than {} ms", within.as_millis()))),
    }
}

/// Reads the bodies of a server, those of one sender together never more than its share.
#[derive(Debug, Clone)]
pub struct Intake<K: Ord> {
    share: usize,
    shares: Arc<Shares<K>>,
}

/// A body that was read. It counts until it is dropped.
#[derive(Debug)]
pub struct Taken<K: Ord + Clone> {
    pub bytes: Bytes,
    _part: Part<K>,
}

impl<K: Ord + Clone> Intake<K> {
    pub fn new(share: usize) -> Intake<K> {
        Intake { share, shares: Shares::new() }
    }

    /// Room in a sender's share for a body that announces so many bytes. Fails with `busy` when the sender's other bodies
    /// leave none.
    pub fn reserve(&self, sender: K, announced: usize) -> Result<Part<K>, Refusal> {
        let full = || Refusal::new(Code::Busy, "your other requests are still being read: wait for their answers");
        self.shares.take(sender, announced, self.share).ok_or_else(full)
    }

    /// Reads a body of at most so many bytes, within this time. Fails as [`read_body`] and [`Intake::reserve`].
    pub async fn read(&self, sender: K, body: Body, most: usize, within: Duration) -> Result<Taken<K>, Refusal> {
        // A body that announces no size may take up to the limit.
        let announced = body.size_hint().upper().unwrap_or(u64::MAX).min(most as u64);
        let part = self.reserve(sender, announced as usize)?;
        Ok(Taken { bytes: read_body(body, most, within).await?, _part: part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    /// A body of unknown length that never comes.
    fn endless() -> Body {
        Body::new(Pending)
    }

    struct Pending;

    impl HttpBody for Pending {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Pending
        }
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        assert_eq!(read_body(Body::from("12345"), 5, SOON).await.unwrap(), "12345");
        assert_eq!(read_body(Body::from("123456"), 5, SOON).await.unwrap_err().code, Code::TooLarge);
        assert_eq!(read_body(endless(), 5, SOON).await.unwrap_err().code, Code::TooSlow);
    }

    #[tokio::test]
    async fn bodies_of_one_sender_stay_within_its_share_until_they_are_dropped_and_others_have_theirs() {
        let intake = Intake::new(10);
        let code = |read: Result<Taken<_>, Refusal>| read.map(drop).map_err(|refusal| refusal.code);
        let read = |sender, body: Body| intake.read(sender, body, 6, SOON);
        let (stalled, too_much, others) =
            tokio::join!(read("a", endless()), read("a", "12345".into()), read("b", "123456".into()));
        assert_eq!((code(stalled), code(too_much)), (Err(Code::TooSlow), Err(Code::Busy)));
        let first = read("a", "123456".into()).await.unwrap();
        assert_eq!(
            (first.bytes.as_ref(), others.unwrap().bytes.as_ref()),
            (b"123456".as_slice(), b"123456".as_slice())
        );
        assert_eq!(code(read("a", "12345".into()).await), Err(Code::Busy));
        drop(first);
        assert_eq!(code(read("a", "12345".into()).await), Ok(()));
    }
}
