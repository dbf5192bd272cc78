//! Beyond the paper: groups, the effect of parameters, and scaling.

use rayon::prelude::*;
use truthfed::auction::{Clock, Mechanism};
use truthfed::generate::federation;
use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::Section;
use truthfed_sim::experiment::Spread;
use truthfed_sim::simulation::Run;
use truthfed_sim::world::WorldError;

use super::lab::{INCENTIVE, Lab, SOCIAL_COST, series};
use super::{Part, groups};

pub(super) fn run(lab: &Lab<'_>, runs: &[(String, Vec<Run>)]) -> Result<Part, WorldError> {
    lab.stage("beyond the paper");
    let (groups, groups_claim) = groups::run(lab, runs);
    let section = Section::new(
        "beyond",
        "Beyond the paper",
        ["This section shows what a group can gain together, and the effect of the parameters."],
        [groups.into(), parameters(lab)?.into(), scaling(lab).into()],
    );
    Ok(Part { section, claims: vec![groups_claim] })
}

/// The effect of coverage, epsilon and reserve on payments and social cost.
fn parameters(lab: &Lab<'_>) -> Result<Figure, WorldError> {
    let sweep = |method: &str, key: &str, values: &[&str]| -> Result<[Vec<(f64, Spread)>; 2], WorldError> {
        let mut lines = [Vec::new(), Vec::new()];
        for value in values {
            let runs = lab.runs(&[("rounds.mechanism", method), (key, value)])?;
            let x: f64 = value.parse().expect("a number");
            lines[0].push((x, Spread::over(&runs, INCENTIVE)));
            lines[1].push((x, Spread::over(&runs, SOCIAL_COST)));
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
        Ok(Chart::lines(title, x, Axis::log("units of money"), lines))
    };
    Ok(Figure::new(
        "parameters",
        "Effect of coverage, epsilon and reserve",
        "Payments and social cost when one parameter changes and the others stay.",
        [
            chart(
                "Coverage",
                Axis::linear("coverage"),
                &["clock"],
                "rounds.coverage",
                &["0.1", "0.3", "0.5", "0.7", "0.9"],
            )?,
            chart(
                "Epsilon",
                Axis::log("epsilon"),
                &["truth-fedban", "ratchet"],
                "rounds.epsilon",
                &["0.1", "0.25", "0.5", "1", "2"],
            )?,
            chart("Reserve", Axis::log("reserve"), &["clock"], "rounds.reserve", &["100", "300", "1000", "10000"])?,
        ],
    )
    .in_columns(3))
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
    Figure::new(
        "scaling",
        "Clock on large federations",
        "Log determinants per client for one round of clock with all exact payments. The count is nearly flat \
                  in N, so the total is nearly linear.",
        [Chart::lines(
            "Log determinants per client",
            Axis::log("clients N"),
            Axis::linear("log determinants per client"),
            lines,
        )],
    )
}
