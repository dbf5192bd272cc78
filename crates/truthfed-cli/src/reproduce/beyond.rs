//! Beyond the paper: groups, the effect of parameters, and scaling.

use rayon::prelude::*;
use truthfed::auction::{Clock, Mechanism};
use truthfed::generate::federation;
use truthfed_report::chart::{Chart, Figure, LineChart};
use truthfed_report::page::{Item, Section};
use truthfed_sim::experiment::Spread;
use truthfed_sim::simulation::{Run, Totals};
use truthfed_sim::world::WorldError;

use super::lab::{Lab, axis, log_axis, series};
use super::{Part, groups};

pub(super) fn run(lab: &Lab<'_>, runs: &[(String, Vec<Run>)]) -> Result<Part, WorldError> {
    lab.stage("beyond the paper");
    let (groups, groups_claim) = groups::run(lab, runs);
    let section = Section {
        id: "beyond".to_owned(),
        title: "Beyond the paper".to_owned(),
        text: vec!["What a group can gain together, and what the parameters do.".to_owned()],
        items: vec![Item::Figure(groups), Item::Figure(parameters(lab)?), Item::Figure(scaling(lab))],
    };
    Ok(Part { section, claims: vec![groups_claim] })
}

/// Effect of coverage, epsilon and reserve on what is paid and what it costs.
fn parameters(lab: &Lab<'_>) -> Result<Figure, WorldError> {
    let incentive = |totals: &Totals| totals.incentive;
    let social = |totals: &Totals| totals.social_cost;
    let sweep = |method: &str, key: &str, values: &[&str]| -> Result<[Vec<(f64, Spread)>; 2], WorldError> {
        let mut lines = [Vec::new(), Vec::new()];
        for value in values {
            let runs = lab.runs(&[("rounds.mechanism", method), (key, value)])?;
            let x: f64 = value.parse().expect("a number");
            lines[0].push((x, Spread::over(&runs, incentive)));
            lines[1].push((x, Spread::over(&runs, social)));
        }
        Ok(lines)
    };
    let chart = |title: &str, x, methods: &[&str], key: &str, values: &[&str]| -> Result<Chart, WorldError> {
        let mut lines = Vec::new();
        for method in methods {
            let [paid, cost] = sweep(method, key, values)?;
            lines.push(series(format!("{method}, incentive"), paid));
            lines.push(series(format!("{method}, social cost"), cost));
        }
        Ok(Chart::Line(LineChart {
            title: title.to_owned(),
            x,
            y: log_axis("units of money"),
            series: lines,
            note: None,
        }))
    };
    Ok(Figure {
        id: "parameters".to_owned(),
        title: "Effect of coverage, epsilon and reserve".to_owned(),
        caption: "What is paid and what it costs, when one parameter is changed and the others stay.".to_owned(),
        charts: vec![
            chart("Coverage", axis("coverage"), &["clock"], "rounds.coverage", &["0.1", "0.3", "0.5", "0.7", "0.9"])?,
            chart(
                "Epsilon",
                log_axis("epsilon"),
                &["truth-fedban", "ratchet"],
                "rounds.epsilon",
                &["0.1", "0.25", "0.5", "1", "2"],
            )?,
            chart("Reserve", log_axis("reserve"), &["clock"], "rounds.reserve", &["100", "300", "1000", "10000"])?,
        ],
        columns: 3,
    })
}

/// Log determinants of clock with all payments.
fn scaling(lab: &Lab<'_>) -> Figure {
    let sizes: &[usize] = if lab.options().quick { &[100, 1000] } else { &[100, 300, 1000, 3000, 10_000] };
    let lines: Vec<_> = [5, 10, 25]
        .into_iter()
        .map(|dimension| {
            let count = |&clients: &usize| {
                let outcome = Clock.run(&federation(clients, dimension, 1)).expect("it never refuses");
                let work = outcome.evaluations();
                let per_client = (work.select + work.price) as f64 / clients as f64;
                (clients as f64, Spread { mean: per_client, sd: 0.0 })
            };
            let points: Vec<_> = sizes.par_iter().map(count).collect();
            series(format!("d = {dimension}"), points)
        })
        .collect();
    Figure {
        id: "scaling".to_owned(),
        title: "Clock on large federations".to_owned(),
        caption:
            "Log determinants per client for one round of clock with all exact payments: nearly flat in N, so the \
                  whole is nearly linear."
                .to_owned(),
        charts: vec![Chart::Line(LineChart {
            title: "Log determinants per client".to_owned(),
            x: log_axis("clients N"),
            y: axis("log determinants per client"),
            series: lines,
            note: None,
        })],
        columns: 1,
    }
}
