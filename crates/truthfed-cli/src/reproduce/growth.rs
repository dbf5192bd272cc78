//! Growth of regret and rounds, monopoly-free coverage, and the two triggers.

use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, Verdict};
use truthfed_sim::experiment::{Spread, over_time};
use truthfed_sim::simulation::Run;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::lab::{Lab, REGRET, ROUNDS, SCALARS, measured, plus_minus, reproduced_if, series};
use super::single_rounds::exponent;

pub(super) fn run(lab: &Lab<'_>) -> Result<Part, WorldError> {
    lab.stage("growth over time");
    let horizons = horizons(lab)?;
    let sizes = sizes(lab)?;
    let triggers = triggers(lab)?;
    let monopoly = lab.runs(&[("rounds.coverage", "monopoly-free")])?;
    let everyone = lab.runs(&[("rounds.mechanism", "everyone"), ("rounds.threshold", "2.62")])?;
    let section = Section::new("growth", "Growth over time, and triggers", ["This section measures regret and rounds for horizons of 1,000 to 100,000 steps (clock), rounds for 10 to 100 \
             clients, and two readings of the trigger: a client measures what it has learned since the last round it took \
             part in, or since the last round it won, as in the pseudo-code."
                .to_owned(),
            format!(
                "With a threshold of 2.62 and the mechanism everyone there are {} rounds.",
                measured(&everyone, ROUNDS)
            )], [growth_figure(&horizons, &sizes).into(), trigger_figure(&triggers).into()]);
    let claims = vec![
        sublinear(&horizons),
        rounds_bounded(&horizons, &sizes),
        monopoly_free(&monopoly),
        trigger_claim(&triggers),
    ];
    Ok(Part { section, claims })
}

/// The runs at one horizon or number of clients.
struct At {
    x: f64,
    /// The bound N d log T.
    bound: f64,
    runs: Vec<Run>,
}

fn horizons(lab: &Lab<'_>) -> Result<Vec<At>, WorldError> {
    let horizons: &[u64] =
        if lab.options().quick { &[500, 1000, 2000] } else { &[1000, 3162, 10_000, 31_623, 100_000] };
    let configurations: Vec<_> = horizons.iter().map(|steps| vec![("world.steps", steps.to_string())]).collect();
    let runs = lab.runs_of(&configurations)?;
    let at = |(steps, runs): (&u64, Vec<Run>)| {
        let x = *steps as f64;
        At { x, bound: 25.0 * 5.0 * libm::log(x), runs }
    };
    Ok(horizons.iter().zip(runs).map(at).collect())
}

fn sizes(lab: &Lab<'_>) -> Result<Vec<At>, WorldError> {
    let sizes: &[u64] = if lab.options().quick { &[10, 25] } else { &[10, 25, 50, 100] };
    let configurations: Vec<_> = sizes.iter().map(|clients| vec![("world.clients", clients.to_string())]).collect();
    let runs = lab.runs_of(&configurations)?;
    let bound = |clients: f64| clients * 5.0 * libm::log(lab.steps() as f64);
    let at = |(clients, runs): (&u64, Vec<Run>)| At { x: *clients as f64, bound: bound(*clients as f64), runs };
    Ok(sizes.iter().zip(runs).map(at).collect())
}

fn triggers(lab: &Lab<'_>) -> Result<[Vec<Run>; 2], WorldError> {
    Ok([lab.runs(&[])?, lab.runs(&[("rounds.trigger", "since-delivery")])?])
}

fn growth_figure(horizons: &[At], sizes: &[At]) -> Figure {
    let points = |ats: &[At], figure: fn(&Totals) -> f64| -> Vec<(f64, Spread)> {
        ats.iter().map(|at| (at.x, Spread::over(&at.runs, figure))).collect()
    };
    let bounds = |ats: &[At]| -> Vec<(f64, Spread)> {
        ats.iter().map(|at| (at.x, Spread { mean: at.bound, sd: 0.0 })).collect()
    };
    let chart = |title: &str, x: &str, y: &str, series| Chart::lines(title, Axis::log(x), Axis::log(y), series);
    Figure::new(
        "growth",
        "Growth of regret and rounds",
        "Clock in the paper's setting. The bound is N d log T.",
        [
            chart("Regret", "steps T", "regret", vec![series("regret", points(horizons, REGRET))]),
            chart(
                "Rounds over steps",
                "steps T",
                "rounds",
                vec![series("rounds", points(horizons, ROUNDS)), series("N d log T", bounds(horizons))],
            ),
            chart(
                "Rounds over clients",
                "clients N",
                "rounds",
                vec![series("rounds", points(sizes, ROUNDS)), series("N d log T", bounds(sizes))],
            ),
        ],
    )
    .in_columns(3)
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
    Figure::new(
        "triggers",
        "Two readings of the trigger",
        "A client measures since the last round it took part in, or since the last round it won. In the second \
                  reading a client that loses asks again at every step.",
        [chart("Regret", "cumulative regret", false, REGRET), chart("Communication", "scalars sent", true, SCALARS)],
    )
    .in_columns(2)
}

fn sublinear(horizons: &[At]) -> Verdict {
    let regret = |at: &At| (at.x, Spread::over(&at.runs, REGRET).mean);
    let points: Vec<(f64, f64)> = horizons.iter().map(regret).collect();
    let found = exponent(&points);
    Verdict::new(
        "sublinear-regret",
        "Regret grows slower than linearly, about as the square root of T.",
        format!("regret grows as T^{found:.2} over the horizons tried"),
        reproduced_if(found < 0.9),
        "truthfed simulate --set world.steps=100000",
    )
}

fn rounds_bounded(horizons: &[At], sizes: &[At]) -> Verdict {
    let share = |at: &At| Spread::over(&at.runs, ROUNDS).mean / at.bound;
    let most = horizons.iter().chain(sizes).map(share).fold(0.0, f64::max);
    Verdict::new(
        "rounds",
        "The number of communication rounds is O(N d log T).",
        format!("at most {most:.3} N d log T rounds over all horizons and sizes tried"),
        reproduced_if(most <= 1.0),
        "truthfed simulate --set world.clients=100",
    )
}

fn monopoly_free(runs: &[Run]) -> Verdict {
    let essential = Spread::over(runs, |totals| totals.essential as f64);
    Verdict::new(
        "monopoly-free",
        "With coverage (1 + t L^2 / (lambda d))^-d nobody is essential.",
        format!("{} essential winners, regret {}", plus_minus(essential), measured(runs, REGRET)),
        reproduced_if(essential.mean == 0.0),
        "truthfed simulate --set rounds.coverage=monopoly-free",
    )
}

fn trigger_claim([round, delivery]: &[Vec<Run>; 2]) -> Verdict {
    let scalars = |runs: &[Run]| Spread::over(runs, SCALARS);
    let regret = |runs: &[Run]| Spread::over(runs, REGRET);
    let same = (regret(round).mean - regret(delivery).mean).abs() <= regret(round).sd + regret(delivery).sd;
    let tenth = scalars(round).mean < scalars(delivery).mean / 10.0;
    Verdict::new(
        "triggers",
        "Beyond the paper: measuring since the last round instead of the last delivery saves nine tenths of the \
         communication at the same regret.",
        format!(
            "scalars {} against {}, regret {} against {}",
            plus_minus(scalars(round)),
            plus_minus(scalars(delivery)),
            plus_minus(regret(round)),
            plus_minus(regret(delivery)),
        ),
        reproduced_if(same && tenth),
        "truthfed simulate --set rounds.trigger=since-delivery",
    )
}
