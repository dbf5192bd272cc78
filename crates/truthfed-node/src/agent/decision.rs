//! Names of decisions, as the application gets them and hands them back with the reward.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::digest::{Hex, Nonce};

/// The name of a decision: its number in the agent's file, and a random tag, so that a reward meant for a decision of
/// another file (or of an older backup) is not taken for this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct DecisionId {
    pub(super) number: u64,
    pub(super) tag: Hex<4>,
}

/// A text is not the name of a decision. Application: send back what `choose` answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a decision, such as 42-0f3c2a1b")]
pub struct DecisionIdError;

impl DecisionId {
    pub(super) fn random(number: u64) -> DecisionId {
        let Hex([a, b, c, d, ..]) = Nonce::random();
        DecisionId { number, tag: Hex([a, b, c, d]) }
    }
}

impl fmt::Display for DecisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.number, self.tag)
    }
}

impl FromStr for DecisionId {
    type Err = DecisionIdError;

    fn from_str(text: &str) -> Result<DecisionId, DecisionIdError> {
        let (number, tag) = text.split_once('-').ok_or(DecisionIdError)?;
        let id = DecisionId {
            number: number.parse().map_err(|_| DecisionIdError)?,
            tag: tag.parse().map_err(|_| DecisionIdError)?,
        };
        // One name each: no leading zeros, no sign.
        if id.to_string() == text { Ok(id) } else { Err(DecisionIdError) }
    }
}

impl TryFrom<String> for DecisionId {
    type Error = DecisionIdError;

    fn try_from(text: String) -> Result<DecisionId, DecisionIdError> {
        text.parse()
    }
}

impl From<DecisionId> for String {
    fn from(id: DecisionId) -> String {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written_and_in_no_other_form() {
        let id = DecisionId::random(42);
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "42", "42-", "-0f3c2a1b", "042-0f3c2a1b", "+42-0f3c2a1b", "42-0F3C2A1B", "42-0f3c2a1b "] {
            assert_eq!(wrong.parse::<DecisionId>(), Err(DecisionIdError), "{wrong:?}");
        }
    }
}
