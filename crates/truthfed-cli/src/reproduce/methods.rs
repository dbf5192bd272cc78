//! Figures 1a and 1b: regret, communication, incentive and social cost of all mechanisms.

use truthfed_report::chart::{Bar, BarChart, BarGroup, Chart, Figure, LineChart};
use truthfed_report::page::{Item, Section, Table, Verdict};
use truthfed_sim::experiment::{Spread, over_time};
use truthfed_sim::simulation::{Run, Totals};
use truthfed_sim::world::WorldError;

use super::Part;
use super::lab::{Lab, axis, claim, label, measured, reproduced_if, series};

/// The mechanisms compared: the paper's three, and ours beside them.
const METHODS: [&str; 6] = ["everyone", "truth-fedban", "greedy", "inc-feducb", "ratchet", "clock"];

/// What the comparison gave.
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
    let section = Section {
        id: "mechanisms".to_owned(),
        title: "Mechanisms compared".to_owned(),
        text: vec![format!(
            "All mechanisms in the paper's setting: 25 clients in turn, dimension 5, {} steps, 25 of 1000 arms at each, \
             costs 1e-4 det(gram) + U(0, 100), coverage 0.5. Under one seed all see the same arms and the same noise. \
             Bands and error bars are standard deviations over the seeds.",
            lab.steps()
        )],
        items: vec![
            Item::Figure(regret_and_communication(&runs)),
            Item::Figure(money(&runs)),
            Item::Table(table(&runs)),
        ],
    };
    let summary = runs.iter().map(|(method, runs)| summary(method, runs)).collect();
    let claims = claims(&runs);
    Ok(Methods { part: Part { section, claims }, summary, runs })
}

fn regret_and_communication(runs: &[(String, Vec<Run>)]) -> Figure {
    let lines = |figure: fn(&Totals) -> f64| {
        runs.iter().map(|(method, runs)| series(label(method), over_time(runs, figure))).collect()
    };
    let chart = |title: &str, y: &str, figure: fn(&Totals) -> f64| {
        Chart::Line(LineChart {
            title: title.to_owned(),
            x: axis("step"),
            y: axis(y),
            series: lines(figure),
            note: None,
        })
    };
    Figure {
        id: "figure-1a".to_owned(),
        title: "Regret and communication over time".to_owned(),
        caption:
            "Figure 1a of the paper, with three more mechanisms. Communication is counted in scalars: all clients \
                  send a matrix up and get matrix and moment down in each round, winners send a moment."
                .to_owned(),
        charts: vec![
            chart("Regret", "cumulative regret", |totals| totals.regret),
            chart("Communication", "scalars sent", |totals| totals.scalars as f64),
        ],
        columns: 2,
    }
}

fn money(runs: &[(String, Vec<Run>)]) -> Figure {
    let chart = |title: &str, figure: fn(&Totals) -> f64| {
        let bar = |(method, runs): &(String, Vec<Run>)| {
            let spread = Spread::over(runs, figure);
            Bar { name: label(method), height: spread.mean, sd: spread.sd, label: Some(format!("{:.0}", spread.mean)) }
        };
        let groups = vec![BarGroup { name: String::new(), bars: runs.iter().map(bar).collect() }];
        Chart::Bar(BarChart { title: title.to_owned(), y: axis("units of money"), groups, note: None })
    };
    Figure {
        id: "figure-1b".to_owned(),
        title: "Incentive and social cost".to_owned(),
        caption:
            "Figure 1b of the paper, with three more mechanisms: what the coordinator pays in all, and what taking \
                  part really costs those who do."
                .to_owned(),
        charts: vec![chart("Incentive", |totals| totals.incentive), chart("Social cost", |totals| totals.social_cost)],
        columns: 2,
    }
}

fn table(runs: &[(String, Vec<Run>)]) -> Table {
    let row = |(method, runs): &(String, Vec<Run>)| {
        vec![
            label(method),
            measured(runs, |totals| totals.regret),
            measured(runs, |totals| totals.rounds as f64),
            measured(runs, |totals| totals.scalars as f64),
            measured(runs, |totals| totals.packed_scalars as f64),
            measured(runs, |totals| totals.participations as f64 / totals.rounds as f64),
            measured(runs, |totals| totals.social_cost),
            measured(runs, |totals| totals.incentive),
        ]
    };
    let header = ["mechanism", "regret", "rounds", "scalars", "packed", "winners / round", "social cost", "incentive"];
    Table {
        caption: "Mean ± standard deviation over the seeds.".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        rows: runs.iter().map(row).collect(),
        numeric: (1..header.len()).collect(),
    }
}

fn summary(method: &str, runs: &[Run]) -> Vec<String> {
    let mean = |figure: fn(&Totals) -> f64| Spread::over(runs, figure).mean;
    vec![
        method.to_owned(),
        format!("{:.2}", mean(|totals| totals.regret)),
        format!("{:.0}", mean(|totals| totals.scalars as f64)),
        format!("{:.0}", mean(|totals| totals.social_cost)),
        format!("{:.0}", mean(|totals| totals.incentive)),
    ]
}

fn claims(runs: &[(String, Vec<Run>)]) -> Vec<Verdict> {
    let of = |method: &str| &runs.iter().find(|(name, _)| name == method).expect("a method compared").1;
    let (everyone, printed, greedy) = (of("everyone"), of("truth-fedban"), of("greedy"));
    let regret = |runs: &[Run]| Spread::over(runs, |totals| totals.regret);
    let scalars = |runs: &[Run]| Spread::over(runs, |totals| totals.scalars as f64);
    let near = (regret(printed).mean - regret(everyone).mean).abs() <= regret(printed).sd + regret(everyone).sd;
    let same_scalars = scalars(printed).mean <= 1.1 * scalars(everyone).mean;
    let incentive = |totals: &Totals| totals.incentive;
    let social = |totals: &Totals| totals.social_cost;
    let cheaper = Spread::over(printed, incentive).mean < Spread::over(greedy, incentive).mean
        && Spread::over(printed, social).mean < Spread::over(greedy, social).mean;
    vec![
        claim(
            "competitive-regret",
            "Truth-FedBan learns about as well as DisLinUCB, with a similar amount of communication.",
            format!(
                "regret {} against {}; scalars {} against {}",
                measured(printed, |totals| totals.regret),
                measured(everyone, |totals| totals.regret),
                measured(printed, |totals| totals.scalars as f64),
                measured(everyone, |totals| totals.scalars as f64),
            ),
            reproduced_if(near && same_scalars),
            "truthfed simulate --set rounds.mechanism=truth-fedban",
        ),
        claim(
            "cheaper-than-greedy",
            "Truth-FedBan pays less and has a lower social cost than the vanilla greedy.",
            format!(
                "incentive {} against {}; social cost {} against {}",
                measured(printed, incentive),
                measured(greedy, incentive),
                measured(printed, social),
                measured(greedy, social),
            ),
            reproduced_if(cheaper),
            "truthfed simulate --set rounds.mechanism=greedy",
        ),
    ]
}
