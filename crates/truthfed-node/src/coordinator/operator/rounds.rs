//! Rounds as the journal has them. The journal is read in chunks, so that no request holds the engine up for long.

use std::collections::BTreeSet;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{Judgement, RoundId, Time};

use super::MemberLine;
use super::data::RulingName;
use crate::digest::Digest;
use crate::engine::Handle;
use crate::error::{Code, Refusal};
use crate::journal::{Award, Entry, Row};
use crate::ledger::Reason;
use crate::schema;
use crate::store::{Store, StoreError};
use crate::wire::{Envelope, OfferContent};

/// Rows read at once; the engine serves other requests between two chunks.
pub(super) const CHUNK: usize = 64;
/// Rows read for one request, unless a single round has more.
const MAX_ROWS: usize = 8192;
/// Rounds in one reply.
const MAX_ROUNDS: usize = 500;

/// Some rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundsReply {
    /// In their order.
    pub rounds: Vec<RoundSummary>,
    /// Ask again for those after this one; null when there are no more.
    #[schemars(with = "Option<schema::Round>")]
    pub next: Option<RoundId>,
}

/// A round in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundSummary {
    /// Its number.
    #[schemars(with = "schema::Round")]
    pub round: RoundId,
    /// Who asked for it; of a ruling, whose data it is about.
    #[schemars(with = "schema::Member")]
    pub asked_by: ClientId,
    /// The entry of the journal that opened it.
    pub entry: u64,
    /// When it was opened.
    #[schemars(with = "schema::Millis")]
    pub opened_ms: Time,
    /// When it ended.
    #[schemars(with = "Option<schema::Millis>")]
    pub ended_ms: Option<Time>,
    /// How far it is, or how it ended.
    pub state: RoundState,
    /// Offers taken.
    pub offers: u64,
    /// Members that declined.
    pub declined: u64,
    /// Winners.
    pub winners: u64,
    /// Winners that delivered and were paid at once.
    pub paid: u64,
    /// Winners that delivered and whose payment had to wait.
    pub waiting: u64,
    /// Winners that did not deliver.
    pub defaulted: u64,
    /// What was paid at once, in micro-units.
    pub paid_micros: i64,
    /// Payments that had to wait, in micro-units.
    pub waiting_micros: i64,
    /// What was paid when it ended for earlier rounds, because others' data confirmed what waited or the operator ruled so, in
    /// micro-units.
    pub released_micros: i64,
    /// Why it was aborted; of a ruling, which.
    pub reason: Option<String>,
}

/// How far a round is, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundState {
    /// It takes offers.
    Offers,
    /// It waits for what the winners offered.
    Deliveries,
    /// It ended with an auction.
    Settled,
    /// It ended without one.
    Aborted,
    /// It is none: the operator ruled about the data of a member under its number.
    Ruled,
}

/// A round with what each member did in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoundReply {
    /// In a line.
    pub summary: RoundSummary,
    /// Offers, in the order they came.
    pub offers: Vec<OfferLine>,
    /// Who declined.
    #[schemars(with = "Vec<schema::Member>")]
    pub declined: Vec<ClientId>,
    /// The hash of all offers, once no more are taken.
    pub sealed: Option<Digest>,
    /// Since when no more are taken.
    #[schemars(with = "Option<schema::Millis>")]
    pub sealed_ms: Option<Time>,
    /// Winners, by name.
    pub awards: Vec<AwardLine>,
    /// Deliveries, in the order they came.
    pub deliveries: Vec<DeliveryLine>,
    /// Winners that delivered and were paid at once.
    #[schemars(with = "Vec<schema::Member>")]
    pub paid: Vec<ClientId>,
    /// Winners that delivered and whose payment had to wait: their statements say how it ended.
    #[schemars(with = "Vec<schema::Member>")]
    pub waiting: Vec<ClientId>,
    /// Members of whom data is held since this round.
    #[schemars(with = "Vec<schema::Member>")]
    pub held: Vec<ClientId>,
    /// Winners that did not deliver.
    #[schemars(with = "Vec<schema::Member>")]
    pub defaulted: Vec<ClientId>,
    /// The hash of all statistics settled so far, once it is settled.
    pub aggregate: Option<Digest>,
}

impl RoundSummary {
    /// How far it is, or how it ended, in words.
    pub fn words(&self) -> String {
        match (&self.state, &self.reason) {
            (RoundState::Offers, _) => "open for offers".to_owned(),
            (RoundState::Deliveries, _) => "waiting for deliveries".to_owned(),
            (RoundState::Settled, _) => "settled".to_owned(),
            (RoundState::Ruled, reason) => format!("operator: {}", reason.as_deref().unwrap_or("a ruling")),
            (RoundState::Aborted, reason) => {
                format!("aborted: {}", reason.as_deref().unwrap_or("no reason is recorded"))
            }
        }
    }
}

impl RoundReply {
    /// Members that an open round has not heard of.
    pub fn awaited(&self, members: &[MemberLine]) -> Vec<ClientId> {
        match self.summary.state {
            RoundState::Offers => {
                let heard: BTreeSet<&ClientId> =
                    self.offers.iter().map(|offer| &offer.member).chain(&self.declined).collect();
                let present = members.iter().filter(|line| !line.is_revoked).map(|line| &line.member);
                present.filter(|member| !heard.contains(member)).cloned().collect()
            }
            _ => {
                let delivered: BTreeSet<&ClientId> = self.deliveries.iter().map(|delivery| &delivery.member).collect();
                let winners = self.awards.iter().map(|award| &award.member);
                winners.filter(|member| !delivered.contains(member)).cloned().collect()
            }
        }
    }

    /// What came of the offer of a member, so far.
    pub fn outcome_of(&self, member: &ClientId) -> &'static str {
        match self.awards.iter().any(|award| award.member == *member) {
            false if self.sealed.is_some() => "lost",
            false => "",
            true if self.defaulted.contains(member) => "won, not delivered",
            true if self.paid.contains(member) => "won, paid",
            true if self.held.contains(member) => "won, held",
            true if self.waiting.contains(member) => "won, payment waits",
            true => "won",
        }
    }

    /// What its winners were awarded, in micro-units.
    pub fn awarded_micros(&self) -> i128 {
        self.awards.iter().map(|award| i128::from(award.payment_micros.micros())).sum()
    }
}

/// What the rounds that were opened today, in UTC, were awarded, in micro-units.
pub fn awarded_today(rounds: impl IntoIterator<Item = (Time, i128)>) -> i128 {
    let day = |ms: u128| ms / (24 * 60 * 60 * 1000);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let today = rounds.into_iter().filter(|(opened, _)| day(u128::from(opened.0)) == day(now));
    today.map(|(_, awarded)| awarded).sum()
}

/// An offer in a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferLine {
    /// Whose.
    #[schemars(with = "schema::Member")]
    pub member: ClientId,
    /// The entry of the journal.
    pub entry: u64,
    /// The hash of its content.
    pub offer: Digest,
    /// How many observations.
    pub samples: u64,
    /// The price, once no more offers are taken: until then nobody can tell it to somebody who has not offered yet.
    #[schemars(with = "Option<schema::Micros>")]
    pub ask_micros: Option<Amount>,
}

/// A winner in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AwardLine {
    /// Who.
    #[schemars(with = "schema::Member")]
    pub member: ClientId,
    /// What it asked.
    #[schemars(with = "schema::Micros")]
    pub ask_micros: Amount,
    /// What it is paid on delivery.
    #[schemars(with = "schema::Micros")]
    pub payment_micros: Amount,
    /// Whether the target could not be met without it.
    pub essential: bool,
}

/// A delivery in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeliveryLine {
    /// Whose.
    #[schemars(with = "schema::Member")]
    pub member: ClientId,
    /// The entry of the journal.
    pub entry: u64,
    /// The hash of its content.
    pub delivery: Digest,
}

pub(super) async fn rounds(engine: &Handle, after: u64) -> Result<RoundsReply, Refusal> {
    let (found, is_all) = read_from(engine, RoundId(after.saturating_add(1)), MAX_ROUNDS).await?;
    let rounds: Vec<RoundSummary> = found.into_iter().map(|round| round.summary).collect();
    let next = if is_all { None } else { rounds.last().map(|last| last.round) };
    Ok(RoundsReply { rounds, next })
}

/// Why a round is to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbortRequest {
    /// What the journal and members' statements say.
    #[schemars(with = "schema::Reason")]
    pub reason: Reason,
}

/// Ends a round that takes offers, and shows it.
pub(super) async fn abort(engine: &Handle, number: RoundId, request: AbortRequest) -> Result<RoundReply, Refusal> {
    engine.abort(number, request.reason).await?;
    round(engine, number).await
}

pub(in crate::coordinator) async fn round(engine: &Handle, round: RoundId) -> Result<RoundReply, Refusal> {
    let (mut found, _) = read_from(engine, round, 1).await?;
    let found = found.pop().filter(|found| found.summary.round == round);
    found.ok_or_else(|| Refusal::new(Code::NotFound, format!("there was no round {round}")))
}

/// All rounds of a store, read without its coordinator. Fails when the store does not answer, or an entry cannot be
/// read.
pub fn read_rounds(store: &mut dyn Store) -> Result<Vec<RoundReply>, StoreError> {
    let (mut found, mut last) = (Vec::new(), 0);
    loop {
        let rows = store.rows(last, CHUNK)?;
        let Some(end) = rows.last() else {
            hide_asks(&mut found);
            return Ok(found);
        };
        last = end.number;
        for row in &rows {
            let damaged = |refusal: Refusal| StoreError::Damaged(refusal.message);
            add(&mut found, row.number, row.entry()?).map_err(damaged)?;
        }
    }
}

/// So many rounds from this one on, whole, and whether these are all. Reads no further than a bound once it has a round.
async fn read_from(engine: &Handle, from: RoundId, most: usize) -> Result<(Vec<RoundReply>, bool), Refusal> {
    let (mut found, mut rows_read, mut last) = (Vec::new(), 0, last_before(engine, from).await?);
    let is_all = 'reading: loop {
        let rows = engine.rows(last, CHUNK).await?;
        let Some(end) = rows.last() else { break true };
        last = end.number;
        rows_read += rows.len();
        for row in &rows {
            let entry = read(row)?;
            if let Entry::Opened { round, .. } | Entry::Ruled { round, .. } = entry {
                if found.len() == most || (rows_read > MAX_ROWS && found.len() > 1) {
                    break 'reading false;
                }
                if round < from {
                    continue;
                }
            }
            add(&mut found, row.number, entry)?;
        }
    };
    hide_asks(&mut found);
    if rows_read > MAX_ROWS && found.len() > 1 {
        found.pop();
        return Ok((found, false));
    }
    Ok((found, is_all))
}

/// As long as a round takes offers, whoever shows its asks to a member helps it to ask.
fn hide_asks(rounds: &mut [RoundReply]) {
    let open = rounds.last_mut().filter(|round| round.summary.state == RoundState::Offers && round.sealed.is_none());
    for offer in open.into_iter().flat_map(|round| &mut round.offers) {
        offer.ask_micros = None;
    }
}

/// An entry before this round, and hardly more than a chunk before its first. Rounds follow each other in the journal.
pub(in crate::coordinator) async fn last_before(engine: &Handle, from: RoundId) -> Result<u64, Refusal> {
    let (mut low, mut high) = (0, engine.published().entries());
    while high > low + CHUNK as u64 {
        let middle = low + (high - low) / 2;
        match first_after(engine, middle).await? {
            Some((number, round)) if round < from => low = number,
            _ => high = middle,
        }
    }
    Ok(low)
}

/// The first entry after some number that is of a round.
async fn first_after(engine: &Handle, mut number: u64) -> Result<Option<(u64, RoundId)>, Refusal> {
    loop {
        let rows = engine.rows(number, CHUNK).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        number = last.number;
        for row in &rows {
            if let Some(round) = read(row)?.about().round {
                return Ok(Some((row.number, round)));
            }
        }
    }
}

fn read(row: &Row) -> Result<Entry, Refusal> {
    row.entry().map_err(|error| Refusal::new(Code::Internal, error.to_string()))
}

/// Opens a round, or adds to the one that is open.
pub(in crate::coordinator) fn add(found: &mut Vec<RoundReply>, number: u64, entry: Entry) -> Result<(), Refusal> {
    match (found.last_mut(), entry) {
        (_, Entry::Opened { round, asked_by, at_ms, .. }) => found.push(begin(number, round, asked_by, at_ms)),
        (_, Entry::Ruled { round, member, ruling, aggregate, judgement, at_ms }) => {
            let mut ruled = begin(number, round, member, at_ms);
            (ruled.summary.ended_ms, ruled.summary.released_micros) = (Some(at_ms), released(&judgement));
            (ruled.summary.state, ruled.aggregate) = (RoundState::Ruled, Some(aggregate));
            ruled.summary.reason = Some(RulingName::from(ruling).words().to_owned());
            found.push(ruled);
        }
        (Some(round), entry) => follow(round, number, entry)?,
        (None, _) => {}
    }
    Ok(())
}

fn begin(entry: u64, round: RoundId, asked_by: ClientId, opened_ms: Time) -> RoundReply {
    let summary = RoundSummary {
        round,
        asked_by,
        entry,
        opened_ms,
        ended_ms: None,
        state: RoundState::Offers,
        offers: 0,
        declined: 0,
        winners: 0,
        paid: 0,
        waiting: 0,
        defaulted: 0,
        paid_micros: 0,
        waiting_micros: 0,
        released_micros: 0,
        reason: None,
    };
    RoundReply {
        summary,
        offers: Vec::new(),
        declined: Vec::new(),
        sealed: None,
        sealed_ms: None,
        awards: Vec::new(),
        deliveries: Vec::new(),
        paid: Vec::new(),
        waiting: Vec::new(),
        held: Vec::new(),
        defaulted: Vec::new(),
        aggregate: None,
    }
}

/// What a later entry adds to a round.
fn follow(found: &mut RoundReply, number: u64, entry: Entry) -> Result<(), Refusal> {
    let summary = &mut found.summary;
    match entry {
        Entry::Offered { member, offer, .. } => {
            found.offers.push(offer_line(member, number, &offer)?);
            summary.offers += 1;
        }
        Entry::Declined { member, .. } => {
            found.declined.push(member);
            summary.declined += 1;
        }
        Entry::Sealed { offers, at_ms, .. } => (found.sealed, found.sealed_ms) = (Some(offers), Some(at_ms)),
        Entry::Awarded { winners, .. } => {
            (summary.state, summary.winners) = (RoundState::Deliveries, winners.len() as u64);
            found.awards = winners.into_iter().map(AwardLine::from).collect();
        }
        Entry::Delivered { member, delivery, .. } => {
            found.deliveries.push(DeliveryLine { member, entry: number, delivery: delivery.digest() });
        }
        Entry::Settled { paid, waiting, defaulted, judgement, aggregate, at_ms, .. } => {
            (summary.state, summary.ended_ms) = (RoundState::Settled, Some(at_ms));
            let awards = &found.awards;
            let sum = |members: &[ClientId]| {
                let due = awards.iter().filter(|award| members.contains(&award.member)).map(|it| it.payment_micros);
                due.map(Amount::micros).fold(0, i64::saturating_add)
            };
            (summary.paid_micros, summary.waiting_micros) = (sum(&paid), sum(&waiting));
            summary.released_micros = released(&judgement);
            (summary.paid, summary.defaulted) = (paid.len() as u64, defaulted.len() as u64);
            summary.waiting = waiting.len() as u64;
            (found.paid, found.defaulted, found.aggregate) = (paid, defaulted, Some(aggregate));
            (found.waiting, found.held) = (waiting, judgement.held);
        }
        Entry::Aborted { reason, at_ms, .. } => {
            (summary.state, summary.reason, summary.ended_ms) = (RoundState::Aborted, Some(reason), Some(at_ms));
        }
        _ => {}
    }
    Ok(())
}

/// Payments of earlier rounds that are made now.
fn released(judgement: &Judgement) -> i64 {
    judgement.paid.iter().map(|payment| payment.amount.micros()).fold(0, i64::saturating_add)
}

fn offer_line(member: ClientId, entry: u64, offer: &Envelope) -> Result<OfferLine, Refusal> {
    let content: OfferContent = serde_json::from_str(offer.content.get())
        .map_err(|error| Refusal::new(Code::Internal, format!("entry {entry} cannot be read: {error}")))?;
    let OfferContent { samples, ask_micros, .. } = content;
    Ok(OfferLine { member, entry, offer: offer.digest(), samples, ask_micros: Some(ask_micros) })
}

impl From<Award> for AwardLine {
    fn from(Award { member, ask_micros, payment_micros, essential }: Award) -> AwardLine {
        AwardLine { member, ask_micros, payment_micros, essential }
    }
}
