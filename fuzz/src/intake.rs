//! Bodies of offers and deliveries, on their way through the coordinator.
//!
//! An input is a body, or a content that is then signed as it should be. What is taken is recorded with the very same
//! bytes, is answered the same way again, also after a restart, and verifies. What is refused leaves no trace.

use std::sync::LazyLock;

use serde_json::value::RawValue;
use truthfed::protocol::RoundId;
use truthfed_node::journal::Entry;
use truthfed_node::ledger::Statement;
use truthfed_node::reading::read_json;
use truthfed_node::testing::{Memory, Stepwise};
use truthfed_node::wire::{Call, DELIVERY_SCHEMA, Envelope, OFFER_SCHEMA};

use crate::federation::{NAMES, check_right, id, signer, start, with_offers};

/// The member that sends the input.
const MEMBER: usize = 0;
const ROUND: RoundId = RoundId(1);

/// A round is open, and the member has not answered it.
pub(crate) static BEFORE_OFFER: LazyLock<Memory> = LazyLock::new(|| with_offers(&[1]));
/// The member has won, and has not delivered.
pub(crate) static BEFORE_DELIVERY: LazyLock<Memory> = LazyLock::new(|| with_offers(&[0, 1, 2, 3]));

/// An offer, as it comes over the network.
pub fn offer(bytes: &[u8]) -> bool {
    let call = |envelope| Call::Offer(ROUND, envelope);
    envelope(bytes, OFFER_SCHEMA).is_some_and(|envelope| check(&BEFORE_OFFER, &envelope, OFFER_SCHEMA, call))
}

/// A delivery, as it comes over the network.
pub fn delivery(bytes: &[u8]) -> bool {
    let call = |envelope| Call::Deliver(ROUND, envelope);
    envelope(bytes, DELIVERY_SCHEMA).is_some_and(|envelope| check(&BEFORE_DELIVERY, &envelope, DELIVERY_SCHEMA, call))
}

fn envelope(bytes: &[u8], schema: &str) -> Option<Envelope> {
    if let Ok(envelope) = read_json(bytes) {
        return Some(envelope);
    }
    let content = RawValue::from_string(String::from_utf8(bytes.to_vec()).ok()?).ok()?;
    let signature = signer(MEMBER + 1).sign(schema, content.get().as_bytes());
    Some(Envelope { content, signature })
}

/// Whether the message was taken; checks what follows either way.
fn check(before: &Memory, envelope: &Envelope, schema: &str, call: impl Fn(Envelope) -> Call) -> bool {
    let send = |engine: &mut Stepwise| engine.call(&id(NAMES[MEMBER]), call(envelope.clone()));
    let mut engine = start(before.clone());
    let Ok(reply) = send(&mut engine) else {
        assert_eq!(engine.store().rows, before.rows, "a refusal is recorded");
        assert_eq!(engine.store().replies, before.replies, "a refusal is kept");
        return false;
    };
    assert!(envelope.is_signed_by(&signer(MEMBER + 1).public(), schema), "taken without a signature");
    assert_eq!(send(&mut engine).as_ref(), Ok(&reply), "a repeat gets another reply");
    let store = engine.store();
    let recorded = store.entries().into_iter().skip(before.rows.len()).find_map(|entry| match entry {
        Entry::Offered { offer, .. } => Some(offer),
        Entry::Delivered { delivery, .. } => Some(delivery),
        _ => None,
    });
    assert_eq!(recorded.map(|recorded| recorded.digest()), Some(envelope.digest()), "recorded with other bytes");
    check_right(&store);
    Statement::read(&mut store.clone(), &id(NAMES[MEMBER])).expect("a member has a statement");
    let mut again = start(store);
    assert_eq!(send(&mut again), Ok(reply), "after a restart a repeat gets another reply");
    true
}
