//! Figures 1c and 1d: what one client gains by misreporting while all others are truthful.

use rayon::prelude::*;
use truthfed::Amount;
use truthfed::auction::{Mechanism, RoundDocument, TruthFedBan};
use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure};
use truthfed_report::page::{Section, Verdict};
use truthfed_sim::config::Behaviour;
use truthfed_sim::experiment::Spread;
use truthfed_sim::simulation::{ClientTotals, Simulation, behaviours};
use truthfed_sim::world::WorldError;

use super::Part;
use super::lab::{Lab, label, plus_minus, refuted_if, reproduced_if};

const METHODS: [&str; 3] = ["truth-fedban", "greedy", "clock"];
/// Name, behaviour and factor. The paper gives no factors; 2 and 0.5 are ours.
const REPORTS: [(&str, &str, &str); 3] =
    [("truth", "truthful", "1"), ("over ×2", "over", "2"), ("under ×0.5", "under", "0.5")];
/// A round in which Algorithm 1 as printed rewards a lie.
pub(super) const COUNTEREXAMPLE: &str = include_str!("counterexamples/printed-grid.json");

/// The one client's totals under each report, seed by seed, for one mechanism.
struct Outcome {
    method: &'static str,
    reports: Vec<Vec<ClientTotals>>,
}

impl Outcome {
    fn spreads(&self, figure: fn(&ClientTotals) -> f64) -> Vec<Spread> {
        self.reports.iter().map(|totals| Spread::of(totals.iter().map(figure))).collect()
    }

    /// The gain of a report over the truth, seed by seed.
    fn gain(&self, report: usize) -> Spread {
        let pairs = self.reports[report].iter().zip(&self.reports[0]);
        Spread::of(pairs.map(|(lie, truth)| lie.utility() - truth.utility()))
    }
}

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("misreporting of one client");
    let outcome = |method: &'static str| {
        let reports = REPORTS.iter().map(|(_, kind, factor)| one_client(lab, method, kind, factor));
        Ok(Outcome { method, reports: reports.collect::<Result<_, _>>()? })
    };
    let outcomes: Vec<Outcome> = METHODS.into_iter().map(outcome).collect::<Result<_, WorldError>>()?;
    let text = "One client, drawn by the seed, reports twice or half its true cost in every round; the others tell the \
                truth. The paper does not state its factors. The height of a bar is relative to telling the truth; its \
                label is the absolute value.";
    let section = Section::new("micro", "One client misreports", [text], [figure(&outcomes).into()]);
    Ok(Part { section, claims: claims(&outcomes) })
}

/// The totals of the client that each seed draws, if it behaves this way.
fn one_client(lab: &Lab, method: &str, kind: &str, factor: &str) -> Result<Vec<ClientTotals>, WorldError> {
    let method = ("rounds.mechanism", method);
    let config = lab.config(&[method, ("behaviour.kind", kind), ("behaviour.factor", factor)]);
    // The same client in every case: the one that a share of 4 % of 25 clients draws.
    let drawn = lab.config(&[method, ("behaviour.kind", "long-run"), ("behaviour.share", "0.04")]);
    let run = |seed: u64| {
        let kinds = behaviours(&drawn, seed);
        let one = kinds.iter().position(|&kind| kind != Behaviour::Truthful).expect("a share of 4 % draws one");
        let mut all = vec![Behaviour::Truthful; kinds.len()];
        all[one] = config.raw().behaviour.kind;
        Ok(Simulation::new(&config, seed)?.with_behaviours(all).run().clients[one])
    };
    (1..=lab.seeds).into_par_iter().map(run).collect()
}

fn figure(outcomes: &[Outcome]) -> Figure {
    let caption = "Figures 1c and 1d of the paper, and the same for clock. Factors 2 and 0.5.";
    Figure::new("figure-1cd", "What one client gets by misreporting", caption, outcomes.iter().map(chart)).in_columns(3)
}

fn chart(outcome: &Outcome) -> Chart {
    let group = |name: &str, spreads: &[Spread]| {
        let truth = spreads[0].mean;
        let scale = if truth == 0.0 { 1.0 } else { truth.abs() };
        let bar = |((report, ..), spread): (&(&str, &str, &str), &Spread)| Bar {
            name: (*report).to_owned(),
            height: spread.mean / scale,
            sd: spread.sd / scale,
            label: Some(short(spread.mean)),
        };
        BarGroup::new(name, REPORTS.iter().zip(spreads).map(bar))
    };
    let groups = vec![
        group("regret", &outcome.spreads(|client| client.regret)),
        group("incentive", &outcome.spreads(|client| client.incentive)),
        group("utility", &outcome.spreads(ClientTotals::utility)),
    ];
    Chart::bars(label(outcome.method), Axis::linear("relative to truth"), groups)
}

fn short(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// The gain of the client of the counterexample, in units: its utility when it asks 6.4, minus that when it asks its cost.
fn gain_of_the_lie() -> f64 {
    let round = RoundDocument::read_round(COUNTEREXAMPLE).expect("a valid round");
    let liar = "c01".parse().expect("a client");
    let cost = round.ask(round.seat_of(&liar).expect("it offers"));
    let printed = TruthFedBan::new(1.0, Amount::STEP).expect("valid parameters");
    let utility = |ask: Amount| {
        let outcome = printed.run(&round.with_ask(&liar, ask)).expect("it never refuses");
        outcome.winner(&liar).map_or(0.0, |winner| winner.payment.to_f64() - cost.to_f64())
    };
    utility("6.4".parse().expect("an amount")) - utility(cost)
}

fn claims(outcomes: &[Outcome]) -> Vec<Verdict> {
    let of = |method: &str| outcomes.iter().find(|outcome| outcome.method == method).expect("a method tried");
    let words = |outcome: &Outcome| {
        let utility = outcome.spreads(ClientTotals::utility);
        let [truth, over, under] = [0, 1, 2].map(|report| plus_minus(utility[report]));
        format!("utility with truth {truth}, over {over}, under {under}")
    };
    let (printed, greedy) = (of("truth-fedban"), of("greedy"));
    let gain = gain_of_the_lie();
    let over = greedy.gain(1);
    // A gain counts if it exceeds the standard error of its mean.
    let over_pays = over.mean > over.sd / (greedy.reports[0].len() as f64).sqrt();
    vec![
        Verdict::new(
            "no-gain",
            "Under Truth-FedBan no client gains by misreporting its cost.",
            format!(
                "over whole runs: {}; but in the round of the counterexample a client gains {gain:.2} by asking 6.4 \
                 instead of its cost of 5.8",
                words(printed)
            ),
            refuted_if(gain > 0.0),
            "truthfed auction counterexamples/printed-grid-lie.json --mechanism truth-fedban --gamma 0.000001",
        ),
        Verdict::new(
            "greedy-over-reporting",
            "Under plain greedy a client that over-reports ends with a slightly higher utility.",
            format!("{}; compared seed by seed, over-reporting gains {}", words(greedy), plus_minus(over)),
            reproduced_if(over_pays),
            "truthfed simulate --set rounds.mechanism=greedy --set behaviour.kind=over --set behaviour.factor=2 --set behaviour.share=0.04 --out one  # see one/clients.csv",
        ),
    ]
}
