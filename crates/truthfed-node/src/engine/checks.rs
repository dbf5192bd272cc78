//! Where offers are looked at before they queue up: at 512 dimensions one takes longer than all other requests. It costs
//! neither the engine's thread nor one that serves requests, and no member can take more than its share. Whoever sends
//! what is refused has a small share only: an honest member's offer never is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use truthfed::auction::ClientId;

/// Most offers of one member that are looked at at once. An honest member sends one, and perhaps the same again.
const PER_MEMBER: usize = 2;

/// How many times as long as its check took a member waits for its next turn after an offer that was refused. Two members at
/// 512 dimensions kept two cores busy all the time without it.
const PAUSE: u32 = 10;

pub(super) struct Checks {
    all: Arc<Semaphore>,
    members: Mutex<BTreeMap<ClientId, Arc<Semaphore>>>,
}

impl Checks {
    /// So many at once of all members together: more than there are cores would only slow the engine down.
    pub(super) fn new(most: usize) -> Checks {
        Checks { all: Arc::new(Semaphore::new(most)), members: Mutex::default() }
    }

    /// Runs a check when it is this member's turn; a member's checks begin in the order in which they came. `member` must
    /// be a member: something is kept for each. Fails as the check does; the member's next turn comes later then.
    pub(super) async fn run<T: Send + 'static, E: Send + 'static>(
        &self,
        member: &ClientId,
        check: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let turn = take(self.turns(member)).await;
        let room = take(self.all.clone()).await;
        let checked = tokio::task::spawn_blocking(move || {
            // Here, so that whoever hangs up does not get another turn before this one is over.
            let (_room, began) = (room, Instant::now());
            let checked = check();
            if checked.is_err() {
                let until = Instant::now() + PAUSE * began.elapsed();
                tokio::spawn(async move {
                    tokio::time::sleep_until(until).await;
                    drop(turn);
                });
            }
            checked
        });
        checked.await.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    fn turns(&self, member: &ClientId) -> Arc<Semaphore> {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.entry(member.clone()).or_insert_with(|| Arc::new(Semaphore::new(PER_MEMBER))).clone()
    }
}

async fn take(turns: Arc<Semaphore>) -> OwnedSemaphorePermit {
    turns.acquire_owned().await.expect("nobody closes it")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use tokio::runtime::Handle;

    use super::*;
    use crate::testing::id;

    #[tokio::test]
    async fn two_checks_of_one_member_run_at_once_and_those_of_another_do_not_wait_for_the_third() {
        let checks = Arc::new(Checks::new(3));
        let (began, begun) = channel();
        let releases: Vec<_> = (0..3)
            .map(|number| {
                let (release, released) = channel::<()>();
                let (checks, began) = (checks.clone(), began.clone());
                let check = move || {
                    began.send(number).unwrap();
                    let _ = released.recv();
                    Ok::<_, ()>(())
                };
                (release, tokio::spawn(async move { checks.run(&id("eve"), check).await }))
            })
            .collect();
        while checks.turns(&id("eve")).available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        checks.run(&id("ann"), || Ok::<_, ()>(())).await.unwrap();
        assert_eq!(begun.try_iter().filter(|number| *number == 2).count(), 0, "the third waits");
        for (release, running) in releases {
            drop(release);
            running.await.unwrap().unwrap();
        }
        assert_eq!(begun.try_iter().last(), Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_has_offers_refused_waits_ten_times_as_long_as_a_check_took_and_others_do_not() {
        let checks = Checks::new(2);
        let refused = || {
            Handle::current().block_on(tokio::time::advance(Duration::from_secs(1)));
            Err::<(), ()>(())
        };
        for _ in 0..PER_MEMBER {
            checks.run(&id("eve"), refused).await.unwrap_err();
        }
        let began = Instant::now();
        checks.run(&id("ann"), || Ok::<_, ()>(())).await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        checks.run(&id("eve"), || Ok::<_, ()>(())).await.unwrap();
        assert!(began.elapsed() >= Duration::from_secs(9), "{:?}", began.elapsed());
    }
}
