//! The orders of Theorem 10, Lemma 18 and Table 1: how regret, rounds and communication grow with T, N and d.
//!
//! O(...) leaves constants open. A bound counts as kept if the ratio to it does not grow with T, N or d, each alone: a power is
//! fitted to the ratio seed by seed over all sizes, and each of the three exponents must be at most [`BOUNDED`]. Growth with T
//! contradicts the bound; growth with N or d over a factor of ten, far below the bound, leaves it undecided. The mean ratio at
//! every size is printed, and so is the exponent over the upper sizes alone, which judges nothing: regret and rounds rise in
//! steps, and a few sizes can lie on one step.

use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::VerdictKind;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::claim::{Claim, Evidence, Number, Sample};
use super::decision::Side;
use super::interval::Interval;
use super::lab::{Brief, Lab, REGRET, ROUNDS, SCALARS, each, palette, reading_changes, series, sets};
use super::readings::{READINGS, Reading, TRIGGERS, with_trigger};
use super::single_rounds::exponent;

/// The exponent up to which a ratio counts as bounded: less cannot be told from a constant over these ranges.
pub(super) const BOUNDED: f64 = 0.1;
/// Another mechanism of Table 1.
struct Baseline {
    /// Of its row.
    id: &'static str,
    mechanism: &'static str,
    name: &'static str,
}

const BASELINES: [Baseline; 2] = [
    Baseline { id: "dislinucb-orders", mechanism: "everyone", name: "DisLinUCB" },
    Baseline { id: "inc-feducb-orders", mechanism: "inc-feducb", name: "Inc-FedUCB (reconstructed)" },
];

fn baseline_changes<'a>(mechanism: &'a str, trigger: &'a str) -> [(&'a str, &'a str); 2] {
    [("rounds.mechanism", mechanism), ("rounds.trigger", trigger)]
}

/// The size of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    steps: u64,
    clients: u64,
    dimension: u64,
}

/// What varies while the others stay: its name in the paper, and its value.
type Variable = (&'static str, fn(&Size) -> u64);

const VARIABLES: [Variable; 3] = [("T", |size| size.steps), ("N", |size| size.clients), ("d", |size| size.dimension)];

/// All sizes at which something is measured; the first is the one around which the others vary.
fn sizes(lab: &Lab) -> Vec<Size> {
    let (steps, clients, dimensions): (&[u64], &[u64], &[u64]) = match (lab.quick, lab.thorough) {
        (true, _) => (&[1000, 500, 2000], &[5], &[2]),
        (_, true) => (&[3162, 1000, 1778, 5623, 10_000, 17_783, 31_623], &[5, 10, 50], &[2, 10]),
        _ => (&[3162, 1000, 1778, 5623, 10_000], &[5, 10, 50], &[2, 10]),
    };
    let usual = Size { steps: steps[0], clients: 25, dimension: 5 };
    let longer = steps.iter().map(|steps| Size { steps: *steps, ..usual });
    let larger = clients.iter().map(|clients| Size { clients: *clients, ..usual });
    let deeper = dimensions.iter().map(|dimension| Size { dimension: *dimension, ..usual });
    longer.chain(larger).chain(deeper).collect()
}

/// Where the target lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// At coverage 0.5, as in the paper's experiments.
    Usual,
    /// Where the premise of Theorem 10 on regret holds: c^(1-1/e) >= e^(-1/N), in hundredths.
    Premise,
}

impl Target {
    fn coverage(self, clients: u64) -> f64 {
        let share = clients as f64 * (1.0 - 1.0 / std::f64::consts::E);
        match self {
            Target::Usual => 0.5,
            Target::Premise => (100.0 * libm::exp(-1.0 / share)).ceil() / 100.0,
        }
    }
}

/// The runs of one size.
struct At {
    size: Size,
    runs: Vec<Brief>,
}

/// The runs of all sizes; the first is the one around which the others vary.
struct Grid(Vec<At>);

impl Grid {
    fn measure(lab: &Lab, changes: &[(&str, &str)], target: Target) -> Result<Grid, WorldError> {
        let at = |size: Size| {
            let own = own_changes(size, target);
            let own: Vec<(&str, &str)> = own.iter().map(|(key, value)| (*key, value.as_str())).collect();
            Ok(At { size, runs: lab.briefs(&[changes, &own].concat(), lab.judged())? })
        };
        Ok(Grid(sizes(lab).into_iter().map(at).collect::<Result<_, _>>()?))
    }

    /// The command that runs all sizes again.
    fn command(&self, lab: &Lab, changes: &[(&str, &str)], target: Target) -> String {
        let values = |at: &At| format!("\"{}\"", own_changes(at.size, target).map(|(_, value)| value).join(" "));
        let sizes: Vec<String> = self.0.iter().map(values).collect();
        let own = own_changes(self.0[0].size, target).map(|(key, _)| key);
        let own: Vec<String> = (1..).zip(own).map(|(place, key)| format!("--set {key}=${place}")).collect();
        let (sizes, own, changes) = (sizes.join(" "), own.join(" "), sets(changes));
        format!(
            "for size in {sizes}; do set -- $size; truthfed simulate {changes} {own} --seeds {}; done",
            lab.judged()
        )
    }

    /// Those in which only one variable differs from the usual size, in its order.
    fn along(&self, variable: &str) -> Vec<(f64, &At)> {
        let usual = &self.0[0].size;
        let is_same = |at: &&At| VARIABLES.iter().all(|(name, of)| *name == variable || of(&at.size) == of(usual));
        let (_, of) = VARIABLES.iter().find(|(name, _)| *name == variable).expect("a variable");
        let mut along: Vec<(f64, &At)> = self.0.iter().filter(is_same).map(|at| (of(&at.size) as f64, at)).collect();
        along.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        along
    }
}

fn own_changes(size: Size, target: Target) -> [(&'static str, String); 4] {
    [
        ("world.steps", size.steps.to_string()),
        ("world.clients", size.clients.to_string()),
        ("world.dimension", size.dimension.to_string()),
        ("rounds.coverage", target.coverage(size.clients).to_string()),
    ]
}

/// A bound without its constant.
type Order = fn(&Size) -> f64;

fn log_steps(size: &Size) -> f64 {
    libm::log(size.steps as f64)
}

const ROUND_ORDER: Order = |size| (size.clients * size.dimension) as f64 * log_steps(size);
const SCALAR_ORDER: Order = |size| (size.clients.pow(2) * size.dimension.pow(3)) as f64 * log_steps(size);
const REGRET_ORDER: Order = |size| size.dimension as f64 * (size.steps as f64).sqrt() * log_steps(size);

/// A bound of the paper on something that grows.
struct Bound {
    id: &'static str,
    source: &'static str,
    claim: &'static str,
    why: &'static str,
    figure: fn(&Totals) -> f64,
    order: Order,
    target: Target,
}

const BOUNDS: [Bound; 4] = [
    Bound {
        id: "rounds",
        source: "Theorem 10, Lemma 18",
        claim: "The number of communication rounds is O(N d log T).",
        why: "Since-delivery, clients that lost ask again at every step. Since-round, rounds do not grow with N, and somewhat faster \
              than d, a long way below the bound: some constant may well hold at every d.",
        figure: ROUNDS,
        order: ROUND_ORDER,
        target: Target::Usual,
    },
    Bound {
        id: "communication-cost",
        source: "Theorem 10, Table 1",
        claim: "Communication is O(N² d³ log T).",
        why: "Since-delivery, clients that lost ask again at every step.",
        figure: SCALARS,
        order: SCALAR_ORDER,
        target: Target::Usual,
    },
    Bound {
        id: "sublinear-regret",
        source: "Theorem 10, Table 1",
        claim: "Regret is O(d √T log T), at coverage 0.5.",
        why: "The paper's experiments use 0.5, outside the premise. The threshold grows with T, so the first round comes later and \
              regret rises in steps: the whole range decides, not two horizons.",
        figure: REGRET,
        order: REGRET_ORDER,
        target: Target::Usual,
    },
    Bound {
        id: "sublinear-regret-premise",
        source: "Theorem 10",
        claim: "Regret is O(d √T log T) where its premise holds (coverage 0.94 for 25 clients).",
        why: "",
        figure: REGRET,
        order: REGRET_ORDER,
        target: Target::Premise,
    },
];

/// How the ratio of a figure to a bound grows with one variable while the others stay.
struct Growth {
    variable: &'static str,
    /// The values of the variable, and the ratio at each.
    ratios: Vec<(f64, Interval)>,
    /// Fitted seed by seed, over all values: it decides.
    exponent: Interval,
    /// The same from the middle value on.
    upper: Interval,
}

impl Growth {
    fn of(variable: &'static str, grid: &Grid, figure: fn(&Totals) -> f64, order: Order) -> Growth {
        let along = grid.along(variable);
        // A run without a single round would have no logarithm.
        let ratio = |at: &At, seed: usize| figure(&at.runs[seed].totals()).max(1e-3) / order(&at.size);
        let seeds = along.iter().map(|(_, at)| at.runs.len()).min().unwrap_or(0);
        let fitted = |sizes: &[(f64, &At)]| {
            let points = |seed: usize| sizes.iter().map(|(value, at)| (*value, ratio(at, seed))).collect::<Vec<_>>();
            Interval::of((0..seeds).map(|seed| exponent(&points(seed))))
        };
        Growth {
            variable,
            ratios: along
                .iter()
                .map(|(value, at)| (*value, Interval::of((0..seeds).map(|it| ratio(at, it)))))
                .collect(),
            exponent: fitted(&along),
            upper: fitted(&along[(along.len() - 1) / 2..]),
        }
    }

    fn words(&self) -> String {
        let Growth { variable, ratios, exponent, upper } = self;
        let at: Vec<String> = ratios.iter().map(|(value, ratio)| format!("{:.4} at {value}", ratio.mean)).collect();
        let middle = ratios[(ratios.len() - 1) / 2].0;
        let (at, exponent, upper) = (at.join(", "), exponent.words(), upper.words());
        format!("{variable} to the {exponent} ({at}; from {middle} on alone, to the {upper})")
    }

    fn numbers(&self, what: &str) -> Vec<Number> {
        let Growth { variable, ratios, exponent, upper } = self;
        let middle = ratios[(ratios.len() - 1) / 2].0;
        let name = format!("exponent of {variable} in the ratio of {what} to the bound");
        let from = format!("the same from {variable} = {middle} on");
        let at = ratios.iter().map(|(value, ratio)| {
            Number::with_interval(format!("ratio of {what} to the bound at {variable} = {value}"), *ratio)
        });
        // N and d vary by a factor of ten or less, far below the bounds.
        let otherwise = if *variable == "T" { VerdictKind::NotReproduced } else { VerdictKind::Undecided };
        let deciding = Number::with_interval(name, *exponent).claimed(Side::AtMost(BOUNDED), otherwise);
        let exponents = [deciding, Number::with_interval(from, *upper)];
        exponents.into_iter().chain(at).collect()
    }
}

/// How a figure compares with a bound as T, N and d grow, each alone.
struct Grown {
    what: String,
    by_variable: Vec<Growth>,
}

impl Grown {
    fn of(what: &str, grid: &Grid, figure: fn(&Totals) -> f64, order: Order) -> Grown {
        let by_variable = VARIABLES.iter().map(|(variable, _)| Growth::of(variable, grid, figure, order)).collect();
        Grown { what: what.to_owned(), by_variable }
    }

    fn words(&self, grid: &Grid) -> String {
        let Size { steps, clients, dimension } = grid.0[0].size;
        let growth: Vec<String> = self.by_variable.iter().map(Growth::words).collect();
        let (what, growth) = (&self.what, growth.join("; "));
        format!("around T = {steps}, N = {clients}, d = {dimension} the ratio of {what} to the bound grows as {growth}")
    }

    fn numbers(&self) -> Vec<Number> {
        self.by_variable.iter().flat_map(|growth| growth.numbers(&self.what)).collect()
    }
}

/// Everything that was measured.
pub(super) struct Orders {
    usual: Vec<Grid>,
    premise: Vec<Grid>,
    /// By trigger, then by mechanism.
    baselines: Vec<Vec<Grid>>,
}

impl Orders {
    pub(super) fn measure(lab: &Lab) -> Result<Orders, WorldError> {
        let own = |target: Target| -> Result<Vec<Grid>, WorldError> {
            let grid = |reading: &Reading| Grid::measure(lab, &reading_changes(reading, &[]), target);
            READINGS.iter().map(grid).collect()
        };
        let with = |trigger: &&str| -> Result<Vec<Grid>, WorldError> {
            let grid =
                |baseline: &Baseline| Grid::measure(lab, &baseline_changes(baseline.mechanism, trigger), Target::Usual);
            BASELINES.iter().map(grid).collect()
        };
        Ok(Orders {
            usual: own(Target::Usual)?,
            premise: own(Target::Premise)?,
            baselines: TRIGGERS.iter().map(with).collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn claims(&self, lab: &Lab) -> Vec<Claim> {
        let own = BOUNDS.iter().map(|bound| self.bounded(lab, bound));
        let baselines = (0..BASELINES.len()).map(|place| self.of_baseline(lab, place));
        std::iter::once(self.sublinear(lab)).chain(own).chain(baselines).collect()
    }

    /// Growth with T alone, less than with any bound.
    fn sublinear(&self, lab: &Lab) -> Claim {
        let cell = |(reading, grid): (&Reading, &Grid)| {
            let (mut words, mut numbers) = (Vec::new(), Vec::new());
            for (what, figure) in [("regret", REGRET), ("communication", SCALARS)] {
                let Growth { exponent, ratios, .. } = Growth::of("T", grid, figure, |_| 1.0);
                let at: Vec<String> =
                    ratios.iter().map(|(steps, mean)| format!("{} at {steps}", mean.words())).collect();
                words.push(format!("{what} grows as T to the {} ({})", exponent.words(), at.join(", ")));
                numbers.push(Number::deciding(format!("exponent of T in {what}"), exponent, Side::Below(1.0)));
                numbers.extend(
                    ratios.iter().map(|(steps, mean)| Number::with_interval(format!("{what} at T = {steps}"), *mean)),
                );
            }
            let command = grid.command(lab, &reading_changes(reading, &[]), Target::Usual);
            Evidence::new(words.join("; "), numbers, Sample::runs(lab.judged()), command).under(vec![reading.name])
        };
        let cells = READINGS.iter().zip(&self.usual).map(cell).collect();
        let claim = "The regret and the communication of Truth-FedBan are sub-linear in T, at coverage 0.5.";
        let why = "Since-delivery, clients that lost ask again at every step.";
        Claim::new("sub-linear", "Abstract, Figure 1a", claim, why, cells)
    }

    fn bounded(&self, lab: &Lab, bound: &Bound) -> Claim {
        let grids = if bound.target == Target::Usual { &self.usual } else { &self.premise };
        let cell = |(reading, grid): (&Reading, &Grid)| {
            let grown = Grown::of("it", grid, bound.figure, bound.order);
            let command = grid.command(lab, &reading_changes(reading, &[]), bound.target);
            let evidence = Evidence::new(grown.words(grid), grown.numbers(), Sample::runs(lab.judged()), command);
            evidence.under(vec![reading.name])
        };
        let cells = READINGS.iter().zip(grids).map(cell).collect();
        Claim::new(bound.id, bound.source, bound.claim, bound.why, cells)
    }

    /// Another row of Table 1.
    fn of_baseline(&self, lab: &Lab, place: usize) -> Claim {
        let Baseline { id, mechanism, name } = BASELINES[place];
        let cell = |(trigger, grids): (&&str, &Vec<Grid>)| {
            let grid = &grids[place];
            let bounds = [("regret", REGRET, REGRET_ORDER), ("communication", SCALARS, SCALAR_ORDER)];
            let grown = bounds.map(|(what, figure, order)| Grown::of(what, grid, figure, order));
            let words = grown.each_ref().map(|grown| grown.words(grid)).join(". ");
            let numbers = grown.iter().flat_map(Grown::numbers).collect();
            let command = grid.command(lab, &baseline_changes(mechanism, trigger), Target::Usual);
            Evidence::new(words, numbers, Sample::runs(lab.judged()), command).under(with_trigger(trigger))
        };
        let cells = TRIGGERS.iter().zip(&self.baselines).map(cell).collect();
        let claim = format!("{name} has a regret of O(d √T log T) and a communication of O(N² d³ log T).");
        let why = "Regret rises in steps, as that of Truth-FedBan: the whole range decides.";
        Claim::new(id, "Table 1", claim, why, cells)
    }

    pub(super) fn figure(&self) -> Figure {
        let chart = |variable: &'static str, y: &str, figure: fn(&Totals) -> f64, order: Order| {
            let line = |(reading, grid): (&Reading, &Grid)| {
                let ratios =
                    |at: &At| each(&at.runs, figure).into_iter().map(|value| value / order(&at.size)).collect();
                let points = grid.along(variable).into_iter().map(|(value, at)| (value, ratios(at)));
                series(format!("truth-fedban, {}", reading.name), points.collect::<Vec<_>>())
            };
            let lines = READINGS.iter().zip(&self.usual).map(line);
            Chart::lines("", Axis::log(variable), Axis::log(y), lines)
        };
        let caption = "Regret and rounds of Truth-FedBan in each reading, divided by the bounds of Theorem 10 without their constants, \
                       with 95 % intervals, as one of T, N and d varies. A bound counts as kept where none of its three \
                       lines rises over the whole range; the threshold grows with T, which makes steps.";
        let regret = |variable| chart(variable, "regret / (d √T log T)", REGRET, REGRET_ORDER);
        let rounds = |variable| chart(variable, "rounds / (N d log T)", ROUNDS, ROUND_ORDER);
        let charts = VARIABLES.map(|(name, _)| regret(name)).into_iter().chain(VARIABLES.map(|(name, _)| rounds(name)));
        Figure::new("growth", "Growth of regret and rounds", caption, charts).in_columns(3).with_palette(palette())
    }

    /// What was varied, in words.
    pub(super) fn ranges(&self) -> String {
        let range = |(variable, _): &Variable| {
            let along = self.usual[0].along(variable);
            let ends = [along.first(), along.last()].map(|end| end.map_or(0.0, |(value, _)| *value));
            format!("{variable} from {} to {}", ends[0], ends[1])
        };
        VARIABLES.iter().map(range).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_premise_on_coverage_holds_at_every_number_of_clients() {
        for (clients, expected) in [(5, 0.73), (10, 0.86), (25, 0.94), (50, 0.97)] {
            let coverage = Target::Premise.coverage(clients);
            assert_eq!(coverage, expected);
            let share = 1.0 - 1.0 / std::f64::consts::E;
            assert!(coverage.powf(share) >= libm::exp(-1.0 / clients as f64), "{clients}");
        }
    }
}
