//! What one client can do: judging its profile.

use super::finding::{Lie, Violation};
use super::profile::{Profile, Suspect};
use super::{Gain, Property};
use crate::Amount;

pub(super) const PROPERTIES: [Property; 4] =
    [Property::Monotone, Property::IndividuallyRational, Property::Truthful, Property::Certified];

/// Whether a client is a case of a property: for payments, only one that wins at some ask that was paid.
pub(super) fn is_case(property: Property, profile: &Profile) -> bool {
    match property {
        Property::IndividuallyRational | Property::Certified => {
            profile.payments().next().is_some() || profile.disagreement().is_some()
        }
        _ => true,
    }
}

pub(super) fn judge(property: Property, suspect: &Suspect, profile: &Profile) -> Option<Violation> {
    match property {
        Property::Monotone => loss_below_win(suspect, profile),
        Property::IndividuallyRational => paid_below_ask(suspect, profile),
        Property::Truthful => profitable_lie(suspect, profile),
        Property::Certified => payment_not_critical(suspect, profile),
        _ => None,
    }
}

fn loss_below_win(suspect: &Suspect, profile: &Profile) -> Option<Violation> {
    let (low, high) = profile.loss_below_win()?;
    let lies = [low, high].map(|ask| lie(suspect, ask)).to_vec();
    let round = suspect.round_at(suspect.cost);
    Some(Violation { property: Property::Monotone, round, lies, gain: Gain::between(high, low) })
}

/// The round in which it asks more than it is paid.
fn paid_below_ask(suspect: &Suspect, profile: &Profile) -> Option<Violation> {
    let (ask, payment) = profile.payments().max_by_key(|&(ask, payment)| Gain::between(ask, payment))?;
    (payment < ask).then(|| in_round(Property::IndividuallyRational, suspect, ask, Gain::between(ask, payment)))
}

/// The lie that gains most over the truth; staying away is worth nothing, and told only where nothing else gains.
fn profitable_lie(suspect: &Suspect, profile: &Profile) -> Option<Violation> {
    let utility = |(_, payment): (Amount, Amount)| Gain::between(payment, suspect.cost);
    let honest = profile.payments().find(|&(ask, _)| ask == suspect.cost).map_or(Gain::ZERO, utility);
    let paid = profile.payments().map(|(ask, payment)| (utility((ask, payment)), ask));
    let won = paid.max_by_key(|(gain, _)| *gain).filter(|(gain, _)| *gain > honest);
    let lost = || profile.highest_loss().map(|ask| (Gain::ZERO, ask)).filter(|(gain, _)| *gain > honest);
    let (best, ask) = won.or_else(lost)?;
    let (lies, round) = (vec![lie(suspect, ask)], suspect.round_at(suspect.cost));
    Some(Violation { property: Property::Truthful, round, lies, gain: best - honest })
}

/// The round in which it is paid something else than its largest winning ask.
fn payment_not_critical(suspect: &Suspect, profile: &Profile) -> Option<Violation> {
    let disagreement = profile.disagreement().map(|ask| (Gain::ZERO, ask));
    let highest = profile.highest_win();
    let wrong = profile.payments().filter(|&(ask, payment)| {
        let above = profile.wins_at(payment.step_above());
        payment < ask || profile.wins_at(payment) == Some(false) || above == Some(true)
    });
    let off = wrong.map(|(ask, payment)| {
        let distance = highest.map_or(Gain::ZERO, |highest| Gain::between(highest.max(payment), highest.min(payment)));
        (distance, ask)
    });
    let (gain, ask) = off.chain(disagreement).max_by_key(|(gain, _)| *gain)?;
    Some(in_round(Property::Certified, suspect, ask, gain))
}

fn in_round(property: Property, suspect: &Suspect, ask: Amount, gain: Gain) -> Violation {
    Violation { property, round: suspect.round_at(ask), lies: Vec::new(), gain }
}

fn lie(suspect: &Suspect, ask: Amount) -> Lie {
    Lie { client: suspect.client.clone(), ask }
}
