//! The last signed checkpoint, kept outside of the store.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::EngineError;
use crate::ledger::Checkpoint;

/// Reads the checkpoint beside a store, if it is there. Fails when it cannot be read.
pub fn read_checkpoint(path: &Path) -> Result<Option<Checkpoint>, EngineError> {
    let fail = |problem: String| EngineError::Checkpoint { path: path.display().to_string(), problem };
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fail(error.to_string())),
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| fail(error.to_string())),
    }
}

/// Keeps the last signed checkpoint outside of the store: an older store is found out by it.
pub trait Witness: Send + Sync {
    /// The last one that was written, if any. Fails when it cannot be read.
    fn read(&self) -> Result<Option<Checkpoint>, EngineError>;

    /// Replaces it: the whole of it, or nothing. Fails when it cannot be written.
    fn write(&self, checkpoint: &Checkpoint) -> Result<(), EngineError>;
}

impl Witness for PathBuf {
    fn read(&self) -> Result<Option<Checkpoint>, EngineError> {
        read_checkpoint(self)
    }

    fn write(&self, checkpoint: &Checkpoint) -> Result<(), EngineError> {
        let text = serde_json::to_string_pretty(checkpoint).expect("a checkpoint is JSON");
        let beside = self.with_extension("new");
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::File::create(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, self)
        };
        write()
            .map_err(|error| EngineError::Checkpoint { path: self.display().to_string(), problem: error.to_string() })
    }
}
