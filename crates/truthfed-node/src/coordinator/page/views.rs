//! What the page is told, as JSON. Money is a decimal number of units in a string: a browser's numbers are floats.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use truthfed::Amount;
use truthfed::auction::{
    Active, ClientId, Clock, ClockStep, Mechanism, Outcome, PaymentRule, Round, RoundDocument, RoundSpec, Seat, Winner,
};
use truthfed::protocol::RoundId;

use super::book::{Book, Figure, Tally};
use super::{Page, lock};
use crate::coordinator::operator::{self, DoubtLine, MemberLine, RoundReply, awarded_today, doubts};
use crate::coordinator::service::Service;
use crate::engine::Handle;
use crate::error::{Code, Refusal};
use crate::federation::Expiry;
use crate::journal::Entry;
use crate::ledger::{Auctioned, Balance, Moved, MovementReader, csv as as_csv, decimal_units};
use crate::page::{JSON, as_json, query};

type Answer = Result<Response, Refusal>;
type Asked<T> = Result<Query<T>, QueryRejection>;

/// Rounds on the overview.
const RECENT: usize = 60;
/// Lines in one answer.
const LINES: usize = 200;
/// Clients of a round whose clock can be watched: its answer grows with their square.
const WATCHED: usize = 64;

fn engine(service: &Service) -> Result<Handle, Refusal> {
    service.stage.borrow().engine()
}

fn units(amount: Amount) -> String {
    decimal_units(amount.micros().into())
}

fn figure(figure: &Figure) -> Value {
    let Figure { summary, awarded_micros, essential, held, coverage } = figure;
    json!({
        "round": summary.round,
        "state": summary.state,
        "words": summary.words(),
        "opened_ms": summary.opened_ms,
        "ended_ms": summary.ended_ms,
        "offers": summary.offers,
        "winners": summary.winners,
        "defaulted": summary.defaulted,
        "essential": essential,
        "held": held,
        "coverage": coverage.map(|(reached, _)| reached),
        "target": coverage.map(|(_, target)| target),
        "awarded": decimal_units(*awarded_micros),
        "paid": decimal_units((summary.paid_micros + summary.released_micros).into()),
        "waiting": decimal_units(summary.waiting_micros.into()),
    })
}

/// How far the book is, and whether all in it fits.
fn checked(book: &Book, engine: &Handle) -> Value {
    let (entries, last) = (engine.published().entries(), book.last());
    json!({ "entries": entries, "checked": last, "hash": book.hash(), "problem": book.problem() })
}

pub(super) async fn overview(State(service): State<Arc<Service>>) -> Answer {
    let (engine, page) = (engine(&service)?, &service.page);
    let (members, in_doubt) = (operator::members(&engine).members, doubts(&engine).await?.doubts);
    let (role, why) = service.stage.borrow().role();
    let book = page.book(&engine).await;
    let published = engine.published();
    let terms = published.agreement().raw();
    let open = published.phase().map(|(round, phase, remaining_ms)| {
        let reply = book.open().filter(|open| open.summary.round == round);
        json!({
            "round": round,
            "phase": phase,
            "remaining_ms": remaining_ms,
            "phase_ms": match phase {
                crate::wire::Phase::Offers => terms.offers_ms,
                crate::wire::Phase::Deliveries => terms.deliveries_ms,
            },
            "opened_ms": reply.map(|open| open.summary.opened_ms),
            "asked_by": reply.map(|open| &open.summary.asked_by),
            "offers": reply.map(|open| open.summary.offers),
            "declined": reply.map(|open| open.summary.declined),
            "winners": reply.map(|open| open.summary.winners),
            "deliveries": reply.map(|open| open.deliveries.len()),
            "awaited": reply.map(|open| open.awaited(&members)).unwrap_or_default(),
        })
    });
    let Balance { earned_micros, paid_out_micros, owed_micros, promised_micros } = *book.total();
    let today = awarded_today(
        book.rounds().iter().rev().map(|figure| (figure.summary.opened_ms, figure.awarded_micros)).take(100_000),
    );
    let open_today = book.open().map_or(0, RoundReply::awarded_micros);
    let rounds = book.rounds();
    let present: Vec<&MemberLine> = members.iter().filter(|line| !line.is_revoked).collect();
    let online = present.iter().filter(|line| page.seen_of(&line.member).is_some_and(|(_, online)| online)).count();
    Ok(as_json(&json!({
        "name": page.name,
        "federation": page.trust.federation,
        "role": role.name(),
        "why": why,
        "epoch": engine.epoch(),
        "uptime_ms": service.started.elapsed().as_millis() as u64,
        "now_ms": published.now(),
        "journal": checked(&book, &engine),
        "open": open,
        "closed": published.closed(),
        "members": { "present": present.len(), "online": online, "revoked": members.len() - present.len() },
        "money": {
            "earned": decimal_units(earned_micros),
            "paid_out": decimal_units(paid_out_micros),
            "owed": decimal_units(owed_micros),
            "promised": decimal_units(promised_micros),
            "today": decimal_units(today + open_today),
            "purse": terms.purse.map(units),
            "daily_purse": terms.daily_purse.map(units),
        },
        "doubts": in_doubt.iter().map(doubt).collect::<Vec<_>>(),
        "certificates": Expiry::all(&page.certificates),
        "terms": { "mechanism": terms.mechanism.name, "reserve": units(terms.reserve), "dimension": published.agreement().dimension() },
        "rounds": rounds[rounds.len().saturating_sub(RECENT)..].iter().map(figure).collect::<Vec<_>>(),
    })))
}

fn doubt(line: &DoubtLine) -> Value {
    json!({
        "member": line.member,
        "is_held": line.is_held,
        "samples": line.samples,
        "since": line.since,
        "payments": line.payments,
        "waiting": decimal_units(line.waiting_micros.into()),
    })
}

impl Page {
    /// When a member asked something last, in milliseconds since 1970, and whether it still listens.
    fn seen_of(&self, member: &ClientId) -> Option<(u64, bool)> {
        let last = *lock(&self.seen).get(member)?;
        let since = SystemTime::now().duration_since(last).unwrap_or(Duration::ZERO);
        let at = last.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |at| at.as_millis() as u64);
        Some((at, since <= self.online))
    }
}

pub(super) async fn members(State(service): State<Arc<Service>>) -> Answer {
    let (engine, page) = (engine(&service)?, &service.page);
    let (members, in_doubt) = (operator::members(&engine).members, doubts(&engine).await?.doubts);
    let book = page.book(&engine).await;
    let open = book.open();
    let awaited = open.map(|open| open.awaited(&members)).unwrap_or_default();
    let line = |line: &MemberLine| {
        let (tally, seen) = (book.member(&line.member), page.seen_of(&line.member));
        let money = |of: fn(&Balance) -> i128| decimal_units(tally.map_or(0, |tally| of(&tally.balance)));
        json!({
            "member": line.member,
            "certificate": line.certificate,
            "key": line.key,
            "is_revoked": line.is_revoked,
            "is_awaited": awaited.contains(&line.member),
            "seen_ms": seen.map(|(at, _)| at),
            "is_online": seen.is_some_and(|(_, online)| online) && !line.is_revoked,
            "offers": tally.map_or(0, |tally| tally.offers),
            "won": tally.map_or(0, |tally| tally.won),
            "defaulted": tally.map_or(0, |tally| tally.defaulted),
            "held": tally.map_or(0, |tally| tally.held),
            "last_round": tally.and_then(|tally| tally.last_round),
            "mean_ask": tally.and_then(Tally::mean_ask).map(decimal_units),
            "earned": money(|balance| balance.earned_micros),
            "paid_out": money(|balance| balance.paid_out_micros),
            "owed": money(|balance| balance.owed_micros),
            "promised": money(|balance| balance.promised_micros),
            "doubts": in_doubt.iter().filter(|doubt| doubt.member == line.member).map(doubt).collect::<Vec<_>>(),
        })
    };
    Ok(as_json(&json!({
        "journal": checked(&book, &engine),
        "now_ms": engine.published().now(),
        "members": members.iter().map(line).collect::<Vec<_>>(),
    })))
}

/// Which lines: those before a number, the latest first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Before {
    before: Option<u64>,
}

pub(super) async fn rounds(State(service): State<Arc<Service>>, asked: Asked<Before>) -> Answer {
    let (engine, Before { before }) = (engine(&service)?, query(asked)?);
    let book = service.page.book(&engine).await;
    let before = RoundId(before.unwrap_or(u64::MAX));
    let end = book.rounds().partition_point(|figure| figure.summary.round < before);
    let shown = &book.rounds()[end.saturating_sub(LINES)..end];
    Ok(as_json(&json!({
        "journal": checked(&book, &engine),
        "rounds": shown.iter().rev().map(figure).collect::<Vec<_>>(),
        "more": end > shown.len(),
        "all": book.rounds().len(),
        "open": book.open().map(|open| open.summary.round),
    })))
}

pub(super) async fn round(State(service): State<Arc<Service>>, Path(round): Path<u64>) -> Answer {
    let engine = engine(&service)?;
    let found = operator::round(&engine, RoundId(round)).await?;
    let members = operator::members(&engine).members;
    let book = service.page.book(&engine).await;
    let offer = |offer: &operator::OfferLine| {
        let award = found.awards.iter().find(|award| award.member == offer.member);
        json!({
            "member": offer.member,
            "entry": offer.entry,
            "samples": offer.samples,
            "ask": offer.ask_micros.map(units),
            "won": award.is_some(),
            "payment": award.map(|award| units(award.payment_micros)),
            "essential": award.is_some_and(|award| award.essential),
            "outcome": found.outcome_of(&offer.member),
        })
    };
    let summary = &found.summary;
    let is_open = summary.ended_ms.is_none();
    let published = engine.published();
    let terms = published.agreement().raw();
    Ok(as_json(&json!({
        "round": summary.round,
        "state": summary.state,
        "words": summary.words(),
        "asked_by": summary.asked_by,
        "entry": summary.entry,
        "opened_ms": summary.opened_ms,
        "ended_ms": summary.ended_ms,
        "offers": found.offers.iter().map(offer).collect::<Vec<_>>(),
        "declined": found.declined,
        "awaited": if is_open { found.awaited(&members) } else { Vec::new() },
        "deliveries": found.deliveries.len(),
        "defaulted": found.defaulted,
        "sealed": found.sealed,
        "sealed_ms": found.sealed_ms,
        "limits": { "offers_ms": terms.offers_ms, "deliveries_ms": terms.deliveries_ms },
        "aggregate": found.aggregate,
        "paid": decimal_units(summary.paid_micros.into()),
        "released": decimal_units(summary.released_micros.into()),
        "waiting": decimal_units(summary.waiting_micros.into()),
        "figure": book.figure(summary.round).map(figure),
        "first": book.rounds().first().map(|figure| figure.summary.round),
        "last": published.open_round().unwrap_or(published.closed()),
    })))
}

pub(super) async fn auction(State(service): State<Arc<Service>>, Path(round): Path<u64>) -> Answer {
    let auctioned = service.page.auction(&engine(&service)?, RoundId(round)).await?;
    let seen = tokio::task::spawn_blocking(move || seen(&auctioned)).await;
    let seen = seen.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
    seen.map(|seen| as_json(&seen)).map_err(|problem| Refusal::new(Code::Internal, problem))
}

/// An auction with what each offer was worth.
fn seen(Auctioned { spec, outcome, .. }: &Auctioned) -> Result<Value, String> {
    let round = Round::new(RoundSpec::clone(spec)).map_err(|error| error.to_string())?;
    let (gains, clearing) = gains(&round, outcome)?;
    let offer = |(seat, gain): (Seat, f64)| {
        let winner = outcome.winner(round.client(seat));
        json!({
            "member": round.client(seat),
            "ask": units(round.ask(seat)),
            "gain": gain,
            "payment": winner.map(|winner| units(winner.payment)),
            "essential": winner.is_some_and(|winner| winner.essential),
            "why": winner.map_or_else(|| lost(outcome).to_owned(), |winner| why(&round, outcome, winner)),
        })
    };
    let turned_away = round.turned_away().iter().map(|offer| {
        let why = format!("turned away: its ask is above {}, the highest that is admitted", units(round.reserve()));
        json!({ "member": offer.client, "ask": units(offer.ask), "gain": null, "payment": null, "essential": false, "why": why })
    });
    Ok(json!({
        "mechanism": outcome.mechanism(),
        "coverage": outcome.coverage(),
        "target": outcome.target(),
        "reserve": units(round.reserve()),
        "purse": outcome.purse().map(units),
        "bound_by_purse": outcome.is_bound_by_purse(),
        "clearing": clearing,
        "steps": steps(&round, outcome)?,
        "offers": gains.into_iter().map(offer).chain(turned_away).collect::<Vec<_>>(),
    }))
}

/// The clock, step by step: who is turned away, and the prices of those still in. None under other mechanisms, and in large rounds.
fn steps(round: &Round, outcome: &Outcome) -> Result<Option<Vec<Value>>, String> {
    if outcome.mechanism() != Clock.name() || round.admitted() > WATCHED {
        return Ok(None);
    }
    let active = |client: &Active| json!({ "member": round.client(client.seat), "price": units(client.price), "frozen": client.frozen });
    let step = |step: &ClockStep| {
        let active: Vec<Value> = step.active.iter().map(active).collect();
        json!({ "rejected": step.rejected.map(|seat| round.client(seat)), "active": active })
    };
    let steps = Clock.steps(round).map_err(|error| error.to_string())?;
    Ok(Some(steps.iter().map(step).collect()))
}

type Gains = (Vec<(Seat, f64)>, Option<f64>);

/// What each offer adds, in nats, and the highest price of a nat at which the clock still bought.
///
/// Under `clock`, that is what was lost without the offer when it, or the last, was turned away. The price is that of the last one
/// turned away: winners above it are those that the target could not do without. Other mechanisms have no such price; gains are what
/// would be lost without the offer while all others take part.
fn gains(round: &Round, outcome: &Outcome) -> Result<Gains, String> {
    let seats: Vec<Seat> = round.seats().collect();
    let losses = |round: &Round| {
        let seats: Vec<Seat> = round.seats().collect();
        let losses = round.losses(&seats).into_iter().map(|loss| loss.to_nats().max(0.0));
        seats.into_iter().map(|seat| round.client(seat).clone()).zip(losses).collect::<BTreeMap<ClientId, f64>>()
    };
    if outcome.mechanism() != Clock.name() {
        let all = losses(round);
        return Ok((seats.into_iter().map(|seat| (seat, all[round.client(seat)])).collect(), None));
    }
    let rejections = Clock.rejections(round).map_err(|error| error.to_string())?;
    let last = rejections.last();
    let is_left = |seat: Seat| outcome.winner(round.client(seat)).is_some() || last.is_some_and(|it| it.seat == seat);
    let spec = round.spec();
    let left = spec.offers.iter().filter(|offer| round.seat_of(&offer.client).is_some_and(is_left));
    let mut known = match left.cloned().collect::<Vec<_>>() {
        offers if offers.is_empty() => BTreeMap::new(),
        offers => losses(&Round::new(RoundSpec { offers, ..spec }).map_err(|error| error.to_string())?),
    };
    for rejection in &rejections {
        known.insert(round.client(rejection.seat).clone(), rejection.loss.to_nats().max(0.0));
    }
    let price = |rejection: &truthfed::auction::Rejection| {
        let (ask, loss) = (rejection.ask.micros() as f64 / 1e6, rejection.loss.to_nats());
        (loss > 0.0).then_some(ask / loss)
    };
    let gain = |seat: Seat| Some((seat, *known.get(round.client(seat))?));
    Ok((seats.into_iter().filter_map(gain).collect(), last.and_then(price)))
}

/// As [`Outcome::reason`], with the numbers where the payment is the largest winning ask.
fn why(round: &Round, outcome: &Outcome, winner: &Winner) -> String {
    let is_largest = outcome.rule() == PaymentRule::Critical && !winner.essential && winner.payment < round.reserve();
    match is_largest.then(|| Amount::from_micros(winner.payment.micros() + 1)).flatten() {
        Some(above) => format!("would still have won at {}, not at {}", units(winner.payment), units(above)),
        None => outcome.reason(round, winner).to_owned(),
    }
}

fn lost(outcome: &Outcome) -> &'static str {
    if outcome.is_bound_by_purse() {
        "not bought at this ask: the purse was spent on better value"
    } else {
        "not needed at this ask: others were better value"
    }
}

pub(super) async fn document(State(service): State<Arc<Service>>, Path(round): Path<u64>) -> Answer {
    let auctioned = service.page.auction(&engine(&service)?, RoundId(round)).await?;
    let file = format!("attachment; filename=\"round-{round}.json\"");
    let text = format!("{:#}\n", RoundDocument::of(&auctioned.spec));
    Ok(([(header::CONTENT_TYPE, JSON.to_owned()), (header::CONTENT_DISPOSITION, file)], text).into_response())
}

/// Which movements of money: those before a number, of a member, a round, an account.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    before: Option<u64>,
    member: Option<String>,
    round: Option<u64>,
    account: Option<String>,
}

impl Filter {
    fn takes(&self, moved: &Moved) -> bool {
        self.before.is_none_or(|before| moved.posting < before)
            && self.member.as_ref().is_none_or(|member| moved.member.contains(member.as_str()))
            && self.round.is_none_or(|round| moved.round == Some(round))
            && self.account.as_ref().is_none_or(|account| moved.account.split(':').next() == Some(account.as_str()))
    }
}

pub(super) async fn postings(State(service): State<Arc<Service>>, asked: Asked<Filter>) -> Answer {
    let (engine, filter) = (engine(&service)?, query(asked)?);
    let book = service.page.book(&engine).await;
    let all = book.movements().rev().filter(|it| filter.before.is_none_or(|before| it.posting.number < before));
    let mut found = all.map(|movement| Moved::from(movement.clone())).filter(|moved| filter.takes(moved));
    let shown: Vec<Moved> = found.by_ref().take(LINES).collect();
    Ok(as_json(&json!({
        "journal": checked(&book, &engine),
        "more": found.next().is_some(),
        "oldest": book.movements().next().map(|movement| movement.posting.number),
        "postings": shown,
    })))
}

/// All movements that a filter takes, also those that the page no longer keeps.
pub(super) async fn csv(State(service): State<Arc<Service>>, asked: Asked<Filter>) -> Answer {
    let (engine, filter) = (engine(&service)?, query(asked)?);
    let (mut moved, mut last) = (Vec::new(), 0);
    let mut reading = MovementReader::default();
    loop {
        let rows = engine.rows(last, super::CHUNK).await?;
        let Some(end) = rows.last() else { break };
        last = end.number;
        let unreadable = |error: crate::ledger::StatementError| Refusal::new(Code::Internal, error.to_string());
        reading.read(rows, &mut |_| {}, &mut |movement| moved.push(Moved::from(movement))).map_err(unreadable)?;
    }
    moved.retain(|moved| filter.takes(moved));
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"ledger.csv\""),
    ];
    Ok((headers, as_csv(&moved)).into_response())
}

/// Which entries of the journal: those after a number.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct After {
    after: u64,
}

/// Entries of the journal. What members sent is named, and not shown: it has their asks.
pub(super) async fn entries(State(service): State<Arc<Service>>, asked: Asked<After>) -> Answer {
    let (engine, After { after }) = (engine(&service)?, query(asked)?);
    let mut lines = Vec::new();
    for row in engine.rows(after, LINES).await? {
        let entry: Entry = row.entry().map_err(|error| Refusal::new(Code::Internal, error.to_string()))?;
        let about = entry.about();
        let body: Option<Value> = match about.speaker {
            Some(_) => None,
            None => serde_json::from_str(&row.body).ok(),
        };
        lines.push(json!({
            "entry": row.number,
            "kind": about.kind,
            "round": about.round,
            "member": about.speaker,
            "hash": row.hash,
            "body": body,
        }));
    }
    Ok(as_json(&json!({ "entries": lines })))
}
