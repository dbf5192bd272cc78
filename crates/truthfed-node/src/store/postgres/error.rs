//! What PostgreSQL says, in the words of a store.

use std::error::Error as _;

use ::postgres::Error;
use ::postgres::error::SqlState;

use crate::store::StoreError;

pub(super) enum Failure {
    /// The connection is gone. Before a commit was asked for, nothing was written.
    Lost(String),
    /// Another transaction was in the way; nothing was written.
    Raced(String),
    /// Trying again does not help.
    Store(StoreError),
}

impl Failure {
    pub(super) fn into_store(self) -> StoreError {
        match self {
            Failure::Lost(why) | Failure::Raced(why) => StoreError::Unavailable(why),
            Failure::Store(error) => error,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let why = words(&error);
        let Some(code) = error.code() else { return Failure::Lost(why) };
        if [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code) {
            return Failure::Raced(why);
        }
        let class = code.code().get(..2).unwrap_or_default();
        match (class, code.code()) {
            // The server goes down, comes up, or ended this session.
            ("08", _) | (_, "57P01" | "57P02" | "57P03" | "57P05" | "25P03") => Failure::Lost(why),
            (_, "53100") => Failure::Store(StoreError::Full),
            ("22" | "23", _) => Failure::Store(StoreError::Conflict(why)),
            (_, "XX001" | "XX002") => Failure::Store(StoreError::Damaged(why)),
            ("28" | "3D" | "0A", _) | (_, "42501" | "25006") => Failure::Store(StoreError::Unusable(why)),
            // A table or a column is missing.
            ("42" | "3F", _) => Failure::Store(StoreError::Damaged(why)),
            _ => Failure::Store(StoreError::Unavailable(why)),
        }
    }
}

/// The message of the server, or else of the connection with its cause.
pub(super) fn words(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}
