//! Growth of regret and rounds, monopoly-free coverage, and the two triggers.

use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, Verdict};
use truthfed_sim::experiment::{Spread, over_time};
use truthfed_sim::simulation::Run;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::lab::{Lab, REGRET, ROUNDS, SCALARS, against, measured, plus_minus, reproduced_if, series};
use super::single_rounds::exponent;

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("growth over time");
    let horizons: &[u64] = if lab.quick { &[500, 1000, 2000] } else { &[1000, 3162, 10_000, 31_623, 100_000] };
    let horizons = over(lab, "world.steps", horizons, |steps| 25.0 * 5.0 * libm::log(steps))?;
    let sizes: &[u64] = if lab.quick { &[10, 25] } else { &[10, 25, 50, 100] };
    let sizes = over(lab, "world.clients", sizes, |clients| clients * 5.0 * libm::log(lab.steps() as f64))?;
    let triggers = [lab.runs(&[])?, lab.runs(&[("rounds.trigger", "since-delivery")])?];
    let monopoly = lab.runs(&[("rounds.coverage", "monopoly-free")])?;
    let everyone = lab.runs(&[("rounds.mechanism", "everyone"), ("rounds.threshold", "2.62")])?;
    let text = "This section measures regret and rounds for horizons of 1,000 to 100,000 steps (clock), rounds for 10 \
                to 100 clients, and two readings of the trigger: a client measures what it has learned since the last \
                round it took part in, or since the last round it won, as in the pseudo-code.";
    let rounds = measured(&everyone, ROUNDS);
    let rounds = format!("With a threshold of 2.62 and the mechanism everyone there are {rounds} rounds.");
    let items = [growth_figure(&horizons, &sizes).into(), trigger_figure(&triggers).into()];
    let section = Section::new("growth", "Growth over time, and triggers", [text, &rounds], items);
    let bounded = rounds_bounded(&horizons, &sizes);
    let claims = vec![sublinear(&horizons), bounded, monopoly_free(&monopoly), trigger_claim(&triggers)];
    Ok(Part { section, claims })
}

/// The runs at one horizon or number of clients.
struct At {
    x: f64,
    /// The bound N d log T.
    bound: f64,
    runs: Vec<Run>,
}

/// The runs at each value of a key, with the bound there.
fn over(lab: &Lab, key: &str, values: &[u64], bound: impl Fn(f64) -> f64) -> Result<Vec<At>, WorldError> {
    let at = |(&value, runs): (&u64, Vec<Run>)| At { x: value as f64, bound: bound(value as f64), runs };
    Ok(values.iter().zip(lab.runs_with(&[], key, values)?).map(at).collect())
}

fn growth_figure(horizons: &[At], sizes: &[At]) -> Figure {
    let points = |ats: &[At], figure: fn(&Totals) -> f64| -> Vec<(f64, Spread)> {
        ats.iter().map(|at| (at.x, Spread::over(&at.runs, figure))).collect()
    };
    let bounds = |ats: &[At]| -> Vec<(f64, Spread)> {
        ats.iter().map(|at| (at.x, Spread { mean: at.bound, sd: 0.0 })).collect()
    };
    let chart = |title: &str, x: &str, y: &str, series| Chart::lines(title, Axis::log(x), Axis::log(y), series);
    let bounded = |ats: &[At]| vec![series("rounds", points(ats, ROUNDS)), series("N d log T", bounds(ats))];
    let caption = "Clock in the paper's setting. The bound is N d log T.";
    let charts = [
        chart("Regret", "steps T", "regret", vec![series("regret", points(horizons, REGRET))]),
        chart("Rounds over steps", "steps T", "rounds", bounded(horizons)),
        chart("Rounds over clients", "clients N", "rounds", bounded(sizes)),
    ];
    Figure::new("growth", "Growth of regret and rounds", caption, charts).in_columns(3)
}

fn trigger_figure([round, delivery]: &[Vec<Run>; 2]) -> Figure {
    let chart = |title: &str, y: &str, log: bool, figure: fn(&Totals) -> f64| {
        let lines = [("since-round", round), ("since-delivery", delivery)];
        let later =
            |points: Vec<(f64, Spread)>| points.into_iter().filter(move |(_, spread)| !log || spread.mean > 0.0);
        let series = lines.map(|(name, runs)| series(name, later(over_time(runs, figure)))).to_vec();
        let y = if log { Axis::log(y) } else { Axis::linear(y) };
        Chart::lines(title, Axis::linear("step"), y, series)
    };
    let caption = "A client measures since the last round it took part in, or since the last round it won. In the \
                   second reading a client that loses asks again at every step.";
    let charts =
        [chart("Regret", "cumulative regret", false, REGRET), chart("Communication", "scalars sent", true, SCALARS)];
    Figure::new("triggers", "Two readings of the trigger", caption, charts).in_columns(2)
}

fn sublinear(horizons: &[At]) -> Verdict {
    let regret = |at: &At| (at.x, Spread::over(&at.runs, REGRET).mean);
    let points: Vec<(f64, f64)> = horizons.iter().map(regret).collect();
    let found = exponent(&points);
    let claim = "Regret grows slower than linearly, about as the square root of T.";
    let measured = format!("regret grows as T^{found:.2} over the horizons tried");
    let command = "truthfed simulate --set world.steps=100000";
    Verdict::new("sublinear-regret", claim, measured, reproduced_if(found < 0.9), command)
}

fn rounds_bounded(horizons: &[At], sizes: &[At]) -> Verdict {
    let share = |at: &At| Spread::over(&at.runs, ROUNDS).mean / at.bound;
    let most = horizons.iter().chain(sizes).map(share).fold(0.0, f64::max);
    let claim = "The number of communication rounds is O(N d log T).";
    let measured = format!("at most {most:.3} N d log T rounds over all horizons and sizes tried");
    let command = "truthfed simulate --set world.clients=100";
    Verdict::new("rounds", claim, measured, reproduced_if(most <= 1.0), command)
}

fn monopoly_free(runs: &[Run]) -> Verdict {
    let essential = Spread::over(runs, |totals| totals.essential as f64);
    let claim = "With coverage (1 + t L^2 / (lambda d))^-d nobody is essential.";
    let measured = format!("{} essential winners, regret {}", plus_minus(essential), measured(runs, REGRET));
    let command = "truthfed simulate --set rounds.coverage=monopoly-free";
    Verdict::new("monopoly-free", claim, measured, reproduced_if(essential.mean == 0.0), command)
}

fn trigger_claim([round, delivery]: &[Vec<Run>; 2]) -> Verdict {
    let spreads = |figure| [round, delivery].map(|runs| Spread::over(runs, figure));
    let ([sent, sent_since_delivery], [regret, regret_since_delivery]) = (spreads(SCALARS), spreads(REGRET));
    let same = (regret.mean - regret_since_delivery.mean).abs() <= regret.sd + regret_since_delivery.sd;
    let tenth = sent.mean < sent_since_delivery.mean / 10.0;
    let claim = "Beyond the paper: measuring since the last round instead of the last delivery saves nine tenths of \
                 the communication at the same regret.";
    let measured =
        format!("scalars {}, regret {}", against(round, delivery, SCALARS), against(round, delivery, REGRET));
    let command = "truthfed simulate --set rounds.trigger=since-delivery";
    Verdict::new("triggers", claim, measured, reproduced_if(same && tenth), command)
}
