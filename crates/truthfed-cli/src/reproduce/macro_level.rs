//! Figure 2: the effect of many clients misreporting on the whole federation.

use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, VerdictKind};
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Cell, Claim, Number, Sample};
use super::interval::Interval;
use super::lab::{
    Brief, INCENTIVE, Lab, REGRET, SCALARS, SOCIAL_COST, difference, differences, interval_series, mean, palette,
    reading_changes,
};
use super::methods::Methods;
use super::readings::{READINGS, Reading};

const REPORTS: [(&str, &str, &str); 2] = [("over ×2", "over", "2"), ("under ×0.5", "under", "0.5")];
/// Shares of misreporting clients, in percent.
const PERCENTS: [f64; 7] = [0.0, 20.0, 40.0, 50.0, 60.0, 80.0, 100.0];
/// Regret that changes by less counts as virtually identical, social cost as back at its start.
const SAME: f64 = 0.05;

/// One reading: its runs by report and share.
struct Outcome {
    reports: Vec<Vec<Vec<Brief>>>,
}

impl Outcome {
    fn runs(&self, report: usize, percent: f64) -> &[Brief] {
        let place = PERCENTS.iter().position(|tried| *tried == percent).expect("a share that was tried");
        &self.reports[report][place]
    }

    /// What so many misreporting clients change, seed by seed.
    fn change(&self, report: usize, percent: f64, figure: fn(&Totals) -> f64) -> Interval {
        difference(self.runs(report, percent), self.runs(report, 0.0), figure)
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
            interval_series(format!("truth-fedban, {name}"), PERCENTS.map(point))
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
const COMMAND: &str = "truthfed sweep misreport.toml";
/// The content of that file.
pub(super) const SWEEP: &str = include_str!("misreport.toml");

/// A verdict, what was measured, and the numbers of it.
type Judged = (VerdictKind, String, Vec<Number>);

fn claims(lab: &Lab, outcomes: &[Outcome]) -> Vec<Claim> {
    let cells = |judge: &dyn Fn(&Outcome) -> Judged| -> Vec<Cell> {
        let cell = |(reading, outcome): (&Reading, &Outcome)| {
            let (verdict, measured, numbers) = judge(outcome);
            let sample = Sample::runs(lab.seeds);
            Cell { readings: vec![reading.name], verdict, measured, numbers, sample, command: COMMAND.to_owned() }
        };
        READINGS.iter().zip(outcomes).map(cell).collect()
    };
    vec![
        Claim::new(
            "flat-regret",
            "Figure 2a",
            "However many clients misreport, the regret stays virtually the same (within 5 %).",
            "",
            cells(&|outcome| flat_regret(lab, outcome)),
        ),
        Claim::new(
            "communication-under",
            "Figure 2b",
            "Communication rises when clients under-report.",
            "Since-round, a round costs N matrices whoever wins; since-delivery, mixed asks make more clients lose and ask \
             again.",
            cells(&|outcome| moved(lab, outcome, 1, |change| change.is_above(0.0))),
        ),
        Claim::new(
            "communication-over",
            "Figure 2b",
            "Communication falls when clients over-report.",
            "What matters is that asks are mixed, not whether they are high or low.",
            cells(&|outcome| moved(lab, outcome, 0, |change| change.is_below(0.0))),
        ),
        Claim::new(
            "collusion",
            "Figure 2c",
            "The more clients over-report, the more the coordinator pays.",
            "If all do, all payments scale with them.",
            cells(&|outcome| collusion(lab, outcome)),
        ),
        Claim::new(
            "division",
            "Figure 2d",
            "Social cost is highest when about half of the clients misreport.",
            "Mixed asks hide who is cheap.",
            cells(&|outcome| division(lab, outcome)),
        ),
        Claim::new(
            "reset",
            "Figure 2d",
            "If all clients misreport, social cost is back where it was (within 5 %).",
            "All asks scale alike.",
            cells(&|outcome| reset(lab, outcome)),
        ),
    ]
}

fn flat_regret(lab: &Lab, outcome: &Outcome) -> Judged {
    let start = outcome.start(REGRET);
    let changes = [0, 1].into_iter().flat_map(|report| PERCENTS.map(|percent| outcome.change(report, percent, REGRET)));
    let farthest = changes.map(|change| change.mean.abs()).fold(0.0, f64::max);
    let share = farthest / start.mean;
    let words = format!(
        "regret {} without misreports; with them the mean differs by at most {farthest:.2}, {:.1} %",
        start.words(),
        100.0 * share
    );
    (lab.over_seeds(share <= SAME, false), words, vec![Number::exact("largest relative change of the mean", share)])
}

fn moved(lab: &Lab, outcome: &Outcome, report: usize, holds: fn(Interval) -> bool) -> Judged {
    let start = outcome.start(SCALARS);
    let change = outcome.change(report, 50.0, SCALARS);
    let percent = 100.0 * change.mean / start.mean;
    let words = format!(
        "{} scalars without misreports; if half misreport, seed by seed {} ({percent:+.1} %)",
        start.words(),
        change.signed()
    );
    (
        lab.over_seeds(holds(change), change.excludes(0.0)),
        words,
        vec![Number::with_interval("change of scalars if half misreport", change)],
    )
}

fn collusion(lab: &Lab, outcome: &Outcome) -> Judged {
    let [half, all] = [50.0, 100.0].map(|percent| outcome.change(0, percent, INCENTIVE));
    let further = difference(outcome.runs(0, 100.0), outcome.runs(0, 50.0), INCENTIVE);
    let words = format!(
        "incentive {} when all are truthful; seed by seed {} if half ask twice their cost, {} if all do",
        outcome.start(INCENTIVE).words(),
        half.signed(),
        all.signed()
    );
    let numbers =
        vec![Number::with_interval("change if half over-report", half), Number::with_interval("change if all do", all)];
    let holds = half.is_above(0.0) && further.is_above(0.0);
    (lab.over_seeds(holds, holds || half.is_below(0.0) || further.is_below(0.0)), words, numbers)
}

fn division(lab: &Lab, outcome: &Outcome) -> Judged {
    let of = |report: usize| {
        let up = outcome.change(report, 50.0, SOCIAL_COST);
        let down = difference(outcome.runs(report, 100.0), outcome.runs(report, 50.0), SOCIAL_COST);
        let peak = outcome.peak(report, SOCIAL_COST);
        (up, peak, up.is_above(0.0) && down.is_below(0.0) && (40.0..=60.0).contains(&peak))
    };
    let ((over, over_peak, over_holds), (under, under_peak, under_holds)) = (of(0), of(1));
    let words = format!(
        "social cost {} when all are truthful; if half over-report {} (highest at {over_peak} %), if half under-report {} \
         (highest at {under_peak} %)",
        outcome.start(SOCIAL_COST).words(),
        over.signed(),
        under.signed()
    );
    let numbers = vec![
        Number::with_interval("change if half over-report", over),
        Number::with_interval("change if half under-report", under),
        Number::exact("share with the highest mean, over-reporting", over_peak),
        Number::exact("share with the highest mean, under-reporting", under_peak),
    ];
    (lab.over_seeds(over_holds && under_holds, false), words, numbers)
}

fn reset(lab: &Lab, outcome: &Outcome) -> Judged {
    let start = outcome.start(SOCIAL_COST);
    let changes = [0, 1].map(|report| outcome.change(report, 100.0, SOCIAL_COST));
    let share = changes.map(|change| change.mean.abs() / start.mean).into_iter().fold(0.0, f64::max);
    let words = format!(
        "social cost {} when all are truthful; seed by seed {} if all over-report, {} if all under-report",
        start.words(),
        changes[0].signed(),
        changes[1].signed()
    );
    (lab.over_seeds(share <= SAME, false), words, vec![Number::exact("largest relative change of the mean", share)])
}
