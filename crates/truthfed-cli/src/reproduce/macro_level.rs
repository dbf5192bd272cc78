//! Figure 2: what misreporting by many does to the whole.

use truthfed_report::chart::{Chart, Figure, LineChart};
use truthfed_report::page::{Item, Section, Verdict};
use truthfed_sim::experiment::Spread;
use truthfed_sim::simulation::{Run, Totals};
use truthfed_sim::world::WorldError;

use super::Part;
use super::lab::{Lab, axis, claim, label, plus_minus, reproduced_if, series};

const METHODS: [&str; 2] = ["truth-fedban", "clock"];
const REPORTS: [(&str, &str, &str); 2] = [("over ×2", "over", "2"), ("under ×0.5", "under", "0.5")];

/// All shares of misreporting clients, for one mechanism and one kind of report.
struct Line {
    method: &'static str,
    report: &'static str,
    /// Percent of clients, and the runs.
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
    let section = Section {
        id: "macro".to_owned(),
        title: "Many clients misreport".to_owned(),
        text: vec![
            "From 0 to 100 % of the clients, drawn by the seed, report twice or half their true cost in every round. \
             Social cost counts true costs."
                .to_owned(),
        ],
        items: vec![Item::Figure(figure(&lines))],
    };
    Ok(Part { section, claims: claims(&lines) })
}

fn figure(lines: &[Line]) -> Figure {
    let chart = |title: &str, y: &str, figure: fn(&Totals) -> f64| {
        let series =
            lines.iter().map(|line| series(format!("{}, {}", label(line.method), line.report), line.spreads(figure)));
        let series = series.collect();
        let (title, x, y) = (title.to_owned(), axis("misreporting clients, %"), axis(y));
        Chart::Line(LineChart { title, x, y, series, note: None })
    };
    Figure {
        id: "figure-2".to_owned(),
        title: "Overall impact of misreporting".to_owned(),
        caption: "Figures 2a to 2d of the paper, and the same for clock. Factors 2 and 0.5.".to_owned(),
        charts: vec![
            chart("Regret", "cumulative regret", |totals| totals.regret),
            chart("Communication", "scalars sent", |totals| totals.scalars as f64),
            chart("Incentive", "units of money", |totals| totals.incentive),
            chart("Social cost", "units of money", |totals| totals.social_cost),
        ],
        columns: 2,
    }
}

/// All shares at once, out of a file beside the page.
const COMMAND: &str = "truthfed sweep misreport.toml";
/// What that file holds.
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
    let regret = |totals: &Totals| totals.regret;
    let start = over.at(0.0, regret);
    let points = over.spreads(regret).into_iter().chain(under.spreads(regret));
    let farthest = points.map(|(_, spread)| (spread.mean - start.mean).abs()).fold(0.0, f64::max);
    claim(
        "flat-regret",
        "However many clients misreport, the regret stays the same.",
        format!("regret {} without misreports, at most {farthest:.2} away from that with any", plus_minus(start)),
        reproduced_if(farthest <= start.sd),
        COMMAND,
    )
}

fn communication(over: &Line, under: &Line) -> Verdict {
    let scalars = |totals: &Totals| totals.scalars as f64;
    let (start, all_over, all_under) = (over.at(0.0, scalars), over.at(100.0, scalars), under.at(100.0, scalars));
    let half = (over.at(50.0, scalars), under.at(50.0, scalars));
    let rises = half.1.mean > start.mean && all_under.mean > start.mean;
    let falls = half.0.mean < start.mean && all_over.mean < start.mean;
    claim(
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
    let incentive = |totals: &Totals| totals.incentive;
    let (start, end) = (over.at(0.0, incentive), over.at(100.0, incentive));
    claim(
        "collusion",
        "When all over-report together, the coordinator pays more.",
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
    let social = |totals: &Totals| totals.social_cost;
    let peak = |line: &Line| {
        let spreads = line.spreads(social);
        spreads.into_iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)).expect("shares were tried").0
    };
    let back = |line: &Line| {
        let (start, end) = (line.at(0.0, social), line.at(100.0, social));
        (end.mean - start.mean).abs() <= start.sd.max(end.sd)
    };
    let near_half = |percent: f64| (30.0..=70.0).contains(&percent);
    claim(
        "division",
        "The social cost is highest when about half of the clients misreport, and back where it was when all do.",
        format!(
            "over-reporting: highest at {} %, {} at 0 % and {} at 100 %; under-reporting: highest at {} %, {} and {}; \
             under clock over-reporting is highest at {} %",
            peak(over),
            plus_minus(over.at(0.0, social)),
            plus_minus(over.at(100.0, social)),
            peak(under),
            plus_minus(under.at(0.0, social)),
            plus_minus(under.at(100.0, social)),
            peak(clock),
        ),
        reproduced_if(near_half(peak(over)) && near_half(peak(under)) && back(over) && back(under)),
        COMMAND,
    )
}
