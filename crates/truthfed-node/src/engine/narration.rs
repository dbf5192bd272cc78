//! Logs committed entries: rounds and members, never what anybody asked or is paid.

use crate::journal::Entry;

/// Logs a committed entry; those that are not listed are frequent, or say nothing an operator needs.
pub(super) fn narrate(number: u64, entry: &Entry) {
    match entry {
        Entry::Genesis { federation, .. } => tracing::info!(entry = number, %federation, "federation begun"),
        Entry::Enrolled { member, .. } => tracing::info!(entry = number, %member, "member enrolled"),
        Entry::Revoked { member } => tracing::info!(entry = number, %member, "member revoked"),
        Entry::Opened { round, asked_by, .. } => {
            tracing::info!(entry = number, round = round.0, %asked_by, "round opened");
        }
        Entry::Awarded { round, winners, .. } => {
            tracing::info!(entry = number, round = round.0, winners = winners.len(), "round awarded");
        }
        Entry::Settled { round, paid, defaulted, .. } => {
            let (paid, defaulted) = (paid.len(), defaulted.len());
            tracing::info!(entry = number, round = round.0, paid, defaulted, "round settled");
        }
        Entry::Aborted { round, .. } => tracing::info!(entry = number, round = round.0, "round aborted"),
        _ => {}
    }
}
