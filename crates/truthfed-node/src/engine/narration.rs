//! Logs committed entries: rounds and members, never what anybody asked or is paid.

use crate::journal::Entry;

/// Logs a committed entry; those that are not listed are frequent, or say nothing an operator needs.
pub(super) fn narrate(number: u64, entry: &Entry) {
    match entry {
        Entry::Genesis { federation, .. } => tracing::info!(entry = number, %federation, "federation begun"),
        Entry::Enrolled { member, .. } => tracing::info!(entry = number, %member, "member enrolled"),
        Entry::Revoked { member } => tracing::info!(entry = number, %member, "member revoked"),
        Entry::Renewed { member, .. } => tracing::info!(entry = number, %member, "member renewed its certificate"),
        Entry::Opened { round, asked_by, .. } => {
            tracing::info!(entry = number, round = round.0, %asked_by, "round opened");
        }
        Entry::Awarded { round, winners, .. } => {
            tracing::info!(entry = number, round = round.0, winners = winners.len(), "round awarded");
        }
        Entry::Settled { round, paid, waiting, defaulted, judgement, .. } => {
            let (paid, waiting, defaulted) = (paid.len() + judgement.paid.len(), waiting.len(), defaulted.len());
            tracing::info!(entry = number, round = round.0, paid, waiting, defaulted, "round settled");
            for member in &judgement.held {
                tracing::warn!(round = round.0, %member, "what it delivered contradicts others' data and is held: rule, or wait");
            }
            for member in &judgement.released {
                tracing::info!(round = round.0, %member, "what was held of it fits others' data: released");
            }
        }
        Entry::Ruled { member, ruling, .. } => {
            tracing::info!(entry = number, %member, ?ruling, "the operator ruled about its data");
        }
        Entry::PaidOut { member, .. } => tracing::info!(entry = number, %member, "payout recorded"),
        Entry::Paused { reason, .. } => tracing::info!(entry = number, %reason, "rounds paused"),
        Entry::Resumed { .. } => tracing::info!(entry = number, "rounds resumed"),
        Entry::Aborted { round, by_operator, .. } => {
            tracing::info!(entry = number, round = round.0, by_operator, "round aborted");
        }
        _ => {}
    }
}
