//! Requests as values: what each is called, how it travels over HTTP, and what it is answered with.
//!
//! `calls!` makes an enum of requests from a table with one row per request. From a row follow the HTTP message of a call,
//! the reading of such a message, the type of its reply, and its entry in the OpenAPI document. The tables are
//! [`wire::Call`](crate::wire::Call) for members and [`operator::Order`](crate::coordinator::operator::Order) for the operator.
//!
//! Not here: what a request does ([`crate::engine`], [`crate::coordinator`]).

use axum::http::Method;
use hyper::body::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use crate::error::{Code, Refusal};
use crate::reading::read_json;
use crate::schema;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub method: Method,
    /// With the query, if there is one.
    pub path: String,
    pub body: Bytes,
}

/// How a request is called, and by whom: all of it but the values.
pub(crate) struct Route<C: 'static> {
    pub(crate) form: Form,
    pub(crate) read: fn(&mut Parts) -> Result<C, Refusal>,
}

/// A route without the type of its call.
pub(crate) struct Form {
    pub(crate) call: &'static str,
    pub(crate) method: Method,
    /// With `{name}` in place of the parameter.
    pub(crate) path: &'static str,
    pub(crate) who: Who,
    /// One sentence for the document.
    pub(crate) summary: &'static str,
    /// Whether the body has a matrix in it.
    pub(crate) is_large: bool,
    pub(crate) takes: &'static [fn(&mut SchemaGenerator, &mut Takes)],
    pub(crate) gives: fn(&mut SchemaGenerator) -> Schema,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Member,
    Operator,
    Anyone,
}

/// What a request takes, for the document.
#[derive(Default)]
pub(crate) struct Takes {
    pub(crate) parameters: Vec<Value>,
    pub(crate) body: Option<Schema>,
}

/// The values of a request, as text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Parts {
    pub(crate) parameter: Option<String>,
    pub(crate) query: Option<String>,
    pub(crate) body: Bytes,
}

impl Form {
    /// As logs and metrics name it.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// The request with these values. A POST without a body has an empty object as its body.
    pub(crate) fn message(&self, parts: Parts) -> Message {
        let Parts { parameter, query, mut body } = parts;
        let mut path = match (parameter, self.path.split_once('{')) {
            (Some(value), Some((before, rest))) => {
                let after = rest.split_once('}').map_or("", |(_, after)| after);
                format!("{before}{}{after}", encode(&value))
            }
            _ => self.path.to_owned(),
        };
        if let Some(query) = query.filter(|query| !query.is_empty()) {
            path = format!("{path}?{query}");
        }
        if body.is_empty() && self.method == Method::POST {
            body = Bytes::from_static(b"{}");
        }
        Message { method: self.method.clone(), path, body }
    }
}

/// A value as one segment of a path.
fn encode(value: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    value
        .bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

impl Parts {
    /// Refuses what no part of the call has read: a sender must not believe that an ignored field was heard.
    pub(crate) fn check_read(&self) -> Result<(), Refusal> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Empty {}
        if self.query.as_ref().is_some_and(|query| !query.is_empty()) {
            return Err(Refusal::new(Code::UnknownField, "this path takes no query"));
        }
        if !self.body.is_empty() {
            let Empty {} = read_json(&self.body)?;
        }
        Ok(())
    }
}

pub(crate) trait Parameter: Sized + ToString {
    type Schema: JsonSchema;

    fn read(text: &str) -> Option<Self>;
}

impl Parameter for RoundId {
    type Schema = schema::Round;

    fn read(text: &str) -> Option<RoundId> {
        text.parse().ok().map(RoundId)
    }
}

impl Parameter for ClientId {
    type Schema = schema::Member;

    fn read(text: &str) -> Option<ClientId> {
        text.parse().ok()
    }
}

pub(crate) mod path {
    use super::*;

    pub(crate) const IS_LARGE: bool = false;

    pub(crate) fn read<T: Parameter>(parts: &mut Parts, name: &str) -> Result<T, Refusal> {
        let value = parts.parameter.take().and_then(|text| T::read(&text));
        value.ok_or_else(|| Refusal::new(Code::NotFound, format!("there is no such {name}")))
    }

    pub(crate) fn write<T: Parameter>(value: &T, parts: Parts) -> Parts {
        Parts { parameter: Some(value.to_string()), ..parts }
    }

    pub(crate) fn describe<T: Parameter>(name: &str, generator: &mut SchemaGenerator, takes: &mut Takes) {
        let schema = generator.subschema_for::<T::Schema>();
        takes.parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
}

/// A struct after the question mark. Such a request has no body.
pub(crate) mod query {
    use axum::http::Uri;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    pub(crate) const IS_LARGE: bool = false;

    pub(crate) fn read<T: DeserializeOwned>(parts: &mut Parts, _: &str) -> Result<T, Refusal> {
        if !parts.body.is_empty() {
            return Err(Refusal::new(Code::TrailingBytes, "this request has no body"));
        }
        let query = parts.query.take().unwrap_or_default();
        let uri = Uri::try_from(format!("/?{query}"));
        let uri = uri.map_err(|error| Refusal::new(Code::Malformed, format!("query: {error}")))?;
        let read = axum::extract::Query::try_from_uri(&uri);
        read.map(|axum::extract::Query(query)| query).map_err(|rejection| {
            let problem = rejection.body_text();
            let code = if problem.contains("unknown field") { Code::UnknownField } else { Code::WrongType };
            Refusal::new(code, problem)
        })
    }

    /// Fields that are numbers; one without a value is left out.
    pub(crate) fn write<T: Serialize>(value: &T, parts: Parts) -> Parts {
        let fields = serde_json::to_value(value).expect("a query is JSON");
        let fields = fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let query = fields.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&");
        Parts { query: Some(query), ..parts }
    }

    pub(crate) fn describe<T: JsonSchema>(_: &str, generator: &mut SchemaGenerator, takes: &mut Takes) {
        let schema = Value::from(T::json_schema(generator));
        let properties = schema["properties"].as_object().into_iter().flatten();
        let parameter = |(name, schema): (&String, &Value)| json!({ "name": name, "in": "query", "schema": schema });
        takes.parameters.extend(properties.map(parameter));
    }
}

pub(crate) mod body {
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    pub(crate) const IS_LARGE: bool = false;

    pub(crate) fn read<T: DeserializeOwned>(parts: &mut Parts, _: &str) -> Result<T, Refusal> {
        read_json(&std::mem::take(&mut parts.body))
    }

    pub(crate) fn write<T: Serialize>(value: &T, parts: Parts) -> Parts {
        Parts { body: serde_json::to_vec(value).expect("messages are JSON").into(), ..parts }
    }

    pub(crate) fn describe<T: JsonSchema>(_: &str, generator: &mut SchemaGenerator, takes: &mut Takes) {
        takes.body = Some(generator.subschema_for::<T>());
    }
}

pub(crate) mod matrix {
    pub(crate) use super::body::{describe, read, write};

    pub(crate) const IS_LARGE: bool = true;
}

/// Makes an enum of calls, and one of their replies, from a table: the summary as the doc line, the call with its values,
/// the method and path, the type of the reply. A value says where it stands: `path`, `query`, `body`, or `matrix` for a large
/// body. `as` names the schema of a value that does not describe itself.
macro_rules! calls {
    (@schema $of:ty) => { $of };
    (@schema $of:ty, $schema:ty) => { $schema };
    (
        $(#[$about:meta])*
        $who:ident $Call:ident, $Reply:ident {
            $(
                #[doc = $summary:literal]
                $name:ident $(( $($place:ident $value:ident: $of:ty $(as $schema:ty)?),+ ))? =
                    $method:ident $path:literal => $reply:ty,
            )+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone)]
        pub enum $Call {
            $( #[doc = $summary] $name $(( $($of),+ ))?, )+
        }

        #[doc = concat!("The reply to each [`", stringify!($Call), "`].")]
        #[derive(Debug, Clone, serde::Serialize)]
        #[serde(untagged)]
        #[allow(clippy::large_enum_variant, reason = "a reply is read once, and never kept in a list")]
        pub enum $Reply {
            $( $name($reply), )+
        }

        impl $Call {
            pub(crate) const ROUTES: &'static [$crate::call::Route<$Call>] = &[ $( $crate::call::Route {
                form: $crate::call::Form {
                    call: stringify!($name),
                    method: axum::http::Method::$method,
                    path: $path,
                    who: $crate::call::Who::$who,
                    summary: $summary.trim_ascii(),
                    is_large: false $($( || $crate::call::$place::IS_LARGE )+)?,
                    takes: &[ $($( |generator, takes| {
                        type Described = $crate::call::calls!(@schema $of $(, $schema)?);
                        $crate::call::$place::describe::<Described>(stringify!($value), generator, takes);
                    } ),+)? ],
                    gives: |generator| generator.subschema_for::<$reply>(),
                },
                read: |parts| {
                    let call = $Call::$name $(( $($crate::call::$place::read(parts, stringify!($value))?),+ ))?;
                    parts.check_read()?;
                    Ok(call)
                },
            } ),+ ];

            pub fn message(&self) -> $crate::call::Message {
                let (route, parts) = self.parts();
                route.form.message(parts)
            }

            /// The call that somebody makes who sends this body to the same path.
            pub fn with_body(&self, body: &[u8]) -> Result<$Call, $crate::error::Refusal> {
                let (route, parts) = self.parts();
                (route.read)(&mut $crate::call::Parts { body: hyper::body::Bytes::copy_from_slice(body), ..parts })
            }

            pub fn name(&self) -> &'static str {
                match self {
                    $( $Call::$name { .. } => stringify!($name), )+
                }
            }

            fn parts(&self) -> (&'static $crate::call::Route<$Call>, $crate::call::Parts) {
                let parts = $crate::call::Parts::default();
                let parts = match self {
                    $( $Call::$name $(( $($value),+ ))? => {
                        $($( let parts = $crate::call::$place::write($value, parts); )+)?
                        parts
                    } )+
                };
                let route = Self::ROUTES.iter().find(|route| route.form.call == self.name());
                (route.expect("every call has a route"), parts)
            }

            /// Reads the reply to this call, strictly. The error names the field and what is wrong with it.
            pub fn read_reply(&self, reply: &[u8]) -> Result<$Reply, $crate::error::Refusal> {
                match self {
                    $( $Call::$name { .. } => $crate::reading::read_json(reply).map($Reply::$name), )+
                }
            }
        }
    };
}
pub(crate) use calls;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::operator::{After as AfterRound, Asked, Order};
    use crate::wire::{After, Call, Envelope, Seen, SyncRequest};

    /// What the router makes of a message: the route, and the values.
    fn parts(path: &str, message: &Message) -> Parts {
        let (plain, query) = message.path.split_once('?').map_or((message.path.as_str(), None), |(a, b)| (a, Some(b)));
        let segments = path.split('/').zip(plain.split('/'));
        let parameter = segments.filter(|(known, _)| known.starts_with('{')).map(|(_, value)| value.to_owned()).next();
        Parts { parameter, query: query.map(str::to_owned), body: message.body.clone() }
    }

    fn check<C>(routes: &[Route<C>], name: &str, message: &Message, expected: &str, again: impl Fn(&C) -> Message) {
        assert_eq!(format!("{} {}", message.method, message.path), expected);
        let route = routes.iter().find(|route| route.form.call == name).unwrap();
        let read = (route.read)(&mut parts(route.form.path, message)).unwrap();
        assert_eq!(again(&read), *message, "{expected}");
    }

    #[test]
    fn every_call_is_read_as_it_was_written() {
        let signed = r#"{"content":{"x":1},"signature":"SIG"}"#.replace("SIG", &"0f".repeat(64));
        let envelope: Envelope = serde_json::from_str(&signed).unwrap();
        let round = RoundId(7);
        for (call, expected) in [
            (Call::Terms, "GET /v1/terms"),
            (Call::View(Seen::default()), "GET /v1/view?wait_ms=0"),
            (Call::View(Seen { after: Some(3), wait_ms: 20 }), "GET /v1/view?after=3&wait_ms=20"),
            (Call::Offer(round, envelope.clone()), "POST /v1/rounds/7/offer"),
            (Call::Decline(round), "POST /v1/rounds/7/decline"),
            (Call::Deliver(round, envelope), "POST /v1/rounds/7/delivery"),
            (Call::Sync(SyncRequest { have: round, waiting: None }), "POST /v1/sync"),
            (Call::Statement, "GET /v1/statement"),
            (Call::Head(After { from: Some(4) }), "GET /v1/head?from=4"),
            (Call::Head(After::default()), "GET /v1/head"),
            (Call::Said(round), "GET /v1/rounds/7/proof"),
        ] {
            let message = call.message();
            check(Call::ROUTES, call.name(), &message, expected, Call::message);
            assert_eq!(call.with_body(&message.body).unwrap().message(), message);
        }
        for (order, expected) in [
            (Order::Rounds(AfterRound { after: 2 }), "GET /v1/operator/rounds?after=2"),
            (Order::Prove(Asked { entry: Some(5), from: None }), "GET /v1/operator/proof?entry=5"),
            (Order::Status, "GET /v1/operator/status"),
        ] {
            check(Order::ROUTES, order.name(), &order.message(), expected, Order::message);
        }
        // The router decodes what stands in a path.
        let revoke = Order::Revoke("m 1/ü".parse().unwrap()).message();
        assert_eq!((revoke.method, revoke.path.as_str()), (Method::DELETE, "/v1/operator/members/m%201%2F%C3%BC"));
    }

    #[test]
    fn what_a_call_does_not_take_is_refused() {
        let with = |query: Option<&str>, body: &'static str| Parts {
            parameter: None,
            query: query.map(str::to_owned),
            body: Bytes::from_static(body.as_bytes()),
        };
        let read = |call: &str, mut parts: Parts| {
            let route = Call::ROUTES.iter().find(|route| route.form.call == call).unwrap();
            (route.read)(&mut parts).map(drop).map_err(|refusal| refusal.code)
        };
        let decline = |query, body| Parts { parameter: Some("7".to_owned()), ..with(query, body) };
        assert_eq!(read("Decline", decline(None, "")), Ok(()));
        assert_eq!(read("Decline", decline(Some(""), "{}")), Ok(()));
        assert_eq!(read("Decline", decline(Some("x=1"), "")), Err(Code::UnknownField));
        assert_eq!(read("Decline", decline(None, r#"{"x":1}"#)), Err(Code::UnknownField));
        assert_eq!(read("View", with(Some("after=1"), "{}")), Err(Code::TrailingBytes));
        assert_eq!(read("View", with(Some("before=1"), "")), Err(Code::UnknownField));
        assert_eq!(read("Sync", with(None, "")), Err(Code::Truncated));
        assert_eq!(read("Decline", with(None, "")), Err(Code::NotFound));
    }
}
