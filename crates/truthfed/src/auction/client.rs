//! Names of clients.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest name in bytes.
const MAX_LEN: usize = 128;

/// The name of a client. Names are ordered by their bytes, and ties in an auction go to the smaller.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ClientId(Box<str>);

/// Why a text is not the name of a client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientIdError {
    /// Caller: the name is empty.
    #[error("client name is empty")]
    Empty,
    /// Caller: the name has more than 128 bytes.
    #[error("client name has {0} bytes, at most 128 are allowed")]
    TooLong(usize),
    /// Caller: the name has a control character, which would spoil tables and logs.
    #[error("client name {0:?} has a control character")]
    ControlCharacter(String),
}

impl ClientId {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClientId {
    type Err = ClientIdError;

    fn from_str(name: &str) -> Result<ClientId, ClientIdError> {
        if name.is_empty() {
            Err(ClientIdError::Empty)
        } else if name.len() > MAX_LEN {
            Err(ClientIdError::TooLong(name.len()))
        } else if name.chars().any(char::is_control) {
            Err(ClientIdError::ControlCharacter(name.to_owned()))
        } else {
            Ok(ClientId(name.into()))
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
