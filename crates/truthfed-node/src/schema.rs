//! JSON schemas of what messages are made of, for the OpenAPI document.
//!
//! The library's own types know nothing of schemas: each has its shape here, named in messages by `#[schemars(with)]`. A test
//! checks real messages against the schemas.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use truthfed::auction::Kind;
use truthfed::auction::catalog::{self, Entry};

use crate::digest::Hex;
use crate::error::{Code, Refusal};

impl<const N: usize> JsonSchema for Hex<N> {
    fn schema_name() -> Cow<'static, str> {
        format!("Hex{N}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": format!("{N} bytes as lower-case hexadecimal digits."),
            "type": "string",
            "pattern": format!("^[0-9a-f]{{{}}}$", 2 * N),
        })
    }
}

impl JsonSchema for Refusal {
    fn schema_name() -> Cow<'static, str> {
        "Refusal".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
        json_schema!({
            "description": "Why a request is refused. Programs go by the code.",
            "type": "object",
            "properties": {
                "error": {
                    "type": "object",
                    "properties": { "code": { "type": "string", "enum": codes }, "message": { "type": "string" } },
                    "required": ["code", "message"],
                    "additionalProperties": false,
                },
            },
            "required": ["error"],
            "additionalProperties": false,
        })
    }
}

/// An envelope whose content is a `T`.
pub(crate) struct Signed<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Signed<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Signed{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (content, signature) = (generator.subschema_for::<T>(), generator.subschema_for::<Hex<64>>());
        json_schema!({
            "description": "A content with an Ed25519 signature over its schema, a line feed and its very bytes.",
            "type": "object",
            "properties": { "content": content, "signature": signature },
            "required": ["content", "signature"],
            "additionalProperties": false,
        })
    }
}

/// Defines the shape of a type that is a single JSON value.
macro_rules! shapes {
    ($($(#[doc = $doc:literal])* $shape:ident = $name:literal $schema:tt)*) => {$(
        $(#[doc = $doc])*
        pub(crate) enum $shape {}

        impl JsonSchema for $shape {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

shapes! {
    /// Of [`truthfed::auction::ClientId`].
    Member = "Member" {
        "description": "The name of a member.", "type": "string", "minLength": 1, "maxLength": 128
    }
    /// Of [`truthfed::Amount`].
    Micros = "Micros" {
        "description": "Money: whole micro-units, a million to the unit.",
        "type": "integer", "format": "int64", "minimum": 0, "maximum": 1_000_000_000_000_000_000_u64
    }
    /// Of [`truthfed::protocol::RoundId`].
    Round = "Round" {
        "description": "The number of a round: the first is 1, 0 is before it.",
        "type": "integer", "format": "int64", "minimum": 0, "maximum": 9_223_372_036_854_775_806_u64
    }
    /// Of [`truthfed::statistics::Gram`].
    LowerTriangle = "LowerTriangle" {
        "description": "A symmetric d x d matrix: its lower triangle, row by row, d (d + 1) / 2 numbers.",
        "type": "array", "items": { "type": "number", "format": "double" }
    }
    /// Of [`truthfed::bandit::RawConfig`].
    Bandit = "Bandit" {
        "description": "Parameters of LinUCB.",
        "type": "object",
        "properties": {
            "dimension": { "type": "integer", "minimum": 1, "maximum": 512 },
            "lambda": { "type": "number", "description": "Ridge weight." },
            "sigma": { "type": "number", "description": "Scale of the noise." },
            "delta": { "type": "number", "description": "Probability of a wrong confidence set." }
        },
        "required": ["dimension", "lambda", "sigma", "delta"],
        "additionalProperties": false
    }
    /// Of [`truthfed::protocol::Trigger`].
    Trigger = "Trigger" {
        "description": "When a member asks for a round: n log(det V now / det V then) exceeds the threshold.",
        "type": "object",
        "properties": {
            "since": { "type": "string", "enum": ["round", "delivery"], "description": "Since when it counts." },
            "threshold": { "type": "number", "minimum": 0 }
        },
        "required": ["since", "threshold"],
        "additionalProperties": false
    }
}

/// Of [`truthfed::auction::MechanismSetting`]: any mechanism of the catalog with its parameters.
pub(crate) enum MechanismSetting {}

impl JsonSchema for MechanismSetting {
    fn schema_name() -> Cow<'static, str> {
        "MechanismSetting".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let choices: Vec<Schema> = catalog::entries().iter().map(|entry| mechanism(entry, generator)).collect();
        json_schema!({ "description": "Who wins, and what they are paid.", "oneOf": choices })
    }
}

fn mechanism(entry: &Entry, generator: &mut SchemaGenerator) -> Schema {
    let mut properties = serde_json::Map::new();
    properties.insert("name".to_owned(), serde_json::json!({ "const": entry.name }));
    for parameter in entry.parameters {
        let (key, mut schema) = match parameter.kind {
            Kind::Real { least, most, .. } => {
                (parameter.name.to_owned(), json_schema!({ "type": "number", "minimum": least, "maximum": most }))
            }
            Kind::Amount { .. } => (format!("{}_micros", parameter.name), generator.subschema_for::<Micros>()),
            Kind::Count { .. } => (parameter.name.to_owned(), json_schema!({ "type": "integer", "minimum": 0 })),
            Kind::Switch => (parameter.name.to_owned(), json_schema!({ "type": "boolean" })),
        };
        schema.insert("description".to_owned(), format!("{}.", parameter.help).into());
        properties.insert(key, schema.to_value());
    }
    let required: Vec<String> = properties.keys().cloned().collect();
    json_schema!({
        "description": entry.summary,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Of [`truthfed::protocol::Snapshot`].
#[derive(JsonSchema)]
#[schemars(
    rename = "Snapshot",
    deny_unknown_fields,
    description = "What is settled, absolutely, as one member sees it."
)]
#[allow(dead_code)] // a shape has no values
pub(crate) struct Snapshot {
    /// The last round that ended, settled or aborted.
    closed: Round,
    /// The last round in which this member's delivery was settled.
    settled: Option<Round>,
    /// Everything delivered so far.
    statistics: Statistics,
}

/// Of [`truthfed::statistics::Statistics`].
#[derive(JsonSchema)]
#[schemars(rename = "Statistics", deny_unknown_fields, description = "Sufficient statistics of observations (x, y).")]
#[allow(dead_code)] // a shape has no values
pub(crate) struct Statistics {
    /// The sum of x x'.
    gram: LowerTriangle,
    /// The sum of x y: d numbers.
    moment: Vec<f64>,
    /// The number of observations.
    samples: u64,
}
