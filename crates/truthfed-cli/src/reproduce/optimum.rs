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
    name: String,
    /// Social cost over that of the cheapest set at the same target.
    social: Vec<f64>,
    /// Payments over the cost of that set.
    paid: Vec<f64>,
}

pub(super) fn run(lab: &Lab<'_>) -> Part {
    lab.stage("exact optima");
    let rounds: Vec<Round> = (1..=lab.many(150)).into_par_iter().map(|seed| federation(25, 5, seed)).collect();
    let same_target = compare(&rounds);
    let bounds = [1.0, 0.1].map(|epsilon| bicriteria(&rounds, epsilon));
    let section = Section::new(
        "optimum",
        "Against the optimum",
        [format!(
            "{} random rounds of 25 clients in dimension 5, solved exactly by branch and bound. All mechanisms have the same \
             target, 0.645, which the printed algorithm derives from coverage 0.5.",
            rounds.len()
        )],
        [figure(&same_target).into(), table(&same_target).into()],
    );
    Part { section, claims: bounds.iter().map(bound_claim).collect() }
}

fn strict() -> Coverage {
    Coverage::ratio(libm::exp(libm::log(COVERAGE) * (1.0 - 1.0 / std::f64::consts::E))).expect("a ratio")
}

fn compare(rounds: &[Round]) -> Vec<Ratios> {
    let per_round: Vec<Vec<(String, f64, f64)>> = rounds
        .par_iter()
        .map(|round| {
            let strict = round.with_coverage(strict());
            let optimum = ratio_base(cost(&strict, &Vcg::default().select(&strict).expect("25 clients are few")));
            let of = |name: &str| {
                let mechanism = catalog::find(name).expect("a known mechanism").mechanism();
                let asked = if name == "truth-fedban" { round } else { &strict };
                let outcome = mechanism.run(asked).expect("25 clients are few");
                (name.to_owned(), outcome.social_cost().to_f64() / optimum, outcome.payments().to_f64() / optimum)
            };
            ["truth-fedban", "ratchet", "greedy", "inc-feducb", "clock", "vcg"].map(of).to_vec()
        })
        .collect();
    let collect = |index: usize| Ratios {
        name: per_round[0][index].0.clone(),
        social: per_round.iter().map(|round| round[index].1).collect(),
        paid: per_round.iter().map(|round| round[index].2).collect(),
    };
    (0..per_round[0].len()).map(collect).collect()
}

fn cost(round: &Round, winners: &[truthfed::auction::Seat]) -> Total {
    winners.iter().map(|&seat| round.ask(seat)).sum()
}

fn ratio_base(total: Total) -> f64 {
    total.to_f64().max(1e-6)
}

fn figure(ratios: &[Ratios]) -> Figure {
    let chart = |title: &str, values: fn(&Ratios) -> &Vec<f64>| {
        let bar = |ratios: &Ratios| {
            let spread = Spread::of(values(ratios).iter().copied());
            let text = Some(format!("{:.3}", spread.mean));
            Bar { name: label(&ratios.name), height: spread.mean, sd: spread.sd, label: text }
        };
        let groups = vec![BarGroup { name: String::new(), bars: ratios.iter().map(bar).collect() }];
        Chart::bars(title, Axis::linear("over the optimal social cost"), groups)
    };
    Figure::new(
        "optimum",
        "Social cost and payments over the optimum",
        "Mean and standard deviation over the rounds. vcg is the optimum; its payments exceed its cost.",
        [chart("Social cost", |ratios| &ratios.social), chart("Payments", |ratios| &ratios.paid)],
    )
    .in_columns(2)
}

fn worst(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn table(ratios: &[Ratios]) -> Table {
    let row = |ratios: &Ratios| {
        let mean = |values: &[f64]| format!("{:.3}", Spread::of(values.iter().copied()).mean);
        vec![
            label(&ratios.name),
            mean(&ratios.social),
            format!("{:.3}", worst(&ratios.social)),
            mean(&ratios.paid),
            format!("{:.3}", worst(&ratios.paid)),
        ]
    };
    let header = ["mechanism", "social cost, mean", "worst", "payments, mean", "worst"];
    Table::new("Ratios to the social cost of the cheapest set at the same target.", header, ratios.iter().map(row))
        .with_numeric(1..header.len())
}

/// The social cost of Algorithm 1 over the optimum of the paper's problem, coverage 0.5.
struct Bicriteria {
    epsilon: f64,
    ratios: Vec<f64>,
}

fn bicriteria(rounds: &[Round], epsilon: f64) -> Bicriteria {
    let printed = TruthFedBan::new(epsilon, Amount::from_units(1)).expect("valid parameters");
    let ratio = |round: &Round| {
        let optimum = cost(round, &Vcg::default().select(round).expect("25 clients are few"));
        cost(round, &printed.select(round).expect("it never refuses")).to_f64() / ratio_base(optimum)
    };
    Bicriteria { epsilon, ratios: rounds.par_iter().map(ratio).collect() }
}

fn bound_claim(found: &Bicriteria) -> Verdict {
    let Bicriteria { epsilon, ratios } = found;
    let above = ratios.iter().filter(|ratio| **ratio > 1.0 + epsilon).count();
    // Rounds are drawn by seeds from 1.
    let worst_seed = 1 + (0..ratios.len()).max_by(|&a, &b| ratios[a].total_cmp(&ratios[b])).unwrap_or(0);
    Verdict::new(
        &format!("social-cost-epsilon-{epsilon}"),
        &format!("With epsilon = {epsilon} the social cost is at most {} times the optimum.", 1.0 + epsilon),
        format!(
            "mean {:.3}, worst {:.3} times the optimum; above the bound in {above} of {} rounds",
            Spread::of(ratios.iter().copied()).mean,
            worst(ratios),
            ratios.len()
        ),
        refuted_if(above > 0),
        &format!(
            "truthfed auction --generate 25,5 --seed {worst_seed} --compare --epsilon {epsilon}  # the worst round"
        ),
    )
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
