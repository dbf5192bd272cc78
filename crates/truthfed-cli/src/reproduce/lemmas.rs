//! The technical lemmas: determinants of random matrices, and the bounds of Appendix E in whole runs.

use truthfed_report::page::{Section, Table, VerdictKind};
use truthfed_sim::world::WorldError;

use super::Part;
use super::claim::{Claim, Evidence, Number, Sample};
use super::decision::Side;
use super::epochs::Measured;
use super::lab::{Lab, reading_changes, simulate};
use super::readings::{READINGS, Reading};
use super::{determinants, epochs};

/// The bounds leave their constants open. LinUCB's own, in Lemma 19, is 2 alpha over the root of d log(T / delta), which is
/// below 1 with the paper's sigma and lambda.
const CONSTANT: f64 = 1.0;

/// A bound of Appendix E.
struct Bound {
    id: &'static str,
    source: &'static str,
    claim: &'static str,
    why: &'static str,
    /// What was highest, over all seeds.
    name: &'static str,
    of: fn(&Measured) -> f64,
}

const BOUNDS: [Bound; 4] = [
    Bound {
        id: "instantaneous-regret",
        source: "Lemma 19",
        claim: "The regret of a step is O(√(d log(T/δ)) · ‖x‖ in the inverse of all data · √(det ratio of its epoch / c^(1-1/e))).",
        why: "With the constant taken as 1, and c^(1-1/e) also where the normalised target asks for less.",
        name: "regret of a step",
        of: |run| run.step,
    },
    Bound {
        id: "regret-good",
        source: "Appendix E, proof of Theorem 10",
        claim: "The regret of good epochs is O(d / √(c^(1-1/e)) · √(T log(T/δ) log T)).",
        why: "With the constant taken as 1. An epoch is good if det V_g at most doubles in it; since-round almost no regret falls in one.",
        name: "regret of good epochs",
        of: |run| run.good,
    },
    Bound {
        id: "regret-bad",
        source: "Appendix E, proof of Theorem 10",
        claim: "The regret of bad epochs is O(N d^1.5 √(D_c log(T/δ)) log T).",
        why: "With the constant taken as 1. Most regret is here: the epoch before the first round is bad.",
        name: "regret of bad epochs",
        of: |run| run.bad,
    },
    Bound {
        id: "round-communication",
        source: "Appendix E",
        claim: "In each round, on average over a run, all clients together upload and download O(N d²) scalars.",
        why: "With matrices and vectors of all clients both ways, 2 N (d² + d).",
        name: "scalars of a round",
        of: |run| run.round,
    },
];

pub(super) fn run(lab: &Lab) -> Result<Part, WorldError> {
    lab.stage("lemmas");
    let runs: Vec<Vec<Measured>> =
        READINGS.iter().map(|reading| epochs::measure(lab, reading)).collect::<Result<_, _>>()?;
    let bounds = BOUNDS.iter().map(|bound| bounded(lab, bound, &runs));
    let claims = determinants::claims(lab).into_iter().chain(bounds).collect();
    let text = "Lemmas 15 to 17 are about any matrices: they are tried on random ones. The bounds of Appendix E are about whole \
                runs: the regret of every step against the length of the played arm in the inverse of all data that exist \
                (Lemma 19), and the regret of good and bad epochs (proof of Theorem 10). Each is taken with a constant of 1.";
    let row = |(reading, runs): (&Reading, &Vec<Measured>)| {
        let shares = BOUNDS.iter().map(|bound| format!("{:.4}", highest(runs, bound)));
        [reading.name.to_owned(), runs.len().to_string()].into_iter().chain(shares).collect()
    };
    let rows = READINGS.iter().zip(&runs).map(row);
    let header: Vec<&str> = ["reading", "seeds"].into_iter().chain(BOUNDS.iter().map(|bound| bound.name)).collect();
    let caption = "The highest share of each bound that a run reaches.";
    let table = Table::new(caption, header.clone(), rows).with_numeric(1..header.len());
    Ok(Part { section: Section::new("lemmas", "Lemmas", [text], [table.into()]), claims, ours: Vec::new() })
}

fn highest(runs: &[Measured], bound: &Bound) -> f64 {
    runs.iter().map(bound.of).fold(0.0, f64::max)
}

fn bounded(lab: &Lab, bound: &Bound, runs: &[Vec<Measured>]) -> Claim {
    let cell = |(reading, runs): (&Reading, &Vec<Measured>)| {
        let highest = highest(runs, bound);
        let measured = format!("{} at most {highest:.4} times the bound in {} runs", bound.name, runs.len());
        let ratio = Number::exact("highest ratio to the bound", highest);
        // The paper leaves the constant open: a higher one refutes nothing.
        let numbers = vec![ratio.claimed(Side::AtMost(CONSTANT), VerdictKind::NotReproduced)];
        let command = simulate(&reading_changes(reading, &[]), lab.judged());
        Evidence::new(measured, numbers, Sample::runs(lab.judged()), command).under(vec![reading.name])
    };
    Claim::new(bound.id, bound.source, bound.claim, bound.why, READINGS.iter().zip(runs).map(cell).collect())
}
