//! Figure 2: the effect of many clients misreporting on the whole federation.

use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, Verdict};
use truthfed_sim::experiment::Spread;
use truthfed_sim::simulation::Run;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::lab::{INCENTIVE, Lab, REGRET, SCALARS, SOCIAL_COST, label, plus_minus, reproduced_if, series};

const METHODS: [&str; 2] = ["truth-fedban", "clock"];
const REPORTS: [(&str, &str, &str); 2] = [("over ×2", "over", "2"), ("under ×0.5", "under", "0.5")];

/// All shares of misreporting clients, for one mechanism and one kind of report.
struct Line {
    method: &'static str,
    report: &'static str,
    /// Percentage of misreporting clients, and the runs.
    points: Vec<(f64, Vec<Run>)>,
}

impl Line {
    fn spreads(&self, figure: impl Fn(&Totals) -> f64) -> Vec<(f64, Spread)> {
        self.points.iter().map(|(percent, runs)| (*percent, Spread::over(runs, &figure))).collect()
    }

    fn at(&self, percent: f64, figure: impl Fn(&Totals) -> f64) -> Spread {
        let found = self.spreads(figure).into_iter().find(|(x, _)| *x == percent);
        found.expect("a share that was tried").1
    }
}

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("misreporting of many");
    let percents: Vec<f64> = (0..=10).map(|tenth| 10.0 * f64::from(tenth)).collect();
    let shares: Vec<f64> = percents.iter().map(|percent| percent / 100.0).collect();
    let mut lines = Vec::new();
    for method in METHODS {
        for (report, kind, factor) in REPORTS {
            let changes = [("rounds.mechanism", method), ("behaviour.kind", kind), ("behaviour.factor", factor)];
            let runs = lab.runs_with(&changes, "behaviour.share", &shares)?;
            lines.push(Line { method, report, points: percents.iter().copied().zip(runs).collect() });
        }
    }
    let text = "From 0 to 100 % of the clients, drawn by the seed, report twice or half their true cost in every \
                round. Social cost counts true costs.";
    let section = Section::new("macro", "Many clients misreport", [text], [figure(&lines).into()]);
    Ok(Part { section, claims: claims(&lines) })
}

fn figure(lines: &[Line]) -> Figure {
    let chart = |title: &str, y: &str, figure: fn(&Totals) -> f64| {
        let series =
            lines.iter().map(|line| series(format!("{}, {}", label(line.method), line.report), line.spreads(figure)));
        Chart::lines(title, Axis::linear("misreporting clients, %"), Axis::linear(y), series)
    };
    let caption = "Figures 2a to 2d of the paper, and the same for clock. Factors 2 and 0.5.";
    let charts = [
        chart("Regret", "cumulative regret", REGRET),
        chart("Communication", "scalars sent", SCALARS),
        chart("Incentive", "units of money", INCENTIVE),
        chart("Social cost", "units of money", SOCIAL_COST),
    ];
    Figure::new("figure-2", "Overall impact of misreporting", caption, charts).in_columns(2)
}

/// Runs all shares at once, from a file beside the page.
const COMMAND: &str = "truthfed sweep misreport.toml";
/// The content of that file.
pub(super) const SWEEP: &str = include_str!("misreport.toml");

fn claims(lines: &[Line]) -> Vec<Verdict> {
    let printed = |report: &str| {
        lines.iter().find(|line| line.method == "truth-fedban" && line.report == report).expect("a line tried")
    };
    let (over, under) = (printed("over ×2"), printed("under ×0.5"));
    let clock = lines.iter().find(|line| line.method == "clock").expect("a line tried");
    vec![flat_regret(over, under), communication(over, under), collusion(over), division(over, under, clock)]
}

fn flat_regret(over: &Line, under: &Line) -> Verdict {
    let start = over.at(0.0, REGRET);
    let points = over.spreads(REGRET).into_iter().chain(under.spreads(REGRET));
    let farthest = points.map(|(_, spread)| (spread.mean - start.mean).abs()).fold(0.0, f64::max);
    let regret = plus_minus(start);
    let claim = "However many clients misreport, the regret stays the same.";
    let measured =
        format!("regret {regret} without misreports; with misreports the mean differs by at most {farthest:.2}");
    Verdict::new("flat-regret", claim, measured, reproduced_if(farthest <= start.sd), COMMAND)
}

fn communication(over: &Line, under: &Line) -> Verdict {
    let start = over.at(0.0, SCALARS);
    let [half_over, all_over] = [50.0, 100.0].map(|percent| over.at(percent, SCALARS));
    let [half_under, all_under] = [50.0, 100.0].map(|percent| under.at(percent, SCALARS));
    let rises = half_under.mean > start.mean && all_under.mean > start.mean;
    let falls = half_over.mean < start.mean && all_over.mean < start.mean;
    let [start, half_over, all_over, half_under, all_under] =
        [start, half_over, all_over, half_under, all_under].map(plus_minus);
    let claim = "Communication rises when clients under-report and falls when they over-report.";
    let measured = format!(
        "scalars {start} when all are truthful; under-reporting by half {half_under} and all {all_under}; \
         over-reporting by half {half_over} and all {all_over}"
    );
    Verdict::new("communication", claim, measured, reproduced_if(rises && falls), COMMAND)
}

fn collusion(over: &Line) -> Verdict {
    let (start, end) = (over.at(0.0, INCENTIVE), over.at(100.0, INCENTIVE));
    let (truthful, doubled) = (plus_minus(start), plus_minus(end));
    let claim = "If all clients over-report together, the coordinator pays more.";
    let measured = format!("incentive {truthful} when all are truthful, {doubled} when all ask twice their cost");
    Verdict::new("collusion", claim, measured, reproduced_if(end.mean > start.mean), COMMAND)
}

fn division(over: &Line, under: &Line, clock: &Line) -> Verdict {
    let peak = |line: &Line| {
        let spreads = line.spreads(SOCIAL_COST);
        spreads.into_iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)).expect("shares were tried").0
    };
    let back = |line: &Line| {
        let (start, end) = (line.at(0.0, SOCIAL_COST), line.at(100.0, SOCIAL_COST));
        (end.mean - start.mean).abs() <= start.sd.max(end.sd)
    };
    let near_half = |percent: f64| (30.0..=70.0).contains(&percent);
    let words = |line: &Line| {
        let [start, end] = [0.0, 100.0].map(|percent| plus_minus(line.at(percent, SOCIAL_COST)));
        (peak(line), start, end)
    };
    let ((over_peak, over_start, over_end), (under_peak, under_start, under_end)) = (words(over), words(under));
    let claim = "Social cost is highest when about half of the clients misreport, and back at its start when all do.";
    let measured = format!(
        "over-reporting: highest at {over_peak} %, {over_start} at 0 % and {over_end} at 100 %; under-reporting: \
         highest at {under_peak} %, {under_start} and {under_end}; under clock over-reporting is highest at {} %",
        peak(clock),
    );
    let holds = near_half(over_peak) && near_half(under_peak) && back(over) && back(under);
    Verdict::new("division", claim, measured, reproduced_if(holds), COMMAND)
}
