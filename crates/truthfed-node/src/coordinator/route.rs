//! What a route is: how it is called, by whom, with what and for what, and who answers.
//!
//! The router and the OpenAPI document are both made from a list of routes, so that neither knows one that the other does not.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;

use axum::http::{Method, Uri};
use hyper::body::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::DeserializeOwned;
use truthfed::auction::ClientId;

use super::service::Service;
use crate::engine::Handle;
use crate::error::{Code, Refusal};
use crate::reading::read_json;

/// One thing that can be asked of a coordinator.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    pub(super) who: Who,
    /// One sentence for the document.
    pub(super) summary: &'static str,
    pub(super) size: Size,
    pub(super) takes: fn(&mut SchemaGenerator) -> Takes,
    pub(super) gives: fn(&mut SchemaGenerator) -> Schema,
    pub(super) handler: Handler,
}

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// Members.
    Member,
    /// The operator.
    Operator,
    /// Both.
    Either,
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Caller {
    Member(ClientId),
    Operator,
}

impl Who {
    /// Whether somebody may call.
    pub(super) fn admit(self, caller: &Caller) -> Result<(), Refusal> {
        match self {
            Who::Member => caller.member().map(drop),
            Who::Operator => caller.operator(),
            Who::Either => Ok(()),
        }
    }
}

impl Caller {
    fn member(&self) -> Result<ClientId, Refusal> {
        match self {
            Caller::Member(member) => Ok(member.clone()),
            Caller::Operator => Err(Refusal::new(Code::NotAMember, "the operator's certificate is no member's")),
        }
    }

    fn operator(&self) -> Result<(), Refusal> {
        match self {
            Caller::Operator => Ok(()),
            Caller::Member(_) => Err(Code::NotOperator.into()),
        }
    }
}

/// How large a request can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// No matrix in it.
    Small,
    /// A matrix.
    Large,
}

/// What a request is described by.
pub(super) enum Takes {
    Nothing,
    Query(Schema),
    Body(Schema),
}

type Answer = Pin<Box<dyn Future<Output = Result<String, Refusal>> + Send>>;
type Handler = Box<dyn Fn(Call, Caller) -> Result<Answer, Refusal> + Send + Sync>;

/// A request whose sender is known.
pub(super) struct Call {
    pub(super) service: Arc<Service>,
    pub(super) engine: Handle,
    /// The parts of the path that vary.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) uri: Uri,
    pub(super) body: Bytes,
}

impl Call {
    /// A part of the path.
    pub(super) fn parameter<T: FromStr>(&self, name: &str) -> Result<T, Refusal> {
        let part = self.parameters.iter().find(|(known, _)| known == name);
        let read = part.and_then(|(_, text)| text.parse().ok());
        read.ok_or_else(|| Refusal::new(Code::NotFound, format!("there is no such {name}")))
    }
}

/// A JSON reply that is a `T`.
pub(super) struct Reply<T> {
    body: String,
    of: PhantomData<fn() -> T>,
}

impl<T> Reply<T> {
    /// As it was written down before.
    pub(super) fn written(body: String) -> Reply<T> {
        Reply { body, of: PhantomData }
    }
}

impl<T: Serialize> Reply<T> {
    /// Written down now.
    pub(super) fn new(reply: &T) -> Reply<T> {
        Reply::written(serde_json::to_string(reply).expect("our own structs are JSON"))
    }
}

/// What a handler takes out of a call.
pub(super) trait Input: Sized + Send + 'static {
    /// Reads it, strictly.
    fn read(call: &Call) -> Result<Self, Refusal>;

    /// For the document.
    fn describe(generator: &mut SchemaGenerator) -> Takes;
}

/// No body, or an empty object.
pub(super) struct Nothing;

impl Input for Nothing {
    fn read(call: &Call) -> Result<Nothing, Refusal> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Empty {}
        no_query(&call.uri)?;
        if !call.body.is_empty() {
            let Empty {} = read_json(&call.body)?;
        }
        Ok(Nothing)
    }

    fn describe(_: &mut SchemaGenerator) -> Takes {
        Takes::Nothing
    }
}

/// A JSON body.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Input for Json<T> {
    fn read(call: &Call) -> Result<Json<T>, Refusal> {
        no_query(&call.uri)?;
        read_json(&call.body).map(Json)
    }

    fn describe(generator: &mut SchemaGenerator) -> Takes {
        Takes::Body(generator.subschema_for::<T>())
    }
}

/// What follows the question mark.
pub(super) struct Query<T>(pub(super) T);

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Input for Query<T> {
    fn read(call: &Call) -> Result<Query<T>, Refusal> {
        no_body(&call.body)?;
        let read = axum::extract::Query::try_from_uri(&call.uri);
        read.map(|axum::extract::Query(query)| Query(query)).map_err(|rejection| {
            let problem = rejection.body_text();
            let code = if problem.contains("unknown field") { Code::UnknownField } else { Code::WrongType };
            Refusal::new(code, problem)
        })
    }

    fn describe(generator: &mut SchemaGenerator) -> Takes {
        Takes::Query(T::json_schema(generator))
    }
}

fn no_body(body: &[u8]) -> Result<(), Refusal> {
    match body {
        [] => Ok(()),
        _ => Err(Refusal::new(Code::TrailingBytes, "this request has no body")),
    }
}

fn no_query(uri: &Uri) -> Result<(), Refusal> {
    match uri.query() {
        None | Some("") => Ok(()),
        Some(_) => Err(Refusal::new(Code::UnknownField, "this path takes nothing after a question mark")),
    }
}

/// A route for members.
pub(super) fn for_members<I, T, F, A>(method: Method, path: &'static str, summary: &'static str, answer: F) -> Route
where
    I: Input,
    T: JsonSchema,
    F: Fn(Call, ClientId, I) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Reply<T>, Refusal>> + Send + 'static,
{
    let handler = move |call: Call, caller: Caller| {
        let (member, input) = (caller.member()?, I::read(&call)?);
        Ok(erase(answer(call, member, input)))
    };
    route::<I, T>(method, path, Who::Member, summary, Box::new(handler))
}

/// A route for the operator.
pub(super) fn for_operator<I, T, F, A>(method: Method, path: &'static str, summary: &'static str, answer: F) -> Route
where
    I: Input,
    T: JsonSchema,
    F: Fn(Call, I) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Reply<T>, Refusal>> + Send + 'static,
{
    let handler = move |call: Call, caller: Caller| {
        caller.operator()?;
        let input = I::read(&call)?;
        Ok(erase(answer(call, input)))
    };
    route::<I, T>(method, path, Who::Operator, summary, Box::new(handler))
}

/// A route for members and the operator.
pub(super) fn for_either<I, T, F, A>(method: Method, path: &'static str, summary: &'static str, answer: F) -> Route
where
    I: Input,
    T: JsonSchema,
    F: Fn(Call, I) -> A + Send + Sync + 'static,
    A: Future<Output = Result<Reply<T>, Refusal>> + Send + 'static,
{
    let handler = move |call: Call, _: Caller| {
        let input = I::read(&call)?;
        Ok(erase(answer(call, input)))
    };
    route::<I, T>(method, path, Who::Either, summary, Box::new(handler))
}

fn route<I: Input, T: JsonSchema>(
    method: Method,
    path: &'static str,
    who: Who,
    summary: &'static str,
    handler: Handler,
) -> Route {
    let gives = |generator: &mut SchemaGenerator| generator.subschema_for::<T>();
    Route { method, path, who, summary, size: Size::Small, takes: I::describe, gives, handler }
}

fn erase<T>(answer: impl Future<Output = Result<Reply<T>, Refusal>> + Send + 'static) -> Answer {
    Box::pin(async { answer.await.map(|reply| reply.body) })
}

impl Route {
    /// The same for requests with a matrix.
    pub(super) fn large(self) -> Route {
        Route { size: Size::Large, ..self }
    }

    /// As it is called in logs and metrics.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}
