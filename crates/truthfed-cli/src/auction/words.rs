//! The outcome for a human: what happened, and why each winner is paid what it is.

use truthfed::auction::{Outcome, Round, Violation, Winner};

use super::Timed;
use crate::report::{cells, counted, seconds, table};

/// Winners shown one by one; of more, the first and how many there are.
const SHOWN: usize = 40;

pub(super) fn text(round: &Round, timed: &Timed, violations: Option<&[Violation]>) -> String {
    let outcome = &timed.outcome;
    let mut text = format!("{}\n", headline(round, outcome));
    if round.admitted() > 0 {
        let (reached, required) = (ratio(outcome.coverage()), ratio(outcome.target()));
        let all = round.admitted();
        text.push_str(&format!("Coverage {reached} of what all {all} admitted would give; {required} is required.\n"));
    }
    text.push_str(&purse(round, outcome));
    if !outcome.winners().is_empty() {
        text.push_str(&winners(round, outcome));
    }
    text.push_str(&losers(round, outcome));
    if let Some(violations) = violations {
        text.push_str(&certificate(outcome, violations));
    }
    let log_dets = outcome.evaluations();
    text.push_str(&format!(
        "{} log determinants to select and {} to price, in {}.\n",
        log_dets.select,
        log_dets.price,
        seconds(timed.seconds),
    ));
    text
}

fn headline(round: &Round, outcome: &Outcome) -> String {
    let clients = round.admitted() + round.turned_away().len();
    match outcome.winners().len() {
        0 if round.admitted() == 0 => {
            format!("{}: nobody wins; every ask is above the {}.", outcome.mechanism(), highest(round))
        }
        0 if outcome.is_bound_by_purse() => format!("{}: nobody wins; the purse buys nobody.", outcome.mechanism()),
        0 => format!("{}: nobody is needed; what is settled already meets the target.", outcome.mechanism()),
        winners => format!(
            "{}: {winners} of {} {}. They ask {} in all and are paid {}.",
            outcome.mechanism(),
            counted(clients, "client"),
            if winners == 1 { "wins" } else { "win" },
            outcome.social_cost(),
            outcome.payments(),
        ),
    }
}

/// What the highest admitted ask is.
fn highest(round: &Round) -> &'static str {
    if round.purse() == Some(round.reserve()) { "purse" } else { "reserve" }
}

fn purse(round: &Round, outcome: &Outcome) -> String {
    match outcome.purse() {
        Some(_) if round.admitted() == 0 => String::new(),
        Some(purse) if outcome.is_bound_by_purse() && outcome.is_covered(round) => {
            format!("The target would cost more than the purse of {purse}: they win for shares of it.\n")
        }
        Some(purse) if outcome.is_bound_by_purse() => {
            format!("The target would cost more than the purse of {purse}: this is what it buys.\n")
        }
        Some(purse) => format!("The purse of {purse} is enough for the target.\n"),
        None => String::new(),
    }
}

/// Four decimals, or as many digits as a very small ratio needs.
pub(super) fn ratio(ratio: f64) -> String {
    if ratio >= 1e-3 { format!("{ratio:.4}") } else { format!("{ratio:.3e}") }
}

fn winners(round: &Round, outcome: &Outcome) -> String {
    let row = |winner: &Winner| {
        let reason = outcome.reason(round, winner);
        cells(&[&winner.client, &winner.ask, &winner.payment, &reason])
    };
    let rows = outcome.winners().iter().take(SHOWN).map(row).collect();
    let table = table(&["winner", "asks", "is paid", "because"], &[1, 2], rows);
    match outcome.winners().len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{table}and {more} more winners (--json lists all)\n"),
        _ => table,
    }
}

fn losers(round: &Round, outcome: &Outcome) -> String {
    let outbid = round.admitted() - outcome.winners().len();
    let turned_away: Vec<String> =
        round.turned_away().iter().take(SHOWN).map(|offer| format!("{} asks {}", offer.client, offer.ask)).collect();
    let mut text = String::new();
    if outbid > 0 && outcome.is_bound_by_purse() {
        text.push_str(&format!("{outbid} admitted and not bought at what they ask.\n"));
    } else if outbid > 0 && !outcome.winners().is_empty() {
        text.push_str(&format!("{outbid} admitted and not needed at what they ask.\n"));
    }
    if !turned_away.is_empty() {
        let count = round.turned_away().len();
        let names = turned_away.join(", ");
        text.push_str(&format!("{count} turned away, above the {} of {}: {names}.\n", highest(round), round.reserve()));
    }
    text
}

fn certificate(outcome: &Outcome, violations: &[Violation]) -> String {
    let winners = outcome.winners().len();
    if violations.is_empty() {
        return format!("Certified: each of {winners} wins at its payment and loses at 0.000001 more.\n");
    }
    let mut text = format!("NOT certified: {} of {winners} payments are not critical values.\n", violations.len());
    for violation in violations.iter().take(SHOWN) {
        text.push_str(&format!("  {violation}\n"));
    }
    text
}
