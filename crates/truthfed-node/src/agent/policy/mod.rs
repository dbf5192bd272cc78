//! What a member asks for its data.

mod command;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use truthfed::protocol::RoundId;
use truthfed::statistics::Statistics;
use truthfed::{Amount, AmountError};

use self::command::Summary;

/// Longest time a command may be given: a round waits for the offer, and at last the application does too.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// A policy as it is written down, in TOML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RawPolicy {
    /// Always the same.
    Constant { ask: Price },
    /// `base + price * samples`.
    PerSample {
        /// For each sample, in units.
        price: Price,
        /// For taking part at all, in units; default 0.
        #[serde(default)]
        base: Price,
    },
    /// The paper's cost: `weight * det(gram) + base`.
    Paper {
        /// Of the determinant, in units.
        weight: f64,
        /// For taking part at all, in units.
        base: f64,
    },
    /// What a command prints. It gets a summary of the data as JSON on its standard input.
    Command {
        command: Vec<String>,
        /// How long it may take; default 2000.
        #[serde(default = "default_timeout_ms")]
        timeout_ms: u64,
    },
}

/// A hundredth of a unit for each sample.
impl Default for RawPolicy {
    fn default() -> RawPolicy {
        let price = Price(Amount::from_micros(10_000).expect("a hundredth of a unit"));
        RawPolicy::PerSample { price, base: Price::default() }
    }
}

fn default_timeout_ms() -> u64 {
    2000
}

/// An amount of money as people write it: a decimal number of units, or a text with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "Written")]
pub struct Price(pub Amount);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(i64),
    Float(f64),
    Text(String),
}

impl TryFrom<Written> for Price {
    type Error = AmountError;

    fn try_from(written: Written) -> Result<Price, AmountError> {
        // The shortest decimal that reads back to the same float is the one that was written.
        let decimal = match written {
            Written::Whole(units) => units.to_string(),
            Written::Float(units) => units.to_string(),
            Written::Text(decimal) => decimal,
        };
        decimal.parse().map(Price)
    }
}

impl From<Price> for String {
    fn from(price: Price) -> String {
        price.0.to_string()
    }
}

/// Why a policy is refused. The member fixes all of them.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PolicyError {
    #[error("{0}")]
    Unreadable(String),
    #[error("{what} is {value}: it must be finite and at least 0")]
    Number { what: &'static str, value: f64 },
    #[error("command is empty: it needs at least the name of a program")]
    NoCommand,
    #[error("timeout_ms is {0}: it must lie in 1..=600000")]
    Timeout(u64),
    /// It would never sell anything.
    #[error(
        "{what} is {value}, above the reserve of {reserve}: no offer at that price is ever bought, so ask at most the reserve"
    )]
    AboveReserve { what: &'static str, value: Amount, reserve: Amount },
    #[error("command: there is no program `{0}` that this user may run, seen from the working directory and PATH")]
    NoProgram(String),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Policy(RawPolicy);

impl TryFrom<RawPolicy> for Policy {
    type Error = PolicyError;

    fn try_from(raw: RawPolicy) -> Result<Policy, PolicyError> {
        match &raw {
            RawPolicy::Constant { .. } | RawPolicy::PerSample { .. } => {}
            RawPolicy::Paper { weight, base } => {
                for (what, value) in [("weight", *weight), ("base", *base)] {
                    if !(value.is_finite() && value >= 0.0) {
                        return Err(PolicyError::Number { what, value });
                    }
                }
            }
            RawPolicy::Command { command, .. } if command.first().is_none_or(String::is_empty) => {
                return Err(PolicyError::NoCommand);
            }
            RawPolicy::Command { timeout_ms, .. } if !(1..=MAX_TIMEOUT_MS).contains(timeout_ms) => {
                return Err(PolicyError::Timeout(*timeout_ms));
            }
            RawPolicy::Command { .. } => {}
        }
        Ok(Policy(raw))
    }
}

impl Policy {
    /// Checks what can be known before there is data: that something is asked below the reserve, and that a program is there.
    pub fn check(&self, reserve: Amount) -> Result<(), PolicyError> {
        let (what, value) = match &self.0 {
            RawPolicy::Constant { ask } => ("ask", ask.0),
            RawPolicy::PerSample { base, .. } => ("base", base.0),
            RawPolicy::Paper { base, .. } => ("base", Amount::nearest(*base)),
            RawPolicy::Command { command, .. } => return command::check_program(&command[0]),
        };
        match value > reserve {
            true => Err(PolicyError::AboveReserve { what, value, reserve }),
            false => Ok(()),
        }
    }

    pub fn from_toml(text: &str) -> Result<Policy, PolicyError> {
        let raw: RawPolicy = toml::from_str(text).map_err(|error| PolicyError::Unreadable(error.to_string()))?;
        raw.try_into()
    }

    /// The ask for some data; none to stay out of the round.
    pub async fn price(&self, round: RoundId, data: &Statistics) -> Option<Amount> {
        match &self.0 {
            RawPolicy::Constant { ask } => Some(ask.0),
            RawPolicy::PerSample { price, base } => Some(per_sample(price.0, base.0, data.samples())),
            RawPolicy::Paper { weight, base } => Some(Amount::nearest(weight * data.gram().det() + base)),
            RawPolicy::Command { command, timeout_ms } => {
                let limit = Duration::from_millis(*timeout_ms);
                let asked = command::ask(command, limit, &Summary::of(round, data)).await;
                asked.inspect_err(|problem| tracing::error!(command = command[0], %problem, "no price: no offer")).ok()
            }
        }
    }
}

fn per_sample(price: Amount, base: Amount, samples: u64) -> Amount {
    let micros = i128::from(price.micros()) * i128::from(samples) + i128::from(base.micros());
    i64::try_from(micros).ok().and_then(Amount::from_micros).unwrap_or(Amount::MAX)
}

#[cfg(test)]
mod tests;
