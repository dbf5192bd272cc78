//! Beyond the paper: groups of clients that lie together.

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::{Clock, Greedy, Mechanism, Outcome, Round, RoundSpec, Seat};
use truthfed::generate::Stream;
use truthfed::protocol::Ending;
use truthfed_report::chart::{Axis, Chart, Figure, Series};
use truthfed_report::page::{Verdict, VerdictKind};
use truthfed_sim::experiment::Spread;
use truthfed_sim::simulation::Run;

use super::lab::{Lab, series};

/// Tries groups of growing size.
pub(super) fn run(lab: &Lab<'_>, runs: &[(String, Vec<Run>)]) -> (Figure, Verdict) {
    let groups = collusion(lab, runs);
    (group_figure(&groups), collusion_claim(&groups))
}

/// Groups that double their asks together, by size.
struct Groups {
    mechanism: &'static str,
    /// Size, mean total gain over the members' costs, share of groups in which every member gains.
    points: Vec<(f64, Spread, f64)>,
}

fn collusion(lab: &Lab<'_>, runs: &[(String, Vec<Run>)]) -> Vec<Groups> {
    let rounds: Vec<Round> = recorded(runs).into_iter().take(lab.many(50) as usize).collect();
    let sizes = [2, 5, 10, 15, 20, 25];
    let try_all = |name: &'static str, mechanism: &dyn Mechanism| {
        let points = sizes.iter().map(|&size| {
            let tried: Vec<(f64, bool)> = rounds
                .par_iter()
                .enumerate()
                .flat_map_iter(|(index, round)| {
                    (0..4).map(move |draw| group_gain(mechanism, round, size, (index * 4 + draw) as u64))
                })
                .collect();
            let everyone_gains = tried.iter().filter(|(_, all)| *all).count() as f64 / tried.len() as f64;
            (size as f64, Spread::of(tried.iter().map(|(gain, _)| *gain)), everyone_gains)
        });
        Groups { mechanism: name, points: points.collect() }
    };
    vec![try_all("greedy", &Greedy), try_all("clock", &Clock)]
}

/// The rounds that `clock` ran in the comparison.
fn recorded(runs: &[(String, Vec<Run>)]) -> Vec<Round> {
    let clock = runs.iter().find(|(name, _)| name == "clock").map(|(_, runs)| runs.as_slice()).unwrap_or_default();
    let records = clock.iter().flat_map(|run| &run.rounds);
    let specs = records.filter_map(|(_, record)| match &record.ending {
        Ending::Settled { spec, .. } => Some(RoundSpec::clone(spec)),
        _ => None,
    });
    specs.filter_map(|spec| Round::new(spec).ok()).filter(|round| round.admitted() >= 2).collect()
}

/// What a random group gains in total by doubling its asks, relative to its costs, and whether each member gains.
fn group_gain(mechanism: &dyn Mechanism, round: &Round, size: usize, seed: u64) -> (f64, bool) {
    let mut stream = Stream::new(seed, 77);
    let mut seats: Vec<Seat> = round.seats().collect();
    let size = size.min(seats.len());
    for i in 0..size {
        let j = stream.between(i, seats.len() - 1);
        seats.swap(i, j);
    }
    let group = &seats[..size];
    let mut lying = round.spec();
    for offer in &mut lying.offers {
        if group.iter().any(|&seat| *round.client(seat) == offer.client) {
            offer.ask = Amount::from_micros(2 * offer.ask.micros()).unwrap_or(Amount::MAX);
        }
    }
    let honest = mechanism.run(round).expect("it never refuses");
    let lied = mechanism.run(&Round::new(lying).expect("only asks changed")).expect("it never refuses");
    let utility = |outcome: &Outcome, seat: Seat| {
        let cost = round.ask(seat).to_f64();
        outcome.winner(round.client(seat)).map_or(0.0, |won| won.payment.to_f64() - cost)
    };
    let gains: Vec<f64> = group.iter().map(|&seat| utility(&lied, seat) - utility(&honest, seat)).collect();
    let costs: f64 = group.iter().map(|&seat| round.ask(seat).to_f64()).sum();
    (gains.iter().sum::<f64>() / costs.max(1e-6), gains.iter().all(|gain| *gain > 0.0))
}

fn group_figure(groups: &[Groups]) -> Figure {
    let gains =
        groups.iter().map(|group| series(group.mechanism, group.points.iter().map(|(size, gain, _)| (*size, *gain))));
    let shares = groups.iter().map(|group| {
        let share = |share: f64| Spread { mean: 100.0 * share, sd: 0.0 };
        series(group.mechanism, group.points.iter().map(|(size, _, all)| (*size, share(*all))))
    });
    let chart = |title: &str, y: &str, series: Vec<Series>| {
        Chart::lines(title, Axis::linear("members of the group"), Axis::linear(y), series)
    };
    Figure::new(
        "collusion",
        "Groups that double their asks together",
        "Random groups in the rounds that clock ran in the comparison. Under both mechanisms a group can gain in \
                  total; under clock it is impossible that each of its members gains.",
        [
            chart("Total gain of the group", "gain over the group's costs", gains.collect()),
            chart("Every member gains", "groups, %", shares.collect()),
        ],
    )
    .in_columns(2)
}

fn collusion_claim(groups: &[Groups]) -> Verdict {
    let shares = |name: &str| {
        let group = groups.iter().find(|group| group.mechanism == name).expect("a mechanism tried");
        group.points.iter().map(|(_, _, all)| *all).fold(0.0, f64::max)
    };
    Verdict::new(
        "clock-groups",
        "Beyond the paper: under clock no group can lie so that each of its members gains.",
        format!(
            "of random groups of 2 to 25 clients that double their asks, every member gains in at most {:.1} % under clock \
             and {:.1} % under greedy",
            100.0 * shares("clock"),
            100.0 * shares("greedy")
        ),
        if shares("clock") > 0.0 { VerdictKind::Refuted } else { VerdictKind::Reproduced },
        "truthfed reproduce",
    )
}
