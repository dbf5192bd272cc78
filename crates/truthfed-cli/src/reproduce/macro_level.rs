//! Figure 2: the effect of many clients misreporting on the whole federation.

use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::Section;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Cell, Claim, Evidence, Number, Sample};
use super::decision::{SAME, Side};
use super::interval::Interval;
use super::lab::{
    Brief, INCENTIVE, Lab, REGRET, SCALARS, SOCIAL_COST, differences, each, mean, palette, reading_changes, series,
    simulate,
};
use super::methods::Methods;
use super::readings::{READINGS, Reading};

const REPORTS: [(&str, &str, &str); 2] = [("over ×2", "over", "2"), ("under ×0.5", "under", "0.5")];
/// Shares of misreporting clients, in percent.
const PERCENTS: [f64; 7] = [0.0, 20.0, 40.0, 50.0, 60.0, 80.0, 100.0];
/// About half of the clients, in percent, and what surrounds them.
const MIDDLE: [f64; 3] = [40.0, 50.0, 60.0];
const AROUND: [f64; 2] = [20.0, 80.0];

/// One reading: its runs by report and share.
struct Outcome {
    reports: Vec<Vec<Vec<Brief>>>,
}

impl Outcome {
    fn runs(&self, report: usize, percent: f64) -> &[Brief] {
        let place = PERCENTS.iter().position(|tried| *tried == percent).expect("a share that was tried");
        &self.reports[report][place]
    }

    /// A figure of each seed, as its mean over some shares.
    fn over(&self, report: usize, percents: &[f64], figure: fn(&Totals) -> f64) -> Vec<f64> {
        let by_share: Vec<Vec<f64>> =
            percents.iter().map(|percent| each(self.runs(report, *percent), figure)).collect();
        let seeds = 0..by_share[0].len();
        let of_seed = |seed: usize| by_share.iter().map(|values| values[seed]).sum::<f64>() / percents.len() as f64;
        seeds.map(of_seed).collect()
    }

    /// How a figure changes from some shares to others, seed by seed, in percent of that of truthful clients.
    fn change(&self, report: usize, from: &[f64], to: &[f64], figure: fn(&Totals) -> f64) -> Interval {
        let [from, to] = [from, to].map(|percents| self.over(report, percents, figure));
        Interval::paired(&to, &from).percent_of(self.start(figure).mean)
    }

    /// The change from nobody misreporting at each share.
    fn changes(&self, report: usize, figure: fn(&Totals) -> f64) -> Vec<(f64, Interval)> {
        let misreporting = PERCENTS.into_iter().filter(|percent| *percent > 0.0);
        misreporting.map(|percent| (percent, self.change(report, &[0.0], &[percent], figure))).collect()
    }

    fn start(&self, figure: fn(&Totals) -> f64) -> Interval {
        mean(self.runs(0, 0.0), figure)
    }

    /// The share with the highest mean.
    fn peak(&self, report: usize, figure: fn(&Totals) -> f64) -> f64 {
        let at = |percent: &f64| mean(self.runs(report, *percent), figure).mean;
        PERCENTS.into_iter().max_by(|a, b| at(a).total_cmp(&at(b))).expect("shares were tried")
    }
}

pub(super) fn run(lab: &Lab, methods: &Methods) -> Result<Part, WorldError> {
    lab.stage("misreporting of many");
    let outcome = |(reading, truthful): (&Reading, &Vec<Brief>)| -> Result<Outcome, WorldError> {
        let report = |(_, kind, factor): &(&str, &str, &str)| {
            let at = |percent: &f64| {
                if *percent == 0.0 {
                    return Ok(truthful.clone());
                }
                let share = (percent / 100.0).to_string();
                let more = [("behaviour.kind", *kind), ("behaviour.factor", *factor), ("behaviour.share", &share)];
                lab.briefs(&reading_changes(reading, &more), lab.seeds)
            };
            PERCENTS.iter().map(at).collect::<Result<_, _>>()
        };
        Ok(Outcome { reports: REPORTS.iter().map(report).collect::<Result<_, _>>()? })
    };
    let outcomes: Vec<Outcome> = READINGS.iter().zip(&methods.readings).map(outcome).collect::<Result<_, _>>()?;
    let text = "From 0 to 100 % of the clients, drawn by the seed, report twice or half their true cost in every round. \
                Social cost counts true costs. If all misreport by one factor, all asks scale alike, and so do budgets and \
                payments.";
    let figures =
        [figure(&outcomes[0], &READINGS[0], "figure-2"), figure(&outcomes[3], &READINGS[3], "figure-2-printed")];
    let section = Section::new("macro", "Many clients misreport", [text], figures.map(Into::into));
    Ok(Part { section, claims: claims(lab, &outcomes), ours: Vec::new() })
}

fn figure(outcome: &Outcome, reading: &Reading, id: &str) -> Figure {
    let chart = |title: &str, figure: fn(&Totals) -> f64| {
        let scale = 100.0 / outcome.start(figure).mean;
        let line = |(report, (name, ..)): (usize, &(&str, &str, &str))| {
            let (runs, truth) = (|percent| outcome.runs(report, percent), outcome.runs(report, 0.0));
            let point = |percent: f64| (percent, differences(runs(percent), truth, figure, scale));
            series(format!("truth-fedban, {name}"), PERCENTS.map(point))
        };
        let lines = REPORTS.iter().enumerate().map(line);
        Chart::lines(title, Axis::linear("misreporting clients, %"), Axis::linear("change, %"), lines)
    };
    let caption = format!(
        "Figures 2a to 2d of the paper in reading {}, as changes from nobody misreporting, seed by seed, with 95 % intervals.",
        reading.name
    );
    let charts = [
        chart("Regret", REGRET),
        chart("Communication", SCALARS),
        chart("Incentive", INCENTIVE),
        chart("Social cost", SOCIAL_COST),
    ];
    let title = format!("Overall impact of misreporting, reading {}", reading.name);
    Figure::new(id, &title, &caption, charts).in_columns(2).with_palette(palette())
}

/// Runs all shares in all readings, from a file beside the page.
/// The content of that file.
pub(super) const SWEEP: &str = include_str!("misreport.toml");

/// What was measured, and the numbers that decide among others.
type Judged = (String, Vec<Number>);

/// One of the lies that a command repeats: kind, factor and share.
const HALF: [&str; 3] = ["over", "2", "0.5"];
const HALF_UNDER: [&str; 3] = ["under", "0.5", "0.5"];
const ALL: [&str; 3] = ["over", "2", "1"];

fn claims(lab: &Lab, outcomes: &[Outcome]) -> Vec<Claim> {
    let cells = |judge: &dyn Fn(&Outcome) -> Judged, [kind, factor, share]: [&str; 3]| -> Vec<Cell> {
        let cell = |(reading, outcome): (&Reading, &Outcome)| {
            let (measured, numbers) = judge(outcome);
            let lies = [("behaviour.kind", kind), ("behaviour.factor", factor), ("behaviour.share", share)];
            let command = simulate(&reading_changes(reading, &lies), lab.seeds);
            Evidence::new(measured, numbers, Sample::runs(lab.seeds), command).under(vec![reading.name])
        };
        READINGS.iter().zip(outcomes).map(cell).collect()
    };
    vec![
        Claim::new(
            "flat-regret",
            "Figure 2a",
            "However many clients misreport, the regret stays virtually the same (within 5 %).",
            "",
            cells(&flat_regret, HALF),
        ),
        Claim::new(
            "communication-under",
            "Figure 2b",
            "Communication tends to rise when clients under-report (on average over shares of 20 to 100 %).",
            "Since-round, a round costs N matrices whoever wins; since-delivery, mixed asks make more clients lose and ask \
             again.",
            cells(&|outcome| communication(outcome, 1, Side::Above(0.0)), HALF_UNDER),
        ),
        Claim::new(
            "communication-over",
            "Figure 2b",
            "Communication tends to fall when clients over-report (on average over shares of 20 to 100 %).",
            "What matters is that asks are mixed, not whether they are high or low.",
            cells(&|outcome| communication(outcome, 0, Side::Below(0.0)), HALF),
        ),
        Claim::new(
            "collusion",
            "Figure 2c",
            "The more clients over-report, the more the coordinator pays (from none to half, and from half to all).",
            "If all do, all payments scale with them.",
            cells(&collusion, HALF),
        ),
        Claim::new(
            "division",
            "Figure 2d",
            "Social cost is higher when half of the clients misreport than when none or all do.",
            "Mixed asks hide who is cheap.",
            cells(&division, HALF),
        ),
        Claim::new(
            "division-peak",
            "Figure 2d",
            "Social cost is highest when about half of the clients misreport (40 to 60 %, against 20 and 80 %).",
            "",
            cells(&division_peak, HALF),
        ),
        Claim::new(
            "reset",
            "Figure 2d",
            "If all clients misreport, social cost is back where it was (within 5 %).",
            "All asks scale alike.",
            cells(&reset, ALL),
        ),
    ]
}

/// What each report is called in names of numbers.
const LIES: [&str; 2] = ["over-report", "under-report"];

fn at_each_share(changes: &[(f64, Interval)]) -> String {
    let words = |(percent, change): &(f64, Interval)| format!("{} at {percent} %", change.signed());
    changes.iter().map(words).collect::<Vec<_>>().join(", ")
}

fn flat_regret(outcome: &Outcome) -> Judged {
    let changes = [0, 1].map(|report| outcome.changes(report, REGRET));
    let words = format!(
        "regret {} without misreports; seed by seed, in percent of it, by the share that over-reports {}; that under-reports {}",
        outcome.start(REGRET).words(),
        at_each_share(&changes[0]),
        at_each_share(&changes[1])
    );
    let number = |lie: &str, (percent, change): (f64, Interval)| {
        Number::deciding(format!("change of regret if {percent} % {lie}, %"), change, Side::Within(SAME))
    };
    let numbers = LIES
        .into_iter()
        .zip(changes)
        .flat_map(|(lie, changes)| changes.into_iter().map(move |change| number(lie, change)).collect::<Vec<_>>());
    (words, numbers.collect())
}

fn communication(outcome: &Outcome, report: usize, claimed: Side) -> Judged {
    let changes = outcome.changes(report, SCALARS);
    let shares: Vec<f64> = changes.iter().map(|(percent, _)| *percent).collect();
    let average = outcome.change(report, &[0.0], &shares, SCALARS);
    let words = format!(
        "{} scalars without misreports; seed by seed {} % on average over the shares: {}",
        outcome.start(SCALARS).words(),
        average.signed(),
        at_each_share(&changes)
    );
    let lie = LIES[report];
    let name = format!("change of scalars on average over the shares that {lie}, %");
    let at = |(percent, change): (f64, Interval)| {
        Number::with_interval(format!("change of scalars if {percent} % {lie}, %"), change)
    };
    let numbers = std::iter::once(Number::deciding(name, average, claimed)).chain(changes.into_iter().map(at));
    (words, numbers.collect())
}

fn collusion(outcome: &Outcome) -> Judged {
    let half = outcome.change(0, &[0.0], &[50.0], INCENTIVE);
    let further = outcome.change(0, &[50.0], &[100.0], INCENTIVE);
    let changes = outcome.changes(0, INCENTIVE);
    let words = format!(
        "incentive {} when all are truthful; seed by seed, in percent of it, {} from none to half asking twice their cost, and {} \
         from half to all; by share {}",
        outcome.start(INCENTIVE).words(),
        half.signed(),
        further.signed(),
        at_each_share(&changes)
    );
    let mut numbers = vec![
        Number::deciding("change of the incentive from none to half, %", half, Side::Above(0.0)),
        Number::deciding("change of the incentive from half to all, %", further, Side::Above(0.0)),
    ];
    let at = |(percent, change): (f64, Interval)| {
        Number::with_interval(format!("change of the incentive if {percent} % over-report, %"), change)
    };
    numbers.extend(changes.into_iter().map(at));
    (words, numbers)
}

/// Compares social cost at some shares with that at each of others, for both reports.
fn higher(outcome: &Outcome, at: &[f64], than: [f64; 2]) -> Judged {
    let name = if at.len() > 1 { "about half" } else { "half" };
    let (mut words, mut numbers) = (Vec::new(), Vec::new());
    for (report, lie) in LIES.into_iter().enumerate() {
        let more = than.map(|percent| outcome.change(report, &[percent], at, SOCIAL_COST));
        words.push(format!(
            "if {name} {lie} {} against {} % and {} against {} % (highest at {} %)",
            more[0].signed(),
            than[0],
            more[1].signed(),
            than[1],
            outcome.peak(report, SOCIAL_COST)
        ));
        let number = |(percent, more): (f64, Interval)| {
            let name = format!("social cost if {name} {lie} minus that if {percent} % do, %");
            Number::deciding(name, more, Side::Above(0.0))
        };
        numbers.extend(than.into_iter().zip(more).map(number));
    }
    let start = outcome.start(SOCIAL_COST).words();
    (
        format!("social cost {start} when all are truthful; seed by seed, in percent of it, {}", words.join("; ")),
        numbers,
    )
}

fn division(outcome: &Outcome) -> Judged {
    higher(outcome, &[50.0], [0.0, 100.0])
}

fn division_peak(outcome: &Outcome) -> Judged {
    higher(outcome, &MIDDLE, AROUND)
}

fn reset(outcome: &Outcome) -> Judged {
    let changes = [0, 1].map(|report| outcome.change(report, &[0.0], &[100.0], SOCIAL_COST));
    let words = format!(
        "social cost {} when all are truthful; seed by seed {} % if all over-report, {} % if all under-report",
        outcome.start(SOCIAL_COST).words(),
        changes[0].signed(),
        changes[1].signed()
    );
    let number = |(lie, change): (&str, Interval)| {
        Number::deciding(format!("change of social cost if all {lie}, %"), change, Side::Within(SAME))
    };
    (words, LIES.into_iter().zip(changes).map(number).collect())
}
