//! Growth of regret and rounds, monopoly-free coverage, and the two triggers.

use truthfed::auction::RoundDocument;
use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, Verdict};
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Cell, Claim, Number, Sample};
use super::decision::{SAME, Side, together};
use super::interval::Interval;
use super::lab::{
    Brief, Lab, REGRET, ROUNDS, SCALARS, each, gap_over_time, mean, over_time, percent_more, reading_changes,
    refuted_if, series,
};
use super::orders::{BOUNDED, Orders};
use super::readings::{READINGS, Reading, TRIGGERS, truth_fedban};

/// A round with monopoly-free coverage in which a client is essential to Algorithm 1 as printed.
pub(super) const MONOPOLY: &str = include_str!("counterexamples/monopoly.json");

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("growth");
    let orders = Orders::measure(lab)?;
    let monopoly: Vec<Vec<Brief>> = READINGS
        .iter()
        .map(|reading| lab.briefs(&reading_changes(reading, &[("rounds.coverage", "monopoly-free")]), lab.judged()))
        .collect::<Result<_, _>>()?;
    let triggers = TRIGGERS.map(|trigger| lab.briefs(&[("rounds.trigger", trigger)], lab.judged()));
    let [round, delivery] = triggers;
    let triggers = [round?, delivery?];
    let everyone = lab.briefs(&[("rounds.mechanism", "everyone"), ("rounds.threshold", "2.62")], lab.few())?;
    let text = format!(
        "This section measures regret and rounds of Truth-FedBan as one of the steps T, the clients N and the dimension d varies ({}), \
         under {} seeds each, and two triggers: a client measures what it has learned since the last round it took part in, or since \
         the last round it won, as in the pseudo-code. O(...) leaves constants open, so a bound counts as kept if the ratio to it \
         grows at most as T, N and d to the {BOUNDED}, each alone: exponents are fitted seed by seed, over all sizes.",
        orders.ranges(),
        lab.judged()
    );
    let rounds = mean(&everyone, ROUNDS).words();
    let rounds = format!("With a threshold of 2.62 and the mechanism everyone there are {rounds} rounds.");
    let items = [orders.figure().into(), trigger_figure(&triggers).into()];
    let section = Section::new("growth", "Growth, and triggers", [text, rounds], items);
    let claims = orders.claims(lab).into_iter().chain([monopoly_free(lab, &monopoly)]).collect();
    Ok(Part { section, claims, ours: vec![trigger_claim(&triggers)] })
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
            sample: Sample::runs(lab.judged()),
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

fn trigger_figure([round, delivery]: &[Vec<Brief>; 2]) -> Figure {
    let gap = series(TRIGGERS[1], gap_over_time(delivery, round, REGRET));
    let sent = |(name, runs): (&str, &[Brief])| {
        let later = over_time(runs, SCALARS).into_iter().filter(|(_, sent)| sent.iter().any(|scalars| *scalars > 0.0));
        series(name, later)
    };
    let sent = [(TRIGGERS[1], delivery.as_slice()), (TRIGGERS[0], round.as_slice())].map(sent);
    let caption = "A client measures since the last round it took part in, or since the last round it won, under clock. In the \
                   second reading a client that loses asks again at every step. Regret is shown as the difference between the two, \
                   seed by seed; 95 % intervals.";
    let charts = [
        Chart::lines("Regret", Axis::linear("step"), Axis::linear("beyond since-round"), [gap]),
        Chart::lines("Communication", Axis::linear("step"), Axis::log("scalars sent"), sent),
    ];
    Figure::new("triggers", "Two readings of the trigger", caption, charts).in_columns(2)
}

/// The share of scalars that the first trigger may need at most.
const A_TENTH: f64 = 10.0;

fn trigger_claim([round, delivery]: &[Vec<Brief>; 2]) -> Verdict {
    let more = percent_more(delivery, round, REGRET);
    let share = Interval::of(each(round, SCALARS)).percent_of(mean(delivery, SCALARS).mean);
    let claim = "Measuring since the last round instead of the last delivery saves nine tenths of \
                 the communication at the same regret (within 5 %).";
    let measured = format!(
        "scalars {} against {}, {} %; regret {}, since-delivery seed by seed {} %",
        mean(round, SCALARS).words(),
        mean(delivery, SCALARS).words(),
        share.words(),
        mean(round, REGRET).words(),
        more.signed()
    );
    let verdict = together([Side::Within(SAME).decide(more), Side::AtMost(A_TENTH).decide(share)]);
    let command = "truthfed simulate --set rounds.trigger=since-delivery --seeds 30";
    Verdict::new("triggers", claim, measured, verdict, command)
}
