//! Rounds as JSON documents, schema `truthfed.round/1`.
//!
//! Reading names the field that is wrong, with its place in the text. Asks and the reserve are read from their
//! digits, never through a float. What is written is read back as the same round.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{ClientIdError, Coverage, CoverageError, Offer, Round, RoundError, RoundSpec};
use crate::money::raw;
use crate::statistics::{Gram, GramError};
use crate::{Amount, AmountError};

/// The schema this version reads and writes.
pub const ROUND_SCHEMA: &str = "truthfed.round/1";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundDocument {
    schema: String,
    lambda: f64,
    coverage: f64,
    /// Instead of a coverage that is known by its logarithm, of which the ratio would be read back as another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log_coverage: Option<f64>,
    reserve: Box<RawValue>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purse: Option<Box<RawValue>>,
    base: Vec<Vec<f64>>,
    offers: Vec<Object<OfferDocument>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OfferDocument {
    client: String,
    ask: Box<RawValue>,
    gram: Vec<Vec<f64>>,
}

/// Why a text is not a valid round. All of them are the writer's to mend.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// Not JSON, or not of the right shape: unknown, missing or repeated field, wrong type. It names the field, such as
    /// `offers[0].ask`, unless it is the whole.
    #[error("{0}")]
    Shape(String),
    #[error("schema: is `{0}`, this version reads `{ROUND_SCHEMA}`")]
    Schema(String),
    #[error("offers[{index}].client: {error}")]
    Client { index: usize, error: ClientIdError },
    #[error("offers[{index}].ask of {client}: {error}")]
    Ask { index: usize, client: String, error: AmountError },
    #[error("offers[{index}].gram of {client}: {error}")]
    Gram { index: usize, client: String, error: GramError },
    #[error("base: {0}")]
    Base(GramError),
    #[error("reserve: {0}")]
    Reserve(AmountError),
    #[error("purse: {0}")]
    Purse(AmountError),
    #[error(transparent)]
    Coverage(#[from] CoverageError),
    #[error(transparent)]
    Round(#[from] RoundError),
}

impl RoundDocument {
    /// Reads a document, its shape only; [`RoundDocument::into_spec`] checks the rest.
    pub fn read(text: &str) -> Result<RoundDocument, DocumentError> {
        // Some editors put a byte-order mark in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = serde_json::Deserializer::from_str(text);
        let document: Object<_> = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let message = shape_message(text, error.inner());
            match error.path().to_string().as_str() {
                "." | "?" => DocumentError::Shape(message),
                path => DocumentError::Shape(format!("{path}: {message}")),
            }
        })?;
        reader.end().map_err(|error| DocumentError::Shape(error.to_string()))?;
        Ok(document.0)
    }

    /// The parts of the round, ready to be changed or made a [`Round`].
    pub fn into_spec(self) -> Result<RoundSpec, DocumentError> {
        if self.schema != ROUND_SCHEMA {
            return Err(DocumentError::Schema(self.schema));
        }
        let coverage = match self.log_coverage {
            Some(log) => Coverage::from_log(log)?,
            None => Coverage::ratio(self.coverage)?,
        };
        let reserve = amount(&self.reserve).map_err(DocumentError::Reserve)?;
        let purse = self.purse.as_deref().map(amount).transpose().map_err(DocumentError::Purse)?;
        let base = Gram::from_rows(&self.base).map_err(DocumentError::Base)?;
        let offers = self.offers.into_iter().enumerate().map(|(index, offer)| offer.0.into_offer(index));
        let offers = offers.collect::<Result<_, _>>()?;
        Ok(RoundSpec { lambda: self.lambda, coverage, reserve, purse, ..RoundSpec::new(base, offers) })
    }

    pub fn read_round(text: &str) -> Result<Round, DocumentError> {
        Ok(Round::new(RoundDocument::read(text)?.into_spec()?)?)
    }

    pub fn of(spec: &RoundSpec) -> RoundDocument {
        let offer = |offer: &Offer| {
            let (client, ask, gram) = (offer.client.to_string(), raw(offer.ask), offer.gram.rows());
            Object(OfferDocument { client, ask, gram })
        };
        let (coverage, log) = (spec.coverage.to_ratio(), spec.coverage.log());
        RoundDocument {
            schema: ROUND_SCHEMA.to_owned(),
            lambda: spec.lambda,
            coverage,
            log_coverage: (Coverage::ratio(coverage) != Ok(spec.coverage)).then_some(log),
            reserve: raw(spec.reserve),
            purse: spec.purse.map(raw),
            base: spec.base.rows(),
            offers: spec.offers.iter().map(offer).collect(),
        }
    }
}

/// The document on one line; `{:#}` puts every offer on a line of its own.
impl fmt::Display for RoundDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn json<T: Serialize>(value: &T) -> Result<String, fmt::Error> {
            serde_json::to_string(value).map_err(|_| fmt::Error)
        }
        if !f.alternate() {
            return f.write_str(&json(self)?);
        }
        let RoundDocument { schema, lambda, coverage, log_coverage, reserve, purse, base, offers } = self;
        writeln!(f, "{{\"schema\": {},", json(schema)?)?;
        writeln!(f, " \"lambda\": {}, \"coverage\": {}, \"reserve\": {reserve},", json(lambda)?, json(coverage)?)?;
        if let Some(log) = log_coverage {
            writeln!(f, " \"log_coverage\": {},", json(log)?)?;
        }
        if let Some(purse) = purse {
            writeln!(f, " \"purse\": {purse},")?;
        }
        writeln!(f, " \"base\": {},", json(base)?)?;
        writeln!(f, " \"offers\": [")?;
        for (index, offer) in offers.iter().enumerate() {
            let comma = if index + 1 < offers.len() { "," } else { "" };
            let Object(OfferDocument { client, ask, gram }) = offer;
            writeln!(f, "  {{\"client\": {}, \"ask\": {ask}, \"gram\": {}}}{comma}", json(client)?, json(gram)?)?;
        }
        write!(f, " ]}}")
    }
}

/// A struct that is read from a JSON object only; by itself it would be read from a list by position too.
#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Fields(PhantomData))
    }
}

impl OfferDocument {
    fn into_offer(self, index: usize) -> Result<Offer, DocumentError> {
        let client = self.client.parse().map_err(|error| DocumentError::Client { index, error })?;
        let named = self.client;
        let ask = amount(&self.ask).map_err(|error| DocumentError::Ask { index, client: named.clone(), error })?;
        let gram = Gram::from_rows(&self.gram).map_err(|error| DocumentError::Gram { index, client: named, error })?;
        Ok(Offer { client, ask, gram })
    }
}

fn amount(text: &RawValue) -> Result<Amount, AmountError> {
    text.get().parse()
}

/// JSON has no NaN or Infinity, though some writers print them: say so instead of "expected value".
fn shape_message(text: &str, error: &serde_json::Error) -> String {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or("");
    let around = line.get(error.column().saturating_sub(2)..).unwrap_or("");
    let token = ["NaN", "nan", "Infinity", "inf"]
        .into_iter()
        .find(|token| around.get(..token.len() + 2).unwrap_or(around).contains(token));
    match token {
        Some(token) => format!("{token} is not a finite number ({error})"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = r#"{"schema":"truthfed.round/1","lambda":0.1,"coverage":0.5,"reserve":100,
        "base":[[1.0,0.0],[0.0,1.0]],"offers":[{"client":"a","ask":12.5,"gram":[[1.0,0.5],[0.5,1.0]]}]}"#;

    fn check_refused(from: &str, to: &str, expected: &str) {
        assert!(VALID.contains(from), "{from}");
        let error = RoundDocument::read_round(&VALID.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    fn check_written_and_read(spec: &RoundSpec) {
        let document = RoundDocument::of(spec);
        for text in [document.to_string(), format!("{document:#}")] {
            assert_eq!(RoundDocument::read_round(&text).unwrap().spec(), *spec);
        }
    }

    #[test]
    fn a_valid_document_is_read_and_written_back() {
        check_written_and_read(&RoundDocument::read_round(VALID).unwrap().spec());
        let with_purse = VALID.replace("\"reserve\":100", "\"reserve\":100,\"purse\":50.5");
        let spec = RoundDocument::read_round(&with_purse).unwrap().spec();
        assert_eq!(spec.purse.map(Amount::micros), Some(50_500_000));
        check_written_and_read(&spec);
    }

    #[test]
    fn whatever_is_wrong_is_named() {
        check_refused("{\"schema\"", "{schema", "line 1");
        check_refused("truthfed.round/1", "truthfed.round/2", "schema: is `truthfed.round/2`");
        check_refused("\"lambda\":0.1,", "", "missing field `lambda`");
        check_refused("\"lambda\":0.1,", "\"lambda\":0.1,\"lamda\":0.1,", "unknown field `lamda`");
        check_refused("\"lambda\":0.1,", "\"lambda\":0.1,\"lambda\":0.1,", "duplicate field `lambda`");
        check_refused("\"lambda\":0.1", "\"lambda\":\"x\"", "lambda: invalid type");
        check_refused("\"lambda\":0.1", "\"lambda\":0", "lambda is 0");
        check_refused("\"coverage\":0.5", "\"coverage\":1.5", "coverage is 1.5");
        check_refused("\"reserve\":100", "\"reserve\":-1", "reserve: `-1` is negative");
        check_refused("\"reserve\":100", "\"reserve\":100,\"purse\":-1", "purse: `-1` is negative");
        check_refused("\"ask\":12.5", "\"ask\":-3", "offers[0].ask of a: `-3` is negative");
        check_refused("\"ask\":12.5", "\"ask\":1e13", "offers[0].ask of a: `1e13` is above");
        check_refused("\"ask\":12.5", "\"ask\":0.1234567", "more than 6 decimal places");
        check_refused("\"ask\":12.5", "\"ask\":\"12.5\"", "offers[0].ask of a: `\"12.5\"` is not");
        check_refused("\"ask\":12.5", "\"ask\":NaN", "NaN is not a finite number");
        check_refused("\"ask\":12.5", "\"ask\":Infinity", "Infinity is not a finite number");
        check_refused("[0.5,1.0]", "[NaN,1.0]", "offers[0].gram[1][0]: NaN is not a finite number");
        check_refused("[[1.0,0.5],[0.5,1.0]]", "[[1.0,0.5],[0.4,1.0]]", "offers[0].gram of a: not symmetric");
        check_refused("[[1.0,0.5],[0.5,1.0]]", "[[1.0,0.5]]", "offers[0].gram of a: row 0 has 2 entries");
        check_refused("[[1.0,0.5],[0.5,1.0]]", "[[1.0,2.0],[2.0,1.0]]", "gram of a is not positive semi-definite");
        check_refused("[[1.0,0.0],[0.0,1.0]]", "[]", "base: dimension 0");
        check_refused("\"client\":\"a\"", "\"client\":\"\"", "offers[0].client: client name is empty");
        check_refused("0.5,1.0]]}]}", "0.5,1.0]]}]} trailing", "trailing characters");
        check_refused("0.5,1.0]]}]}", "0.5,1.0]]", "EOF");
    }

    #[test]
    fn a_coverage_that_is_known_by_its_logarithm_is_read_back_to_the_bit() {
        let mut spec = RoundDocument::read_round(VALID).unwrap().spec();
        // Too small for a float, almost so, and so close to 1 that the ratio has few of its digits.
        let logs = [-5000.0, -744.0, -7.938_094_626_073_02e-13].map(|log| Coverage::from_log(log).unwrap());
        for coverage in logs.into_iter().chain(Coverage::monopoly_free(7, 1.0, 0.1, 3)) {
            spec.coverage = coverage;
            check_written_and_read(&spec);
        }
        check_refused("\"coverage\":0.5", "\"coverage\":0.5,\"log_coverage\":1", "log_coverage is 1");
    }

    #[test]
    fn lists_in_place_of_objects_are_refused() {
        check_refused(
            r#"{"client":"a","ask":12.5,"gram":[[1.0,0.5],[0.5,1.0]]}"#,
            r#"["a",12.5,[[1.0]]]"#,
            "expected an object",
        );
        let by_position = r#"["truthfed.round/1",0.1,0.5,null,100,[[1.0]],[]]"#;
        assert!(RoundDocument::read(by_position).unwrap_err().to_string().contains("expected an object"));
    }

    #[test]
    fn large_asks_keep_every_digit() {
        let text = VALID.replace("12.5", "99.999999").replace("\"reserve\":100", "\"reserve\":999999999999.999999");
        let spec = RoundDocument::read(&text).unwrap().into_spec().unwrap();
        assert_eq!(spec.reserve.micros(), 999_999_999_999_999_999);
        assert!(RoundDocument::of(&spec).to_string().contains("\"reserve\":999999999999.999999"));
    }
}
