//! Names of clients.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const MAX_LEN: usize = 128;

/// The name of a client. Names are ordered by their bytes, and ties in an auction go to the smaller.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ClientId(Box<str>);

/// Why a text is not the name of a client. All are the caller's to fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientIdError {
    #[error("client name is empty")]
    Empty,
    #[error("client name has {0} bytes, at most 128 are allowed")]
    TooLong(usize),
    /// It would spoil tables and logs.
    #[error("client name {0:?} has a control character")]
    ControlCharacter(String),
}

impl ClientId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClientId {
    type Err = ClientIdError;

    fn from_str(name: &str) -> Result<ClientId, ClientIdError> {
        match name.len() {
            0 => Err(ClientIdError::Empty),
            1..=MAX_LEN if name.chars().any(char::is_control) => Err(ClientIdError::ControlCharacter(name.to_owned())),
            1..=MAX_LEN => Ok(ClientId(name.into())),
            long => Err(ClientIdError::TooLong(long)),
        }
    }
}

impl TryFrom<String> for ClientId {
    type Error = ClientIdError;

    fn try_from(name: String) -> Result<ClientId, ClientIdError> {
        name.parse()
    }
}

impl From<ClientId> for String {
    fn from(client: ClientId) -> String {
        client.0.into()
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_printable_text() {
        assert_eq!("shop 7 (Köln)".parse::<ClientId>().unwrap().as_str(), "shop 7 (Köln)");
        assert_eq!("".parse::<ClientId>(), Err(ClientIdError::Empty));
        assert_eq!("x".repeat(128).parse::<ClientId>().unwrap().as_str().len(), 128);
        assert_eq!("x".repeat(129).parse::<ClientId>(), Err(ClientIdError::TooLong(129)));
        assert!("a\nb".parse::<ClientId>().is_err());
        assert_eq!(serde_json::to_string(&"a".parse::<ClientId>().unwrap()).unwrap(), "\"a\"");
    }
}
