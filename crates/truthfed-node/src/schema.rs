//! JSON schemas of what messages are made of, for the OpenAPI document.
//!
//! The library's own types know nothing of schemas: each has its shape here, named in messages by `#[schemars(with)]`. A test
//! checks real messages against the schemas.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

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
    /// Of [`truthfed::protocol::Time`].
    Millis = "Millis" {
        "description": "A time: milliseconds since 1970, UTC.", "type": "integer", "format": "int64", "minimum": 0
    }
    /// Of [`crate::ledger::Reference`].
    Reference = "Reference" {
        "description": "Names a transfer of money: 1 to 100 characters, no control character, no space at either end.",
        "type": "string", "minLength": 1, "maxLength": 400
    }
    /// Of [`crate::ledger::Reason`].
    Reason = "Reason" {
        "description": "Why the operator does something: 1 to 200 characters, no control character, no space at either end.",
        "type": "string", "minLength": 1, "maxLength": 800
    }
    /// Of [`std::net::SocketAddr`].
    Address = "Address" {
        "description": "An address and a port.", "type": "string", "minLength": 1, "maxLength": 60
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
    /// The last round in which this member's delivery was taken: it is in the statistics, or in its own.
    settled: Option<Round>,
    /// Everything that is settled.
    statistics: Statistics,
    /// What this member delivered and is in nobody's model but its own, because it is held or void.
    #[schemars(skip_serializing_if = "Option::is_none")]
    own: Option<Statistics>,
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
