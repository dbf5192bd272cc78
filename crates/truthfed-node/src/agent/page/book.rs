//! The member's rounds, as its own offers and the receipts for them tell: every receipt is checked before it is counted.
//!
//! Receipts of rounds that ended do not change, but where a payment waits: only those and the new ones are read again.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use truthfed::Amount;
use truthfed::protocol::{RoundId, Time};

use crate::agent::core::Agent;
use crate::agent::handle::Handle;
use crate::agent::store::{FileError, Kept};
use crate::calendar::stamp;
use crate::ledger::{decimal_units, receipts};
use crate::wire::{Envelope, ReceiptContent, ReceiptKind};

/// Rounds read at once; the application is served between two chunks.
const CHUNK: u64 = 64;

#[derive(Debug, Default)]
pub(super) struct Book {
    lines: BTreeMap<RoundId, Line>,
    /// All before this round is read, and stays as it is.
    first: u64,
}

/// A round in which this member offered.
#[derive(Debug)]
pub(super) struct Line {
    round: RoundId,
    /// Of the offer; unknown once it is no longer kept.
    asked: Option<Asked>,
    /// What the last receipt says.
    last: Option<ReceiptKind>,
    has_won: bool,
    payment: Option<Amount>,
    /// When the first receipt and the payment came.
    begun_ms: Option<u64>,
    paid_ms: Option<u64>,
    receipts: usize,
    /// Why the receipts are not right.
    problem: Option<String>,
}

/// What an offer says beside its data.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Asked {
    samples: u64,
    ask_micros: Amount,
}

#[derive(Debug, Default)]
struct Month {
    offers: u64,
    won: u64,
    payments: u64,
    earned_micros: i128,
}

impl Book {
    /// Takes in what came since. Fails when the agent's file cannot be read.
    pub(super) async fn read(&mut self, agent: &Handle) -> Result<(), FileError> {
        let mut first = self.first;
        loop {
            let (kept, asked, closed) = agent.with(move |agent| agent.told(first, first + CHUNK - 1)).await?;
            for round in kept.chunk_by(|one, other| one.round == other.round) {
                let line = Line::of(agent.whose(), round, asked.get(&round[0].round).copied());
                self.lines.insert(line.round, line);
            }
            first += CHUNK;
            if first > closed.0 + 1 {
                let waits = |line: &&Line| line.last == Some(ReceiptKind::Waiting);
                let waiting = self.lines.values().find(waits).map(|line| line.round.0);
                self.first = waiting.unwrap_or(u64::MAX).min(closed.0 + 1);
                return Ok(());
            }
        }
    }

    /// The latest first.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.values().rev()
    }

    pub(super) fn before(&self, round: RoundId) -> impl Iterator<Item = &Line> {
        self.lines.range(..round).rev().map(|(_, line)| line)
    }

    pub(super) fn line(&self, round: RoundId) -> Option<&Line> {
        self.lines.get(&round)
    }

    /// What all receipts come to, and which are wrong.
    pub(super) fn sums(&self) -> Value {
        let lines = || self.lines.values();
        let wrong = lines().filter_map(|line| Some(json!({ "round": line.round, "problem": line.problem.as_ref()? })));
        json!({
            "rounds": self.lines.len(),
            "won": lines().filter(|line| line.has_won).count(),
            "receipts": lines().map(|line| line.receipts).sum::<usize>(),
            "wrong": wrong.take(20).collect::<Vec<_>>(),
        })
    }

    /// The latest first; without a name, what was heard before times were kept.
    pub(super) fn months(&self) -> Vec<Value> {
        let mut months: BTreeMap<Option<String>, Month> = BTreeMap::new();
        for line in self.lines.values() {
            let begun = months.entry(line.begun_ms.map(month)).or_default();
            begun.offers += 1;
            begun.won += u64::from(line.has_won);
            if let Some(payment) = line.payment {
                let paid = months.entry(line.paid_ms.map(month)).or_default();
                paid.payments += 1;
                paid.earned_micros += i128::from(payment.micros());
            }
        }
        let value = |(month, sums): (&Option<String>, &Month)| {
            let Month { offers, won, payments, earned_micros } = sums;
            let earned = decimal_units(*earned_micros);
            json!({ "month": month, "offers": offers, "won": won, "payments": payments, "earned": earned })
        };
        months.iter().rev().map(value).collect()
    }
}

/// Such as `2026-11`.
fn month(at_ms: u64) -> String {
    stamp(Time(at_ms)).chars().take("2026-11".len()).collect()
}

impl Line {
    /// A round whose receipts these are, at least one.
    fn of(whose: &receipts::Bundle, kept: &[Kept], asked: Option<Asked>) -> Line {
        let envelopes: Vec<Envelope> = kept.iter().map(|kept| kept.envelope.clone()).collect();
        let problem = receipts::check(whose, &envelopes, None).err().map(|error| error.to_string());
        let mut line = Line {
            round: kept[0].round,
            asked,
            last: None,
            has_won: false,
            payment: None,
            begun_ms: kept.iter().filter_map(|kept| kept.heard_ms).min(),
            paid_ms: None,
            receipts: kept.len(),
            problem,
        };
        if line.problem.is_none() {
            kept.iter().for_each(|kept| line.take(kept));
        }
        line
    }

    fn take(&mut self, kept: &Kept) {
        let content = content(&kept.envelope).expect("it was checked");
        self.last = self.last.into_iter().chain([content.kind]).max_by_key(|kind| step(*kind));
        // Whoever was away when it was decided has the receipt of what followed.
        self.has_won |= !matches!(content.kind, ReceiptKind::OfferTaken | ReceiptKind::Lost);
        if content.kind == ReceiptKind::Paid {
            (self.payment, self.paid_ms) = (content.payment_micros, kept.heard_ms);
        }
    }

    pub(super) fn value(&self, closed: RoundId) -> Value {
        let units = |amount: Amount| decimal_units(amount.micros().into());
        json!({
            "round": self.round,
            "begun_ms": self.begun_ms,
            "has_ended": self.round <= closed,
            "samples": self.asked.map(|asked| asked.samples),
            "ask": self.asked.map(|asked| units(asked.ask_micros)),
            "last": self.last,
            "payment": self.payment.map(units),
            "receipts": self.receipts,
            "problem": self.problem,
        })
    }
}

/// Its place among the steps of a round.
pub(super) fn step(kind: ReceiptKind) -> Option<usize> {
    ReceiptKind::ALL.iter().position(|known| *known == kind)
}

pub(super) fn content(envelope: &Envelope) -> Option<ReceiptContent> {
    serde_json::from_str(envelope.content.get()).ok()
}

type Told = (Vec<Kept>, BTreeMap<RoundId, Asked>, RoundId);

impl Agent {
    /// The receipts of these rounds, what their offers asked, and the last round that ended.
    fn told(&mut self, first: u64, last: u64) -> Result<Told, FileError> {
        self.take_up()?;
        let kept = self.store.receipts(first..=last)?;
        let mut asked = BTreeMap::new();
        for round in kept.iter().map(|kept| kept.round) {
            if !asked.contains_key(&round)
                && let Some(offer) = self.store.offer(round)?
                && let Ok(offer) = serde_json::from_str::<Asked>(offer.envelope.content.get())
            {
                asked.insert(round, offer);
            }
        }
        Ok((kept, asked, self.state.machine.closed()))
    }
}
