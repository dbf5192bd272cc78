//! A small federation that is the same in every run: fixed keys, fixed data, the engine of a real coordinator.

use std::sync::LazyLock;

use truthfed::Amount;
use truthfed::protocol::RoundId;
use truthfed_node::digest::{Digest, Hex, Nonce};
use truthfed_node::journal::Entry;
use truthfed_node::ledger::{Trust, verify};
use truthfed_node::signature::Signer;
pub(crate) use truthfed_node::testing::id;
use truthfed_node::testing::{Data, Federation, Memory, Stepwise, terms};
use truthfed_node::wire::{Call, Context, DeliveryContent, Envelope, OfferContent};

/// The salt of every member's commitment.
pub(crate) const SALT: Nonce = Hex([5; 16]);
pub(crate) const NAMES: [&str; 4] = ["ann", "bob", "cyd", "dan"];
/// What each of them asks, in units.
const ASKS: [u32; 4] = [3, 5, 9, 4];
pub(crate) const RESERVE: u32 = 100;
pub(crate) const DIMENSION: usize = 2;

pub(crate) static FEDERATION: LazyLock<Federation> = LazyLock::new(|| Federation::new(terms(DIMENSION), &NAMES));

/// The key of a party: 0 is the coordinator, `n + 1` the member of that number.
pub(crate) fn signer(party: usize) -> Signer {
    static KNOWN: LazyLock<[Signer; 16]> = LazyLock::new(|| std::array::from_fn(|party| Federation::key(party as u8)));
    KNOWN.get(party).cloned().unwrap_or_else(|| Federation::key(party as u8))
}

/// The engine of a store, which must be honest.
pub(crate) fn start(store: Memory) -> Stepwise {
    let started = Stepwise::start(FEDERATION.setup(), store);
    started.unwrap_or_else(|error| panic!("what the engine wrote is not taken up again: {error}"))
}

/// What a member observes before a round: its own.
fn data(member: usize, round: RoundId) -> Data {
    let observation = |i: usize| {
        let angle = (7 * member + 3 * i) as f64 + round.0 as f64;
        ([0.9 * libm::sin(angle), 0.9 * libm::cos(angle)], libm::sin(angle / 3.0))
    };
    Data::of(&[0, 1, 2, 3, 4, 5, 6, 7].map(observation))
}

/// Where a message of a member counts that is sent now: in the round that is open or next.
pub(crate) fn context(engine: &Stepwise, member: usize) -> Context {
    let view = engine.published().view(&id(NAMES[member]));
    let next = view.next.map(|next| (next.round, next.nonce));
    let (round, nonce) = view.open.map(|open| (open.round, open.nonce)).or(next).expect("a round is open or next");
    FEDERATION.context(&id(NAMES[member]), round, nonce)
}

pub(crate) fn offer_content(engine: &Stepwise, member: usize) -> OfferContent {
    let context = context(engine, member);
    data(member, context.round).offer(context, Amount::from_units(ASKS[member]))
}

/// The honest delivery of a member whose offer had that hash.
pub(crate) fn delivery_content(engine: &Stepwise, member: usize, offer: Digest) -> DeliveryContent {
    let context = context(engine, member);
    data(member, context.round).delivery(context, offer)
}

pub(crate) fn offer(engine: &Stepwise, member: usize) -> Envelope {
    FEDERATION.sign_offer(&offer_content(engine, member))
}

/// The offer of a member as it was recorded in the open round.
pub(crate) fn recorded_offer(store: &Memory, member: usize) -> Option<Envelope> {
    store.entries().into_iter().rev().find_map(|entry| match entry {
        Entry::Offered { member: whose, offer, .. } if whose == id(NAMES[member]) => Some(offer),
        _ => None,
    })
}

/// A federation in which these have answered a round that the first of them opened.
pub(crate) fn with_offers(members: &[usize]) -> Memory {
    let mut engine = start(Memory::default());
    take_offers(&mut engine, members);
    engine.store()
}

fn take_offers(engine: &mut Stepwise, members: &[usize]) {
    for &member in members {
        let envelope = offer(engine, member);
        let round = context(engine, member).round;
        engine.call(&id(NAMES[member]), Call::Offer(round, envelope)).expect("an honest offer is taken");
    }
}

/// Three rounds: all winners deliver; one does not; who opened it is revoked, and nobody else offers.
pub(crate) fn with_rounds() -> Memory {
    let mut engine = start(Memory::default());
    for defaults in [0, 1] {
        take_offers(&mut engine, &[0, 1, 2, 3]);
        deliver_all(&mut engine, defaults);
        engine.pass_time();
    }
    take_offers(&mut engine, &[3]);
    engine.call(&id("cyd"), Call::Decline(RoundId(3))).expect("a member may decline");
    engine.revoke(id(NAMES[3])).expect("a member may be revoked");
    engine.pass_time();
    engine.store()
}

/// All winners deliver but the first few.
fn deliver_all(engine: &mut Stepwise, defaults: usize) {
    let wins = |engine: &Stepwise, member: usize| {
        let decision = engine.published().view(&id(NAMES[member])).open.and_then(|open| open.decision);
        decision.is_some_and(|decision| decision.content.get().contains("\"won\""))
    };
    let winners: Vec<usize> = (0..NAMES.len()).filter(|&member| wins(engine, member)).collect();
    for &member in &winners[defaults..] {
        let offer = recorded_offer(&engine.store(), member).expect("a winner has offered").digest();
        let content = delivery_content(engine, member, offer);
        let (round, envelope) = (content.context.round, FEDERATION.sign_delivery(&content));
        engine.call(&id(NAMES[member]), Call::Deliver(round, envelope)).expect("an honest delivery is taken");
    }
}

/// What is known of the federation from elsewhere.
pub(crate) fn trust() -> Trust {
    Trust { federation: Some(FEDERATION.id), coordinator: Some(signer(0).public()), checkpoint: None }
}

/// What the engine wrote must be right, whoever looks.
pub(crate) fn check_right(store: &Memory) {
    let mut store = store.clone();
    let trust = Trust { checkpoint: store.checkpoint(), ..trust() };
    let report = verify(&mut store, &trust).expect("memory can be read");
    assert!(report.is_right(), "{report}");
}
