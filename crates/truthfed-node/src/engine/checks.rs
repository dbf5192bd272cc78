//! Where offers are looked at before they queue up: at 512 dimensions one takes longer than all other requests. It costs
//! neither the engine's thread nor one that serves requests, and no member can take more than its share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use truthfed::auction::ClientId;

/// Most offers of one member that are looked at at once. An honest member sends one, and perhaps the same again.
const PER_MEMBER: usize = 2;

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
    /// be a member: something is kept for each.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        member: &ClientId,
        check: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let turn = take(self.turns(member)).await;
        let room = take(self.all.clone()).await;
        let checked = tokio::task::spawn_blocking(move || {
            // Here, so that whoever hangs up does not get another turn before this one is over.
            let _held = (turn, room);
            check()
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
                };
                (release, tokio::spawn(async move { checks.run(&id("eve"), check).await }))
            })
            .collect();
        while checks.turns(&id("eve")).available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        checks.run(&id("ann"), || ()).await;
        assert_eq!(begun.try_iter().filter(|number| *number == 2).count(), 0, "the third waits");
        for (release, running) in releases {
            drop(release);
            running.await.unwrap();
        }
        assert_eq!(begun.try_iter().last(), Some(2));
    }
}
