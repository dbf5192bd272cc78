//! A member's own check, offline: what the coordinator signed for it, against itself and against a statement.
//!
//! A coordinator cannot deny what it gave a receipt for. Receipts that contradict each other, or a statement that says
//! something else than a receipt, are proof against it that anybody can check.

use std::collections::BTreeMap;

use serde::Serialize;
use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::RoundId;

use super::{Line, LineState, Statement};
use crate::digest::{Digest, Nonce, PublicKey};
use crate::wire::{Context, Envelope, Promise, RECEIPT_SCHEMA, ReceiptContent, ReceiptKind};

/// What a member knows from its own bundle.
#[derive(Debug, Clone)]
pub struct Bundle {
    pub member: ClientId,
    pub federation: Digest,
    /// Who signs for the coordinator.
    pub coordinator: PublicKey,
}

/// What right receipts come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Summary {
    pub receipts: u64,
    /// Rounds they are about.
    pub rounds: u64,
    pub payments: u64,
    /// Payments that wait until others' data confirms what was delivered.
    pub waiting: u64,
    /// Posted, in micro-units.
    pub posted_micros: i128,
}

/// Why receipts are not right; `receipt` counts from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    #[error("receipt {receipt} cannot be read: {problem}")]
    Unreadable { receipt: usize, problem: String },
    /// Not the coordinator's: it proves nothing.
    #[error("receipt {0} is not signed by the coordinator")]
    Signature(usize),
    #[error("receipt {receipt} is of another {what}")]
    Context { receipt: usize, what: &'static str },
    /// Coordinator: it signed two things that cannot both be true.
    #[error("receipts of round {round} contradict each other: {one} and {other}")]
    Contradiction { round: RoundId, one: String, other: String },
    #[error("the statement is of {0}")]
    OtherStatement(String),
    /// Coordinator: the ledger says something else than it signed.
    #[error("round {round}: the receipt says {receipt}, the statement says {statement}")]
    Differs { round: RoundId, receipt: String, statement: String },
}

/// What a receipt says beside what it is about.
#[derive(Clone, Copy, PartialEq)]
struct Said {
    kind: ReceiptKind,
    promise: Option<Promise>,
    paid: Option<(Amount, Nonce)>,
}

#[derive(Default)]
struct Told {
    first: Option<ReceiptContent>,
    decision: Option<Said>,
    delivered: bool,
    /// That its payment waits.
    waits: bool,
    /// Paid or void, at once or after it waited.
    settlement: Option<Said>,
}

/// Checks receipts against each other, and against a statement if there is one. The error names the first that is
/// wrong.
pub fn check(bundle: &Bundle, receipts: &[Envelope], statement: Option<&Statement>) -> Result<Summary, ReceiptError> {
    let mut rounds: BTreeMap<RoundId, Told> = BTreeMap::new();
    for (index, envelope) in receipts.iter().enumerate() {
        let content = read(bundle, index, envelope)?;
        let round = content.context.round;
        rounds.entry(round).or_default().take(round, &content)?;
    }
    if let Some(statement) = statement {
        check_whose(bundle, statement)?;
    }
    let mut summary = Summary { receipts: receipts.len() as u64, rounds: rounds.len() as u64, ..Summary::default() };
    for (round, told) in &rounds {
        if let Some(statement) = statement {
            told.compare(*round, statement.lines.iter().find(|line| line.round == *round))?;
        }
        summary.waiting += u64::from(told.waits && told.settlement.is_none());
        if let Some(Said { paid: Some((payment, _)), .. }) = told.settlement {
            summary.payments += 1;
            summary.posted_micros += i128::from(payment.micros());
        }
    }
    Ok(summary)
}

fn read(bundle: &Bundle, receipt: usize, envelope: &Envelope) -> Result<ReceiptContent, ReceiptError> {
    if !envelope.is_signed_by(&bundle.coordinator, RECEIPT_SCHEMA) {
        return Err(ReceiptError::Signature(receipt));
    }
    let content: ReceiptContent = serde_json::from_str(envelope.content.get())
        .map_err(|error| ReceiptError::Unreadable { receipt, problem: error.to_string() })?;
    for (what, fits) in [
        ("schema", content.schema == RECEIPT_SCHEMA),
        ("federation", content.context.federation == bundle.federation),
        ("member", content.context.member == bundle.member),
    ] {
        if !fits {
            return Err(ReceiptError::Context { receipt, what });
        }
    }
    let (is_won, is_paid) = (content.kind == ReceiptKind::Won, content.kind == ReceiptKind::Paid);
    let has = (content.promise.is_some(), content.payment_micros.is_some(), content.salt.is_some());
    if has != (is_won, is_paid, is_paid) {
        let problem = "a promise belongs to what was won, a payment to what was paid, and to nothing else".to_owned();
        return Err(ReceiptError::Unreadable { receipt, problem });
    }
    Ok(content)
}

fn check_whose(bundle: &Bundle, statement: &Statement) -> Result<(), ReceiptError> {
    if statement.member != bundle.member {
        return Err(ReceiptError::OtherStatement(statement.member.to_string()));
    }
    match statement.federation {
        Some(federation) if federation != bundle.federation => {
            Err(ReceiptError::OtherStatement(format!("federation {federation}")))
        }
        _ => Ok(()),
    }
}

impl Told {
    /// Takes in a receipt, if it goes with the others of its round.
    fn take(&mut self, round: RoundId, content: &ReceiptContent) -> Result<(), ReceiptError> {
        let contradiction = |one: String, other: String| Err(ReceiptError::Contradiction { round, one, other });
        let first = self.first.get_or_insert_with(|| content.clone());
        if first.offer != content.offer {
            return contradiction(format!("offer {}", first.offer), format!("offer {}", content.offer));
        }
        if first.context != content.context {
            return contradiction(context_words(&first.context), context_words(&content.context));
        }
        let paid = content.payment_micros.zip(content.salt);
        let told = Said { kind: content.kind, promise: content.promise, paid };
        match content.kind {
            ReceiptKind::OfferTaken => {}
            ReceiptKind::DeliveryTaken => self.delivered = true,
            ReceiptKind::Waiting => self.waits = true,
            ReceiptKind::Won | ReceiptKind::Lost => {
                let before = *self.decision.get_or_insert(told);
                if before != told {
                    return contradiction(words(before), words(told));
                }
            }
            ReceiptKind::Paid | ReceiptKind::Voided | ReceiptKind::Forfeited => {
                let before = *self.settlement.get_or_insert(told);
                if before != told {
                    return contradiction(words(before), words(told));
                }
            }
        }
        self.check_whole(round)
    }

    /// Whether decision, delivery and settlement can all be true.
    fn check_whole(&self, round: RoundId) -> Result<(), ReceiptError> {
        let contradiction = |one: String, other: String| Err(ReceiptError::Contradiction { round, one, other });
        let is = |said: Option<Said>, kind| said.filter(|said| said.kind == kind);
        if let (Some(lost), true) = (is(self.decision, ReceiptKind::Lost), self.delivered) {
            return contradiction(words(lost), "delivery taken".to_owned());
        }
        if let (Some(voided), true) = (is(self.settlement, ReceiptKind::Voided), self.delivered || self.waits) {
            return contradiction("delivery taken".to_owned(), words(voided));
        }
        if let (Some(lost), true) = (is(self.decision, ReceiptKind::Lost), self.waits) {
            return contradiction(words(lost), "waiting".to_owned());
        }
        let (Some(decision), Some(settlement)) = (self.decision, self.settlement) else { return Ok(()) };
        let is_kept = decision
            .promise
            .is_some_and(|promise| settlement.paid.is_none_or(|(payment, salt)| promise.is_kept_by(payment, salt)));
        if is_kept { Ok(()) } else { contradiction(words(decision), words(settlement)) }
    }

    fn compare(&self, round: RoundId, line: Option<&Line>) -> Result<(), ReceiptError> {
        let Some(first) = &self.first else { return Ok(()) };
        let differs = |receipt: String, statement: String| Err(ReceiptError::Differs { round, receipt, statement });
        let Some(line) = line else {
            return differs(format!("offer {} was taken", first.offer), "there was no offer".to_owned());
        };
        if line.offer != first.offer {
            return differs(format!("offer {}", first.offer), format!("offer {}", line.offer));
        }
        use LineState::{Forfeited, Lost, Pending, Posted, Voided, Waiting};
        for told in self.decision.into_iter().chain(self.settlement) {
            let agrees = match told.kind {
                ReceiptKind::Won => matches!(line.state, Pending | Waiting | Posted | Voided | Forfeited),
                ReceiptKind::Paid => {
                    line.state == Posted && line.payment_micros == told.paid.map(|(payment, _)| payment)
                }
                ReceiptKind::Voided => line.state == Voided,
                ReceiptKind::Forfeited => line.state == Forfeited,
                _ => line.state == Lost,
            };
            if !agrees {
                return differs(words(told), line_words(line));
            }
        }
        // A delivery in time is paid for, unless it was found to be false.
        if self.delivered && !matches!(line.state, Pending | Waiting | Posted | Forfeited) {
            return differs("delivery taken".to_owned(), line_words(line));
        }
        if self.waits && !matches!(line.state, Waiting | Posted | Forfeited) {
            return differs("waiting".to_owned(), line_words(line));
        }
        Ok(())
    }
}

fn words(said: Said) -> String {
    let kind = match said.kind {
        ReceiptKind::OfferTaken => "offer taken",
        ReceiptKind::Won => "won",
        ReceiptKind::Lost => "lost",
        ReceiptKind::DeliveryTaken => "delivery taken",
        ReceiptKind::Paid => "paid",
        ReceiptKind::Voided => "voided",
        ReceiptKind::Waiting => "waiting",
        ReceiptKind::Forfeited => "forfeited",
    };
    match said {
        Said { paid: Some((payment, _)), .. } => format!("{kind} {payment}"),
        Said { promise: Some(promise), .. } => format!("{kind}, at least {}", promise.least_micros),
        _ => kind.to_owned(),
    }
}

fn line_words(line: &Line) -> String {
    let state = match line.state {
        LineState::Open => "open",
        LineState::Withdrawn => "withdrawn",
        LineState::Aborted => "aborted",
        LineState::Lost => "lost",
        LineState::Pending => "pending",
        LineState::Waiting => "waiting",
        LineState::Posted => "posted",
        LineState::Voided => "voided",
        LineState::Forfeited => "forfeited",
    };
    line.payment_micros.map_or_else(|| state.to_owned(), |payment| format!("{state} {payment}"))
}

fn context_words(Context { nonce, terms, .. }: &Context) -> String {
    format!("nonce {nonce} under terms {terms}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Trust, verify};
    use crate::signature::Signer;
    use crate::testing::{Played, id};

    fn bundle(played: &Played, name: &str) -> Bundle {
        let (federation, coordinator) = (played.federation.id, played.federation.coordinator.public());
        Bundle { member: id(name), federation, coordinator }
    }

    fn statement(played: &Played, name: &str) -> Statement {
        Statement::read(&mut played.store(), &id(name)).unwrap()
    }

    /// The check of a member with its own receipts.
    fn check_own(played: &Played, name: &str, statement: &Statement) -> Result<Summary, ReceiptError> {
        check(&bundle(played, name), &played.receipts(name), Some(statement))
    }

    /// Someone who won the first round, and its statement.
    fn winner(played: &Played) -> (String, Statement) {
        let paid = |name: &&str| statement(played, name).lines[0].state == LineState::Posted;
        let name = ["a", "b", "c", "d", "e"].into_iter().find(paid).unwrap();
        (name.to_owned(), statement(played, name))
    }

    #[test]
    fn receipts_of_an_honest_coordinator_say_what_the_statement_says() {
        let played = Played::with_rounds();
        for name in ["a", "b", "c", "d", "e"] {
            let statement = statement(&played, name);
            let summary = check_own(&played, name, &statement).unwrap();
            assert_eq!(summary.posted_micros, statement.totals.posted_micros);
            assert_eq!(summary.rounds, statement.lines.len() as u64);
            assert_eq!(check(&bundle(&played, name), &played.receipts(name), None), Ok(summary));
        }
    }

    #[test]
    fn an_offer_that_was_taken_and_never_recorded_is_proved_by_its_receipt() {
        let mut played = Played::new(&["a", "b", "c"]);
        played.begin();
        played.offer("a", 3);
        let receipt = played.receipt("c", ReceiptKind::OfferTaken, Digest::of(b"the offer of c"), None);
        played.decline("b");
        played.pass_time();
        played.pass_time();
        // Nothing in the journal shows it.
        assert!(verify(&mut played.store(), &Trust::default()).unwrap().is_right());
        let found = check(&bundle(&played, "c"), &[receipt], Some(&statement(&played, "c")));
        assert!(matches!(found, Err(ReceiptError::Differs { round: RoundId(1), .. })), "{found:?}");
    }

    #[test]
    fn a_statement_that_differs_from_a_receipt_is_found() {
        let played = Played::with_rounds();
        let (name, honest) = winner(&played);
        let changes: [fn(&mut Line); 5] = [
            |line| line.payment_micros = line.payment_micros.and_then(|it| Amount::from_micros(it.micros() - 1)),
            |line| (line.state, line.payment_micros) = (LineState::Lost, None),
            |line| line.state = LineState::Voided,
            |line| line.state = LineState::Pending,
            |line| line.offer = Digest::of(b"other"),
        ];
        for change in changes {
            let mut statement = honest.clone();
            change(&mut statement.lines[0]);
            let found = check_own(&played, &name, &statement);
            assert!(matches!(found, Err(ReceiptError::Differs { round: RoundId(1), .. })), "{found:?}");
        }
        let mut statement = honest.clone();
        statement.lines.remove(0);
        assert!(matches!(check_own(&played, &name, &statement), Err(ReceiptError::Differs { .. })));
        let mut other = honest;
        other.member = id("z");
        assert!(matches!(check_own(&played, &name, &other), Err(ReceiptError::OtherStatement(_))));
    }

    #[test]
    fn receipts_that_contradict_each_other_are_found() {
        let mut played = Played::new(&["a", "b"]);
        played.begin();
        played.offer("a", 3);
        played.decline("b");
        played.deliver("a");
        let with = |kind, offer, payment| {
            let receipt = played.receipt("a", kind, offer, payment);
            [played.receipts("a"), vec![receipt]].concat()
        };
        let offer = statement(&played, "a").lines[0].offer;
        let units = |units| Some(Amount::from_units(units));
        let contradictions = [
            (ReceiptKind::Lost, offer, None),
            (ReceiptKind::Won, offer, units(99)),
            (ReceiptKind::Paid, offer, units(99)),
            (ReceiptKind::Voided, offer, units(100)),
            (ReceiptKind::OfferTaken, Digest::of(b"other"), None),
        ];
        for (kind, offer, payment) in contradictions {
            let found = check(&bundle(&played, "a"), &with(kind, offer, payment), None);
            assert!(matches!(found, Err(ReceiptError::Contradiction { .. })), "{kind:?}: {found:?}");
        }
        let found = check(&bundle(&played, "a"), &with(ReceiptKind::Won, offer, None), None);
        assert!(matches!(found, Err(ReceiptError::Unreadable { receipt: 4, .. })), "{found:?}");
    }

    #[test]
    fn receipts_of_others_prove_nothing() {
        let played = Played::with_rounds();
        let receipts = &played.receipts("a");
        let own = bundle(&played, "a");
        let forged = Bundle { coordinator: Signer::random().public(), ..own.clone() };
        let elsewhere = Bundle { federation: Digest::of(b"other"), ..own };
        let context = |what| ReceiptError::Context { receipt: 0, what };
        assert_eq!(check(&forged, receipts, None), Err(ReceiptError::Signature(0)));
        assert_eq!(check(&bundle(&played, "b"), receipts, None), Err(context("member")));
        assert_eq!(check(&elsewhere, receipts, None), Err(context("federation")));
    }
}
