//! Growth of regret and rounds, monopoly-free coverage, and the two triggers.

use truthfed::auction::RoundDocument;
use truthfed_report::chart::{Axis, Chart, Figure};
use truthfed_report::page::{Section, VerdictKind};
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Claim, Evidence, Number, Own, Sample};
use super::decision::{SAME, Side};
use super::interval::Interval;
use super::lab::{
    Brief, Lab, REGRET, ROUNDS, SCALARS, each, gap_over_time, mean, over_time, percent_more, reading_changes, series,
};
use super::orders::{BOUNDED, Orders};
use super::readings::{READINGS, Reading, TRIGGERS, flags, truth_fedban};

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
         grows at most as T, N and d to the {BOUNDED}, each alone: exponents are fitted seed by seed, over all sizes. One that grows with \
         T does not show; N and d vary too little to tell, and a ratio that grows with them decides nothing.",
        orders.ranges(),
        lab.judged()
    );
    let rounds = mean(&everyone, ROUNDS).words();
    let rounds = format!("With a threshold of 2.62 and the mechanism everyone there are {rounds} rounds.");
    let items = [orders.figure().into(), trigger_figure(&triggers).into()];
    let section = Section::new("growth", "Growth, and triggers", [text, rounds], items);
    let claims = orders.claims(lab).into_iter().chain([monopoly_free(lab, &monopoly)]).collect();
    Ok(Part { section, claims, ours: vec![trigger_claim(lab, &triggers)] })
}

/// Lemma 7 in a constructed round, and in runs.
fn monopoly_free(lab: &Lab, runs: &[Vec<Brief>]) -> Claim {
    let round = RoundDocument::read_round(MONOPOLY).expect("a valid round");
    let cell = |(reading, runs): (&Reading, &Vec<Brief>)| {
        let outcome = truth_fedban(reading.target, &[]).run(&round).expect("it never refuses");
        let most = outcome.winners().iter().map(|winner| winner.payment.to_f64()).fold(0.0, f64::max);
        let reserve = round.reserve().to_f64();
        let essential = each(runs, |totals| totals.essential as f64);
        let measured = format!(
            "constructed round (d = 1, lambda = 1, t = 10, coverage 1/11): highest payment {most:.0} of a reserve of {reserve}; in \
             {} runs {} essential payments, regret {}",
            runs.len(),
            essential.iter().sum::<f64>(),
            mean(runs, REGRET).words()
        );
        let numbers = vec![
            Number::exact("highest payment in the constructed round", most)
                .claimed(Side::Below(reserve), VerdictKind::Refuted),
            Number::exact("essential payments in all runs", essential.iter().sum())
                .claimed(Side::AtMost(0.0), VerdictKind::Refuted),
        ];
        let command =
            format!("truthfed auction counterexamples/monopoly.json -m truth-fedban {}", flags(reading.target));
        Evidence::new(measured, numbers, Sample::runs(lab.judged()), command).under(vec![reading.name])
    };
    let claim = "With coverage (1 + t L² / (λ d))^-d nobody is essential.";
    let why = "The proof is about log c; the printed target asks for more. Normalised, the target never asks for more than log c. \
               Then such a coverage asks for nothing, and regret is several times as high.";
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

fn trigger_claim(lab: &Lab, [round, delivery]: &[Vec<Brief>; 2]) -> Own {
    let more = percent_more(delivery, round, REGRET);
    let share = Interval::of(each(round, SCALARS)).percent_of(mean(delivery, SCALARS).mean);
    let claim = "Under clock, measuring since the last round instead of the last delivery saves nine tenths of \
                 the communication at the same regret (within 5 %).";
    let measured = format!(
        "scalars {} against {}, {} %; regret {}, since-delivery seed by seed {} %",
        mean(round, SCALARS).words(),
        mean(delivery, SCALARS).words(),
        share.words(),
        mean(round, REGRET).words(),
        more.signed()
    );
    let numbers = vec![
        Number::deciding("regret beyond since-round, %", more, Side::Within(SAME)),
        Number::deciding("share of scalars, %", share, Side::AtMost(A_TENTH)),
    ];
    let command = format!("truthfed simulate --set rounds.trigger=since-delivery --seeds {}", lab.judged());
    Evidence::new(measured, numbers, Sample::runs(lab.judged()), command).on("triggers", claim)
}
