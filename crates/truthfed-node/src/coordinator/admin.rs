//! The plain listener for monitoring on the same machine: health, metrics and the document of the routes. Programs may ask,
//! pages in a browser may not.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Router, middleware};

use super::service::Service;
use crate::error::{Code, Refusal};
use crate::loopback::only_from_here;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const JSON: &str = "application/json";

pub(super) fn router(service: &Arc<Service>) -> Router {
    let (health, metrics, document) = (service.clone(), service.metrics.clone(), service.document.clone());
    Router::new()
        .route("/healthz", get(async move || healthz(&health)))
        .route("/metrics", get(async move || ([(header::CONTENT_TYPE, OPEN_METRICS)], metrics.text())))
        .route("/openapi.json", get(async move || ([(header::CONTENT_TYPE, JSON)], document)))
        .fallback(async |_: Request| Refusal::from(Code::NotFound))
        .method_not_allowed_fallback(async |_: Request| Refusal::from(Code::MethodNotAllowed))
        .layer(middleware::from_fn(only_from_here))
}

fn healthz(service: &Service) -> impl IntoResponse + use<> {
    let (word, is_good) = service.stage.borrow().health();
    let status = if is_good { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, [(header::CONTENT_TYPE, JSON)], format!(r#"{{"status":"{word}"}}"#))
}
