//! Beyond the paper: the long-run manipulator, groups, the effect of parameters, and scaling.

use rayon::prelude::*;
use truthfed::auction::{Clock, Mechanism};
use truthfed::generate::federation;

use super::lab::{Lab, axis, claim, label, log_axis, plus_minus, reproduced_if, series};
use super::micro_level::one_client;
use super::{Part, groups};
use crate::experiment::Spread;
use crate::report::chart::{Bar, BarChart, BarGroup, Chart, Figure, LineChart};
use crate::report::page::{Item, Section, Verdict};
use crate::simulation::{ClientTotals, Run, Totals};
use crate::world::WorldError;

pub(super) fn run(lab: &Lab<'_>, runs: &[(String, Vec<Run>)]) -> Result<Part, WorldError> {
    lab.stage("beyond the paper");
    let (groups, groups_claim) = groups::run(lab, runs);
    let patient = patient(lab)?;
    let section = Section {
        id: "beyond".to_owned(),
        title: "Beyond the paper".to_owned(),
        text: vec![
            "Truthfulness is a promise about one round. What a patient client can gain over many rounds, what a group can \
             gain together, and what the parameters do, is measured here."
                .to_owned(),
        ],
        items: vec![
            Item::Figure(groups),
            Item::Figure(patient_figure(&patient)),
            Item::Figure(parameters(lab)?),
            Item::Figure(scaling(lab)),
        ],
    };
    Ok(Part { section, claims: vec![groups_claim, patient_claim(&patient)] })
}

/// One client's utility when it is truthful and when it holds out, by mechanism.
struct Patient {
    method: &'static str,
    truthful: Spread,
    patient: Spread,
}

fn patient(lab: &Lab<'_>) -> Result<Vec<Patient>, WorldError> {
    let utility = |method: &str, kind: &str| -> Result<Spread, WorldError> {
        let clients = one_client(lab, method, kind, "1")?;
        Ok(Spread::of(clients.iter().map(ClientTotals::utility)))
    };
    let measure = |method: &'static str| {
        Ok(Patient { method, truthful: utility(method, "truthful")?, patient: utility(method, "long-run")? })
    };
    ["truth-fedban", "greedy", "clock"].into_iter().map(measure).collect()
}

fn patient_figure(found: &[Patient]) -> Figure {
    let group = |found: &Patient| {
        let bar = |name: &str, spread: Spread| Bar {
            name: name.to_owned(),
            height: spread.mean,
            sd: spread.sd,
            label: Some(format!("{:.0}", spread.mean)),
        };
        let bars = vec![bar("truthful", found.truthful), bar("asks the reserve until essential", found.patient)];
        BarGroup { name: label(found.method), bars }
    };
    Figure {
        id: "patient".to_owned(),
        title: "A client that holds out".to_owned(),
        caption:
            "The paper asks whether a client can over-report until it is essential. One client asks the reserve in \
                  every round, so it sells only when the target cannot be met without it."
                .to_owned(),
        charts: vec![Chart::Bar(BarChart {
            title: "Utility of the one client over the whole run".to_owned(),
            y: axis("units of money"),
            groups: found.iter().map(group).collect(),
            note: None,
        })],
        columns: 1,
    }
}

fn patient_claim(found: &[Patient]) -> Verdict {
    let words: Vec<String> = found
        .iter()
        .map(|found| format!("{}: {} against {}", found.method, plus_minus(found.patient), plus_minus(found.truthful)))
        .collect();
    claim(
        "patience",
        "Beyond the paper: holding out until essential does not pay in this setting.",
        format!("utility of holding out against truth: {}", words.join("; ")),
        reproduced_if(found.iter().all(|found| found.patient.mean <= found.truthful.mean)),
        "truthfed simulate --set behaviour.kind=long-run --set behaviour.share=0.04 --out one  # see one/clients.csv",
    )
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
