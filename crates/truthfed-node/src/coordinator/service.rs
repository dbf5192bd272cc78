//! Takes every request: finds its route and its sender, checks that the sender may call it, reads the body within its limit,
//! answers, and records the outcome.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use hyper::body::{Frame, SizeHint};
use serde::Serialize;
use tokio::sync::watch;
use truthfed::auction::ClientId;

use super::heads::Heads;
use super::metrics::Metrics;
use super::openapi;
use super::operator::{self, Order};
use super::page::Page;
use super::stage::Stage;
use crate::call::{Form, Parts, Who};
use crate::digest::Digest;
use crate::engine::{Answer, Handle, Published};
use crate::error::{Code, Refusal};
use crate::net::{Intake, Limits, Peer, Revocations};
use crate::wire::{After, Call};

pub(super) struct Service {
    pub(super) document: String,
    pub(super) operator: Digest,
    pub(super) revocations: Revocations,
    pub(super) metrics: Arc<Metrics>,
    pub(super) stage: watch::Receiver<Stage>,
    pub(super) stop: watch::Receiver<bool>,
    /// By certificate: each has room for a large request and a small one.
    pub(super) intake: Intake<Digest>,
    /// Largest request with a matrix, and without: a delivery has one number for each dimension.
    pub(super) large: usize,
    pub(super) small: usize,
    pub(super) limits: watch::Receiver<Limits>,
    pub(super) started: Instant,
    pub(super) page: Arc<Page>,
    pub(super) heads: Arc<Heads>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Caller {
    Member(ClientId),
    Operator,
}

impl Caller {
    fn check(&self, who: Who) -> Result<(), Refusal> {
        match (who, self) {
            (Who::Member, Caller::Operator) => Err(Caller::no_member()),
            (Who::Operator, Caller::Member(_)) => Err(Code::NotOperator.into()),
            (Who::Member, Caller::Member(_)) | (Who::Operator, Caller::Operator) | (Who::Anyone, _) => Ok(()),
        }
    }

    fn no_member() -> Refusal {
        Refusal::new(Code::NotAMember, "the operator's certificate is no member's")
    }
}

pub(super) enum Asked {
    ByMember(Call),
    ByOperator(Order),
    Document,
}

pub(super) struct Route {
    pub(super) form: &'static Form,
    read: Read,
}

type Read = Box<dyn Fn(&mut Parts) -> Result<Asked, Refusal> + Send + Sync>;

/// Every route, in the order of the document. What is not here cannot be called, and what is here is in the document.
pub(super) fn routes() -> Vec<Route> {
    let member = Call::ROUTES
        .iter()
        .map(|route| Route { form: &route.form, read: Box::new(|parts| (route.read)(parts).map(Asked::ByMember)) });
    let operator = Order::ROUTES
        .iter()
        .map(|route| Route { form: &route.form, read: Box::new(|parts| (route.read)(parts).map(Asked::ByOperator)) });
    let document = Route { form: &openapi::FORM, read: Box::new(|parts| parts.check_read().map(|()| Asked::Document)) };
    member.chain(operator).chain([document]).collect()
}

/// What a request is for: a route, with the value in its path; or why no route answers.
type Target = Result<(Arc<Route>, Option<String>), Code>;

pub(super) fn router(service: &Arc<Service>) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let filter = MethodFilter::try_from(route.form.method.clone()).expect("the table has common methods only");
        let (path, route, service) = (route.form.path, Arc::new(route), service.clone());
        let handler = move |parameters: Result<RawPathParams, RawPathParamsRejection>, request: Request| {
            let (service, route) = (service.clone(), route.clone());
            let parameter = |parameters: RawPathParams| parameters.iter().next().map(|(_, value)| value.to_owned());
            // A part of the path that is not text names nothing.
            let target = parameters.map(|parameters| (route, parameter(parameters))).map_err(|_| Code::NotFound);
            service.respond(target, request)
        };
        router = router.route(path, on(filter, handler));
    }
    let lost = |code: Code| {
        let service = service.clone();
        move |request: Request| service.clone().respond(Err(code), request)
    };
    router.fallback(lost(Code::NotFound)).method_not_allowed_fallback(lost(Code::MethodNotAllowed))
}

impl Service {
    async fn respond(self: Arc<Self>, target: Target, request: Request) -> Response {
        let started = Instant::now();
        let _under_way = self.metrics.request_under_way();
        let name = target.as_ref().map_or("unmatched".to_owned(), |(route, _)| route.form.name());
        let mut caller = None;
        let answer = self.answer(target, request, &mut caller).await;
        let took = started.elapsed();
        let (status, code) = match &answer {
            Ok(_) => (200, "ok"),
            Err(refusal) => (refusal.code.status(), refusal.code.name()),
        };
        let member = match &caller {
            Some(Caller::Member(member)) => member.as_str(),
            Some(Caller::Operator) => "(operator)",
            None => "(unknown)",
        };
        self.metrics.request(&name, code, took);
        let ms = took.as_micros() as f64 / 1000.0;
        tracing::info!(route = name, status, code, ms, member, "request");
        response(answer)
    }

    /// Those of this moment.
    fn limits(&self) -> Limits {
        *self.limits.borrow()
    }

    async fn answer(&self, target: Target, request: Request, known: &mut Option<Caller>) -> Answer {
        let engine = self.stage.borrow().engine()?;
        let peer = request.extensions().get().copied().ok_or(Code::NotAMember)?;
        let caller = self.identify(&peer, &engine.published())?;
        *known = Some(caller.clone());
        if let Caller::Member(member) = &caller {
            self.page.saw(member);
        }
        let (route, parameter) = target?;
        caller.check(route.form.who)?;
        let (head, body) = request.into_parts();
        let most = if route.form.is_large { self.large } else { self.small };
        let taken = self.intake.read(peer.certificate, body, most, self.limits().body).await?;
        // It may have been revoked while its body came.
        self.identify(&peer, &engine.published())?;
        let body = taken.bytes.clone();
        let query = head.uri.query().map(str::to_owned);
        match ((route.read)(&mut Parts { parameter, query, body })?, caller) {
            (Asked::ByMember(call), Caller::Member(member)) => self.serve(&engine, &member, call).await,
            (Asked::ByOperator(order), _) => given(&operator::answer(self, &engine, order).await?),
            (Asked::Document, _) => Ok(self.document.clone().into()),
            (Asked::ByMember(_), Caller::Operator) => Err(Caller::no_member()),
        }
    }

    /// Answers a member. Its call for a view waits no longer than this coordinator lets anybody wait, and not while it stops.
    async fn serve(&self, engine: &Handle, member: &ClientId, mut call: Call) -> Answer {
        let seen = match &mut call {
            Call::Head(After { from }) => return given(&self.heads.head(engine, *from).await?),
            Call::Said(round) => return given(&self.heads.said(engine, member, *round).await?),
            Call::View(seen) => seen,
            _ => return engine.call(member, call).await,
        };
        seen.wait_ms = seen.wait_ms.min(self.limits().poll.min(super::MAX_POLL).as_millis() as u64);
        let mut stop = self.stop.clone();
        tokio::select! {
            answer = engine.call(member, call) => answer,
            // A sender that is gone means stop as well.
            _ = stop.wait_for(|stop| *stop) => Err(Code::ShuttingDown.into()),
        }
    }

    fn identify(&self, Peer { certificate, .. }: &Peer, published: &Published) -> Result<Caller, Refusal> {
        if *certificate == self.operator {
            return Ok(Caller::Operator);
        }
        let (member, info) = published.member_of(certificate).ok_or(Code::NotAMember)?;
        published.check_member(member)?;
        if info.certificate != *certificate {
            return Err(Code::CertificateReplaced.into());
        }
        Ok(Caller::Member(member.clone()))
    }
}

fn given(reply: &impl Serialize) -> Answer {
    Ok(serde_json::to_string(reply).expect("our own structs are JSON").into())
}

/// The body of a reply, sent piece by piece: a copy of it all would be one for each member.
struct Pieces(VecDeque<Bytes>);

impl HttpBody for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.iter().map(|piece| piece.len() as u64).sum())
    }
}

fn response(answer: Answer) -> Response {
    let refusal = match answer {
        Ok(reply) => {
            let pieces = reply.into_pieces().into_iter().filter(|piece| !piece.is_empty());
            return ([(header::CONTENT_TYPE, "application/json")], Body::new(Pieces(pieces.collect()))).into_response();
        }
        Err(refusal) => refusal,
    };
    let code = refusal.code;
    let mut response = refusal.into_response();
    if code.is_passing() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    // A revoked member has no further use for this connection.
    if code == Code::MemberRevoked {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
