//! A small federation that is the same in every run: fixed keys, fixed data, the engine of a real coordinator.

use std::sync::{Arc, LazyLock};

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::bandit::RawConfig;
use truthfed::protocol::{RoundId, Since, Trigger};
use truthfed::statistics::Statistics;
use truthfed_node::digest::{Digest, Hex, Nonce};
use truthfed_node::engine::{Clock, Place, Setup};
use truthfed_node::journal::Entry;
use truthfed_node::ledger::{Checkpoint, Trust, verify};
use truthfed_node::signature::Signer;
use truthfed_node::terms::{Agreement, CoverageSetting, MechanismSetting, TermsDocument};
use truthfed_node::wire::{
    Call, Context, DELIVERY_SCHEMA, DeliveryContent, Envelope, OFFER_SCHEMA, OfferContent, commitment,
};

use crate::memory::Memory;
use crate::stepwise::{Nowhere, Stepwise};

/// An engine over memory.
pub(crate) type Engine = Stepwise;

pub(crate) const FEDERATION: Digest = Hex([7; 32]);
pub(crate) const SALT: Nonce = Hex([5; 16]);
/// Members from the beginning.
pub(crate) const NAMES: [&str; 4] = ["ann", "bob", "cyd", "dan"];
/// What each of them asks, in units.
const ASKS: [u32; 4] = [3, 5, 9, 4];
pub(crate) const RESERVE: u32 = 100;
pub(crate) const DIMENSION: usize = 2;

/// The key of a party: 0 is the coordinator, `n + 1` the member of that number.
pub(crate) fn signer(party: usize) -> Signer {
    static KNOWN: LazyLock<[Signer; 16]> = LazyLock::new(|| std::array::from_fn(key));
    KNOWN.get(party).cloned().unwrap_or_else(|| key(party))
}

fn key(party: usize) -> Signer {
    Signer::from_seed([party as u8; 32])
}

pub(crate) fn id(name: &str) -> ClientId {
    name.parse().expect("a short name")
}

pub(crate) fn document() -> TermsDocument {
    TermsDocument {
        bandit: RawConfig { dimension: DIMENSION, ..RawConfig::default() },
        trigger: Trigger { since: Since::Round, threshold: 1.0 },
        coverage: CoverageSetting::Ratio(0.5),
        reserve_micros: Amount::from_units(RESERVE),
        norm: 1.0,
        reward: 1.0,
        samples: 1000,
        offers_ms: 60_000,
        deliveries_ms: 60_000,
        mechanism: MechanismSetting::default(),
    }
}

/// The terms, checked, and their hash.
pub(crate) static AGREEMENT: LazyLock<Agreement> =
    LazyLock::new(|| Agreement::try_from(document()).expect("valid terms"));
pub(crate) static TERMS: LazyLock<Digest> = LazyLock::new(|| AGREEMENT.hash());

pub(crate) fn setup() -> Setup {
    let member = |(number, name): (usize, &&str)| (id(name), signer(number + 1).public(), Digest::of(name.as_bytes()));
    Setup {
        federation: FEDERATION,
        agreement: AGREEMENT.clone(),
        signer: signer(0),
        members: NAMES.iter().enumerate().map(member).collect(),
        checkpoint: Arc::new(Nowhere),
        lease_ms: 30_000,
        clock: Clock::simulated(),
        place: Place::Thread,
    }
}

/// The engine of a store, which must be honest.
pub(crate) fn start(store: Memory) -> Engine {
    match Stepwise::start(setup(), store) {
        Ok(engine) => engine,
        Err(error) => panic!("what the engine wrote is not taken up again: {error}"),
    }
}

/// What a member observes before a round: its own.
pub(crate) fn data(member: usize, round: RoundId) -> Statistics {
    let mut data = Statistics::new(DIMENSION).expect("a valid dimension");
    for i in 0..3 {
        let angle = (7 * member + 3 * i) as f64 + round.0 as f64;
        let context = [0.9 * libm::sin(angle), 0.9 * libm::cos(angle)];
        data.observe(&context, libm::sin(angle / 3.0)).expect("a short context");
    }
    data
}

/// Where a message of a member counts that is sent now, or would count in the first round.
pub(crate) fn context(engine: &Engine, member: usize) -> Context {
    let open = engine.published().view(&id(NAMES[member])).open;
    let (round, nonce) = open.map_or((RoundId(1), Hex([0; 16])), |open| (open.round, open.nonce));
    Context { federation: FEDERATION, round, nonce, terms: *TERMS, member: id(NAMES[member]) }
}

/// The honest offer of a member.
pub(crate) fn offer_content(engine: &Engine, member: usize) -> OfferContent {
    let context = context(engine, member);
    let data = data(member, context.round);
    OfferContent {
        schema: OFFER_SCHEMA.to_owned(),
        context,
        gram: data.gram().clone(),
        samples: data.samples(),
        ask_micros: Amount::from_units(ASKS[member]),
        commitment: commitment(SALT, data.moment()),
    }
}

/// The honest delivery of a member whose offer had that hash.
pub(crate) fn delivery_content(engine: &Engine, member: usize, offer: Digest) -> DeliveryContent {
    let context = context(engine, member);
    let moment = data(member, context.round).moment().to_vec();
    DeliveryContent { schema: DELIVERY_SCHEMA.to_owned(), context, offer, moment, salt: SALT }
}

/// The offer of a member as it is sent.
pub(crate) fn offer(engine: &Engine, member: usize) -> Envelope {
    signer(member + 1).seal(OFFER_SCHEMA, &offer_content(engine, member))
}

/// The offer of a member as it was recorded in the open round.
pub(crate) fn recorded_offer(store: &Memory, member: usize) -> Option<Envelope> {
    store.entries().into_iter().rev().find_map(|entry| match entry {
        Entry::Offered { member: whose, offer, .. } if whose == id(NAMES[member]) => Some(offer),
        _ => None,
    })
}

/// A federation in which these have answered an open round.
pub(crate) fn with_offers(members: &[usize]) -> Memory {
    let mut engine = start(Memory::default());
    open_round(&mut engine, members);
    engine.stop()
}

fn open_round(engine: &mut Engine, members: &[usize]) {
    engine.call(&id(NAMES[0]), Call::Ask).expect("a member may ask");
    for &member in members {
        let envelope = offer(engine, member);
        let round = context(engine, member).round;
        engine.call(&id(NAMES[member]), Call::Offer(round, envelope)).expect("an honest offer is taken");
    }
}

/// Three rounds: all winners deliver; one does not; nobody offers.
pub(crate) fn with_rounds() -> Memory {
    let mut engine = start(Memory::default());
    for defaults in [0, 1] {
        open_round(&mut engine, &[0, 1, 2, 3]);
        deliver_all(&mut engine, defaults);
        engine.pass_time();
    }
    engine.call(&id("bob"), Call::Ask).expect("a member may ask");
    engine.call(&id("cyd"), Call::Decline(RoundId(3))).expect("a member may decline");
    engine.pass_time();
    engine.stop()
}

/// All winners deliver but the first few.
fn deliver_all(engine: &mut Engine, defaults: usize) {
    let wins = |engine: &Engine, member: usize| {
        let decision = engine.published().view(&id(NAMES[member])).open.and_then(|open| open.decision);
        decision.is_some_and(|decision| decision.content.get().contains("\"won\""))
    };
    let winners: Vec<usize> = (0..NAMES.len()).filter(|&member| wins(engine, member)).collect();
    for &member in &winners[defaults..] {
        let offer = recorded_offer(&engine.store(), member).expect("a winner has offered").digest();
        let content = delivery_content(engine, member, offer);
        let (round, envelope) = (content.context.round, signer(member + 1).seal(DELIVERY_SCHEMA, &content));
        engine.call(&id(NAMES[member]), Call::Deliver(round, envelope)).expect("an honest delivery is taken");
    }
}

/// What is known of the federation from elsewhere.
pub(crate) fn trust() -> Trust {
    Trust { federation: Some(FEDERATION), coordinator: Some(signer(0).public()), checkpoint: None }
}

/// The last thing the coordinator vouched for.
pub(crate) fn last_checkpoint(store: &Memory) -> Option<Checkpoint> {
    store.entries().into_iter().rev().find_map(|entry| match entry {
        Entry::Checkpoint { entry, head, signature } => Some(Checkpoint { entry, head, signature }),
        _ => None,
    })
}

/// What the engine wrote must be right, whoever looks.
pub(crate) fn check_right(store: &Memory) {
    let mut store = store.clone();
    let trust = Trust { checkpoint: last_checkpoint(&store), ..trust() };
    let report = verify(&mut store, &trust).expect("memory can be read");
    assert!(report.is_right(), "{report}");
}
