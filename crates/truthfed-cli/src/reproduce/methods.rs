//! Figures 1a and 1b: regret, communication, incentive and social cost of all mechanisms.

use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure};
use truthfed_report::page::{Section, Table, Verdict};
use truthfed_sim::experiment::{Spread, over_time};
use truthfed_sim::simulation::Run;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::lab::{
    INCENTIVE, Lab, REGRET, ROUNDS, SCALARS, SOCIAL_COST, against, label, measured, reproduced_if, series,
};

/// The mechanisms compared: the paper's three, and three of ours.
const METHODS: [&str; 6] = ["everyone", "truth-fedban", "greedy", "inc-feducb", "ratchet", "clock"];

/// The runs of each mechanism.
pub(super) type Runs = Vec<(&'static str, Vec<Run>)>;

pub(super) fn run(lab: &Lab) -> Result<(Part, Runs), WorldError> {
    lab.stage("comparing mechanisms");
    let runs: Runs = METHODS.into_iter().zip(lab.runs_with(&[], "rounds.mechanism", &METHODS)?).collect();
    let text = format!(
        "This section compares mechanisms in the paper's setting: 25 clients that act in turn, dimension 5, {} steps, \
         25 of 1000 arms at each step, costs 1e-4 det(gram) + U(0, 100), coverage 0.5. Under one seed all mechanisms \
         see the same arms and the same noise. Bands and error bars show the standard deviation over the seeds.",
        lab.steps()
    );
    let items = [regret_and_communication(&runs).into(), money(&runs).into(), table(&runs).into()];
    let section = Section::new("mechanisms", "Mechanisms compared", [text], items);
    Ok((Part { section, claims: claims(&runs) }, runs))
}

fn regret_and_communication(runs: &[(&str, Vec<Run>)]) -> Figure {
    let chart = |title: &str, y: &str, figure: fn(&Totals) -> f64| {
        let lines = runs.iter().map(|(method, runs)| series(label(method), over_time(runs, figure)));
        Chart::lines(title, Axis::linear("step"), Axis::linear(y), lines)
    };
    let caption = "Figure 1a of the paper, with three more mechanisms. Communication is counted in scalars: in each \
                   round every client sends a matrix and receives a matrix and a moment, and every winner sends a \
                   moment.";
    let charts = [chart("Regret", "cumulative regret", REGRET), chart("Communication", "scalars sent", SCALARS)];
    Figure::new("figure-1a", "Regret and communication over time", caption, charts).in_columns(2)
}

fn money(runs: &[(&str, Vec<Run>)]) -> Figure {
    let chart = |title: &str, figure: fn(&Totals) -> f64| {
        let bar = |(method, runs): &(&str, Vec<Run>)| {
            let spread = Spread::over(runs, figure);
            Bar { name: label(method), height: spread.mean, sd: spread.sd, label: Some(format!("{:.0}", spread.mean)) }
        };
        Chart::bars(title, Axis::linear("units of money"), [BarGroup::new("", runs.iter().map(bar))])
    };
    let caption = "Figure 1b of the paper, with three more mechanisms. Incentive is what the coordinator pays in \
                   total, social cost the true cost of those who take part.";
    let charts = [chart("Incentive", INCENTIVE), chart("Social cost", SOCIAL_COST)];
    Figure::new("figure-1b", "Incentive and social cost", caption, charts).in_columns(2)
}

fn table(runs: &[(&str, Vec<Run>)]) -> Table {
    let row = |(method, runs): &(&str, Vec<Run>)| {
        let packed = |totals: &Totals| totals.packed_scalars as f64;
        let winners = |totals: &Totals| totals.participations as f64 / totals.rounds as f64;
        let figures: [fn(&Totals) -> f64; 7] = [REGRET, ROUNDS, SCALARS, packed, winners, SOCIAL_COST, INCENTIVE];
        std::iter::once(label(method)).chain(figures.map(|figure| measured(runs, figure))).collect()
    };
    let header = ["mechanism", "regret", "rounds", "scalars", "packed", "winners / round", "social cost", "incentive"];
    Table::new("Mean ± standard deviation over the seeds.", header, runs.iter().map(row)).with_numeric(1..header.len())
}

/// Regret, scalars, social cost and incentive, each a mean over the seeds.
pub(super) fn summary((method, runs): &(&str, Vec<Run>)) -> Vec<String> {
    let mean = |figure: fn(&Totals) -> f64| Spread::over(runs, figure).mean;
    vec![
        (*method).to_owned(),
        format!("{:.2}", mean(REGRET)),
        format!("{:.0}", mean(SCALARS)),
        format!("{:.0}", mean(SOCIAL_COST)),
        format!("{:.0}", mean(INCENTIVE)),
    ]
}

fn claims(runs: &[(&str, Vec<Run>)]) -> Vec<Verdict> {
    let of = |method: &str| &runs.iter().find(|(name, _)| *name == method).expect("a method compared").1;
    vec![competitive(of("truth-fedban"), of("everyone")), cheaper(of("truth-fedban"), of("greedy"))]
}

fn competitive(printed: &[Run], everyone: &[Run]) -> Verdict {
    let [own, theirs] = [printed, everyone].map(|runs| Spread::over(runs, REGRET));
    let near = (own.mean - theirs.mean).abs() <= own.sd + theirs.sd;
    let same_scalars = Spread::over(printed, SCALARS).mean <= 1.1 * Spread::over(everyone, SCALARS).mean;
    let claim = "Truth-FedBan learns about as well as DisLinUCB, with a similar amount of communication.";
    let (regret, scalars) = (against(printed, everyone, REGRET), against(printed, everyone, SCALARS));
    let measured = format!("regret {regret}; scalars {scalars}");
    let command = "truthfed simulate --set rounds.mechanism=truth-fedban";
    Verdict::new("competitive-regret", claim, measured, reproduced_if(near && same_scalars), command)
}

fn cheaper(printed: &[Run], greedy: &[Run]) -> Verdict {
    let is_less = |figure| Spread::over(printed, figure).mean < Spread::over(greedy, figure).mean;
    let claim = "Truth-FedBan pays less and has a lower social cost than plain greedy.";
    let (incentive, cost) = (against(printed, greedy, INCENTIVE), against(printed, greedy, SOCIAL_COST));
    let measured = format!("incentive {incentive}; social cost {cost}");
    let verdict = reproduced_if(is_less(INCENTIVE) && is_less(SOCIAL_COST));
    Verdict::new("cheaper-than-greedy", claim, measured, verdict, "truthfed simulate --set rounds.mechanism=greedy")
}
