//! A member's own check of its receipts: nothing that contradicts itself, or a statement, passes.

use std::collections::BTreeMap;

use truthfed::Amount;
use truthfed::protocol::{RoundId, Time};
use truthfed_node::digest::Digest;
use truthfed_node::ledger::{Line, LineState, Statement, Totals, receipts as own};
use truthfed_node::wire::{Context, Envelope, Promise, RECEIPT_SCHEMA, ReceiptContent, ReceiptKind};

use crate::bytes::Bytes;
use crate::federation::{FEDERATION, SALT, id, signer};

const KINDS: [ReceiptKind; 6] = {
    use ReceiptKind::{DeliveryTaken, Lost, OfferTaken, Paid, Voided, Won};
    [OfferTaken, Won, Lost, DeliveryTaken, Paid, Voided]
};
const STATES: [LineState; 7] = {
    use LineState::{Aborted, Lost, Open, Pending, Posted, Voided, Withdrawn};
    [Open, Withdrawn, Aborted, Lost, Pending, Posted, Voided]
};

/// Receipts and a statement that say anything.
pub fn receipts(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let contents: Vec<ReceiptContent> = (0..1 + bytes.below(8)).map(|_| content(&mut bytes)).collect();
    let signer = signer(0);
    let sealed: Vec<Envelope> = contents.iter().map(|content| signer.seal(RECEIPT_SCHEMA, content)).collect();
    let bundle = own::Bundle { member: id("ann"), federation: FEDERATION.id, coordinator: signer.public() };
    let statement = bytes.chance().then(|| statement(&mut bytes));
    let Ok(summary) = own::check(&bundle, &sealed, statement.as_ref()) else { return false };
    check_agree(&contents);
    let paid: BTreeMap<RoundId, Amount> = contents
        .iter()
        .filter(|content| content.kind == ReceiptKind::Paid)
        .filter_map(|content| Some((content.context.round, content.payment_micros?)))
        .collect();
    let posted: i128 = paid.values().map(|payment| i128::from(payment.micros())).sum();
    assert_eq!((summary.payments, summary.posted_micros), (paid.len() as u64, posted));
    if let Some(statement) = statement {
        for (round, payment) in paid {
            let posted = |line: &&Line| line.round == round && line.state == LineState::Posted;
            let line = statement.lines.iter().find(posted);
            assert_eq!(line.and_then(|line| line.payment_micros), Some(payment), "a payment is denied");
        }
    }
    true
}

/// No two of them speak of one round and cannot both be true.
fn check_agree(contents: &[ReceiptContent]) {
    use ReceiptKind::{DeliveryTaken, Lost, Paid, Voided, Won};
    for one in contents {
        for other in contents.iter().filter(|other| other.context.round == one.context.round) {
            assert_eq!((&one.context, one.offer), (&other.context, other.offer));
            let contradicts = matches!(
                (one.kind, other.kind),
                (Won, Lost) | (Paid, Voided) | (Lost, Paid | Voided | DeliveryTaken) | (Voided, DeliveryTaken)
            );
            assert!(!contradicts, "{one:?} {other:?}");
            if let (Some(promise), Some((payment, salt))) = (one.promise, other.payment_micros.zip(other.salt)) {
                assert!(promise.is_kept_by(payment, salt), "{one:?} {other:?}");
            }
            let is_same = one.payment_micros == other.payment_micros;
            assert!(is_same || one.payment_micros.is_none() || other.payment_micros.is_none(), "{one:?} {other:?}");
        }
    }
}

fn content(bytes: &mut Bytes<'_>) -> ReceiptContent {
    let kind = bytes.pick(&KINDS);
    let is_about_money = matches!(kind, ReceiptKind::Won | ReceiptKind::Paid);
    let payment = if bytes.below(16) == 0 { !is_about_money } else { is_about_money };
    let round = RoundId(bytes.below(3) as u64);
    let terms = if bytes.below(16) == 0 { Digest::of(b"other") } else { FEDERATION.agreement.hash() };
    let member = id(if bytes.below(16) == 0 { "bob" } else { "ann" });
    let context = Context { terms, ..FEDERATION.context(&member, round, SALT) };
    let payment = payment.then(|| amount(bytes));
    let paid = payment.filter(|_| kind != ReceiptKind::Won);
    ReceiptContent {
        schema: RECEIPT_SCHEMA.to_owned(),
        context,
        kind,
        offer: Digest::of(if bytes.below(16) == 0 { b"other" } else { b"offer" }),
        promise: payment.filter(|_| kind == ReceiptKind::Won).map(|payment| Promise::new(payment, payment, SALT)),
        payment_micros: paid,
        salt: paid.map(|_| SALT),
    }
}

fn amount(bytes: &mut Bytes<'_>) -> Amount {
    bytes.pick(&[Amount::from_units(9), Amount::from_units(9), Amount::ZERO, Amount::MAX])
}

fn statement(bytes: &mut Bytes<'_>) -> Statement {
    let line = |round| {
        let state = bytes.pick(&STATES);
        let payment_micros = (state == LineState::Posted).then(|| amount(bytes));
        let (offer, ask_micros, time) = (Digest::of(b"offer"), Amount::ZERO, Time(0));
        Line { round: RoundId(round), opened_ms: time, offer, ask_micros, state, since_ms: time, payment_micros }
    };
    let lines = (0..3).map(line).collect();
    let (federation, totals) = (Some(FEDERATION.id), Totals::default());
    let (payouts, before_micros) = (Vec::new(), 0);
    Statement { member: id("ann"), federation, entry: 1, lines, payouts, before_micros, totals, excluded: None }
}
