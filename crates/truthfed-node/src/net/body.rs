//! Reading the body of a request within a size and a time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::sync::Semaphore;

use super::Limits;
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

/// Reads the bodies of a server, together never more than a budget.
#[derive(Debug, Clone)]
pub struct Intake {
    most: usize,
    within: Duration,
    /// One permit for each KiB.
    budget: Arc<Semaphore>,
}

impl Intake {
    pub fn new(limits: &Limits) -> Intake {
        let budget = kib(limits.body_bytes_in_all.max(limits.body_bytes)) as usize;
        Intake { most: limits.body_bytes, within: limits.body, budget: Arc::new(Semaphore::new(budget)) }
    }

    /// Fails as [`read_body`], and with `busy` when the budget is used up.
    pub async fn read(&self, body: Body) -> Result<Bytes, Refusal> {
        // A body that announces no size may take up to the limit.
        let announced = body.size_hint().upper().unwrap_or(u64::MAX).min(self.most as u64);
        let room = self.budget.try_acquire_many(kib(announced as usize));
        let _room = room.map_err(|_| Refusal::new(Code::Busy, "too many large bodies are being read"))?;
        read_body(body, self.most, self.within).await
    }
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX)
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
    async fn bodies_together_stay_within_the_budget_and_give_it_back() {
        let limits = Limits { body_bytes: 4096, body_bytes_in_all: 8192, body: SOON, ..Limits::default() };
        let intake = Intake::new(&limits);
        let (first, second, third) =
            tokio::join!(intake.read(endless()), intake.read(endless()), intake.read(Body::from("x")));
        let codes = [first, second, third].map(|read| read.unwrap_err().code);
        assert_eq!(codes, [Code::TooSlow, Code::TooSlow, Code::Busy]);
        assert_eq!(intake.read(Body::from("x")).await.unwrap(), "x");
    }
}
