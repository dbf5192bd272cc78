//! Beyond the paper: groups, the effect of parameters, and scaling.

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::{Clock, Greedy, Mechanism, Outcome, Round, RoundSpec, Seat};
use truthfed::generate::{Stream, federation};
use truthfed::protocol::Ending;
use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, VerdictKind};
use truthfed_sim::simulation::Run;
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Evidence, Number, Own, Sample};
use super::decision::Side;
use super::lab::{INCENTIVE, Lab, SOCIAL_COST, palette, series};

pub(super) fn run(lab: &Lab, runs: &[(&str, Vec<Run>)]) -> Result<Part, WorldError> {
    lab.stage("beyond the paper");
    let (groups, claim) = collusion(lab, runs);
    let text = "This section shows what a group can gain together, and the effect of the parameters.";
    let items = [groups.into(), parameters(lab)?.into(), scaling(lab).into()];
    let section = Section::new("beyond", "Beyond the paper", [text], items);
    Ok(Part { section, claims: Vec::new(), ours: vec![claim] })
}

/// Groups that double their asks together under a mechanism. By size: total gains over the members' costs, and share of
/// groups in which every member gains.
type Groups = (&'static str, Vec<(f64, Vec<f64>, f64)>);

/// Tries groups of growing size.
fn collusion(lab: &Lab, runs: &[(&str, Vec<Run>)]) -> (Figure, Own) {
    let rounds: Vec<Round> = recorded(runs).into_iter().take(lab.many(50) as usize).collect();
    let sizes = [2, 5, 10, 15, 20, 25];
    let try_all = |name: &'static str, mechanism: &dyn Mechanism| {
        let points = sizes.map(|size| {
            let draws =
                |(index, round)| (0..4).map(move |draw| group_gain(mechanism, round, size, (index * 4 + draw) as u64));
            let tried: Vec<(f64, bool)> = rounds.par_iter().enumerate().flat_map_iter(draws).collect();
            let everyone_gains = tried.iter().filter(|(_, all)| *all).count() as f64 / tried.len() as f64;
            (size as f64, tried.iter().map(|(gain, _)| *gain).collect(), everyone_gains)
        });
        (name, points.to_vec())
    };
    let groups = [try_all("greedy", &Greedy), try_all("clock", &Clock)];
    (group_figure(&groups), collusion_claim(&groups, rounds.len()))
}

/// The rounds that `clock` ran in the comparison.
fn recorded(runs: &[(&str, Vec<Run>)]) -> Vec<Round> {
    let clock = runs.iter().find(|(name, _)| *name == "clock").map(|(_, runs)| runs.as_slice()).unwrap_or_default();
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
    let line = |(name, points): &Groups| series(*name, points.iter().map(|(size, gains, _)| (*size, gains.clone())));
    let gains = groups.iter().map(line);
    let gains = Chart::lines(
        "Total gain of the group",
        Axis::linear("members of the group"),
        Axis::linear("gain over the group's costs"),
        gains,
    );
    let caption = "Random groups in the rounds that clock ran in the comparison, with 95 % intervals of the mean. Under both mechanisms a group can \
                   gain in total; that each of its members gains is impossible under clock.";
    Figure::new("collusion", "Groups that double their asks together", caption, [gains]).with_palette(palette())
}

fn collusion_claim(groups: &[Groups], rounds: usize) -> Own {
    let shares = |name: &str| {
        let (_, points) = groups.iter().find(|(mechanism, _)| *mechanism == name).expect("a mechanism tried");
        points.iter().map(|(_, _, all)| *all).fold(0.0, f64::max)
    };
    let claim =
        "Under clock no group is found that can lie so that each of its members gains (proved in docs/mechanisms.md).";
    let measured = format!(
        "of random groups of 2 to 25 clients that double their asks, every member gains in at most {:.1} % under clock \
         and {:.1} % under greedy",
        100.0 * shares("clock"),
        100.0 * shares("greedy")
    );
    let numbers = vec![
        Number::exact("highest share of groups in which every member gains, clock", shares("clock"))
            .claimed(Side::AtMost(0.0), VerdictKind::Refuted),
        Number::exact("the same under greedy", shares("greedy")),
    ];
    let command = "truthfed audit -m clock --rounds rounds/clock-seed-1.jsonl --check collusion";
    Evidence::new(measured, numbers, Sample::recorded(rounds as u64), command).on("clock-groups", claim)
}

/// The effect of coverage, epsilon and reserve on payments and social cost.
fn parameters(lab: &Lab) -> Result<Figure, WorldError> {
    let chart = |title: &str, x, methods: &[&str], key: &str, values: &[f64]| -> Result<Chart, WorldError> {
        let mut lines = Vec::new();
        for method in methods {
            let runs = lab.runs_with(&[("rounds.mechanism", method)], key, values)?;
            for (name, figure) in [("incentive", INCENTIVE), ("social cost", SOCIAL_COST)] {
                let totals = |runs: &[Run]| runs.iter().map(|run| figure(&run.totals())).collect();
                let points = values.iter().zip(&runs).map(|(&x, runs)| (x, totals(runs)));
                lines.push(series(format!("{method}, {name}"), points));
            }
        }
        Ok(Chart::lines(title, x, Axis::log("units of money"), lines))
    };
    let (clock, printed) = (&["clock"], &["truth-fedban", "ratchet"]);
    let (coverage, epsilon, reserve) = (Axis::linear("coverage"), Axis::log("epsilon"), Axis::log("reserve"));
    let caption =
        "Payments and social cost when one parameter changes and the others stay; 95 % intervals over few seeds.";
    let charts = [
        chart("Coverage", coverage, clock, "rounds.coverage", &[0.1, 0.3, 0.5, 0.7, 0.9])?,
        chart("Epsilon", epsilon, printed, "rounds.epsilon", &[0.1, 0.25, 0.5, 1.0, 2.0])?,
        chart("Reserve", reserve, clock, "rounds.reserve", &[100.0, 300.0, 1000.0, 10_000.0])?,
    ];
    Ok(Figure::new("parameters", "Effect of coverage, epsilon and reserve", caption, charts)
        .in_columns(3)
        .with_palette(palette()))
}

/// Log determinants of clock with all payments.
fn scaling(lab: &Lab) -> Figure {
    let sizes: &[usize] = if lab.quick { &[100, 1000] } else { &[100, 300, 1000, 3000, 10_000] };
    let lines = [5, 10, 25].map(|dimension| {
        let count = |&clients: &usize| {
            let outcome = Clock.run(&federation(clients, dimension, 1)).expect("it never refuses");
            let work = outcome.evaluations();
            let per_client = (work.select + work.price) as f64 / clients as f64;
            (clients as f64, vec![per_client])
        };
        series(format!("d = {dimension}"), sizes.par_iter().map(count).collect::<Vec<_>>())
    });
    let per_client = Axis::linear("log determinants per client");
    let caption = "Log determinants per client for one round of clock with all exact payments. The count is nearly \
                   flat in N, so the total is nearly linear.";
    let charts = [Chart::lines("Log determinants per client", Axis::log("clients N"), per_client, lines)];
    Figure::new("scaling", "Clock on large federations", caption, charts)
}
