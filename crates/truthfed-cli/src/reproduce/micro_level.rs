//! Figures 1c and 1d: what one client gains by misreporting while all others are truthful.

use rayon::prelude::*;
use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure};
use truthfed_report::page::Section;
use truthfed_sim::config::Behaviour;
use truthfed_sim::simulation::{ClientTotals, Simulation, behaviours};
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Cell, Claim, Number, Sample};
use super::interval::Interval;
use super::lab::{Brief, Lab, label, palette, reading_changes, reproduced_if, signed};
use super::methods::Methods;
use super::readings::{READINGS, TRIGGERS, with_trigger};

/// Name, behaviour and factor. The paper gives no factors; 2 and 0.5 are ours.
const REPORTS: [(&str, &str, &str); 2] = [("over ×2", "over", "2"), ("under ×0.5", "under", "0.5")];

/// One client of each seed under a mechanism: with the truth, over- and under-reporting.
struct Outcome {
    name: String,
    truth: Vec<ClientTotals>,
    lies: Vec<Vec<ClientTotals>>,
}

impl Outcome {
    fn utility(clients: &[ClientTotals]) -> Interval {
        Interval::of(clients.iter().map(ClientTotals::utility))
    }

    /// The gain of a report over the truth, seed by seed.
    fn gain(&self, report: usize) -> Interval {
        let utilities = |clients: &[ClientTotals]| clients.iter().map(ClientTotals::utility).collect::<Vec<_>>();
        Interval::paired(&utilities(&self.lies[report]), &utilities(&self.truth))
    }

    fn words(&self) -> String {
        let [over, under] = [0, 1].map(|report| {
            format!("{} (seed by seed {})", Outcome::utility(&self.lies[report]).words(), self.gain(report).signed())
        });
        format!("utility with the truth {}, over {over}, under {under}", Outcome::utility(&self.truth).words())
    }

    fn numbers(&self) -> Vec<Number> {
        vec![
            Number::with_interval("utility with the truth", Outcome::utility(&self.truth)),
            Number::with_interval("gain by over-reporting", self.gain(0)),
            Number::with_interval("gain by under-reporting", self.gain(1)),
            Number::with_interval("utility when under-reporting", Outcome::utility(&self.lies[1])),
        ]
    }
}

pub(super) fn run(lab: &Lab, methods: &Methods) -> Result<Part, WorldError> {
    lab.stage("misreporting of one client");
    let readings = READINGS.iter().zip(&methods.readings).map(|(reading, truth)| {
        let name = format!("{} {}", label("truth-fedban"), reading.name);
        outcome(lab, name, &reading_changes(reading, &[]), truth)
    });
    let readings: Vec<Outcome> = readings.collect::<Result<_, _>>()?;
    let greedy = TRIGGERS.iter().zip(&methods.greedy).map(|(trigger, truth)| {
        let changes = [("rounds.mechanism", "greedy"), ("rounds.trigger", trigger)];
        outcome(lab, format!("greedy {trigger}"), &changes, truth)
    });
    let greedy: Vec<Outcome> = greedy.collect::<Result<_, _>>()?;
    let text = "One client, drawn by the seed, reports twice or half its true cost in every round; the others tell the \
                truth. The paper does not state its factors. Differences are taken seed by seed: the same client in the \
                same world with the truth.";
    let section = Section::new("micro", "One client misreports", [text], [figure(&readings, &greedy).into()]);
    Ok(Part { section, claims: claims(lab, &readings, &greedy), ours: Vec::new() })
}

fn outcome(lab: &Lab, name: String, changes: &[(&str, &str)], truth: &[Brief]) -> Result<Outcome, WorldError> {
    let lies = REPORTS.iter().map(|(_, kind, factor)| one_client(lab, changes, kind, factor));
    let truth = (1..).zip(truth).map(|(seed, run)| run.clients[drawn(lab, seed)]).collect();
    Ok(Outcome { name, truth, lies: lies.collect::<Result<_, _>>()? })
}

/// The client that a share of 4 % of 25 clients draws: the same one in every case.
fn drawn(lab: &Lab, seed: u64) -> usize {
    let one = lab.config(&[("behaviour.kind", "long-run"), ("behaviour.share", "0.04")]);
    let kinds = behaviours(&one, seed);
    kinds.iter().position(|&kind| kind != Behaviour::Truthful).expect("a share of 4 % draws one")
}

/// The totals of the client that each seed draws, if it behaves this way.
fn one_client(lab: &Lab, changes: &[(&str, &str)], kind: &str, factor: &str) -> Result<Vec<ClientTotals>, WorldError> {
    let config = lab.config(&[changes, &[("behaviour.kind", kind), ("behaviour.factor", factor)]].concat());
    let run = |seed: u64| {
        let one = drawn(lab, seed);
        let mut all = vec![Behaviour::Truthful; config.raw().world.clients];
        all[one] = config.raw().behaviour.kind;
        Ok(Simulation::new(&config, seed)?.with_behaviours(all).run().clients[one])
    };
    (1..=lab.seeds).into_par_iter().map(run).collect()
}

fn figure(readings: &[Outcome], greedy: &[Outcome]) -> Figure {
    let chart = |title: &str, outcomes: &[Outcome], mechanism: &str| {
        let group = |outcome: &Outcome| {
            let scale = 100.0 / Outcome::utility(&outcome.truth).mean.abs().max(1e-9);
            let bar = |(report, (name, ..)): (usize, &(&str, &str, &str))| {
                let Interval { mean, half } = outcome.gain(report);
                let (height, sd) = (scale * mean, scale * half);
                Bar { name: format!("{mechanism}, {name}"), height, sd, label: Some(signed(height)) }
            };
            let name = outcome.name.rsplit(' ').next().unwrap_or_default();
            BarGroup::new(name, REPORTS.iter().enumerate().map(bar))
        };
        Chart::bars(title, Axis::linear("gain over the truth, %"), outcomes.iter().map(group))
    };
    let caption = "Figures 1c and 1d of the paper, as differences: what a client gains by asking twice or half its cost in \
                   every round, in percent of what the truth earns it, with 95 % intervals. The letters are readings.";
    let charts = [chart("Truth-FedBan", readings, "truth-fedban"), chart("Greedy", greedy, "greedy")];
    Figure::new("figure-1cd", "What one client gains by misreporting", caption, charts)
        .in_columns(2)
        .with_palette(palette())
}

const COMMAND: &str =
    "--set behaviour.kind=over --set behaviour.factor=2 --set behaviour.share=0.04 --out one  # see one/clients.csv";

fn claims(lab: &Lab, readings: &[Outcome], greedy: &[Outcome]) -> Vec<Claim> {
    let own = |holds: fn(&Outcome) -> bool| -> Vec<Cell> {
        let cell = |(reading, outcome): (&super::readings::Reading, &Outcome)| Cell {
            readings: vec![reading.name],
            verdict: reproduced_if(holds(outcome)),
            measured: outcome.words(),
            numbers: outcome.numbers(),
            sample: Sample::runs(lab.seeds),
            command: format!(
                "truthfed simulate --set rounds.mechanism=truth-fedban --set rounds.target={} --set rounds.trigger={} {COMMAND}",
                reading.target, reading.trigger
            ),
        };
        READINGS.iter().zip(readings).map(cell).collect()
    };
    let of_greedy = |holds: fn(&Outcome) -> bool| -> Vec<Cell> {
        let cell = |(trigger, outcome): (&&str, &Outcome)| Cell {
            readings: with_trigger(trigger),
            verdict: reproduced_if(holds(outcome)),
            measured: outcome.words(),
            numbers: outcome.numbers(),
            sample: Sample::runs(lab.seeds),
            command: format!(
                "truthfed simulate --set rounds.mechanism=greedy --set rounds.trigger={trigger} {COMMAND}"
            ),
        };
        TRIGGERS.iter().zip(greedy).map(cell).collect()
    };
    let no_gain = |outcome: &Outcome| !outcome.gain(0).is_above(0.0) && !outcome.gain(1).is_above(0.0);
    let negative = |outcome: &Outcome| Outcome::utility(&outcome.lies[1]).is_below(0.0);
    let more = |outcome: &Outcome| outcome.gain(0).is_above(0.0);
    vec![
        Claim::new(
            "no-gain",
            "Figure 1c",
            "Over whole runs, a client gains nothing by misreporting under Truth-FedBan.",
            "An average over runs: single rounds reward lies (Theorem 8).",
            own(no_gain),
        ),
        Claim::new(
            "under-reporting-negative",
            "Figure 1c",
            "A client that under-reports under Truth-FedBan ends with a negative utility.",
            "Under-reporting costs money wherever it makes a client sell below its cost; payments to essential clients \
             can outweigh that.",
            own(negative),
        ),
        Claim::new(
            "greedy-over-reporting",
            "Figure 1d",
            "A client that over-reports under plain greedy ends with a slightly higher utility.",
            "In each single round the truth is the best ask under greedy; what is gained comes from selling less often.",
            of_greedy(more),
        ),
        Claim::new(
            "greedy-under-reporting-negative",
            "Figure 1d",
            "A client that under-reports under plain greedy ends with a negative utility.",
            "",
            of_greedy(negative),
        ),
    ]
}
