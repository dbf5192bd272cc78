//! The name of a transfer of money: the bank's, or the operator's own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// 1 to 100 characters, none of them a control character, and no space at either end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Reference(String);

/// Operator: take another reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a reference has 1 to 100 characters, no control character, and no space at either end: {0:?} is none")]
pub struct ReferenceError(String);

impl Reference {
    /// The most characters.
    pub const MOST: usize = 100;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Reference {
    type Error = ReferenceError;

    fn try_from(text: String) -> Result<Reference, ReferenceError> {
        let is_short = (1..=Reference::MOST).contains(&text.chars().count());
        match is_short && !text.chars().any(char::is_control) && text.trim() == text {
            true => Ok(Reference(text)),
            false => Err(ReferenceError(text.chars().take(Reference::MOST).collect())),
        }
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Reference, ReferenceError> {
        text.to_owned().try_into()
    }
}

impl From<Reference> for String {
    fn from(reference: Reference) -> String {
        reference.0
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_banks_are_taken_and_what_breaks_a_line_is_not() {
        let longest = "ä".repeat(100);
        for text in ["7", "RF18 5390 0754 7034", "2026-11/ann, \"bonus\"", longest.as_str()] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        for text in ["", " ", " 7", "7 ", "7\n8", "7\u{0}", &format!("{longest}a")] {
            assert!(text.parse::<Reference>().is_err(), "{text:?}");
            assert!(serde_json::from_value::<Reference>(text.into()).is_err(), "{text:?}");
        }
    }
}
