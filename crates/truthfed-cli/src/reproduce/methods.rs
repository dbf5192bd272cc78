//! Figures 1a and 1b: regret, communication, incentive and social cost of all mechanisms.

use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure};
use truthfed_report::page::{Section, Table, Verdict};
use truthfed_sim::experiment::{Spread, over_time};
use truthfed_sim::simulation::Run;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::lab::{INCENTIVE, Lab, REGRET, ROUNDS, SCALARS, SOCIAL_COST, label, measured, reproduced_if, series};

/// The mechanisms compared: the paper's three, and three of ours.
const METHODS: [&str; 6] = ["everyone", "truth-fedban", "greedy", "inc-feducb", "ratchet", "clock"];

pub(super) struct Methods {
    pub(super) part: Part,
    pub(super) summary: Vec<Vec<String>>,
    pub(super) runs: Vec<(String, Vec<Run>)>,
}

pub(super) fn run(lab: &Lab<'_>) -> Result<Methods, WorldError> {
    lab.stage("comparing mechanisms");
    let configurations: Vec<_> = METHODS.map(|method| vec![("rounds.mechanism", method.to_owned())]).to_vec();
    let runs: Vec<(String, Vec<Run>)> =
        METHODS.iter().map(|&method| method.to_owned()).zip(lab.runs_of(&configurations)?).collect();
    let section = Section::new(
        "mechanisms",
        "Mechanisms compared",
        [format!(
            "This section compares mechanisms in the paper's setting: 25 clients that act in turn, dimension 5, {} steps, 25 of \
             1000 arms at each step, costs 1e-4 det(gram) + U(0, 100), coverage 0.5. Under one seed all mechanisms see the \
             same arms and the same noise. Bands and error bars show the standard deviation over the seeds.",
            lab.steps()
        )],
        [regret_and_communication(&runs).into(), money(&runs).into(), table(&runs).into()],
    );
    let summary = runs.iter().map(|(method, runs)| summary(method, runs)).collect();
    let claims = claims(&runs);
    Ok(Methods { part: Part { section, claims }, summary, runs })
}

fn regret_and_communication(runs: &[(String, Vec<Run>)]) -> Figure {
    let chart = |title: &str, y: &str, figure: fn(&Totals) -> f64| {
        let lines = runs.iter().map(|(method, runs)| series(label(method), over_time(runs, figure)));
        Chart::lines(title, Axis::linear("step"), Axis::linear(y), lines)
    };
    Figure::new(
        "figure-1a",
        "Regret and communication over time",
        "Figure 1a of the paper, with three more mechanisms. Communication is counted in scalars: in each round \
                  every client sends a matrix and receives a matrix and a moment, and every winner sends a moment.",
        [chart("Regret", "cumulative regret", REGRET), chart("Communication", "scalars sent", SCALARS)],
    )
    .in_columns(2)
}

fn money(runs: &[(String, Vec<Run>)]) -> Figure {
    let chart = |title: &str, figure: fn(&Totals) -> f64| {
        let bar = |(method, runs): &(String, Vec<Run>)| {
            let spread = Spread::over(runs, figure);
            Bar { name: label(method), height: spread.mean, sd: spread.sd, label: Some(format!("{:.0}", spread.mean)) }
        };
        Chart::bars(title, Axis::linear("units of money"), [BarGroup::new("", runs.iter().map(bar))])
    };
    Figure::new(
        "figure-1b",
        "Incentive and social cost",
        "Figure 1b of the paper, with three more mechanisms. Incentive is what the coordinator pays in total, \
                  social cost the true cost of those who take part.",
        [chart("Incentive", INCENTIVE), chart("Social cost", SOCIAL_COST)],
    )
    .in_columns(2)
}

fn table(runs: &[(String, Vec<Run>)]) -> Table {
    let row = |(method, runs): &(String, Vec<Run>)| {
        vec![
            label(method),
            measured(runs, REGRET),
            measured(runs, ROUNDS),
            measured(runs, SCALARS),
            measured(runs, |totals| totals.packed_scalars as f64),
            measured(runs, |totals| totals.participations as f64 / totals.rounds as f64),
            measured(runs, SOCIAL_COST),
            measured(runs, INCENTIVE),
        ]
    };
    let header = ["mechanism", "regret", "rounds", "scalars", "packed", "winners / round", "social cost", "incentive"];
    Table::new("Mean ± standard deviation over the seeds.", header, runs.iter().map(row)).with_numeric(1..header.len())
}

fn summary(method: &str, runs: &[Run]) -> Vec<String> {
    let mean = |figure: fn(&Totals) -> f64| Spread::over(runs, figure).mean;
    vec![
        method.to_owned(),
        format!("{:.2}", mean(REGRET)),
        format!("{:.0}", mean(SCALARS)),
        format!("{:.0}", mean(SOCIAL_COST)),
        format!("{:.0}", mean(INCENTIVE)),
    ]
}

fn claims(runs: &[(String, Vec<Run>)]) -> Vec<Verdict> {
    let of = |method: &str| &runs.iter().find(|(name, _)| name == method).expect("a method compared").1;
    let (everyone, printed, greedy) = (of("everyone"), of("truth-fedban"), of("greedy"));
    let regret = |runs: &[Run]| Spread::over(runs, REGRET);
    let scalars = |runs: &[Run]| Spread::over(runs, SCALARS);
    let near = (regret(printed).mean - regret(everyone).mean).abs() <= regret(printed).sd + regret(everyone).sd;
    let same_scalars = scalars(printed).mean <= 1.1 * scalars(everyone).mean;
    let cheaper = Spread::over(printed, INCENTIVE).mean < Spread::over(greedy, INCENTIVE).mean
        && Spread::over(printed, SOCIAL_COST).mean < Spread::over(greedy, SOCIAL_COST).mean;
    vec![
        Verdict::new(
            "competitive-regret",
            "Truth-FedBan learns about as well as DisLinUCB, with a similar amount of communication.",
            format!(
                "regret {} against {}; scalars {} against {}",
                measured(printed, REGRET),
                measured(everyone, REGRET),
                measured(printed, SCALARS),
                measured(everyone, SCALARS),
            ),
            reproduced_if(near && same_scalars),
            "truthfed simulate --set rounds.mechanism=truth-fedban",
        ),
        Verdict::new(
            "cheaper-than-greedy",
            "Truth-FedBan pays less and has a lower social cost than plain greedy.",
            format!(
                "incentive {} against {}; social cost {} against {}",
                measured(printed, INCENTIVE),
                measured(greedy, INCENTIVE),
                measured(printed, SOCIAL_COST),
                measured(greedy, SOCIAL_COST),
            ),
            reproduced_if(cheaper),
            "truthfed simulate --set rounds.mechanism=greedy",
        ),
    ]
}
