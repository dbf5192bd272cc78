//! Tells the log what was committed: rounds and members, never what anybody asked or is paid.

use crate::journal::{Entry, Row};

/// What the bodies of entries begin with that are told; the others are large, many, or of no interest here.
const TOLD: [&str; 7] = ["genesis", "enrolled", "revoked", "opened", "awarded", "settled", "aborted"];

/// Logs what these committed rows say.
pub(super) fn narrate(rows: &[Row]) {
    let is_told = |row: &&Row| {
        let kind = row.body.get(2..).and_then(|body| body.split_once('"')).map(|(kind, _)| kind);
        kind.is_some_and(|kind| TOLD.contains(&kind))
    };
    rows.iter().filter(is_told).filter_map(|row| Some((row.number, row.entry().ok()?))).for_each(tell);
}

fn tell((number, entry): (u64, Entry)) {
    match entry {
        Entry::Genesis { federation, .. } => tracing::info!(entry = number, %federation, "federation begun"),
        Entry::Enrolled { member, .. } => tracing::info!(entry = number, %member, "member enrolled"),
        Entry::Revoked { member } => tracing::info!(entry = number, %member, "member revoked"),
        Entry::Opened { round, asked_by, .. } => {
            tracing::info!(entry = number, %round, %asked_by, "round opened");
        }
        Entry::Awarded { round, winners } => {
            tracing::info!(entry = number, %round, winners = winners.len(), "round awarded");
        }
        Entry::Settled { round, paid, defaulted, .. } => {
            let (paid, defaulted) = (paid.len(), defaulted.len());
            tracing::info!(entry = number, %round, paid, defaulted, "round settled");
        }
        Entry::Aborted { round, .. } => tracing::info!(entry = number, %round, "round aborted"),
        _ => {}
    }
}
