//! Parameters of mechanisms.
//!
//! A mechanism lists its parameters in its own file: name, default, bound and help. Terms, TOML files, command-line flags,
//! counterexamples and JSON schemas derive from that list.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::money::decimal;
use crate::{Amount, AmountError};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameter {
    /// In snake case and without a unit, such as `first_budget`.
    pub name: &'static str,
    pub kind: Kind,
    /// What it does, in one phrase.
    pub help: &'static str,
}

/// What a parameter allows, and its default.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A number from `least` to `most`, both included.
    Real {
        default: f64,
        least: f64,
        most: f64,
    },
    /// Money above 0.
    Amount {
        default: Amount,
    },
    Count {
        default: u64,
    },
    /// On or off; off by default.
    Switch,
    /// One of these words; the first is the default.
    Choice(&'static [&'static str]),
}

/// The value of a parameter.
///
/// In JSON and TOML a number, `true`, `false`, a word, or for money a decimal in quotes: no amount passes through a float.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Real(f64),
    Amount(#[serde(serialize_with = "decimal::serialize")] Amount),
    Count(u64),
    Switch(bool),
    Choice(Cow<'static, str>),
}

/// Why a value is refused. The caller must give another one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{} {}", parameter.name, self.problem())]
pub struct ParameterError {
    pub parameter: Parameter,
    pub reason: Reason,
}

#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Of another type, or out of bounds.
    Value(Value),
    /// Text that is not a value of the parameter's kind.
    Text(String),
    Amount(AmountError),
}

impl Parameter {
    pub const fn default(&self) -> Value {
        match self.kind {
            Kind::Real { default, .. } => Value::Real(default),
            Kind::Amount { default } => Value::Amount(default),
            Kind::Count { default } => Value::Count(default),
            Kind::Switch => Value::Switch(false),
            Kind::Choice(words) => Value::Choice(Cow::Borrowed(words[0])),
        }
    }

    /// The value as this parameter's kind, within its bound. Whole numbers count as numbers and as units of money.
    pub fn check(&self, value: impl Into<Value>) -> Result<Value, ParameterError> {
        let value = value.into();
        let refused = |reason| Err(ParameterError { parameter: *self, reason });
        let value = match (self.kind, value) {
            (Kind::Real { .. }, Value::Count(whole)) => Value::Real(whole as f64),
            (Kind::Amount { .. }, Value::Count(units)) => match units.to_string().parse() {
                Ok(amount) => Value::Amount(amount),
                Err(error) => return refused(Reason::Amount(error)),
            },
            (Kind::Amount { .. }, Value::Choice(text)) => match text.parse() {
                Ok(amount) => Value::Amount(amount),
                Err(error) => return refused(Reason::Amount(error)),
            },
            (_, value) => value,
        };
        match (self.kind, &value) {
            (Kind::Real { least, most, .. }, Value::Real(real)) if (least..=most).contains(real) => Ok(value),
            (Kind::Amount { .. }, Value::Amount(amount)) if *amount > Amount::ZERO => Ok(value),
            (Kind::Count { .. }, Value::Count(_)) | (Kind::Switch, Value::Switch(_)) => Ok(value),
            (Kind::Choice(words), Value::Choice(text)) if words.contains(&text.as_ref()) => Ok(value),
            (_, Value::Choice(text)) => refused(Reason::Text(text.to_string())),
            _ => refused(Reason::Value(value)),
        }
    }

    /// Reads a value as it is typed on a command line.
    pub fn read(&self, text: &str) -> Result<Value, ParameterError> {
        let refused = |reason| ParameterError { parameter: *self, reason };
        let value = match self.kind {
            Kind::Real { .. } => text.parse().ok().map(Value::Real),
            Kind::Amount { .. } => Some(Value::Amount(text.parse().map_err(|error| refused(Reason::Amount(error)))?)),
            Kind::Count { .. } => text.parse().ok().map(Value::Count),
            Kind::Switch => text.parse().ok().map(Value::Switch),
            Kind::Choice(_) => Some(Value::from(text)),
        };
        self.check(value.ok_or_else(|| refused(Reason::Text(text.to_owned())))?)
    }

    /// The parameter with a value, as [`super::Mechanism::parameters`] lists them.
    pub(super) fn with(&self, value: impl Into<Value>) -> (String, Value) {
        (self.name.to_owned(), value.into())
    }
}

impl ParameterError {
    /// What is wrong, without the name of the parameter.
    pub fn problem(&self) -> String {
        match &self.reason {
            Reason::Value(value) => {
                let is_untyped = matches!((self.parameter.kind, value), (Kind::Amount { .. }, Value::Real(_)));
                let hint = if is_untyped { ", and a decimal in quotes" } else { "" };
                format!("is {value}: it must {}{hint}", self.parameter.kind)
            }
            Reason::Text(text) => format!("is `{text}`: it must {}", self.parameter.kind),
            Reason::Amount(error) => format!("is no amount: {error}"),
        }
    }
}

/// The bound, as it follows "it must".
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Real { least, most, .. } => write!(f, "lie between {least:e} and {most:e}"),
            Kind::Amount { .. } => f.write_str("be above 0"),
            Kind::Count { .. } => f.write_str("be a whole number"),
            Kind::Switch => f.write_str("be true or false"),
            Kind::Choice(words) => write!(f, "be one of {}", words.join(", ")),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Real(real) => real.fmt(f),
            Value::Amount(amount) => amount.fmt(f),
            Value::Count(count) => count.fmt(f),
            Value::Switch(is_on) => is_on.fmt(f),
            Value::Choice(word) => word.fmt(f),
        }
    }
}

impl From<f64> for Value {
    fn from(real: f64) -> Value {
        Value::Real(real)
    }
}

impl From<Amount> for Value {
    fn from(amount: Amount) -> Value {
        Value::Amount(amount)
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Value {
        Value::Count(count)
    }
}

impl From<bool> for Value {
    fn from(is_on: bool) -> Value {
        Value::Switch(is_on)
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Value {
        Value::Choice(Cow::Owned(word.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl Visitor<'_> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, true, false, a word, or an amount in quotes")
    }

    fn visit_bool<E: de::Error>(self, is_on: bool) -> Result<Value, E> {
        Ok(Value::Switch(is_on))
    }

    fn visit_u64<E: de::Error>(self, whole: u64) -> Result<Value, E> {
        Ok(Value::Count(whole))
    }

    fn visit_i64<E: de::Error>(self, whole: i64) -> Result<Value, E> {
        Ok(u64::try_from(whole).map_or(Value::Real(whole as f64), Value::Count))
    }

    fn visit_f64<E: de::Error>(self, real: f64) -> Result<Value, E> {
        Ok(Value::Real(real))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.parse().map_or_else(|_| Value::from(text), Value::Amount))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: Parameter =
        Parameter { name: "real", kind: Kind::Real { default: 1.0, least: 1e-9, most: 1e9 }, help: "" };
    const MONEY: Parameter = Parameter { name: "money", kind: Kind::Amount { default: Amount::STEP }, help: "" };
    const COUNT: Parameter = Parameter { name: "count", kind: Kind::Count { default: 3 }, help: "" };
    const SWITCH: Parameter = Parameter { name: "switch", kind: Kind::Switch, help: "" };
    const CHOICE: Parameter = Parameter { name: "choice", kind: Kind::Choice(&["left", "right"]), help: "" };

    fn check_refused(parameter: Parameter, text: &str, expected: &str) {
        assert_eq!(parameter.read(text).unwrap_err().to_string(), expected);
    }

    #[test]
    fn values_out_of_bounds_are_refused_with_the_bound() {
        for (text, shown) in [("0", "0"), ("-1", "-1"), ("nan", "NaN"), ("inf", "inf"), ("1e-10", "0.0000000001")] {
            check_refused(REAL, text, &format!("real is {shown}: it must lie between 1e-9 and 1e9"));
        }
        check_refused(REAL, "much", "real is `much`: it must lie between 1e-9 and 1e9");
        check_refused(MONEY, "0", "money is 0: it must be above 0");
        check_refused(MONEY, "-1", "money is no amount: `-1` is negative: the least amount is 0");
        check_refused(COUNT, "-1", "count is `-1`: it must be a whole number");
        check_refused(SWITCH, "1", "switch is `1`: it must be true or false");
        check_refused(CHOICE, "up", "choice is `up`: it must be one of left, right");
        for parameter in [REAL, MONEY, COUNT, SWITCH, CHOICE] {
            assert_eq!(parameter.check(parameter.default()), Ok(parameter.default()));
        }
    }

    #[test]
    fn a_whole_number_is_a_number_and_an_amount_but_a_fraction_is_no_amount() {
        assert_eq!(REAL.check(2), Ok(Value::Real(2.0)));
        assert_eq!(MONEY.check(2), Ok(Value::Amount(Amount::from_units(2))));
        assert!(MONEY.check(0.5).is_err() && COUNT.check(2.0).is_err() && SWITCH.check(1).is_err());
        assert_eq!(MONEY.check(u64::MAX).unwrap_err().parameter, MONEY);
    }

    #[test]
    fn a_word_is_a_choice_and_nothing_else() {
        assert_eq!(CHOICE.check("right"), Ok(Value::from("right")));
        assert_eq!(CHOICE.check(7).unwrap_err().to_string(), "choice is 7: it must be one of left, right");
        let error = MONEY.check("x").unwrap_err().to_string();
        assert_eq!(error, "money is no amount: `x` is not a finite decimal number");
        assert_eq!(REAL.check("x").unwrap_err().to_string(), "real is `x`: it must lie between 1e-9 and 1e9");
    }

    #[test]
    fn values_are_read_as_they_are_written() {
        let amount = Value::Amount(Amount::STEP);
        let values = [Value::Real(0.5), amount, Value::Count(7), Value::Switch(true), Value::from("left")];
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, r#"[0.5,"0.000001",7,true,"left"]"#);
        assert_eq!(serde_json::from_str::<[Value; 5]>(&text).unwrap(), values);
        assert_eq!(serde_json::from_str::<Value>("-7").unwrap(), Value::Real(-7.0));
        let refused = |text: &str| serde_json::from_str::<Value>(text).unwrap_err().to_string();
        assert!(refused("[1]").contains("expected a number, true, false, a word, or an amount in quotes"));
    }
}
