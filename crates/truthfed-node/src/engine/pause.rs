//! The operator lets no round open, for as long as it says. A round that is open goes on to its end.

use super::state::{State, json};
use crate::error::{Code, Refusal};
use crate::journal::Entry;
use crate::ledger::{Pause, Reason};

impl State {
    /// Pauses rounds; while they are paused, the first reason stands.
    pub(super) fn pause(&mut self, reason: Reason) -> String {
        if self.paused.is_none() {
            self.note(|at_ms| Entry::Paused { reason: reason.clone(), at_ms });
            self.paused = Some(Pause { reason, since_ms: self.moment });
        }
        json(&self.paused)
    }

    /// Lets rounds open again; if they may already, nothing changes.
    pub(super) fn resume(&mut self) -> String {
        if self.paused.take().is_some() {
            self.note(|at_ms| Entry::Resumed { at_ms });
        }
        json(&self.paused)
    }

    pub(super) fn check_not_paused(&self) -> Result<(), Refusal> {
        #[cfg(feature = "planted-faults")]
        if truthfed::planted::is(truthfed::planted::Fault::PauseIgnored) {
            return Ok(());
        }
        let Some(Pause { reason, since_ms }) = &self.paused else { return Ok(()) };
        let since = crate::calendar::minute(*since_ms);
        let message = format!("the operator has paused rounds since {since} UTC: {reason}");
        Err(Refusal::new(Code::Paused, message))
    }

    /// Records, and vouches for, what moves no round on.
    fn note(&mut self, entry: impl FnOnce(truthfed::protocol::Time) -> Entry) {
        self.draft.record(&entry(self.moment));
        self.noted = self.moment;
        self.vouch(None);
    }
}
