//! Takes every request: says who sent it, whether they may, reads the body within its bound, answers, and notes it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use hyper::body::Bytes;
use tokio::sync::watch;

use super::metrics::Metrics;
use super::route::{Call, Caller, Route, Size};
use super::stage::Stage;
use super::table;
use crate::digest::Digest;
use crate::engine::Published;
use crate::error::{Code, Refusal};
use crate::net::{Intake, Limits, Peer, Revocations, read_body};

/// Bytes of a small request besides its numbers.
const SMALL: usize = 8192;
/// Bytes that a number takes at most, with what separates it from the next.
const NUMBER: usize = 32;

/// What all requests share.
pub(super) struct Service {
    pub(super) terms: String,
    pub(super) document: String,
    pub(super) operator: Digest,
    pub(super) revocations: Revocations,
    pub(super) metrics: Arc<Metrics>,
    pub(super) stage: watch::Receiver<Stage>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) intake: Intake,
    pub(super) small: usize,
    pub(super) within: Duration,
    pub(super) poll: Duration,
    pub(super) started: Instant,
}

/// Largest request without a matrix: a delivery has one number for each dimension.
pub(super) fn small(dimension: usize) -> usize {
    SMALL + NUMBER * dimension
}

/// The bounds of a server whose requests have this dimension.
pub(super) fn bounded(limits: Limits, dimension: usize) -> Limits {
    Limits { body_bytes: limits.body_bytes.min(crate::net::body_bytes(dimension)), ..limits }
}

/// Why no route answers.
#[derive(Clone, Copy)]
enum Lost {
    Path,
    Method,
}

/// The routes of the table, and a refusal for all else.
pub(super) fn router(service: &Arc<Service>) -> Router {
    let mut router = Router::new();
    for route in table::routes() {
        let filter = MethodFilter::try_from(route.method.clone()).expect("the table has common methods only");
        let (path, route, service) = (route.path, Arc::new(route), service.clone());
        let handler = move |parameters: Result<RawPathParams, RawPathParamsRejection>, request: Request| {
            let (service, route) = (service.clone(), route.clone());
            // A part of the path that is not text names nothing.
            let target = parameters.map(|parameters| (route, parameters)).map_err(|_| Lost::Path);
            async move { service.respond(target, request).await }
        };
        router = router.route(path, on(filter, handler));
    }
    let lost = |lost: Lost| {
        let service = service.clone();
        move |request: Request| {
            let service = service.clone();
            async move { service.respond(Err(lost), request).await }
        }
    };
    router.fallback(lost(Lost::Path)).method_not_allowed_fallback(lost(Lost::Method))
}

impl Service {
    /// Waits until the server stops.
    pub(super) async fn stopping(&self) {
        // A sender that is gone means stop as well.
        let _ = self.stop.clone().wait_for(|stop| *stop).await;
    }

    /// Answers a request and notes how.
    async fn respond(self: Arc<Self>, target: Result<(Arc<Route>, RawPathParams), Lost>, request: Request) -> Response {
        let started = Instant::now();
        let _under_way = self.metrics.under_way();
        let name = target.as_ref().map_or("unmatched".to_owned(), |(route, _)| route.name());
        let mut caller = None;
        let answer = self.clone().answer(target, request, &mut caller).await;
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

    async fn answer(
        self: Arc<Self>,
        target: Result<(Arc<Route>, RawPathParams), Lost>,
        request: Request,
        known: &mut Option<Caller>,
    ) -> Result<String, Refusal> {
        let engine = self.stage.borrow().engine()?;
        let caller = self.identify(request.extensions().get(), &engine.published())?;
        *known = Some(caller.clone());
        let (route, parameters) = target.map_err(|lost| match lost {
            Lost::Path => Refusal::from(Code::NotFound),
            Lost::Method => Refusal::from(Code::MethodNotAllowed),
        })?;
        route.who.admit(&caller)?;
        let parameters = parameters.iter().map(|(name, part)| (name.to_owned(), part.to_owned())).collect();
        let (parts, body) = request.into_parts();
        let body = self.read(route.size, body).await?;
        let call = Call { service: self, engine, parameters, uri: parts.uri, body };
        (route.handler)(call, caller)?.await
    }

    /// Who a certificate belongs to.
    fn identify(&self, peer: Option<&Peer>, published: &Published) -> Result<Caller, Refusal> {
        let stranger = || Refusal::from(Code::NotAMember);
        let Peer { certificate, .. } = peer.ok_or_else(stranger)?;
        if *certificate == self.operator {
            return Ok(Caller::Operator);
        }
        let (member, _) = published.member_of(certificate).ok_or_else(stranger)?;
        published.check_member(member)?;
        Ok(Caller::Member(member.clone()))
    }

    async fn read(&self, size: Size, body: Body) -> Result<Bytes, Refusal> {
        match size {
            Size::Small => read_body(body, self.small, self.within).await,
            Size::Large => self.intake.read(body).await,
        }
    }
}

fn response(answer: Result<String, Refusal>) -> Response {
    let refusal = match answer {
        Ok(body) => {
            let json = HeaderValue::from_static("application/json");
            return ([(header::CONTENT_TYPE, json)], body).into_response();
        }
        Err(refusal) => refusal,
    };
    let code = refusal.code;
    let mut response = refusal.into_response();
    if code.is_passing() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    // Whoever is out has no further business on this connection.
    if code == Code::MemberRevoked {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
