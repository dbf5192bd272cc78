//! The journal, the ledger that follows from it, and what a coordinator takes up after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use truthfed::Amount;
use truthfed::auction::ClientId;
use truthfed::protocol::{Judgement, Payment, RoundId, Ruling, Time};
use truthfed_node::coordinator::operator::read_rounds;
use truthfed_node::digest::Digest;
use truthfed_node::journal::{Award, Entry, Head};
use truthfed_node::ledger::{Account, Cause, Fault, Ledger, Statement, Trust, verify};
use truthfed_node::store::StandingRow;
use truthfed_node::testing::{Memory, Stepwise};
use truthfed_node::wire::{Call, SyncRequest};

use crate::bytes::Bytes;
use crate::federation::{FEDERATION, NAMES, context, id, offer, with_rounds};
use crate::text::{json, text};

/// An honest journal of three rounds.
pub(crate) static HONEST: LazyLock<Memory> = LazyLock::new(with_rounds);

/// Bodies of a journal, one on each line, chained as they should be: whoever reads it says what is wrong.
pub fn journal(bytes: &[u8]) -> bool {
    let Some(text) = text(bytes) else { return false };
    let mut entries = Vec::new();
    for line in text.lines() {
        let Ok(entry) = serde_json::from_str::<Entry>(line) else { return false };
        let written = json(&entry);
        let again: Entry = serde_json::from_str(&written).expect("what is written can be read");
        assert_eq!(json(&again), written, "it changed on the way");
        entries.push(entry);
    }
    let mut store = Memory::of(&entries);
    let mut head = Head::START;
    for row in &store.rows {
        head.follow(row).expect("what was appended can be followed");
    }
    let report = verify(&mut store, &Trust::default()).expect("memory can be read");
    let statement = Statement::read(&mut store, &id(NAMES[0]));
    let _ = read_rounds(&mut store);
    // With no standing, everything is replayed; a round that ended has one.
    let taken_up = Stepwise::start(FEDERATION.setup(), store);
    // Only the journal is here: what stands beside it, replies and a standing, is missing.
    let is_right = report.problem.is_none_or(|it| matches!(it.fault, Fault::Reply | Fault::Standing));
    let is_ours = is_right && !entries.is_empty();
    assert!(!is_ours || taken_up.is_ok() || has_ended(&entries) || is_foreign(&entries), "right, and not taken up");
    is_ours && statement.is_ok()
}

fn has_ended(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| matches!(entry, Entry::Settled { .. } | Entry::Aborted { .. }))
}

/// Of another federation than this one, or open, where replies are missing.
fn is_foreign(entries: &[Entry]) -> bool {
    let own = json(&HONEST.entries()[0]);
    entries.first().is_none_or(|first| json(first) != own) || entries.iter().any(is_answered)
}

fn is_answered(entry: &Entry) -> bool {
    matches!(entry, Entry::Offered { .. } | Entry::Declined { .. } | Entry::Delivered { .. } | Entry::Sealed { .. })
}

/// Entries that move money, in any order: what cannot be is refused and changes nothing, and no sum is ever off.
pub fn ledger(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let mut ledger = Ledger::after(bytes.count() >> 8, []);
    let mut balances: BTreeMap<Account, i128> = BTreeMap::new();
    let mut paid = BTreeSet::new();
    let mut number = 0;
    while !bytes.is_empty() {
        number += 1;
        let (entry, before) = (moving(&mut bytes, &ledger), ledger.clone());
        let Ok(postings) = ledger.follow(number, &entry) else {
            assert_eq!(ledger, before, "refused, and changed");
            continue;
        };
        assert_eq!(before.postings() + postings.len() as u64, ledger.postings());
        for pair in postings.chunks(2) {
            for posting in pair {
                *balances.entry(posting.account.clone()).or_default() += i128::from(posting.micros);
                if let (Account::Member(member), Cause::Round(round)) = (&posting.account, &posting.cause) {
                    assert!(paid.insert((*round, member.clone())), "paid twice");
                }
            }
            assert_eq!(balances.values().sum::<i128>(), 0, "money was made or lost");
        }
        let pending: i128 = ledger.pending().map(|(_, _, payment)| i128::from(payment.micros())).sum();
        assert_eq!(balances.get(&Account::Escrow).copied().unwrap_or_default(), pending);
    }
    !paid.is_empty()
}

/// An entry about money, mostly one that could be.
fn moving(bytes: &mut Bytes<'_>, ledger: &Ledger) -> Entry {
    let round = if bytes.below(8) == 0 { bytes.round() } else { RoundId(bytes.below(4) as u64) };
    let members =
        |bytes: &mut Bytes<'_>| -> Vec<ClientId> { (0..bytes.below(4)).map(|_| id(bytes.pick(&NAMES))).collect() };
    let at_ms = Time(bytes.count());
    // Of what is pending, in a round or since earlier ones.
    let pending = |bytes: &mut Bytes<'_>| -> Vec<Payment> {
        let all = ledger.pending().filter(|_| bytes.below(3) == 0);
        all.map(|(round, member, amount)| Payment { member: member.clone(), round, amount }).collect()
    };
    match bytes.below(7) {
        0 | 1 => {
            let award = |member| {
                let payment_micros = Amount::from_micros(bytes.word() as i64 >> bytes.below(64)).unwrap_or(Amount::MAX);
                Award { member, ask_micros: Amount::ZERO, payment_micros, essential: false }
            };
            {
                let winners = NAMES.into_iter().take(round.0 as usize % 4).map(id).map(award).collect();
                Entry::Awarded { round, winners, aside: Vec::new() }
            }
        }
        2 | 3 => {
            let (paid, waiting, defaulted) = (members(bytes), members(bytes), members(bytes));
            let judgement = Judgement { paid: pending(bytes), void: pending(bytes), ..Judgement::default() };
            Entry::Settled { round, paid, waiting, defaulted, judgement, aggregate: Digest::of(b""), at_ms }
        }
        4 => {
            let judgement = Judgement { paid: pending(bytes), void: pending(bytes), ..Judgement::default() };
            let (member, ruling) =
                (id(bytes.pick(&NAMES)), bytes.pick(&[Ruling::Release, Ruling::Void, Ruling::Forget]));
            Entry::Ruled { round, member, ruling, judgement, aggregate: Digest::of(b""), at_ms }
        }
        5 => {
            let amount_micros = Amount::from_micros(bytes.word() as i64 >> bytes.below(64)).unwrap_or(Amount::MAX);
            let reference = bytes.below(4).to_string().parse().expect("a digit is a reference");
            Entry::PaidOut { member: id(bytes.pick(&NAMES)), amount_micros, reference, at_ms }
        }
        _ => Entry::Aborted { round, reason: String::new(), at_ms, by_operator: bytes.below(2) == 0 },
    }
}

/// The standing from which a coordinator goes on after a restart, whatever it signed: it is taken up, or refused with a
/// reason. One that it did not sign is always refused.
pub fn recovery(bytes: &[u8]) -> bool {
    let Some(body) = text(bytes) else { return false };
    let mut store = HONEST.clone();
    let entry = store.rows.len() as u64;
    store.standing = Some(StandingRow { entry, body: body.to_owned() });
    let is_own = store.standing == HONEST.standing;
    assert_eq!(Stepwise::start(FEDERATION.setup(), store.clone()).is_ok(), is_own, "taken up without a signature");
    let mut entries = store.entries();
    let Some(Entry::Checkpoint(last)) = entries.last_mut() else { panic!("a round ends with a checkpoint") };
    last.standing = Some(Digest::of(body.as_bytes()));
    store.rows = Memory::of(&FEDERATION.sign_again(&entries)).rows;
    let Ok(mut engine) = Stepwise::start(FEDERATION.setup(), store) else { return false };
    let closed = engine.published().closed();
    let _ = engine.call(&id(NAMES[0]), Call::Sync(SyncRequest { have: RoundId(0), waiting: None }));
    let (round, opening) = (context(&engine, 0).round, offer(&engine, 0));
    let _ = engine.call(&id(NAMES[0]), Call::Offer(round, opening));
    engine.pass_time();
    engine.pass_time();
    assert!(engine.published().closed() >= closed);
    true
}
