//! Social cost and payments against the exact optimum.

use rayon::prelude::*;
use truthfed::auction::catalog;
use truthfed::auction::{Coverage, Mechanism, Round, TruthFedBan, Vcg};
use truthfed::generate::federation;
use truthfed::{Amount, Total};
use truthfed_report::chart::{Axis, Bar, BarGroup, Chart, Figure};
use truthfed_report::page::{Section, Table, Verdict};
use truthfed_sim::experiment::Spread;

use super::Part;
use super::lab::{Lab, label, refuted_if};

/// The paper's coverage; its algorithm aims at 0.5^(1 - 1/e) = 0.645.
const COVERAGE: f64 = 0.5;

/// One mechanism against the optimum, round by round.
struct Ratios {
    name: &'static str,
    /// Social cost over that of the cheapest set at the same target.
    social: Vec<f64>,
    /// Payments over the cost of that set.
    paid: Vec<f64>,
}

pub(super) fn run(lab: &Lab) -> Part {
    lab.stage("exact optima");
    let rounds: Vec<Round> = (1..=lab.many(150)).into_par_iter().map(|seed| federation(25, 5, seed)).collect();
    let same_target = compare(&rounds);
    let claims = [1.0, 0.1].map(|epsilon| bound_claim(&rounds, epsilon)).to_vec();
    let text = format!(
        "{} random rounds of 25 clients in dimension 5, solved exactly by branch and bound. All mechanisms have the \
         same target, 0.645, which the printed algorithm derives from coverage 0.5.",
        rounds.len()
    );
    let items = [figure(&same_target).into(), table(&same_target).into()];
    let section = Section::new("optimum", "Against the optimum", [text], items);
    Part { section, claims }
}

fn strict() -> Coverage {
    Coverage::ratio(libm::exp(libm::log(COVERAGE) * (1.0 - 1.0 / std::f64::consts::E))).expect("a ratio")
}

fn compare(rounds: &[Round]) -> Vec<Ratios> {
    let with_optimum = |round: &Round| {
        let strict = round.with_coverage(strict());
        let optimum = optimum(&strict);
        (strict, optimum)
    };
    let optima: Vec<(Round, f64)> = rounds.par_iter().map(with_optimum).collect();
    let of = |name: &'static str| {
        let mechanism = catalog::find(name).expect("a known mechanism").mechanism();
        let ratios = |(round, (strict, optimum)): (&Round, &(Round, f64))| {
            let asked = if name == "truth-fedban" { round } else { strict };
            let outcome = mechanism.run(asked).expect("25 clients are few");
            (outcome.social_cost().to_f64() / optimum, outcome.payments().to_f64() / optimum)
        };
        let (social, paid) = rounds.par_iter().zip(&optima).map(ratios).unzip();
        Ratios { name, social, paid }
    };
    Vec::from(["truth-fedban", "ratchet", "greedy", "inc-feducb", "clock", "vcg"].map(of))
}

fn cost(round: &Round, winners: &[truthfed::auction::Seat]) -> Total {
    winners.iter().map(|&seat| round.ask(seat)).sum()
}

/// The cost of the cheapest set, above 0.
fn optimum(round: &Round) -> f64 {
    cost(round, &Vcg::default().select(round).expect("25 clients are few")).to_f64().max(1e-6)
}

fn figure(ratios: &[Ratios]) -> Figure {
    let chart = |title: &str, values: fn(&Ratios) -> &Vec<f64>| {
        let bar = |ratios: &Ratios| {
            let spread = Spread::of(values(ratios).iter().copied());
            let text = Some(format!("{:.3}", spread.mean));
            Bar { name: label(ratios.name), height: spread.mean, sd: spread.sd, label: text }
        };
        let bars = BarGroup::new("", ratios.iter().map(bar));
        Chart::bars(title, Axis::linear("over the optimal social cost"), [bars])
    };
    let caption = "Mean and standard deviation over the rounds. vcg is the optimum; its payments exceed its cost.";
    let charts = [chart("Social cost", |ratios| &ratios.social), chart("Payments", |ratios| &ratios.paid)];
    Figure::new("optimum", "Social cost and payments over the optimum", caption, charts).in_columns(2)
}

fn mean(values: &[f64]) -> f64 {
    Spread::of(values.iter().copied()).mean
}

fn worst(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn table(ratios: &[Ratios]) -> Table {
    let row = |ratios: &Ratios| {
        let mean_and_worst = |values: &[f64]| [mean(values), worst(values)].map(|value| format!("{value:.3}"));
        let figures = [&ratios.social, &ratios.paid].into_iter().flat_map(|values| mean_and_worst(values));
        std::iter::once(label(ratios.name)).chain(figures).collect()
    };
    let header = ["mechanism", "social cost, mean", "worst", "payments, mean", "worst"];
    Table::new("Ratios to the social cost of the cheapest set at the same target.", header, ratios.iter().map(row))
        .with_numeric(1..header.len())
}

/// The social cost of Algorithm 1 over the optimum of the paper's problem, coverage 0.5.
fn bound_claim(rounds: &[Round], epsilon: f64) -> Verdict {
    let printed = TruthFedBan::new(epsilon, Amount::from_units(1)).expect("valid parameters");
    let ratio =
        |round: &Round| cost(round, &printed.select(round).expect("it never refuses")).to_f64() / optimum(round);
    let ratios: Vec<f64> = rounds.par_iter().map(ratio).collect();
    let above = ratios.iter().filter(|ratio| **ratio > 1.0 + epsilon).count();
    // Rounds are drawn by seeds from 1.
    let worst_seed = 1 + (0..ratios.len()).max_by(|&a, &b| ratios[a].total_cmp(&ratios[b])).unwrap_or(0);
    let claim = format!("With epsilon = {epsilon} the social cost is at most {} times the optimum.", 1.0 + epsilon);
    let (mean, worst, rounds) = (mean(&ratios), worst(&ratios), ratios.len());
    let measured =
        format!("mean {mean:.3}, worst {worst:.3} times the optimum; above the bound in {above} of {rounds} rounds");
    let generate = format!("truthfed auction --generate 25,5 --seed {worst_seed}");
    let command = format!("{generate} --compare --epsilon {epsilon}  # the worst round");
    Verdict::new(&format!("social-cost-epsilon-{epsilon}"), &claim, measured, refuted_if(above > 0), &command)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truthfed::auction::Ratchet;

    #[test]
    fn nobody_is_cheaper_than_the_optimum() {
        let round = federation(12, 3, 5).with_coverage(strict());
        let optimum = cost(&round, &Vcg::default().select(&round).unwrap());
        assert!(cost(&round, &Ratchet::default().select(&round).unwrap()) >= optimum);
    }
}
