//! Takes in a member whom the authority has certified: its key stays away from this machine, and only a certificate comes here.
//!
//! A login is enough, because it decides nothing: whoever holds such a certificate was let in by whoever holds the authority's key.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::coordinator::operator::{self, EnrolRequest};
use crate::coordinator::service::Service;
use crate::error::{Code, Refusal};
use crate::federation::{EnlistError, Enrolment, certified, enlist};
use crate::identity::Certificate;
use crate::net::read_body;
use crate::page::{BODY_BYTES, BODY_TIME, as_json};
use crate::reading::read_json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    /// In PEM.
    certificate: String,
}

/// Whose certificate this is. Changes nothing.
pub(super) async fn look(State(service): State<Arc<Service>>, body: Body) -> Result<Response, Refusal> {
    let (enrolment, certificate) = read(&service, body).await?;
    let Enrolment { member, key, certificate: hash } = enrolment;
    Ok(as_json(&json!({ "member": member, "key": key, "certificate": hash, "until": certificate.last_day() })))
}

/// Enrols its holder; the same again changes nothing.
pub(super) async fn take_in(State(service): State<Arc<Service>>, body: Body) -> Result<Response, Refusal> {
    let engine = service.stage.borrow().engine()?;
    let (enrolment, certificate) = read(&service, body).await?;
    let Enrolment { member, key, certificate: hash } = enrolment.clone();
    // First the journal, which refuses what is another member's: a roster with that would keep a coordinator from starting.
    let line =
        operator::enrol(&service, &engine, EnrolRequest { member: member.to_string(), key, certificate: hash }).await?;
    let roster = service.page.roster.clone();
    on_the_side(move || enlist(&roster, &enrolment, &certificate)).await?;
    tracing::info!(%member, "the page took a member in");
    Ok(as_json(&line))
}

async fn read(service: &Arc<Service>, body: Body) -> Result<(Enrolment, Certificate), Refusal> {
    let body = read_body(body, BODY_BYTES, BODY_TIME).await?;
    let Shown { certificate } = read_json(&body)?;
    let service = service.clone();
    on_the_side(move || certified(&certificate, &service.page.authority, &service.page.roster)).await
}

/// Reads and writes files away from requests.
async fn on_the_side<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EnlistError> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic())).map_err(Refusal::from)
}

impl From<EnlistError> for Refusal {
    fn from(error: EnlistError) -> Refusal {
        let code = match error {
            EnlistError::Certificate(_)
            | EnlistError::Foreign
            | EnlistError::Nameless
            | EnlistError::Expired { .. } => Code::BadCertificate,
            EnlistError::Exists(_) | EnlistError::SharedKey { .. } => Code::MemberExists,
            EnlistError::Roster(_) | EnlistError::Io { .. } => Code::Internal,
        };
        Refusal::new(code, error.to_string())
    }
}
