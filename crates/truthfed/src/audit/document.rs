//! Counterexamples as JSON documents, schema `truthfed.counterexample/2`.
//!
//! The round inside is a document of its own, laid out to be read by hand. Reading names the field that is wrong.
//! Outcomes, payments and gains are not written: whoever replays it computes them.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::counterexample::{Counterexample, ask_of};
use super::finding::Lie;
use super::{Property, UnknownProperty};
use crate::AmountError;
use crate::auction::{ClientIdError, DocumentError, Round, RoundDocument, SettingError};
use crate::money::raw;

/// The schema this version reads and writes.
pub const COUNTEREXAMPLE_SCHEMA: &str = "truthfed.counterexample/2";

/// What errors call the document itself.
const WHOLE: &str = "counterexample";

/// Why a text is not a valid counterexample. All of them are the writer's to mend.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CounterexampleError {
    /// Not JSON, or not of the right shape: unknown, missing or repeated field, wrong type. `at` is the path of the field,
    /// or `counterexample` for the whole.
    #[error("{at}: {message}")]
    Shape { at: String, message: String },
    #[error("schema: is `{0}`, this version reads `{COUNTEREXAMPLE_SCHEMA}`")]
    Schema(String),
    #[error("mechanism.{0}")]
    Mechanism(SettingError),
    #[error("property: {0}")]
    Property(UnknownProperty),
    #[error("lies[{index}].ask: {error}")]
    Ask { index: usize, error: AmountError },
    #[error("lies[{index}].client: {error}")]
    Client { index: usize, error: ClientIdError },
    #[error("lies[{index}].client: {client} does not offer in the round")]
    NotOffering { index: usize, client: String },
    #[error("lies: {property} needs {expected}")]
    Lies { property: Property, expected: &'static str },
    #[error("round: {0}")]
    Round(DocumentError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields<'a> {
    schema: String,
    #[serde(borrow)]
    mechanism: &'a RawValue,
    property: String,
    #[serde(borrow)]
    lies: Vec<&'a RawValue>,
    #[serde(borrow)]
    round: &'a RawValue,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LieFields {
    client: String,
    ask: Box<RawValue>,
}

impl Counterexample {
    pub fn read(text: &str) -> Result<Counterexample, CounterexampleError> {
        // Some editors put a byte-order mark in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let fields: Fields<'_> = object(WHOLE, text)?;
        if fields.schema != COUNTEREXAMPLE_SCHEMA {
            return Err(CounterexampleError::Schema(fields.schema));
        }
        let property = fields.property.parse().map_err(CounterexampleError::Property)?;
        let mechanism = object("mechanism", fields.mechanism.get())?;
        let round = RoundDocument::read_round(fields.round.get()).map_err(CounterexampleError::Round)?;
        let lies = fields.lies.iter().enumerate().map(|(index, text)| lie(index, text.get(), &round));
        let lies = lies.collect::<Result<Vec<Lie>, _>>()?;
        check_lies(property, &lies)?;
        Ok(Counterexample { mechanism, property, lies, round })
    }
}

/// The document, laid out for a reader, with a line end.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{{\"schema\": {},", json(&COUNTEREXAMPLE_SCHEMA)?)?;
        writeln!(f, " \"mechanism\": {},", json(&self.mechanism)?)?;
        writeln!(f, " \"property\": {},", json(&self.property.name())?)?;
        let lie = |lie: &Lie| json(&LieFields { client: lie.client.to_string(), ask: raw(lie.ask) });
        let lies = self.lies.iter().map(lie).collect::<Result<Vec<_>, _>>()?;
        writeln!(f, " \"lies\": [{}],", lies.join(", "))?;
        writeln!(f, " \"round\":\n{:#}}}", RoundDocument::of(&self.round.spec()))
    }
}

/// A struct out of a JSON object; by itself it would be read from a list by position too.
fn object<'a, T: Deserialize<'a>>(at: &str, text: &'a str) -> Result<T, CounterexampleError> {
    let shape = |at: &str, message: String| CounterexampleError::Shape { at: at.to_owned(), message };
    if !text.trim_start().starts_with('{') {
        return Err(shape(at, "expected an object".to_owned()));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let message = error.inner().to_string();
        match error.path().to_string().as_str() {
            "." | "?" => shape(at, message),
            path if at == WHOLE => shape(path, message),
            path => shape(&format!("{at}.{path}"), message),
        }
    })?;
    reader.end().map_err(|error| shape(at, error.to_string()))?;
    Ok(value)
}

fn lie(index: usize, text: &str, round: &Round) -> Result<Lie, CounterexampleError> {
    let fields: LieFields = object(&format!("lies[{index}]"), text)?;
    let client = fields.client.parse().map_err(|error| CounterexampleError::Client { index, error })?;
    let ask = fields.ask.get().parse().map_err(|error| CounterexampleError::Ask { index, error })?;
    match ask_of(round, &client) {
        Some(_) => Ok(Lie { client, ask }),
        None => Err(CounterexampleError::NotOffering { index, client: fields.client }),
    }
}

fn check_lies(property: Property, lies: &[Lie]) -> Result<(), CounterexampleError> {
    let each_once =
        |lies: &[Lie]| lies.iter().enumerate().all(|(i, lie)| lies[..i].iter().all(|l| l.client != lie.client));
    let (is_right, expected) = match property {
        Property::Monotone => (
            matches!(lies, [low, high] if low.client == high.client && low.ask < high.ask),
            "two asks of one client, the lower first",
        ),
        Property::Truthful => (lies.len() == 1, "the lie of one client"),
        Property::Collusion | Property::CollusionInTotal => {
            (!lies.is_empty() && each_once(lies), "at least one client, each once")
        }
        _ => (lies.is_empty(), "no lies"),
    };
    if is_right { Ok(()) } else { Err(CounterexampleError::Lies { property, expected }) }
}

fn json(value: &impl Serialize) -> Result<String, fmt::Error> {
    serde_json::to_string(value).map_err(|_| fmt::Error)
}
