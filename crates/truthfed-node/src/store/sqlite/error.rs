//! What SQLite says, in the words of a store.

use rusqlite::{Error, ErrorCode};

use crate::store::StoreError;

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
pub(super) fn store_error(error: Error) -> StoreError {
    let words = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full,
        Some(ErrorCode::ConstraintViolation) => StoreError::Conflict(words),
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::SystemIoFailure
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted
            | ErrorCode::OperationAborted
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::SchemaChanged,
        ) => StoreError::Unavailable(words),
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied
            | ErrorCode::NoLargeFileSupport
            | ErrorCode::TooBig,
        ) => StoreError::Unusable(words),
        // Malformed pages, a missing table, a column of another type: the file is not what was written.
        _ => StoreError::Damaged(words),
    }
}

/// At the commit itself a failing disk may have kept what it did not acknowledge.
pub(super) fn commit_error(error: Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure) => StoreError::InDoubt(error.to_string()),
        _ => store_error(error),
    }
}
