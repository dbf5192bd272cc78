//! Growth of regret and rounds, monopoly-free coverage, and the two triggers.

use truthfed::auction::RoundDocument;
use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, Verdict};
use truthfed_sim::experiment::{Spread, over_time};
use truthfed_sim::simulation::Run;
use truthfed_sim::totals::Totals;
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Cell, Claim, Number, Sample};
use super::lab::{
    Brief, Lab, REGRET, ROUNDS, SCALARS, against, each, mean, measured, palette, reading_changes, refuted_if,
    reproduced_if, series, simulate,
};
use super::readings::{READINGS, Reading, truth_fedban};
use super::single_rounds::exponent;

/// A round with monopoly-free coverage in which a client is essential to Algorithm 1 as printed.
pub(super) const MONOPOLY: &str = include_str!("counterexamples/monopoly.json");

/// Coverage at which the theorem's premise holds for 25 clients: c^(1-1/e) >= e^(-1/N).
const PREMISE: &str = "0.94";
/// The exponent of T up to which a ratio counts as bounded: less cannot be told from a constant over these horizons.
const BOUNDED: f64 = 0.1;

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("growth over time");
    let horizons: &[u64] = match (lab.quick, lab.thorough) {
        (true, _) => &[500, 1000, 2000],
        (_, true) => &[1000, 3162, 10_000, 31_623],
        _ => &[1000, 3162, 10_000],
    };
    let over = |coverage: &str| -> Result<Vec<Vec<At>>, WorldError> {
        READINGS.iter().map(|reading| over(lab, reading, coverage, horizons)).collect()
    };
    let (usual, premise) = (over("0.5")?, over(PREMISE)?);
    let monopoly: Vec<Vec<Brief>> = READINGS
        .iter()
        .map(|reading| lab.briefs(&reading_changes(reading, &[("rounds.coverage", "monopoly-free")]), lab.few()))
        .collect::<Result<_, _>>()?;
    let triggers = [lab.runs(&[])?, lab.runs(&[("rounds.trigger", "since-delivery")])?];
    let everyone = lab.runs(&[("rounds.mechanism", "everyone"), ("rounds.threshold", "2.62")])?;
    let text = format!(
        "This section measures regret and rounds of Truth-FedBan for horizons of {} to {} steps, under {} seeds each, and two \
         triggers: a client measures what it has learned since the last round it took part in, or since the last round it won, as \
         in the pseudo-code. O(...) leaves constants open, so a bound counts as kept if the ratio to it grows slower than \
         T^{BOUNDED}.",
        horizons[0],
        horizons[horizons.len() - 1],
        lab.few()
    );
    let rounds = measured(&everyone, ROUNDS);
    let rounds = format!("With a threshold of 2.62 and the mechanism everyone there are {rounds} rounds.");
    let items = [growth_figure(&usual).into(), trigger_figure(&triggers).into()];
    let section = Section::new("growth", "Growth over time, and triggers", [text, rounds], items);
    let claims = vec![
        bounded(
            lab,
            &usual,
            "rounds",
            "Theorem 10, Lemma 18",
            "The number of communication rounds is O(N d log T).",
            ROUNDS,
        ),
        bounded(lab, &usual, "communication-cost", "Theorem 10", "Communication is O(N² d³ log T).", SCALARS),
        bounded(
            lab,
            &usual,
            "sublinear-regret",
            "Theorem 10, Table 1",
            "Regret is O(d √T log T), at coverage 0.5.",
            REGRET,
        ),
        bounded(
            lab,
            &premise,
            "sublinear-regret-premise",
            "Theorem 10",
            "Regret is O(d √T log T) where its premise holds (coverage 0.94 for 25 clients).",
            REGRET,
        ),
        monopoly_free(lab, &monopoly),
    ];
    Ok(Part { section, claims, ours: vec![trigger_claim(&triggers)] })
}

/// The runs at one horizon.
struct At {
    steps: f64,
    runs: Vec<Brief>,
}

fn over(lab: &Lab, reading: &Reading, coverage: &str, horizons: &[u64]) -> Result<Vec<At>, WorldError> {
    let at = |steps: &u64| {
        let text = steps.to_string();
        let more = [("world.steps", text.as_str()), ("rounds.coverage", coverage)];
        Ok(At { steps: *steps as f64, runs: lab.briefs(&reading_changes(reading, &more), lab.few())? })
    };
    horizons.iter().map(at).collect()
}

/// What the bound of a figure is at a horizon, without its constant, for 25 clients in 5 dimensions.
fn bound_at(id: &str, steps: f64) -> f64 {
    let log = libm::log(steps);
    match id {
        "rounds" => 25.0 * 5.0 * log,
        "communication-cost" => 25.0 * 25.0 * 125.0 * log,
        _ => 5.0 * steps.sqrt() * log,
    }
}

fn bounded(
    lab: &Lab,
    readings: &[Vec<At>],
    id: &'static str,
    source: &'static str,
    claim: &str,
    figure: fn(&Totals) -> f64,
) -> Claim {
    let cell = |(reading, horizons): (&Reading, &Vec<At>)| {
        let ratio = |at: &At| (at.steps, mean(&at.runs, figure).mean / bound_at(id, at.steps));
        let ratios: Vec<(f64, f64)> = horizons.iter().map(ratio).collect();
        let growth = exponent(&ratios);
        let words: Vec<String> = ratios.iter().map(|(steps, ratio)| format!("{ratio:.3} at T = {steps}")).collect();
        let mut numbers: Vec<Number> = vec![Number::exact("exponent of T in the ratio to the bound", growth)];
        numbers.extend(ratios.iter().map(|(steps, ratio)| Number::exact(format!("ratio at T = {steps}"), *ratio)));
        let most = horizons.last().map_or(0.0, |at| at.steps).to_string();
        Cell {
            readings: vec![reading.name],
            verdict: reproduced_if(growth <= BOUNDED),
            measured: format!("times the bound: {}; the ratio grows as T^{growth:.2}", words.join(", ")),
            numbers,
            sample: Sample::runs(lab.few()),
            command: simulate(&reading_changes(reading, &[("world.steps", &most)]), lab.few()),
        }
    };
    let why = match id {
        "rounds" | "communication-cost" => "Since-delivery, clients that lost ask again at every step.",
        "sublinear-regret" => "The paper's experiments use 0.5, outside the premise.",
        _ => "",
    };
    Claim::new(id, source, claim, why, READINGS.iter().zip(readings).map(cell).collect())
}

/// Lemma 7 in a constructed round, and in runs.
fn monopoly_free(lab: &Lab, runs: &[Vec<Brief>]) -> Claim {
    let round = RoundDocument::read_round(MONOPOLY).expect("a valid round");
    let cell = |(reading, runs): (&Reading, &Vec<Brief>)| {
        let outcome = truth_fedban(reading.target, &[]).run(&round).expect("it never refuses");
        let most = outcome.winners().iter().map(|winner| winner.payment.to_f64()).fold(0.0, f64::max);
        let essential = mean(runs, |totals| totals.essential as f64);
        let is_broken = most >= round.reserve().to_f64() || essential.mean > 0.0;
        Cell {
            readings: vec![reading.name],
            verdict: refuted_if(is_broken),
            measured: format!(
                "constructed round (d = 1, lambda = 1, t = 10, coverage 1/11): highest payment {most:.0} of a reserve of 10000; in \
                 runs {} essential payments, regret {}",
                essential.words(),
                mean(runs, REGRET).words()
            ),
            numbers: vec![
                Number::exact("highest payment in the constructed round", most),
                Number::with_interval("essential payments in a run", essential),
            ],
            sample: Sample::runs(lab.few()),
            command: format!(
                "truthfed auction counterexamples/monopoly.json -m truth-fedban --target {}",
                reading.target
            ),
        }
    };
    let claim = "With coverage (1 + t L² / (λ d))^-d nobody is essential.";
    let why = "The proof is about log c; the printed target asks for more. Normalised, the target never asks for more than log c. \
               Such a coverage asks for almost nothing, and regret is several times as high.";
    Claim::new("monopoly-free", "Lemma 7", claim, why, READINGS.iter().zip(runs).map(cell).collect())
}

fn growth_figure(readings: &[Vec<At>]) -> Figure {
    let chart = |title: &str, y: &str, id: &str, figure: fn(&Totals) -> f64| {
        let line = |(reading, horizons): (&Reading, &Vec<At>)| {
            let point = |at: &At| {
                let bound = bound_at(id, at.steps);
                let Spread { mean, sd } = Spread::of(each(&at.runs, figure));
                (at.steps, Spread { mean: mean / bound, sd: sd / bound })
            };
            series(format!("truth-fedban, {}", reading.name), horizons.iter().map(point))
        };
        Chart::lines(title, Axis::log("steps T"), Axis::log(y), READINGS.iter().zip(readings).map(line))
    };
    let caption = "Regret and rounds of Truth-FedBan in each reading, divided by the bounds of Theorem 10 without their constants. \
                   A bound is kept where the line does not rise.";
    let charts = [
        chart("Regret", "regret / (d √T log T)", "regret", REGRET),
        chart("Rounds", "rounds / (N d log T)", "rounds", ROUNDS),
    ];
    Figure::new("growth", "Growth of regret and rounds", caption, charts).in_columns(2).with_palette(palette())
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

fn trigger_claim([round, delivery]: &[Vec<Run>; 2]) -> Verdict {
    let spreads = |figure| [round, delivery].map(|runs| Spread::over(runs, figure));
    let ([sent, sent_since_delivery], [regret, regret_since_delivery]) = (spreads(SCALARS), spreads(REGRET));
    let same = (regret.mean - regret_since_delivery.mean).abs() <= regret.sd + regret_since_delivery.sd;
    let tenth = sent.mean < sent_since_delivery.mean / 10.0;
    let claim = "Measuring since the last round instead of the last delivery saves nine tenths of \
                 the communication at the same regret.";
    let measured =
        format!("scalars {}, regret {}", against(round, delivery, SCALARS), against(round, delivery, REGRET));
    let command = "truthfed simulate --set rounds.trigger=since-delivery";
    Verdict::new("triggers", claim, measured, reproduced_if(same && tenth), command)
}
