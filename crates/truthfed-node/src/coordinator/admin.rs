//! The plain listener for monitoring on the same machine: health, metrics and the document of the routes. Programs may ask,
//! pages in a browser may not, but for our own ([`page`]).

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Router, middleware};
use serde_json::json;

use super::page;
use super::service::Service;
use super::stage::Role;
use crate::error::{Code, Refusal};
use crate::loopback::only_from_here;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const JSON: &str = "application/json";

pub(super) fn router(service: &Arc<Service>) -> Router {
    let (metrics, document) = (service.metrics.clone(), service.document.clone());
    let probe = |probe: fn(Role) -> bool| {
        let service = service.clone();
        get(async move || answer(&service, probe))
    };
    Router::new()
        // Whoever can answer lives, whatever it does.
        .route("/livez", probe(|_| true))
        .route("/readyz", probe(is_ready))
        .route("/healthz", probe(is_ready))
        .route("/metrics", get(async move || ([(header::CONTENT_TYPE, OPEN_METRICS)], metrics.text())))
        .route("/openapi.json", get(async move || ([(header::CONTENT_TYPE, JSON)], document)))
        .fallback(async |_: Request| Refusal::from(Code::NotFound))
        .method_not_allowed_fallback(async |_: Request| Refusal::from(Code::MethodNotAllowed))
        .layer(middleware::from_fn(only_from_here))
        .merge(page::router(service))
}

/// Whether requests should be sent to this coordinator.
fn is_ready(role: Role) -> bool {
    role == Role::Active
}

fn answer(service: &Service, is_good: fn(Role) -> bool) -> impl IntoResponse + use<> {
    let (role, why) = service.stage.borrow().role();
    let status = if is_good(role) { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let mut body = json!({ "role": role.name() });
    if let Some(why) = why {
        body["why"] = why.into();
    }
    (status, [(header::CONTENT_TYPE, JSON)], body.to_string())
}
