//! Why over-reporting pays under plain greedy, if it does: "the less it participates, the less it suffers".

use truthfed_sim::simulation::ClientTotals;

use super::super::claim::{Claim, Evidence, Number, Sample};
use super::super::decision::Side;
use super::super::interval::Interval;
use super::super::lab::{Lab, sets};
use super::super::readings::{TRIGGERS, with_trigger};
use super::{Outcome, command};

/// The report that over-states the cost.
const OVER: usize = 0;

pub(super) fn claim(lab: &Lab, greedy: &[Outcome]) -> Claim {
    let cell = |(trigger, outcome): (&&'static str, &Outcome)| {
        let change = |of: fn(&ClientTotals) -> f64| {
            Interval::of(outcome.lies[OVER].iter().zip(&outcome.truth).map(|(lie, truth)| of(lie) - of(truth)))
        };
        let (part, paid) = (change(|client| client.participations as f64), change(|client| client.incentive));
        let (cost, gain) = (change(|client| client.cost), change(ClientTotals::utility));
        let falls = |name: &str, change: Interval| Number::deciding(name, change, Side::Below(0.0));
        let numbers = vec![
            falls("change of participations", part),
            falls("change of payments", paid),
            falls("change of costs", cost),
            Number::deciding("gain by over-reporting", gain, Side::Above(0.0)),
        ];
        let changes = [("rounds.mechanism", "greedy"), ("rounds.trigger", trigger)];
        let measured = format!(
            "over-reporting, seed by seed: participations {}, payments {}, costs {}, utility {}",
            part.signed(),
            paid.signed(),
            cost.signed(),
            gain.signed()
        );
        let command = command(&sets(&changes), lab.seeds);
        Evidence::new(measured, numbers, Sample::runs(lab.seeds), command).under(with_trigger(trigger))
    };
    let claim = "What a client gains by over-reporting under plain greedy comes from taking part less: costs fall by more than \
                 payments.";
    let why = "Without a gain there is nothing to explain; costs and payments then fall alike.";
    Claim::new("greedy-less-part", "Section 5.2", claim, why, TRIGGERS.iter().zip(greedy).map(cell).collect())
}
