//! Who keeps the last checkpoint outside of the store.

use std::sync::Mutex;

use truthfed_node::engine::{EngineError, Witness};
use truthfed_node::ledger::Checkpoint;

/// Keeps the last checkpoint, and the one before: a loss of power may bring that back.
#[derive(Debug, Default)]
pub(crate) struct Notary(Mutex<(Option<Checkpoint>, Option<Checkpoint>)>);

impl Notary {
    pub(crate) fn last(&self) -> Option<Checkpoint> {
        self.0.lock().expect("one thread has it").0
    }

    /// The last one was not synced.
    pub(crate) fn forget_last(&self) {
        let mut kept = self.0.lock().expect("one thread has it");
        kept.0 = kept.1;
    }
}

impl Witness for Notary {
    fn read(&self) -> Result<Option<Checkpoint>, EngineError> {
        Ok(self.last())
    }

    fn write(&self, checkpoint: &Checkpoint) -> Result<(), EngineError> {
        let mut kept = self.0.lock().expect("one thread has it");
        *kept = (Some(*checkpoint), kept.0);
        Ok(())
    }
}
