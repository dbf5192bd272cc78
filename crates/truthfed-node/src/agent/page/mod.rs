//! The member's own page in a browser, on the agent's local address.
//!
//! It shows what this agent holds: its state, its part in the open round, its offers, and the receipts for them, each checked.
//! Whoever shows the agent's token gets a link to it, and whoever opened a link is logged in ([`crate::page`]).
//!
//! Promises: nothing here asks the coordinator or writes, and nothing of another member is shown, because the agent holds nothing of it.

mod book;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::Instant;
use truthfed::protocol::RoundId;

use self::book::{Book, content, step};
use super::core::Agent;
use super::handle::{Handle, Progress};
use super::local::ReceiptsReply;
use crate::error::{Code, Refusal};
use crate::federation::Expiry;
use crate::identity::Certificate;
use crate::ledger::{decimal_units, receipts};
use crate::page::{Gate, MEMBER, as_json, query};
use crate::wire::{Envelope, Phase};

type Answer = Result<Response, Refusal>;

/// Rounds on the overview.
const RECENT: usize = 60;
/// Lines in one answer.
const LINES: usize = 200;

pub(super) struct Page {
    agent: Handle,
    certificate: Option<Certificate>,
    book: Mutex<Book>,
}

impl Page {
    pub(super) fn new(agent: Handle, certificate: Option<Certificate>) -> Page {
        Page { agent, certificate, book: Mutex::default() }
    }

    /// The book, with all that the agent holds now.
    async fn book(&self) -> Result<MutexGuard<'_, Book>, Refusal> {
        let mut book = self.book.lock().await;
        book.read(&self.agent).await?;
        Ok(book)
    }
}

pub(super) fn gate(address: SocketAddr) -> Arc<Gate> {
    Arc::new(Gate::new(address.port(), "truthfed member page"))
}

pub(super) fn router(gate: &Arc<Gate>, page: Page) -> Router {
    let inside = Router::new()
        .route("/page/overview", get(overview))
        .route("/page/rounds", get(rounds))
        .route("/page/rounds/{round}", get(round))
        .route("/page/receipts.json", get(all_receipts))
        .with_state(Arc::new(page));
    gate.around(inside, MEMBER, || Ok(()))
}

async fn overview(State(page): State<Arc<Page>>) -> Answer {
    let status = page.agent.status().await?;
    let progress = page.agent.progress();
    let (open, terms) = page
        .agent
        .with(move |agent| {
            let raw = agent.membership.agreement.raw();
            let terms = json!({
                "mechanism": raw.mechanism.name,
                "reserve": decimal_units(raw.reserve.micros().into()),
                "dimension": agent.membership.agreement.dimension(),
            });
            (progress.map(|progress| agent.part_in(progress)), terms)
        })
        .await;
    let book = page.book().await?;
    let mut recent: Vec<Value> = book.lines().take(RECENT).map(|line| line.value(status.last_round)).collect();
    recent.reverse();
    Ok(as_json(&json!({
        "federation": page.agent.whose().federation,
        "coordinator_key": page.agent.whose().coordinator,
        "certificate": page.certificate.as_ref().map(|certificate| Expiry::of(status.member.as_str(), certificate)),
        "terms": terms,
        "open": open,
        "sums": book.sums(),
        "months": book.months(),
        "rounds": recent,
        "status": status,
    })))
}

impl Agent {
    /// Its own part in the open round.
    fn part_in(&self, Progress { round, phase, until, .. }: Progress) -> Value {
        let raw = self.membership.agreement.raw();
        let offered = self.state.in_flight_in(round);
        let has_declined = offered.is_none() && self.state.answer_to(round).is_some();
        json!({
            "round": round,
            "phase": phase,
            "remaining_ms": until.saturating_duration_since(Instant::now()).as_millis() as u64,
            "phase_ms": match phase {
                Phase::Offers => raw.offers_ms,
                Phase::Deliveries => raw.deliveries_ms,
            },
            "has_declined": has_declined,
            "samples": offered.map(|offered| offered.statistics().samples()),
            "ask": offered.map(|offered| decimal_units(offered.ask().micros().into())),
        })
    }
}

/// Which lines: those before a number, the latest first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Before {
    before: Option<u64>,
}

async fn rounds(State(page): State<Arc<Page>>, asked: Result<Query<Before>, QueryRejection>) -> Answer {
    let Before { before } = query(asked)?;
    let closed = page.agent.status().await?.last_round;
    let book = page.book().await?;
    let mut lines = book.before(RoundId(before.unwrap_or(u64::MAX)));
    let rounds: Vec<Value> = lines.by_ref().take(LINES).map(|line| line.value(closed)).collect();
    let more = lines.next().is_some();
    Ok(as_json(&json!({ "sums": book.sums(), "more": more, "rounds": rounds })))
}

/// One round, with its receipts as the coordinator signed them.
async fn round(State(page): State<Arc<Page>>, Path(round): Path<String>) -> Answer {
    let none = || Refusal::new(Code::NotFound, format!("this member made no offer in round {round}"));
    let number: u64 = round.parse().map_err(|_| none())?;
    let closed = page.agent.status().await?.last_round;
    let line = page.book().await?.line(RoundId(number)).ok_or_else(none)?.value(closed);
    let mut kept = page.agent.with(move |agent| agent.store.receipts(number..=number)).await?;
    kept.sort_by_key(|kept| content(&kept.envelope).and_then(|content| step(content.kind)));
    let whose = page.agent.whose();
    let shown = |envelope: &Envelope, heard_ms: Option<u64>| {
        let problem = receipts::check(whose, std::slice::from_ref(envelope), None).err();
        json!({
            "kind": content(envelope).map(|content| content.kind),
            "offer": content(envelope).map(|content| content.offer),
            "heard_ms": heard_ms,
            "problem": problem.map(|error| error.to_string()),
            "signed": envelope,
        })
    };
    let receipts: Vec<Value> = kept.iter().map(|kept| shown(&kept.envelope, kept.heard_ms)).collect();
    Ok(as_json(&json!({ "line": line, "receipts": receipts })))
}

/// As `GET /receipts` of the application's API.
async fn all_receipts(State(page): State<Arc<Page>>) -> Answer {
    Ok(as_json(&ReceiptsReply { receipts: page.agent.receipts().await? }))
}
