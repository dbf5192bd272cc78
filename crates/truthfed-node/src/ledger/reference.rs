//! Short texts of the operator's that the journal keeps: the name of a transfer, and why rounds are paused or ended.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Defines a text of one line that is not empty, with its error.
macro_rules! line_of_text {
    ($(#[$doc:meta])* $name:ident $most:literal, $error:ident $message:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(String);

        /// Operator: take another text.
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $error(String);

        impl $name {
            /// The most characters.
            pub const MOST: usize = $most;

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<$name, $error> {
                let is_short = (1..=$name::MOST).contains(&text.chars().count());
                match is_short && !text.chars().any(char::is_control) && text.trim() == text {
                    true => Ok($name(text)),
                    false => Err($error(text.chars().take($name::MOST).collect())),
                }
            }
        }

        impl FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<$name, $error> {
                text.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> String {
                text.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

line_of_text! {
    /// Names a transfer of money. 1 to 100 characters, none of them a control character, and no space at either end.
    Reference 100,
    ReferenceError "a reference has 1 to 100 characters, no control character, and no space at either end: {0:?} is none"
}

line_of_text! {
    /// Why the operator pauses rounds, or ends one, as members are told. 1 to 200 characters, none of them a control
    /// character, and no space at either end.
    Reason 200,
    ReasonError "a reason has 1 to 200 characters, no control character, and no space at either end: {0:?} is none"
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
