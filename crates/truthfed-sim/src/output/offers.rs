//! Every offer of every settled round: one row per seed, round and client.
//!
//! What a client asked, what its data really cost it, how it behaves, what its data would add to what is settled, and what
//! came of the offer. Offers that the round did not look at (above the capacity of the federation) are not there.

use std::collections::BTreeMap;
use std::io;

use truthfed::Amount;
use truthfed::auction::{ClientId, Offer, Outcome, Round, RoundSpec};
use truthfed::protocol::{Ending, RoundId};

use super::Writer;
use crate::config::{Behaviour, Config};
use crate::federation::client_number;
use crate::simulation::{Run, behaviours};

const HEADER: &str = "seed,step,round,client,behaviour,true_cost,ask,gain,won,essential,payment,delivered,paid,utility";

pub(super) fn offers(out: &mut Writer<'_>, config: &Config, runs: &[Run]) -> io::Result<()> {
    writeln!(out, "{HEADER}")?;
    runs.iter().try_for_each(|run| of_run(out, config, run))
}

fn of_run(out: &mut Writer<'_>, config: &Config, run: &Run) -> io::Result<()> {
    let names: Vec<String> = behaviours(config, run.seed).into_iter().map(name).collect();
    let later = paid_later(run);
    for ((step, record), costs) in run.rounds.iter().zip(&run.true_costs) {
        let Ending::Settled { spec, outcome, paid, waiting, .. } = &record.ending else { continue };
        let (gains, round) = (gains(spec), record.round);
        for (place, (offer, cost)) in spec.offers.iter().zip(costs).enumerate() {
            let Offer { client, ask, .. } = offer;
            let of =
                |list: &[(ClientId, Amount)]| list.iter().find(|(other, _)| other == client).map(|(_, amount)| *amount);
            let delivered = of(paid).or(of(waiting)).is_some();
            let (won, essential, payment) = award(outcome, client);
            let paid = of(paid).or(later.get(&(round, client)).copied()).unwrap_or(Amount::ZERO);
            let utility = if delivered { paid.to_f64() - cost } else { 0.0 };
            let behaviour = &names[client_number(client)];
            let gain = gains.get(place).copied().flatten().map_or(String::new(), |gain| gain.to_string());
            write!(out, "{},{step},{round},{client},{behaviour},{cost},{ask},{gain}", run.seed)?;
            let [won, essential, delivered] = [won, essential, delivered].map(u8::from);
            writeln!(out, ",{won},{essential},{payment},{delivered},{paid},{utility}")?;
        }
    }
    Ok(())
}

/// The name of a behaviour in configurations.
fn name(behaviour: Behaviour) -> String {
    let value = toml::Value::try_from(behaviour).expect("a behaviour is TOML");
    value.as_str().expect("a behaviour is a name").to_owned()
}

/// Whether a client won, whether the target could not be met without it, and what it was promised.
fn award(outcome: &Outcome, client: &ClientId) -> (bool, bool, Amount) {
    outcome.winner(client).map_or((false, false, Amount::ZERO), |winner| (true, winner.essential, winner.payment))
}

/// What was paid for a round when a later one ended.
fn paid_later(run: &Run) -> BTreeMap<(RoundId, &ClientId), Amount> {
    let payments = run.rounds.iter().flat_map(|(_, record)| match &record.ending {
        Ending::Settled { judgement, .. } => judgement.paid.as_slice(),
        _ => &[],
    });
    payments.map(|payment| ((payment.round, &payment.member), payment.amount)).collect()
}

/// What each offer alone would add to the log determinant of what is settled, in nats; none for those that are not admitted.
fn gains(spec: &RoundSpec) -> Vec<Option<f64>> {
    let Ok(round) = Round::new(spec.clone()) else { return Vec::new() };
    let before = round.level(&[]);
    let gain = |offer: &Offer| round.seat_of(&offer.client).map(|seat| (round.level(&[seat]) - before).to_nats());
    spec.offers.iter().map(gain).collect()
}
