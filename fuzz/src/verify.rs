//! Fraud in a store: whatever is changed, dropped, added or moved is found, however well it is covered up.
//!
//! A thief may change rows and postings, the standing and the replies that are kept. One who can also hash makes the chain fit
//! again; then the checkpoint outside of the store shows it. A coordinator that takes part signs everything again; then what the
//! members signed shows it, and times that no honest clock gives.

use std::collections::BTreeSet;

use truthfed::protocol::{RoundId, Time};
use truthfed_node::digest::Digest;
use truthfed_node::journal::{Entry, Head, Row};
use truthfed_node::ledger::{Cause, Posting, Trust, verify as verified};
use truthfed_node::store::{RequestKind, StoredReply};
use truthfed_node::testing::Memory;

use crate::bytes::Bytes;
use crate::federation::{FEDERATION, trust};
use crate::journal::HONEST;

/// A store that was tampered with.
pub fn verify(bytes: &[u8]) -> bool {
    let mut bytes = Bytes(bytes);
    let mut store = HONEST.clone();
    let mut outside = HONEST.checkpoint();
    match bytes.below(4) {
        0 => tamper(&mut bytes, &mut store),
        1 => {
            tamper_with_body(&mut bytes, &mut store, |_| true);
            chain_again(&mut store.rows);
        }
        kind => {
            match kind {
                2 => tamper_with_body(&mut bytes, &mut store, is_the_coordinators),
                _ => tamper_with_time(&mut bytes, &mut store),
            }
            sign_again(&mut store);
            outside = None;
        }
    }
    let trust = Trust { checkpoint: outside, ..trust() };
    let report = verified(&mut store.clone(), &trust).expect("memory can be read");
    let is_same = store == *HONEST;
    assert_eq!(report.is_right(), is_same, "{report}");
    is_same
}

/// Changes a few things, and leaves the rest as it is.
fn tamper(bytes: &mut Bytes<'_>, store: &mut Memory) {
    for _ in 0..1 + bytes.below(2) {
        match bytes.below(4) {
            0 => tamper_with_row(bytes, &mut store.rows),
            1 => tamper_with_posting(bytes, &mut store.postings),
            2 => tamper_with_reply(bytes, &mut store.replies),
            _ => tamper_with_standing(bytes, store),
        }
    }
    // As the tables have them.
    store.rows.retain(|row| row.number >= 1);
    store.postings.retain(|posting| posting.number >= 1);
    store.rows.sort_by_key(|row| row.number);
    store.rows.dedup_by_key(|row| row.number);
    store.postings.sort_by_key(|posting| posting.number);
    store.postings.dedup_by_key(|posting| posting.number);
    let mut keys = BTreeSet::new();
    store.replies.retain(|reply| keys.insert(reply.key.clone()));
}

fn tamper_with_reply(bytes: &mut Bytes<'_>, replies: &mut Vec<StoredReply>) {
    let (reply, other) = (bytes.below(replies.len()), bytes.below(replies.len()));
    match bytes.below(8) {
        0..=2 => edit(bytes, &mut replies[reply].body),
        3 => replies[reply].body = replies[other].body.clone(),
        4 => replies[reply].request = if bytes.chance() { replies[other].request } else { Digest::of(b"other") },
        5 => replies[reply].key.kind = bytes.pick(&RequestKind::ALL),
        6 => {
            let mut added = replies[reply].clone();
            added.key.round = bytes.round();
            replies.push(added);
        }
        _ => drop(replies.remove(reply)),
    }
}

fn tamper_with_standing(bytes: &mut Bytes<'_>, store: &mut Memory) {
    let Some(standing) = &mut store.standing else { return };
    match bytes.below(4) {
        0 => standing.entry = bytes.count(),
        1 => store.standing = None,
        _ => edit(bytes, &mut standing.body),
    }
}

/// The coordinator says that something happened at another time.
fn tamper_with_time(bytes: &mut Bytes<'_>, store: &mut Memory) {
    let time = Time(bytes.count());
    let mut entries = store.entries();
    let mut times: Vec<&mut Time> = entries.iter_mut().filter_map(time_of).collect();
    let place = bytes.below(times.len());
    *times[place] = time;
    store.rows = Memory::of(&entries).rows;
}

fn time_of(entry: &mut Entry) -> Option<&mut Time> {
    use Entry::{Aborted, Opened, Sealed, Settled};
    match entry {
        Opened { at_ms, .. } | Sealed { at_ms, .. } | Settled { at_ms, .. } | Aborted { at_ms, .. } => Some(at_ms),
        _ => None,
    }
}

fn tamper_with_row(bytes: &mut Bytes<'_>, rows: &mut Vec<Row>) {
    let (row, other) = (bytes.below(rows.len()), bytes.below(rows.len()));
    match bytes.below(8) {
        0..=2 => edit(bytes, &mut rows[row].body),
        3 => rows[row].hash.0[bytes.below(32)] ^= bytes.byte(),
        4 => rows[row].number = bytes.count(),
        5 => rows.swap(row, other),
        6 => rows.insert(other, rows[row].clone()),
        _ => drop(rows.remove(row)),
    }
    if bytes.chance() {
        rows.iter_mut().zip(1..).for_each(|(row, number)| row.number = number);
    }
}

fn tamper_with_posting(bytes: &mut Bytes<'_>, postings: &mut Vec<Posting>) {
    let (posting, other) = (bytes.below(postings.len()), bytes.below(postings.len()));
    match bytes.below(8) {
        0 => postings[posting].micros ^= bytes.word() as i64,
        1 => postings[posting].account = postings[other].account.clone(),
        2 => postings[posting].member = postings[other].member.clone(),
        3 => postings[posting].entry = bytes.count(),
        4 => postings[posting].cause = Cause::Round(RoundId(bytes.count())),
        5 => postings[posting].number = bytes.count(),
        6 => {
            let (number, entry) = (postings.len() as u64 + 1, bytes.count());
            postings.push(Posting { number, entry, ..postings[posting].clone() });
        }
        _ => drop(postings.remove(posting)),
    }
}

fn tamper_with_body(bytes: &mut Bytes<'_>, store: &mut Memory, is_it: impl Fn(&Entry) -> bool) {
    let rows = store.rows.iter_mut().filter(|row| row.entry().is_ok_and(|entry| is_it(&entry)));
    let mut rows: Vec<&mut Row> = rows.collect();
    let place = bytes.below(rows.len());
    edit(bytes, &mut rows[place].body);
}

/// Puts some bytes of the input into the place of others, as long as it stays text.
fn edit(bytes: &mut Bytes<'_>, body: &mut String) {
    let at = bytes.word() as u16 as usize % body.len();
    let gone = bytes.below(8).min(body.len() - at);
    let put: Vec<u8> = (0..bytes.below(8)).map(|_| bytes.byte()).collect();
    let mut changed = body.clone().into_bytes();
    changed.splice(at..at + gone, put);
    if let Ok(changed) = String::from_utf8(changed) {
        *body = changed;
    }
}

/// What the coordinator alone writes, nobody else signs, and follows from what is signed. (The words of an abortion do not.)
fn is_the_coordinators(entry: &Entry) -> bool {
    matches!(entry, Entry::Awarded { .. } | Entry::Settled { .. } | Entry::Sealed { .. } | Entry::Checkpoint { .. })
}

fn chain_again(rows: &mut [Row]) {
    let mut head = Head::START;
    for row in rows.iter_mut() {
        // Rows that cannot be read stay as they are, and break the chain.
        if let Ok(entry) = row.entry() {
            *row = head.append(&entry);
        }
    }
}

/// The coordinator seals and vouches for what it changed. Rows that cannot be read stay as they are.
fn sign_again(store: &mut Memory) {
    let readable: Vec<Entry> = store.rows.iter().filter_map(|row| row.entry().ok()).collect();
    let mut again = FEDERATION.sign_again(&readable).into_iter();
    let mut head = Head::START;
    for row in store.rows.iter_mut().filter(|row| row.entry().is_ok()) {
        *row = head.append(&again.next().expect("as many as are readable"));
    }
}
