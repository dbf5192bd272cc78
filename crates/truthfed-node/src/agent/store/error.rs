//! What can be wrong with an agent's file.

use rusqlite::ErrorCode;

/// Why the agent's file does not serve.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Member: the file cannot be made or opened, or is no agent's.
    #[error("{0}")]
    Unusable(String),
    /// Member: stop the other agent.
    #[error("another agent works with this file: stop it first")]
    Held,
    /// Member: take the file of this bundle.
    #[error("the file belongs to {found}, this agent is {expected}: name another file with --data")]
    Foreign { found: String, expected: String },
    /// Member: take the version of truthfed that wrote it.
    #[error("the file has schema version {found}, this program reads {expected}")]
    Version { found: i64, expected: i64 },
    /// Member: the file is not what was written: restore a backup, or begin anew without it.
    #[error("the file is damaged: {0}: restore a backup of it, or begin anew with another file (--data)")]
    Damaged(String),
    /// Member: make room; nothing was written.
    #[error("the disk is full: nothing was written, make room")]
    Full,
    /// Passing: the disk did not answer; what was asked for may or may not have been written.
    #[error("the file cannot be read or written now: {0}")]
    Unavailable(String),
}

impl From<rusqlite::Error> for FileError {
    fn from(error: rusqlite::Error) -> FileError {
        let words = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => FileError::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FileError::Held,
            Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory | ErrorCode::OperationInterrupted) => {
                FileError::Unavailable(words)
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                FileError::Unusable(words)
            }
            _ => FileError::Damaged(words),
        }
    }
}
