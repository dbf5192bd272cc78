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

pub(super) fn run(lab: &Lab<'_>) -> Result<Part, WorldError> {
    lab.stage("misreporting of many");
    let percents: Vec<f64> = (0..=10).map(|tenth| 10.0 * f64::from(tenth)).collect();
    let mut lines = Vec::new();
    for method in METHODS {
        for (report, kind, factor) in REPORTS {
            let configuration = |percent: &f64| {
                vec![
                    ("rounds.mechanism", method.to_owned()),
                    ("behaviour.kind", kind.to_owned()),
                    ("behaviour.factor", factor.to_owned()),
                    ("behaviour.share", (percent / 100.0).to_string()),
                ]
            };
            let runs = lab.runs_of(&percents.iter().map(configuration).collect::<Vec<_>>())?;
            lines.push(Line { method, report, points: percents.iter().copied().zip(runs).collect() });
        }
    }
    let section = Section::new(
        "macro",
        "Many clients misreport",
        ["From 0 to 100 % of the clients, drawn by the seed, report twice or half their true cost in every round. \
             Social cost counts true costs."],
        [figure(&lines).into()],
    );
    Ok(Part { section, claims: claims(&lines) })
}

fn figure(lines: &[Line]) -> Figure {
    let chart = |title: &str, y: &str, figure: fn(&Totals) -> f64| {
        let series =
            lines.iter().map(|line| series(format!("{}, {}", label(line.method), line.report), line.spreads(figure)));
        Chart::lines(title, Axis::linear("misreporting clients, %"), Axis::linear(y), series)
    };
    Figure::new(
        "figure-2",
        "Overall impact of misreporting",
        "Figures 2a to 2d of the paper, and the same for clock. Factors 2 and 0.5.",
        [
            chart("Regret", "cumulative regret", REGRET),
            chart("Communication", "scalars sent", SCALARS),
            chart("Incentive", "units of money", INCENTIVE),
            chart("Social cost", "units of money", SOCIAL_COST),
        ],
    )
    .in_columns(2)
}

/// Runs all shares at once, from a file beside the page.
const COMMAND: &str = "truthfed sweep misreport.toml";
/// The content of that file.
pub(super) const SWEEP: &str = "\
# Figure 2: from none to all of the clients over-report; set kind to under and factor to 0.5 for the other half.
[rounds]
mechanism = \"truth-fedban\"

[behaviour]
kind = \"over\"
factor = 2.0

[sweep]
seeds = 5

[sweep.grid]
\"behaviour.share\" = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
";

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
    Verdict::new(
        "flat-regret",
        "However many clients misreport, the regret stays the same.",
        format!(
            "regret {} without misreports; with misreports the mean differs by at most {farthest:.2}",
            plus_minus(start)
        ),
        reproduced_if(farthest <= start.sd),
        COMMAND,
    )
}

fn communication(over: &Line, under: &Line) -> Verdict {
    let (start, all_over, all_under) = (over.at(0.0, SCALARS), over.at(100.0, SCALARS), under.at(100.0, SCALARS));
    let half = (over.at(50.0, SCALARS), under.at(50.0, SCALARS));
    let rises = half.1.mean > start.mean && all_under.mean > start.mean;
    let falls = half.0.mean < start.mean && all_over.mean < start.mean;
    Verdict::new(
        "communication",
        "Communication rises when clients under-report and falls when they over-report.",
        format!(
            "scalars {} when all are truthful; under-reporting by half {} and all {}; over-reporting by half {} and all {}",
            plus_minus(start),
            plus_minus(half.1),
            plus_minus(all_under),
            plus_minus(half.0),
            plus_minus(all_over),
        ),
        reproduced_if(rises && falls),
        COMMAND,
    )
}

fn collusion(over: &Line) -> Verdict {
    let (start, end) = (over.at(0.0, INCENTIVE), over.at(100.0, INCENTIVE));
    Verdict::new(
        "collusion",
        "If all clients over-report together, the coordinator pays more.",
        format!(
            "incentive {} when all are truthful, {} when all ask twice their cost",
            plus_minus(start),
            plus_minus(end)
        ),
        reproduced_if(end.mean > start.mean),
        COMMAND,
    )
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
    Verdict::new(
        "division",
        "Social cost is highest when about half of the clients misreport, and back at its start when all do.",
        format!(
            "over-reporting: highest at {} %, {} at 0 % and {} at 100 %; under-reporting: highest at {} %, {} and {}; \
             under clock over-reporting is highest at {} %",
            peak(over),
            plus_minus(over.at(0.0, SOCIAL_COST)),
            plus_minus(over.at(100.0, SOCIAL_COST)),
            peak(under),
            plus_minus(under.at(0.0, SOCIAL_COST)),
            plus_minus(under.at(100.0, SOCIAL_COST)),
            peak(clock),
        ),
        reproduced_if(near_half(peak(over)) && near_half(peak(under)) && back(over) && back(under)),
        COMMAND,
    )
}
