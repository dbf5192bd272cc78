//! The heads of the journal that an agent has seen: each must go on from the one before.
//!
//! An agent keeps the newest head, and takes a newer one only with a proof that the journal of the kept one is how it began. Two heads
//! for which the coordinator has no such proof are two histories: the agent keeps both, signed as they are, and takes no part in rounds
//! under that file any more. Members who compare their heads find what each of them alone was shown consistently.

use super::core::Agent;
use super::rounds::StepError;
use super::store::{Beside, FileError, Heard};
use crate::log::{NoteKey, Proof, SignedHead};

/// What an agent has of heads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heads {
    /// The newest.
    pub newest: Option<SignedHead>,
    /// One that did not grow from it, and is signed as well.
    pub other: Option<SignedHead>,
}

impl Heads {
    /// Fails when they are of two histories.
    pub(super) fn check(&self) -> Result<(), StepError> {
        match (&self.newest, &self.other) {
            (Some(newest), Some(other)) => Err(StepError::TwoHistories { kept: newest.size(), shown: other.size() }),
            _ => Ok(()),
        }
    }
}

impl Agent {
    /// The heads it has kept. Fails when the file cannot be read.
    pub fn heads(&self) -> Result<Heads, FileError> {
        self.store.heads()
    }

    /// Takes in a head that was asked for with the size of the newest. Fails when it is not signed, goes back, or is of another history.
    pub(super) fn hear_head(&mut self, proof: &Proof) -> Result<(), StepError> {
        let heads = self.heads()?;
        heads.check()?;
        let unsigned = |problem: &dyn ToString| StepError::Head(problem.to_string());
        let head = SignedHead::read(&proof.head).map_err(|error| unsigned(&error))?;
        let key = NoteKey::of_log(self.membership.federation, self.membership.coordinator);
        if !head.is_signed_by(&key) {
            return Err(unsigned(&"the coordinator's key did not sign it"));
        }
        let Some(newest) = heads.newest else { return Ok(self.keep_head(Heard::Newer(head))?) };
        let (kept, shown) = (newest.size(), head.size());
        if shown < kept {
            return Err(StepError::HeadBehind { kept, shown });
        }
        if newest.top() == head.top() {
            return Ok(());
        }
        if proof.grown.as_ref().is_some_and(|grown| grown.leads(newest.top(), head.top())) {
            return Ok(self.keep_head(Heard::Newer(head))?);
        }
        self.keep_head(Heard::Other(head))?;
        Err(StepError::TwoHistories { kept, shown })
    }

    fn keep_head(&mut self, head: Heard) -> Result<(), FileError> {
        self.store.record(None, &Beside { head: Some(head), ..Beside::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::conversation::Speaker;
    use crate::agent::testing::{Coordinator, idle};
    use crate::log::{Grown, Whole};
    use crate::testing::{Federation, Played};

    fn journal(ask: u32) -> Whole {
        let mut played = Played::new(&["a", "b", "c"]);
        played.begin();
        played.offers(&[("a", ask), ("b", 3)]);
        Whole::read(&mut played.store()).unwrap()
    }

    /// What the coordinator answers whoever has a head of so many entries.
    fn answer(coordinator: &Coordinator, journal: &Whole, from: Option<u64>, size: u64) -> Proof {
        let setup = coordinator.federation.setup();
        let grown = from.map(|from| {
            let Ok(grown) = Grown::of(from, &mut journal.tree(size));
            grown.unwrap()
        });
        Proof { grown, ..Proof::of(&SignedHead::sign(&setup.signer, setup.federation, journal.top(size))) }
    }

    fn newest(agent: &Agent) -> u64 {
        agent.heads().unwrap().newest.map_or(0, |head| head.size())
    }

    #[test]
    fn a_newer_head_is_kept_with_a_proof_from_the_one_before_and_an_older_one_is_refused() {
        let (coordinator, journal) = (Coordinator::new(), journal(4));
        let mut agent = coordinator.agent();
        for (from, size) in [(None, 3), (Some(3), 3), (Some(3), 5), (Some(5), 5)] {
            agent.hear_head(&answer(&coordinator, &journal, from, size)).unwrap();
            assert_eq!(newest(&agent), size);
        }
        let older = agent.hear_head(&answer(&coordinator, &journal, None, 4));
        assert!(matches!(older, Err(StepError::HeadBehind { kept: 5, shown: 4 })));
        let signer = Federation::key(99);
        let forged = SignedHead::sign(&signer, coordinator.membership.federation, journal.top(6));
        for proof in [Proof::of(&forged), Proof { head: "nothing".to_owned(), ..Proof::of(&forged) }] {
            assert!(matches!(agent.hear_head(&proof), Err(StepError::Head(_))));
        }
        agent.heard(&idle(0)).unwrap();
        assert_eq!((newest(&agent), newest(&coordinator.restarted())), (5, 5));
    }

    #[test]
    fn of_two_histories_both_heads_are_kept_for_ever_and_nothing_more_is_said() {
        let [one, other] = [journal(4), journal(5)];
        let size = one.size();
        // Of one size; with a proof that leads from another root; and without any, though none is to be had.
        for (seen, shown, from) in [(size, &other, None), (size - 1, &other, Some(size - 1)), (size - 2, &one, None)] {
            let coordinator = Coordinator::new();
            let mut agent = coordinator.agent();
            agent.hear_head(&answer(&coordinator, &one, None, seen)).unwrap();
            let heard = agent.hear_head(&answer(&coordinator, shown, from, size));
            let Err(StepError::TwoHistories { kept, shown: told }) = heard else { panic!("{heard:?}") };
            assert_eq!((kept, told), (seen, size));
            let heads = agent.heads().unwrap();
            assert_eq!(heads.newest.map(|head| head.top()), Some(one.top(seen)));
            assert_eq!(heads.other.map(|head| head.top()), Some(shown.top(size)));
            let mut again = coordinator.restarted();
            let honest = answer(&coordinator, &one, Some(seen), size);
            for refused in [again.hear_head(&honest), again.heard(&idle(0))] {
                assert!(matches!(refused, Err(StepError::TwoHistories { .. })));
            }
        }
    }
}
